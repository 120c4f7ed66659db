// fp8 (OCP 8-bit floating point, NVIDIA's and torch's float8_e4m3fn and float8_e5m2).
//   e4m3: bias 7, largest finite value 448, no infinity, NaN is S.1111.111; subnormals down to 2^-9.
//   e5m2: bias 15, largest finite value 57344, infinity S.11111.00; subnormals down to 2^-16.
// Rounding is to nearest, ties to even. What happens above the range is a parameter (CUDA: __NV_SATFINITE, __NV_NOSAT):
//   satfinite: the largest finite value, for infinities too: an overflow leaves no trace. What the hardware
//   instructions do. nosat:     e5m2 infinity, e4m3 NaN.
// NaN gives 0x7f, the sign discarded, as CUDA does it.
#pragma once

#include <cstdint>

#include "kernels/formats/bits.h"
#include "kernels/formats/fp16.h"
#include "kernels/portable.h"

namespace ulpscope {

enum class Fp8Saturation : std::uint8_t { satfinite, nosat };

/// Comparisons are signed: SSE2 has no others.
ULPSCOPE_BODY std::uint8_t fp8_e4m3_from_float(float x, Fp8Saturation saturation) {
  const std::uint32_t bits = float_bits(x);
  const std::int32_t sign = static_cast<std::int32_t>(bits >> 24) & 0x80;
  const std::int32_t magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
  const std::int32_t rebiased = magnitude - 0x3c000000;  // 127 - 7
  const std::int32_t normal = (rebiased + 0x7ffff + ((rebiased >> 20) & 1)) >> 20;
  const float sum = float_from_bits(bits & 0x7fffffffu) + 0x1p14f;  // its last place is that of the subnormals, 2^-9
  const std::int32_t subnormal = static_cast<std::int32_t>(float_bits(sum)) - 0x46800000;
  const std::int32_t over = saturation == Fp8Saturation::satfinite ? 0x7e : 0x7f;
  const std::int32_t finite = magnitude < 0x3c800000 ? subnormal : normal;
  const std::int32_t result = sign | (finite > 0x7e ? over : finite);
  return static_cast<std::uint8_t>(magnitude > 0x7f800000 ? 0x7f : result);
}

ULPSCOPE_BODY float fp8_e4m3_to_float(std::uint8_t value) {
  const std::uint32_t sign = (static_cast<std::uint32_t>(value) & 0x80u) << 24;
  const std::int32_t magnitude = value & 0x7f;
  const std::int32_t normal = (magnitude << 20) + 0x3c000000;
  const std::int32_t subnormal = static_cast<std::int32_t>(float_bits(static_cast<float>(magnitude) * 0x1p-9f));
  const std::int32_t finite = magnitude < 0x08 ? subnormal : normal;
  return float_from_bits(sign | static_cast<std::uint32_t>(magnitude == 0x7f ? 0x7fc00000 : finite));
}

ULPSCOPE_BODY std::uint8_t fp8_e5m2_from_float(float x, Fp8Saturation saturation) {
  const std::uint32_t bits = float_bits(x);
  const std::int32_t sign = static_cast<std::int32_t>(bits >> 24) & 0x80;
  const std::int32_t magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
  const std::int32_t rebiased = magnitude - 0x38000000;  // 127 - 15
  const std::int32_t normal = (rebiased + 0xfffff + ((rebiased >> 21) & 1)) >> 21;
  const float sum = float_from_bits(bits & 0x7fffffffu) + 0x1p7f;  // its last place is that of the subnormals, 2^-16
  const std::int32_t subnormal = static_cast<std::int32_t>(float_bits(sum)) - 0x43000000;
  const std::int32_t over = saturation == Fp8Saturation::satfinite ? 0x7b : 0x7c;
  const std::int32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const std::int32_t result = sign | (finite > 0x7b ? over : finite);
  return static_cast<std::uint8_t>(magnitude > 0x7f800000 ? 0x7f : result);
}

/// e5m2 is the upper half of fp16.
ULPSCOPE_BODY float fp8_e5m2_to_float(std::uint8_t value) {
  return fp16_word_to_float(static_cast<std::uint32_t>(value) << 8);
}

ULPSCOPE_BODY std::uint8_t fp8_e4m3_from_double(double x, Fp8Saturation saturation) {
  return fp8_e4m3_from_float(float_from_double_to_odd(x), saturation);
}
ULPSCOPE_BODY std::uint8_t fp8_e5m2_from_double(double x, Fp8Saturation saturation) {
  return fp8_e5m2_from_float(float_from_double_to_odd(x), saturation);
}

}  // namespace ulpscope
