// What a rounding lost: counted on the values before and after it. Filled by ops/round_and_count.h.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

/// Bins of the histogram: one for each binary exponent an fp32 number can have, subnormals by their true exponent.
inline constexpr int histogram_lowest_exponent = -149;
inline constexpr int histogram_highest_exponent = 127;
inline constexpr int histogram_bins = histogram_highest_exponent - histogram_lowest_exponent + 1;

/// Counts of one tensor. A kernel adds to what is there, so the caller starts from RoundingCounts{}; several launches
/// (the micro-batches of a step) may be gathered in one. "Before" and "after" refer to the rounding into the storage
/// format. The sums of doubles have a fixed order: the same bits for any number of threads and any instruction set.
struct RoundingCounts {
  /// Set by whoever asks: only elements, nan, the infinities, overflowed and greatest_magnitude are counted, which costs a pass
  /// over the values and no more; everything else stays 0. Such counts can be added in any order.
  bool range_only = false;
  std::int64_t elements = 0;
  std::int64_t nan = 0;                ///< before
  std::int64_t positive_infinity = 0;  ///< before
  std::int64_t negative_infinity = 0;  ///< before
  std::int64_t overflowed = 0;         ///< finite before, not finite after (fp8 e4m3 has no infinity: NaN after)
  std::int64_t flushed = 0;            ///< nonzero before, zero after
  std::int64_t subnormal = 0;          ///< after: nonzero and below the format's least normal magnitude
  std::int64_t zero = 0;               ///< before
  std::int64_t lost_updates = 0;       ///< weights, as an optimizer stores them, and accumulators: what was added was not zero and changed nothing
  double least_magnitude = 0.0;        ///< before: of nonzero finite elements; 0 if there is none
  double greatest_magnitude = 0.0;     ///< before: of finite elements
  double sum = 0.0;                    ///< before: of finite elements
  double sum_of_squares = 0.0;         ///< before: of finite elements
  /// Rounding errors |after - before| of the elements that are finite before and after (flushed ones included).
  double sum_of_errors = 0.0;
  double sum_of_squared_errors = 0.0;
  double greatest_relative_error = 0.0;  ///< |after - before| / |before|
  /// Finite nonzero elements before rounding with exponent e = floor(log2 |x|) are counted in bin e + 149. Values of
  /// fp64 beyond the range of fp32 go to the first and last bin.
  std::int64_t histogram[histogram_bins] = {};
};

/// Elements that were finite before rounding.
ULPSCOPE_BODY std::int64_t finite_elements(const RoundingCounts& c) {
  return c.elements - c.nan - c.positive_infinity - c.negative_infinity;
}

/// Back to nothing; what is asked for stays.
ULPSCOPE_BODY void clear_counts(RoundingCounts& c) {
  if (!c.range_only) {
    c = RoundingCounts{};
    return;
  }
  c.elements = c.nan = c.positive_infinity = c.negative_infinity = c.overflowed = 0;
  c.greatest_magnitude = 0.0;
}

/// Adds the counts of `from` to `to`. Only what `from` was asked for: the rest of it may be uninitialised.
ULPSCOPE_BODY void merge_counts(RoundingCounts& to, const RoundingCounts& from) {
  to.elements += from.elements;
  to.nan += from.nan;
  to.positive_infinity += from.positive_infinity;
  to.negative_infinity += from.negative_infinity;
  to.overflowed += from.overflowed;
  if (from.greatest_magnitude > to.greatest_magnitude) to.greatest_magnitude = from.greatest_magnitude;
  if (from.range_only) return;
  to.flushed += from.flushed;
  to.subnormal += from.subnormal;
  to.zero += from.zero;
  to.lost_updates += from.lost_updates;
  if (from.least_magnitude != 0.0 && (to.least_magnitude == 0.0 || from.least_magnitude < to.least_magnitude)) {
    to.least_magnitude = from.least_magnitude;
  }
  to.sum += from.sum;
  to.sum_of_squares += from.sum_of_squares;
  to.sum_of_errors += from.sum_of_errors;
  to.sum_of_squared_errors += from.sum_of_squared_errors;
  if (from.greatest_relative_error > to.greatest_relative_error)
    to.greatest_relative_error = from.greatest_relative_error;
  for (int i = 0; i < histogram_bins; ++i) to.histogram[i] += from.histogram[i];
}

}  // namespace ulpscope
