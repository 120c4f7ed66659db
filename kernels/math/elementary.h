// Elementary functions with the same bits on every device and for every vector width: branch-free, made of + - * / and
// the correctly rounded square root, integer operations on the bit patterns and selects; no contraction, no tables,
// nothing from the C library in fp32. Loops over them vectorise. Round-to-nearest and gradual underflow are taken for
// granted.
//
// Greatest error in units in the last place of the fp32 result (tests/kernels/math checks bounds a little wider):
//   exp 0.97   log 0.83   tanh 1.30   erf 1.32   sin, cos 0.501 (|x| up to 4.2e8)   sqrt 0.5   rsqrt 1.5
// found with every 11th of all bit patterns, against the C library in double.
// Special values as in C: exp(-inf) = 0, exp(x) = inf from 88.72284 on, exp underflows gradually and is 0 from -103.98
// down; log(0) = -inf, log(x < 0) = NaN; tanh, erf and sin keep -0; sin and cos of an infinity are NaN; NaN stays NaN.
// Coefficients: minimax polynomials for the ranges given beside them, fitted with mpmath (Remez exchange, weights such
// that the error of the result is level), rounded one after the other, the remaining ones fitted again.
//
// The double overloads serve fp64 gradient checks on the host and call the C library (on a device: CUDA's).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/formats/bits.h"
#include "kernels/portable.h"

namespace ulpscope::math {

ULPSCOPE_BODY float infinity() { return float_from_bits(0x7f800000u); }
ULPSCOPE_BODY float quiet_nan() { return float_from_bits(0x7fc00000u); }

/// |x|, and the magnitude of x with the sign of y, for NaN too.
ULPSCOPE_BODY float magnitude(float x) { return float_from_bits(float_bits(x) & 0x7fffffffu); }
ULPSCOPE_BODY float with_sign_of(float x, float y) {
  return float_from_bits((float_bits(x) & 0x7fffffffu) | (float_bits(y) & 0x80000000u));
}

/// Correctly rounded (on the GPU: nvcc's default, -prec-sqrt=true).
ULPSCOPE_BODY float sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return ::sqrtf(x);
#else
  return __builtin_sqrtf(x);
#endif
}
ULPSCOPE_BODY double sqrt(double x) {
#if defined(__CUDA_ARCH__)
  return ::sqrt(x);
#else
  return __builtin_sqrt(x);
#endif
}

/// 1 / sqrt(x): two roundings.
ULPSCOPE_BODY float rsqrt(float x) { return 1.0f / math::sqrt(x); }
ULPSCOPE_BODY double rsqrt(double x) { return 1.0 / math::sqrt(x); }

/// x^n by repeated squaring, from the lowest bit of n up; n < 0: the reciprocal of x^-n.
template <class T>
ULPSCOPE_BODY T power(T x, std::int64_t n) {
  std::uint64_t bits = n < 0 ? 0u - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  T result = static_cast<T>(1);
  T square = x;
  while (bits != 0) {
    if ((bits & 1u) != 0) result = result * square;
    square = square * square;
    bits >>= 1;
  }
  return n < 0 ? static_cast<T>(1) / result : result;
}

/// x = n ln 2 + r with |r| <= 0.3466; exp(x) = 2^n (1 + r + r^2 q(r)). For |x| < 2^21 / log2(e).
struct ExpParts {
  float value;  ///< exp(r), in [0.707, 1.415]
  std::int32_t n;
};
ULPSCOPE_BODY ExpParts exp_parts(float x) {
  constexpr float round_to_integer = 0x1.8p23f;  // adding it leaves an integer in the lower bits
  const float shifted = x * 0x1.715476p+0f + round_to_integer;
  const float n = shifted - round_to_integer;
  // ln 2 in two parts; the first has 16 bits, so that n times it is exact.
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  const float q = 0.5f + r * (0.166666478f +
                              r * (0.0416664854f + r * (0.00833790936f + r * (0.00139293179f + r * 0.000169825056f))));
  return {1.0f + (r + (r * r) * q), static_cast<std::int32_t>(float_bits(shifted) - float_bits(round_to_integer))};
}
/// 2^n for -126 <= n <= 127.
ULPSCOPE_BODY float power_of_two(std::int32_t n) { return float_from_bits(static_cast<std::uint32_t>(n + 127) << 23); }

ULPSCOPE_BODY float exp(float x) {
  const float above = x > 130.0f ? 130.0f : x;
  const float clamped = above < -160.0f ? -160.0f : above;
  const ExpParts parts = exp_parts(clamped);
  // NaN leaves any n behind: mask it, so that the sums below stay in range. Two factors reach beyond the exponent
  // range.
  const std::int32_t n = x == x ? parts.n : 0;
  const std::int32_t half = n >> 1;
  return parts.value * power_of_two(half) * power_of_two(n - half);
}

/// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt 2); s = f / (2 + f); log(1 + f) = 2 s + s R(s^2), arranged as
/// f - (f^2/2 - s (f^2/2 + R)) so that the large terms are exact.
ULPSCOPE_BODY float log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const std::uint32_t bits = float_bits(subnormal ? x * 0x1p23f : x);
  const std::uint32_t offset = bits - 0x3f3504f3u;  // sqrt(1/2)
  const std::int32_t exponent = static_cast<std::int32_t>(offset) >> 23;
  const float k = static_cast<float>(exponent - (subnormal ? 23 : 0));
  const float f = float_from_bits((offset & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float R = z * (0.666666687f + z * (0.399997473f + z * (0.285705715f + z * 0.230085403f)));
  const float half_square = 0.5f * f * f;
  const float finite = k * 0x1.62e4p-1f - ((half_square - (s * (half_square + R) + k * 0x1.7f7d1cp-20f)) - f);
  const float positive = x < infinity() ? finite : x;
  const float not_positive = x == 0.0f ? -infinity() : quiet_nan();
  return x > 0.0f ? positive : not_positive;
}

/// Below 0.625: x + x z P(z), z = x^2; above: 1 - 2 / (exp(2 |x|) + 1).
ULPSCOPE_BODY float tanh(float x) {
  const float a = magnitude(x);
  const float z = x * x;
  const float p =
      -0.333333313f +
      z * (0.133332223f + z * (-0.0539484546f + z * (0.0217086617f + z * (-0.00819475856f + z * 0.00215724111f))));
  const float small = x + x * (z * p);
  const float bounded = a < 10.0f ? a : 10.0f;  // tanh rounds to 1 from 9.02 on; NaN becomes 10 and is put right below
  const ExpParts e = exp_parts(bounded + bounded);
  const float large = 1.0f - 2.0f / (e.value * power_of_two(e.n) + 1.0f);
  const float result = with_sign_of(a < 0.625f ? small : large, x);
  return x == x ? result : x;
}

/// Below 0.92: x + x P(x^2); above: 1 - exp(-Q(|x|)), Q = -log erfc.
ULPSCOPE_BODY float erf(float x) {
  const float a = magnitude(x);
  const float z = x * x;
  const float p = 0.128379166f +
                  z * (-0.376126289f +
                       z * (0.112836242f + z * (-0.0268555861f +
                                                z * (0.00519193662f + z * (-0.000804362935f + z * 7.96841123e-05f)))));
  const float small = x + x * p;
  const float b = a < 4.0f ? a : 4.0f;  // erf rounds to 1 from 3.92 on; NaN becomes 4 and is put right below
  const float q =
      -0.000175619134f +
      b * (1.12951958f +
           b * (0.6333372f +
                b * (0.108291097f +
                     b * (-0.0251267552f + b * (0.00417392794f + b * (-0.000435071503f + b * 2.11494007e-05f))))));
  const ExpParts e = exp_parts(-q);
  const float large = 1.0f - e.value * power_of_two(e.n);
  const float result = with_sign_of(a < 0.92f ? small : large, x);
  return x == x ? result : x;
}

/// sin (quadrant 0) or cos (quadrant 1) of x, in double inside. x - n pi/2 is exact but for the last part of pi/2 as
/// long as n has at most 28 bits: |x| <= 4.2e8. Beyond, the absolute error grows like |x| 2^-52; the result stays in
/// [-1, 1].
ULPSCOPE_BODY float sin_quadrant(float x, std::uint64_t quadrant) {
  constexpr double round_to_integer = 0x1.8p52;
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0x1.45f306dc9c883p-1 + round_to_integer;  // 2 / pi
  const double n = shifted - round_to_integer;
  const double r = ((wide - n * 0x1.921fb5p+0) - n * 0x1.110b46p-26) - n * 0x1.1a62633145c07p-54;
  const double z = r * r;
  const double sine =
      r + r * (z * (-0x1.5555554cce2f5p-3 +
                    z * (0x1.111108a0a2333p-7 + z * (-0x1.a00fa3fcc072ep-13 + z * 0x1.6cd98dedf99e8p-19))));
  const double cosine =
      1.0 + z * (-0.5 + z * (0x1.5555554f7fe8bp-5 +
                             z * (-0x1.6c16b8c40b4e2p-10 + z * (0x1.a0113823f7fb2p-16 + z * -0x1.242f1d52c9288p-22))));
  const std::uint64_t turn = double_bits(shifted) + quadrant;
  const std::uint64_t odd = 0u - (turn & 1u);  // all ones where the cosine is wanted
  const std::uint64_t sign = (turn & 2u) << 62;
  const double value = double_from_bits(((double_bits(sine) & ~odd) | (double_bits(cosine) & odd)) ^ sign);
  const double below = value > 1.0 ? 1.0 : value;
  return static_cast<float>(below < -1.0 ? -1.0 : below);
}
ULPSCOPE_BODY float sin(float x) {
  const float y = sin_quadrant(x, 0);
  return x == 0.0f ? x : y;  // keeps -0
}
ULPSCOPE_BODY float cos(float x) { return sin_quadrant(x, 1); }

ULPSCOPE_BODY double exp(double x) { return ::exp(x); }
ULPSCOPE_BODY double log(double x) { return ::log(x); }
ULPSCOPE_BODY double tanh(double x) { return ::tanh(x); }
ULPSCOPE_BODY double erf(double x) { return ::erf(x); }
ULPSCOPE_BODY double sin(double x) { return ::sin(x); }
ULPSCOPE_BODY double cos(double x) { return ::cos(x); }

}  // namespace ulpscope::math
