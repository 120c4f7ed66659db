// tf32 (NVIDIA): fp32 with 10 fraction bits, kept in a 32-bit word whose lower 13 bits are zero. The range is that of
// fp32.
//
// How fp32 becomes tf32 depends on who does it, so it is a parameter: `cvt.rna.tf32.f32` (Ampere, cuBLAS there,
// CUTLASS): ties away from zero; `cvt.rn` (Hopper on): ties to even; the matrix instruction itself: ignores the lower
// bits.
#pragma once

#include <cstdint>

#include "kernels/formats/bits.h"
#include "kernels/portable.h"

namespace ulpscope {

enum class Tf32Rounding : std::uint8_t { nearest_away, nearest_even, toward_zero };

/// Magnitudes from (2 - 2^-11) * 2^127 on become infinite (toward_zero: never). NaN stays NaN, quiet.
ULPSCOPE_BODY float tf32_round(float x, Tf32Rounding rounding = Tf32Rounding::nearest_away) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t even = 0x0fffu + ((bits >> 13) & 1u);
  const std::uint32_t half = rounding == Tf32Rounding::nearest_away   ? 0x1000u
                             : rounding == Tf32Rounding::nearest_even ? even
                                                                      : 0u;
  const std::uint32_t rounded = (bits + half) & 0xffffe000u;
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);  // signed comparisons: SSE2 has no others
  const std::uint32_t special = (magnitude > 0x7f800000 ? bits | 0x00400000u : bits) & 0xffffe000u;
  return float_from_bits(magnitude >= 0x7f800000 ? special : rounded);
}

/// Rounds once.
ULPSCOPE_BODY float tf32_from_double(double x, Tf32Rounding rounding = Tf32Rounding::nearest_away) {
  return tf32_round(float_from_double_to_odd(x), rounding);
}

}  // namespace ulpscope
