// The sampled form: some elements of a product with a unit's sums, beside plain fp32 sums of the same numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/tensor_core/sum_rule.h"

namespace ulpscope::tensor_core {

/// What a unit's sums differ from plain ones by.
struct SumDifference {
  std::int64_t elements = 0;     ///< compared: finite both ways
  std::int64_t not_finite = 0;   ///< left out
  double greatest = 0.0;         ///< |unit - plain|
  double squares = 0.0;          ///< of unit - plain
  double plain_squares = 0.0;
  double grown = 0.0;            ///< sum of |unit| - |plain|: negative where truncation draws to zero
  double plain_magnitude = 0.0;  ///< sum of |plain|

  void add(double unit, double plain);
  void merge(const SumDifference& other);
  /// Root mean square of the difference by that of the plain sums. All three: none without elements, or where all plain sums are zero.
  std::optional<double> relative_rms() const;
  /// The greatest difference by the root mean square of the plain sums.
  std::optional<double> relative_greatest() const;
  /// Mean of |unit| - |plain| by mean of |plain|.
  std::optional<double> relative_bias() const;
};

/// Plain: products are exact, every addition is rounded to fp32, k ascends from zero.
float plain_sum(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, std::int64_t k);

/// Place of the i-th of the sampled elements: fixed by the key, spread over [0, elements).
std::int64_t sampled_element(std::uint64_t key, std::int64_t i, std::int64_t elements);

/// How many of `elements` are a share: at least least_sampled (all, if there are fewer), at most most_sampled.
inline constexpr std::int64_t least_sampled = 16, most_sampled = 4096;
std::int64_t sample_size(double share, std::int64_t elements);

}  // namespace ulpscope::tensor_core
