#include "kernels/tensor_core/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/formats/bits.h"
#include "kernels/formats/fp16.h"

namespace ulpscope::tensor_core {
namespace {

/// significand * 2^exponent_of_unit; `exponent` is what the unit compares.
struct Addend {
  std::int64_t significand = 0;
  int exponent = 0;
  int unit = 0;  ///< exponent of the significand's last place
};

/// A finite number with `fraction` bits below its leading one, or below the least normal exponent.
Addend decode(float x, int least, int fraction) {
  Addend d;
  d.exponent = x == 0.0f ? least : std::max(std::ilogb(x), least);
  d.unit = d.exponent - fraction;
  d.significand = static_cast<std::int64_t>(std::ldexp(static_cast<double>(x), -d.unit));
  return d;
}

Addend product(const SumRule& rule, float a, float b) {
  const int fraction = info(rule.operands).mantissa_bits, least = least_exponent(rule.operands);
  const Addend x = decode(a, least, fraction), y = decode(b, least, fraction);
  return {x.significand * y.significand, x.exponent + y.exponent, x.unit + y.unit};
}

/// Toward zero, to a multiple of 2^unit.
std::int64_t truncated(const Addend& x, int unit) {
  if (x.significand == 0) return 0;   // its unit may be any
  const int shift = x.unit - unit;
  const std::int64_t magnitude = std::llabs(x.significand);
  const std::int64_t kept = shift >= 0 ? magnitude << shift : shift > -63 ? magnitude >> -shift : 0;
  return x.significand < 0 ? -kept : kept;
}

/// sum * 2^unit, toward zero to `fraction` bits below the leading one (fp32's range).
float toward_zero(std::int64_t sum, int unit, int fraction) {
  if (sum == 0) return 0.0f;
  std::int64_t magnitude = std::llabs(sum);
  const int leading = 63 - __builtin_clzll(static_cast<unsigned long long>(magnitude)) + unit;
  const int last = std::max(leading, -126) - fraction;  // exponent of the last place that is kept
  const int drop = last - unit;
  if (drop > 0) magnitude = drop > 62 ? 0 : magnitude >> drop << drop;
  if (magnitude == 0) return 0.0f;
  const double value = std::ldexp(static_cast<double>(magnitude), unit);  // at most 25 + 5 bits: exact
  return static_cast<float>(sum < 0 ? -value : value);                    // representable, or beyond the range: infinite
}

float to_fp16(std::int64_t sum, int unit) {
  if (sum == 0) return 0.0f;
  const std::uint16_t half = fp16_from_double(std::ldexp(static_cast<double>(sum), unit));
  return (half & 0x7fffu) == 0 ? 0.0f : fp16_to_float(half);
}

float rounded(Result result, std::int64_t sum, int unit) {
  switch (result) {
    case Result::fp32:
      return toward_zero(sum, unit, 23);
    case Result::e8m13:
      return toward_zero(sum, unit, 13);
    case Result::fp16:
      return to_fp16(sum, unit);
  }
  return 0.0f;
}

/// What IEEE 754 makes of infinities and NaN; finite numbers do not change it.
float special_sum(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, int n, float c) {
  bool positive = c == HUGE_VALF, negative = c == -HUGE_VALF, nan = std::isnan(c);
  for (int i = 0; i < n && !nan; ++i) {
    const float x = a[i * a_stride], y = b[i * b_stride];
    if (std::isfinite(x) && std::isfinite(y)) continue;
    const float p = (std::isfinite(x) ? (x == 0.0f ? 0.0f : std::copysign(1.0f, x)) : x) *
                    (std::isfinite(y) ? (y == 0.0f ? 0.0f : std::copysign(1.0f, y)) : y);
    nan = std::isnan(p);
    positive = positive || p == HUGE_VALF;
    negative = negative || p == -HUGE_VALF;
  }
  if (nan || (positive && negative)) return float_from_bits(canonical_nan);
  return positive ? HUGE_VALF : -HUGE_VALF;
}

bool all_finite(const float* x, std::int64_t stride, int n) {
  for (int i = 0; i < n; ++i)
    if (!std::isfinite(x[i * stride])) return false;
  return true;
}

float block_sum(const SumRule& rule, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float c) {
  if (!std::isfinite(c) || !all_finite(a, a_stride, rule.width) || !all_finite(b, b_stride, rule.width))
    return special_sum(a, a_stride, b, b_stride, rule.width, c);
  const bool zeros = rule.zeros == ZeroProducts::included;
  const int zero_exponent = -126;  // MMA-Sim's
  Addend addends[widest_block + 1];
  int greatest = no_exponent_floor;
  for (int i = 0; i < rule.width; ++i) {
    float x = a[i * a_stride], y = b[i * b_stride];
    if (rule.operands == Format::tf32) {
      x = float_from_bits(float_bits(x) & 0xffffe000u);
      y = float_from_bits(float_bits(y) & 0xffffe000u);
    }
    addends[i] = product(rule, x, y);
    if (x != 0.0f && y != 0.0f) greatest = std::max(greatest, addends[i].exponent);
    if (zeros && (x == 0.0f || y == 0.0f)) {
      const int least = least_exponent(rule.operands);
      const int ex = x == 0.0f ? zero_exponent : std::max(std::ilogb(x), least);
      const int ey = y == 0.0f ? zero_exponent : std::max(std::ilogb(y), least);
      greatest = std::max(greatest, ex + ey);
    }
  }
  addends[rule.width] = decode(c, rule.result == Result::fp16 ? -14 : -126, 23);
  if (c != 0.0f) greatest = std::max(greatest, addends[rule.width].exponent);
  if (zeros && c == 0.0f) greatest = std::max(greatest, zero_exponent);
  if (greatest == no_exponent_floor) return 0.0f;
  greatest = std::max(greatest, rule.exponent_floor);
  const int unit = greatest - rule.fraction;
  std::int64_t sum = 0;
  for (int i = 0; i <= rule.width; ++i) sum += truncated(addends[i], unit);
  return rounded(rule.result, sum, unit);
}

}  // namespace

float reference_chain(const SumRule& rule, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                      std::int64_t k, float c) {
  for (std::int64_t i = 0; i < k && !std::isnan(c); i += rule.width)
    c = block_sum(rule, a + i * a_stride, a_stride, b + i * b_stride, b_stride, c);
  return std::isnan(c) ? float_from_bits(canonical_nan) : c;
}

float add_nearest(Result result, float running, float sum) {
  float total = running + sum;
  if (result == Result::fp16) {
    const std::uint16_t half = fp16_from_double(static_cast<double>(running) + static_cast<double>(sum));
    total = fp16_to_float(half);
  }
  return std::isnan(total) ? float_from_bits(canonical_nan) : total;
}

float reference_sum(const SumRule& rule, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                    std::int64_t k, float c) {
  const int length = period(rule);
  float chain = rule.restart != 0 ? 0.0f : c, running = c;
  for (std::int64_t start = 0; start < k; start += length) {
    float x[widest_block] = {}, y[widest_block] = {};
    for (int i = 0; i < length; ++i) {
      const std::int64_t at = start + place_of(rule, i);
      if (at >= k) continue;
      x[i] = a[at * a_stride];
      y[i] = b[at * b_stride];
    }
    chain = reference_chain(rule, x, 1, y, 1, length, chain);
    if (rule.restart == 0 || ((start + length) % rule.restart != 0 && start + length < k)) continue;
    running = add_nearest(rule.result, running, chain);
    chain = 0.0f;
  }
  return rule.restart != 0 ? running : chain;
}

}  // namespace ulpscope::tensor_core
