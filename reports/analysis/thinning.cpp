#include "reports/analysis/thinning.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/error.h"

namespace ulpscope::reports {

Thinning::Thinning(std::int64_t buckets) : limit_(buckets) {
  if (buckets < 1) throw UsageError("a thinned series needs at least 1 bucket, not " + std::to_string(buckets));
}

void Thinning::add(std::int64_t step, Number value, Number seconds) {
  if (any_ && step <= last_step_) throw Error("steps of a series must ascend: " + std::to_string(step));
  if (!any_) first_step_ = step;
  any_ = true;
  last_step_ = step;
  if (!value) return add_gap(step, GapKind::unknown);
  if (std::isnan(*value)) return add_gap(step, GapKind::nan);
  if (std::isinf(*value)) return add_gap(step, *value > 0 ? GapKind::positive_infinite : GapKind::negative_infinite);
  in_gap_ = false;
  ++finite_;
  while ((step - first_step_) / width_ >= limit_) widen();
  const SeriesPoint point{step, *value, seconds};
  const Bucket bucket{(step - first_step_) / width_, point, point, point, point};
  if (!buckets_.empty() && buckets_.back().index == bucket.index) {
    merge(buckets_.back(), bucket);
  } else {
    buckets_.push_back(bucket);
  }
}

void Thinning::merge(Bucket& into, const Bucket& later) {
  if (later.least.value < into.least.value) into.least = later.least;
  if (later.greatest.value > into.greatest.value) into.greatest = later.greatest;
  into.last = later.last;
}

void Thinning::widen() {
  width_ *= 2;
  std::vector<Bucket> wider;
  for (Bucket bucket : buckets_) {
    bucket.index /= 2;
    if (!wider.empty() && wider.back().index == bucket.index) {
      merge(wider.back(), bucket);
    } else {
      wider.push_back(bucket);
    }
  }
  buckets_ = std::move(wider);
}

void Thinning::add_gap(std::int64_t step, GapKind kind) {
  if (in_gap_ && gaps_.back().kind == kind) {
    gaps_.back().last = step;
    ++gaps_.back().steps;
  } else {
    gaps_.push_back({kind, step, step, 1});
  }
  in_gap_ = true;
}

Curve Thinning::curve() const {
  Curve result{{}, gaps_, finite_};
  for (const Bucket& bucket : buckets_) {
    std::array<SeriesPoint, 4> kept{bucket.first, bucket.least, bucket.greatest, bucket.last};
    std::sort(kept.begin(), kept.end(), [](const SeriesPoint& a, const SeriesPoint& b) { return a.step < b.step; });
    for (const SeriesPoint& point : kept) {
      if (result.points.empty() || result.points.back().step != point.step) result.points.push_back(point);
    }
  }
  return result;
}

}  // namespace ulpscope::reports
