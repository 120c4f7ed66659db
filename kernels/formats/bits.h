// Bit patterns of floats, for C++ and CUDA alike.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

ULPSCOPE_BODY std::uint32_t float_bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
ULPSCOPE_BODY float float_from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
ULPSCOPE_BODY std::uint64_t double_bits(double x) { return __builtin_bit_cast(std::uint64_t, x); }
ULPSCOPE_BODY double double_from_bits(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }

/// double → float, rounded to odd: truncated, and the last bit is set if anything was lost. Rounding the result once
/// more to a format with at most 22 significant bits gives what one direct rounding of x gives, whatever its tie rule,
/// because the last bit tells "exactly half way" from "a little more". A finite x beyond the range of fp32 gives its
/// largest finite value, which all narrower formats round as they must.
ULPSCOPE_BODY float float_from_double_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const double magnitude = x < 0 ? -x : x;
  const double back_magnitude = back < 0 ? -back : back;
  const std::uint32_t bits = float_bits(nearest);
  const std::uint32_t truncated = bits - (back_magnitude > magnitude ? 1u : 0u);
  const std::uint32_t odd = back_magnitude != magnitude ? truncated | 1u : truncated;
  return float_from_bits(x != x ? bits : odd);
}

}  // namespace ulpscope
