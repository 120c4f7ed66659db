// The sums of a matrix unit in integers, one element at a time: what the vectorised product is tested against, and what it leaves
// to it (infinities, NaN, results below the normal range).
#pragma once

#include <cstdint>

#include "kernels/tensor_core/sum_rule.h"

namespace ulpscope::tensor_core {

inline constexpr std::uint32_t canonical_nan = 0x7fffffffu;       ///< fp16: 0x7fff
inline constexpr std::uint32_t canonical_fp16_nan = 0x7fffu;

/// c + sum of a[i * a_stride] * b[i * b_stride], i < k, as the rule adds them. Operands are numbers of rule.operands; tf32: the lower 13
/// bits are ignored, as the unit does. c and the result are numbers of the rule's result format, widened to fp32 (an fp16 NaN
/// as canonical_nan).
float reference_sum(const SumRule& rule, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                    std::int64_t k, float c);

/// The same with the elements in the order in which they are added (place_of), k a multiple of the rule's width; the chain
/// alone, without restarts.
float reference_chain(const SumRule& rule, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                      std::int64_t k, float c);

/// running + sum, rounded to nearest in the result's format: what follows a restart.
float add_nearest(Result result, float running, float sum);

}  // namespace ulpscope::tensor_core
