#include "reports/analysis/scale_bounds.h"

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

// Logarithms are a guess that is right to one; the comparison itself decides. A damaged file may say anything of a magnitude.
template <class Holds>
int greatest_power(double guess, const Holds& holds) {
  if (!std::isfinite(guess)) return 0;
  const int first = static_cast<int>(std::floor(guess)) + 1;
  int k = first;
  while (!holds(k) && first - k < 3) --k;
  return k;
}

}  // namespace

int greatest_finite_power(double magnitude, Format format) {
  const FormatInfo& f = info(format);
  const bool reached = std::isfinite(f.overflow_threshold);  // by which it is infinite; fp32's greatest number fits
  return greatest_power(std::log2(limit(format) / magnitude), [&](int k) {
    const double scaled = std::ldexp(magnitude, k);
    return reached ? scaled < f.overflow_threshold : scaled <= f.max_finite;
  });
}

int least_kept_power(double magnitude, Format format) {
  const double end = info(format).flush_threshold;
  return 1 + greatest_power(std::log2(end / magnitude), [&](int k) { return std::ldexp(magnitude, k) <= end; });
}

int least_normal_power(double magnitude, Format format) {
  const double end = info(format).min_normal;
  return 1 + greatest_power(std::log2(end / magnitude), [&](int k) { return std::ldexp(magnitude, k) < end; });
}

double nonzero(const ScaledRange& range) {
  double sum = 0.0;
  if (range.histogram != nullptr)
    for (const std::uint64_t count : range.histogram->counts) sum += static_cast<double>(count);
  return sum;
}

double flushed_at(const ScaledRange& range, double scale) {
  if (range.histogram == nullptr) return 0.0;
  const double edge = std::log2(info(range.format).flush_threshold) + std::log2(range.scale) - std::log2(scale);
  double lost = 0.0, exponent = range.histogram->first;
  for (const std::uint64_t count : range.histogram->counts) {
    // 1/N, as means make it. What is at the edge goes to zero.
    const bool one_number = range.greatest == std::exp2(exponent) || range.least == std::exp2(exponent);
    lost += static_cast<double>(count) * (one_number ? (edge >= exponent ? 1.0 : 0.0) : std::clamp(edge - exponent, 0.0, 1.0));
    exponent += 1.0;
  }
  return lost;
}

double flushed_share(const std::vector<ScaledRange>& ranges, double scale) {
  double lost = 0.0, all = 0.0;
  for (const ScaledRange& range : ranges) {
    lost += flushed_at(range, scale);
    all += nonzero(range);
  }
  return all > 0.0 ? lost / all : 0.0;
}

std::optional<int> least_scale(const std::vector<ScaledRange>& ranges, double share, int from) {
  if (flushed_share(ranges, std::exp2(from)) <= share) return std::nullopt;
  int k = from + 1;  // it ends where nothing is lost any more
  while (flushed_share(ranges, std::exp2(k)) > share) ++k;
  return k;
}

std::optional<int> greatest_scale(const ScaledRange& range) {
  if (!(range.greatest > 0.0)) return std::nullopt;
  return greatest_finite_power(range.greatest / range.scale, range.format);
}

}  // namespace ulpscope::reports
