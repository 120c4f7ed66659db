// bf16 (bfloat16): 1 sign, 8 exponent, 7 fraction bits: the upper half of an fp32 word. Largest finite value 3.3895e38,
// subnormals kept, down to 2^-133. Vectors: CUDA's __float2bfloat16_rn.
#pragma once

#include <cstdint>

#include "kernels/formats/bits.h"
#include "kernels/portable.h"

namespace ulpscope {

/// Exact; NaN payloads unchanged.
ULPSCOPE_BODY float bf16_to_float(std::uint16_t value) {
  return float_from_bits(static_cast<std::uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even; magnitudes from 2^128 - 2^119 (3.3962e38) on become infinite, the largest fp32
/// number among them; NaN stays NaN (quiet, the upper seven payload bits kept).
ULPSCOPE_BODY std::uint16_t bf16_from_float(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x0040u;
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);  // a signed comparison: SSE2 has no other
  return static_cast<std::uint16_t>(magnitude > 0x7f800000 ? nan : rounded);
}

/// Rounds once.
ULPSCOPE_BODY std::uint16_t bf16_from_double(double x) { return bf16_from_float(float_from_double_to_odd(x)); }
ULPSCOPE_BODY double bf16_to_double(std::uint16_t value) { return static_cast<double>(bf16_to_float(value)); }

}  // namespace ulpscope
