// Stochastic rounding fp32 → fp16, bf16, tf32: to one of the two neighbours, with the probability that makes the
// expectation the value itself. The random bits are an argument (math/random.h makes them), so a result can be had
// again.
//
// bf16, tf32 and normal fp16 numbers: random bits are added below the last place kept, and the rest is cut off, which
// is what software does for want of the `.rs` conversions of Blackwell: exactly unbiased, one random bit for each bit
// lost. fp16 subnormals lose more bits than that; there the part cut off is compared with a 24-bit random fraction: the
// probability is right to 2^-24. Values that the format has are never changed.
//
// At the upper end the neighbour above the largest finite value is the power of two after it (fp16: 65536), stored as
// infinity: a value between them becomes infinite with the probability of its place between the two (65520: one half),
// and from that power on always. Infinities stay; NaN stays NaN, quiet.
#pragma once

#include <cstdint>

#include "kernels/formats/bf16.h"
#include "kernels/formats/bits.h"
#include "kernels/formats/fp16.h"
#include "kernels/formats/tf32.h"
#include "kernels/portable.h"

namespace ulpscope {

/// Uses the lower 13 bits of random, for subnormal results the upper 24.
ULPSCOPE_BODY std::uint16_t fp16_stochastic(float x, std::uint32_t random) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + (random & 0x1fffu)) >> 13;
  // Below 2^-14: in units of 2^-24 (exact), less than 1024.
  const float units = magnitude < 0x38800000u ? float_from_bits(magnitude) * 0x1p24f : 0.0f;
  const std::int32_t whole = static_cast<std::int32_t>(units);
  const float rest = units - static_cast<float>(whole);
  const float threshold = static_cast<float>(static_cast<std::int32_t>(random >> 8)) * 0x1p-24f;
  const std::uint32_t subnormal = static_cast<std::uint32_t>(whole) + (threshold < rest ? 1u : 0u);
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t bounded = magnitude >= 0x47800000u ? 0x7c00u : finite;
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
  return static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000u ? nan : bounded));
}

/// Uses the lower 16 bits of random.
ULPSCOPE_BODY std::uint16_t bf16_stochastic(float x, std::uint32_t random) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t rounded = (bits + (random & 0xffffu)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x0040u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t finite_or_infinite = magnitude == 0x7f800000u ? bits >> 16 : rounded;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000u ? nan : finite_or_infinite);
}

/// Uses the lower 13 bits of random.
ULPSCOPE_BODY float tf32_stochastic(float x, std::uint32_t random) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t rounded = (bits + (random & 0x1fffu)) & 0xffffe000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t special = (magnitude > 0x7f800000u ? bits | 0x00400000u : bits) & 0xffffe000u;
  return float_from_bits(magnitude >= 0x7f800000u ? special : rounded);
}

}  // namespace ulpscope
