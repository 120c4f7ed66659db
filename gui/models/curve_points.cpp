#include "gui/models/curve_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulpscope::gui {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Between the two points around it; nothing outside of the points or at a break.
std::optional<double> valueAt(const CurvePoints& curve, double x) {
  const auto after = std::lower_bound(curve.x.begin(), curve.x.end(), x);
  if (after == curve.x.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(after - curve.x.begin());
  double value = curve.y[i];
  if (*after != x) {
    if (i == 0) return std::nullopt;
    const double share = (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
    value = curve.y[i - 1] + share * (curve.y[i] - curve.y[i - 1]);
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> axisPosition(const reports::RunSeries& series, std::int64_t step, CurveAxis axis) {
  if (axis == CurveAxis::Step) return static_cast<double>(step + 1);
  if (step < 0) return 0.0;  // before the first
  const std::vector<reports::SeriesPoint>& points = series.elapsed_seconds.points;
  const auto after = std::lower_bound(points.begin(), points.end(), step, [](const reports::SeriesPoint& p, std::int64_t s) { return p.step < s; });
  if (after == points.end()) return std::nullopt;
  if (after->step == step || after == points.begin()) return after->step == step ? std::optional(after->value) : std::nullopt;
  const reports::SeriesPoint& before = *(after - 1);
  const double share = static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step);
  return before.value + share * (after->value - before.value);
}

CurvePoints curvePoints(const reports::RunSeries& series, const reports::Curve& curve, CurveAxis axis) {
  CurvePoints out;
  auto gap = curve.gaps.begin();
  const auto add = [&](std::optional<double> x, double y) {
    if (!x) return;
    out.x.push_back(*x);
    out.y.push_back(y);
  };
  const auto passGapsBefore = [&](std::int64_t step) {
    for (; gap != curve.gaps.end() && gap->first < step; ++gap) {
      const auto first = axisPosition(series, gap->first, axis), last = axisPosition(series, gap->last, axis);
      add(first, nan);
      if (gap->kind == reports::GapKind::unknown || !first || !last) continue;
      const double edge = axis == CurveAxis::Step ? 0.5 : 0.0;  // one step is half a step to each side
      out.gaps.push_back({gap->kind, *first - edge, *last + edge, gap->steps});
    }
  };
  for (const reports::SeriesPoint& point : curve.points) {
    passGapsBefore(point.step);
    // Evaluations are recorded by the steps done before them: they stand at the end of the last of those.
    add(axisPosition(series, &curve == &series.held_out_loss ? point.step - 1 : point.step, axis), point.value);
  }
  passGapsBefore(std::numeric_limits<std::int64_t>::max());
  return out;
}

std::vector<double> smoothed(const std::vector<double>& y, int window) {
  if (window <= 1) return y;
  std::vector<double> out(y.size(), nan);
  const auto reach = static_cast<std::size_t>(window / 2);
  for (std::size_t begin = 0; begin < y.size();) {
    if (!std::isfinite(y[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < y.size() && std::isfinite(y[end])) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t from = i - begin < reach ? begin : i - reach, to = std::min(end, i + reach + 1);
      double sum = 0.0;
      for (std::size_t j = from; j < to; ++j) sum += y[j];
      out[i] = sum / static_cast<double>(to - from);
    }
    begin = end;
  }
  return out;
}

Band bandBetween(const std::vector<CurvePoints>& curves) {
  Band band;
  if (curves.size() < 2) return band;
  std::vector<double> xs;
  for (const CurvePoints& curve : curves) xs.insert(xs.end(), curve.x.begin(), curve.x.end());
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  for (const double x : xs) {
    double sum = 0.0, squares = 0.0;
    std::size_t known = 0;
    for (const CurvePoints& curve : curves) {
      const std::optional<double> value = valueAt(curve, x);
      if (!value) break;
      sum += *value;
      ++known;
    }
    if (known != curves.size()) continue;
    const auto n = static_cast<double>(known);
    const double mean = sum / n;
    for (const CurvePoints& curve : curves) {
      const double difference = *valueAt(curve, x) - mean;
      squares += difference * difference;
    }
    const double spread = std::sqrt(squares / (n - 1.0));
    band.x.push_back(x);
    band.low.push_back(mean - spread);
    band.high.push_back(mean + spread);
  }
  return band;
}

}  // namespace ulpscope::gui
