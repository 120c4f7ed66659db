// fp16 (IEEE 754 binary16): 1 sign, 5 exponent, 10 fraction bits; bias 15; 65504 is the largest finite value;
// subnormals down to 2^-24. Constants and vectors: IEEE 754, CUDA's __float2half_rn.
//
// Branch-free, so that loops over these functions vectorise. The same bits as the F16C instructions, NaN payloads too.
#pragma once

#include <cstdint>

#include "kernels/formats/bits.h"
#include "kernels/portable.h"

namespace ulpscope {

/// The float of the fp16 number in the lower 16 bits; the bits above are zero. Comparisons are signed: SSE2 has no
/// others.
ULPSCOPE_BODY float fp16_word_to_float(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::int32_t magnitude = static_cast<std::int32_t>(half & 0x7fffu);
  const std::int32_t shifted = magnitude << 13;
  const std::int32_t quiet = magnitude > 0x7c00 ? 0x00400000 : 0;
  const std::int32_t normal = shifted + 0x38000000;  // rebias by 127 - 15
  const std::int32_t special = shifted | 0x7f800000 | quiet;
  const std::int32_t subnormal = static_cast<std::int32_t>(float_bits(static_cast<float>(magnitude) * 0x1p-24f));
  const std::int32_t finite = magnitude < 0x0400 ? subnormal : normal;
  return float_from_bits(sign | static_cast<std::uint32_t>(magnitude >= 0x7c00 ? special : finite));
}

/// Exact. A signalling NaN becomes quiet.
ULPSCOPE_BODY float fp16_to_float(std::uint16_t half) { return fp16_word_to_float(half); }

/// Rounds to nearest, ties to even; magnitudes from 65520 on become infinite; up to 2^-25 they become zero; NaN stays
/// NaN (quiet, the upper ten payload bits kept).
ULPSCOPE_BODY std::uint16_t fp16_from_float(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::int32_t magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
  // Normal results: rebias, add just under half of the last place (half, if it is odd), drop 13 bits. A carry out of
  // the fraction moves into the exponent, and from 65504 on into infinity, as it should.
  const std::int32_t rebiased = magnitude - 0x38000000;
  const std::int32_t normal = (rebiased + 0x0fff + ((rebiased >> 13) & 1)) >> 13;
  // Subnormal results: the last place of 0.5f is 2^-24, that of fp16 subnormals; the addition rounds.
  const float sum = float_from_bits(bits & 0x7fffffffu) + 0.5f;
  const std::int32_t subnormal = static_cast<std::int32_t>(float_bits(sum)) - 0x3f000000;
  const std::int32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const std::int32_t bounded = magnitude >= 0x47800000 ? 0x7c00 : finite;  // 65536 and above, infinity
  const std::int32_t nan = 0x7e00 | ((magnitude >> 13) & 0x03ff);
  const std::int32_t result = magnitude > 0x7f800000 ? nan : bounded;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(result));
}

/// Rounds once: not the same as by way of the nearest float.
ULPSCOPE_BODY std::uint16_t fp16_from_double(double x) { return fp16_from_float(float_from_double_to_odd(x)); }
ULPSCOPE_BODY double fp16_to_double(std::uint16_t half) { return static_cast<double>(fp16_to_float(half)); }

}  // namespace ulpscope
