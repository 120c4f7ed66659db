// Rounding and decoding by the definition, in double, written without a look at the bit tricks of kernels/formats.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/formats/format.h"

namespace ulpscope::reference {

enum class Tie { even, away, truncate };

/// x rounded to a binary format: the multiples of its last place around x, the nearer one, the rule at a tie.
/// Magnitudes that round beyond the largest finite value become infinite. Exact for any double x: only scaling by
/// powers of two.
inline double round_to(const FormatInfo& format, double x, Tie tie = Tie::even) {
  if (std::isnan(x) || std::isinf(x) || x == 0.0) return x;
  const double magnitude = std::fabs(x);
  const int least_exponent = std::ilogb(format.min_normal);
  const int exponent = std::max(std::ilogb(magnitude), least_exponent);
  const double units = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const double below = std::floor(units);
  const double rest = units - below;
  bool up = rest > 0.5;
  if (rest == 0.5) up = tie == Tie::away || std::fmod(below, 2.0) == 1.0;
  if (tie == Tie::truncate) up = false;
  double result = std::ldexp(below + (up ? 1.0 : 0.0), exponent - format.mantissa_bits);
  if (result > format.max_finite) result = std::numeric_limits<double>::infinity();
  return std::copysign(result, x);
}

/// The value of a bit pattern of an IEEE-like format (sign, exponent, fraction; largest exponent: infinity and NaN).
inline double decode(const FormatInfo& format, std::uint32_t pattern) {
  const std::uint32_t fraction = pattern & ((1u << format.mantissa_bits) - 1u);
  const std::uint32_t exponent = (pattern >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1u);
  const bool negative = ((pattern >> (format.mantissa_bits + format.exponent_bits)) & 1u) != 0;
  const std::uint32_t last = (1u << format.exponent_bits) - 1u;
  double value;
  if (format.has_infinity && exponent == last)
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (!format.has_infinity && exponent == last && fraction == (1u << format.mantissa_bits) - 1u)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(fraction), 1 - format.bias - format.mantissa_bits);
  else
    value = std::ldexp(1.0 + std::ldexp(static_cast<double>(fraction), -format.mantissa_bits),
                       static_cast<int>(exponent) - format.bias);
  return negative ? -value : value;
}

/// Both NaN, or the same value with the same sign (of zero too).
inline bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// For every finite non-negative value v of the format (patterns 0 … last_finite): v, the point half way to the next
/// value (after the last: to the power of two above), and the fp32 neighbours of both; with both signs.
inline std::vector<float> boundaries(const FormatInfo& format, std::uint32_t last_finite) {
  std::vector<float> points;
  const float infinite = std::numeric_limits<float>::infinity();
  for (std::uint32_t pattern = 0; pattern <= last_finite; ++pattern) {
    const double value = decode(format, pattern);
    const double place = std::ldexp(
        1.0, std::max(value > 0 ? std::ilogb(value) : -2000, std::ilogb(format.min_normal)) - format.mantissa_bits);
    for (const double point : {value, value + place / 2}) {
      const float x = static_cast<float>(point);
      for (const float y : {x, std::nextafter(x, infinite), std::nextafter(x, -infinite)}) {
        points.push_back(y);
        points.push_back(-y);
      }
    }
  }
  return points;
}

}  // namespace ulpscope::reference
