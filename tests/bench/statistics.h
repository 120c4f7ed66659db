// What the bench says of a handful of repetitions: a median, an interval around it, a verdict against a bar.
#pragma once

#include <cstdint>
#include <vector>

namespace ulpscope::bench {

inline constexpr double confidence = 0.95;
/// With fewer values than this not even the whole range covers the median with that confidence: 1 − 2 · 2^−n.
inline constexpr std::size_t least_values = 6;

struct Estimate {
  double median = 0.0;
  double low = 0.0, high = 0.0;  ///< of an interval that covers the population's median
  double coverage = 0.0;         ///< with at least this probability; 1 for a figure that is counted, not measured
};

/// Order statistics: the narrowest pair (k-th smallest, k-th greatest) that covers the median with `confidence`.
/// Nothing is assumed of the distribution but that repetitions are independent. If all values are equal, the figure is
/// counted and the interval is a point. Throws Error for fewer than least_values values, and for one that is not
/// finite.
Estimate estimate(std::vector<double> values);

/// Of positive numbers. Throws Error for an empty list and for a number that is not positive and finite.
double geometric_mean(const std::vector<double>& values);

struct Bar {
  bool at_most = true;  ///< at_most: values above the bar are bad; otherwise values below
  double bar = 0.0;
  double aim = 0.0;
};

enum class Verdict : std::uint8_t { ok, undecided, beyond };
/// "ok", "undecided", "beyond the bar".
const char* name(Verdict verdict);

/// beyond: the whole interval lies beyond the bar; ok: none of it does. A value on the bar is not beyond it.
Verdict judge(const Estimate& estimate, const Bar& bar);
/// Whether the median reaches the aim.
bool reaches_aim(const Estimate& estimate, const Bar& bar);

}  // namespace ulpscope::bench
