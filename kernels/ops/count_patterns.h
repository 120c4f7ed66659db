// A block before a rounding and after it, counted with integers: what is not finite, zero, flushed, subnormal, and the extent of the
// rest. Used by ops/round_and_count.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/formats/bits.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/portable.h"

namespace ulpscope {

inline constexpr int count_block_elements = 1024;

namespace counting {

ULPSCOPE_BODY std::uint32_t bits_of(float x) { return float_bits(x); }
ULPSCOPE_BODY std::uint64_t bits_of(double x) { return double_bits(x); }

template <class T>
struct Layout;
template <>
struct Layout<float> {
  using Bits = std::uint32_t;
  static constexpr Bits magnitude = 0x7fffffffu;
  static constexpr Bits infinity = 0x7f800000u;
};
template <>
struct Layout<double> {
  using Bits = std::uint64_t;
  static constexpr Bits magnitude = 0x7fffffffffffffffull;
  static constexpr Bits infinity = 0x7ff0000000000000ull;
};

/// The number with these bits.
template <class T>
ULPSCOPE_BODY T value_of(std::make_signed_t<typename Layout<T>::Bits> bits) {
  if constexpr (sizeof(T) == 4) {
    return float_from_bits(static_cast<std::uint32_t>(bits));
  } else {
    return double_from_bits(static_cast<std::uint64_t>(bits));
  }
}

/// Magnitudes of a block, as bits: before a rounding and after it.
template <class T>
struct Extent {
  using Int = std::make_signed_t<typename Layout<T>::Bits>;  // magnitudes fit, and signed comparisons are the cheaper ones
  Int least = Layout<T>::infinity, greatest = 0;             ///< before: of nonzero finite elements; no such: infinity and 0
  bool finite = false;                                       ///< every element, before and after
  bool unchanged = false;                                    ///< rounding changed no bit, as in formats that hold T whole
};

/// What was not finite before, or is not after; and the least and greatest of the rest.
template <class T>
ULPSCOPE_BODY void count_not_finite(const T* before, const T* after, int n, Extent<T>& extent, RoundingCounts& c) {
  using L = Layout<T>;
  using Int = typename Extent<T>::Int;
  const Int infinity = static_cast<Int>(L::infinity);
  Int nan = 0, positive = 0, infinite = 0, not_finite = 0, greatest = 0;
  for (int i = 0; i < n; ++i) {
    const Int bits = static_cast<Int>(bits_of(before[i]));
    const Int a = bits & static_cast<Int>(L::magnitude);
    const Int b = static_cast<Int>(bits_of(after[i]) & L::magnitude);
    nan += static_cast<Int>(a > infinity);
    positive += static_cast<Int>(bits == infinity);
    infinite += static_cast<Int>(a == infinity);
    not_finite += static_cast<Int>(b >= infinity);
    const Int finite = a & -static_cast<Int>(a < infinity);
    greatest = finite > greatest ? finite : greatest;
  }
  extent.greatest = greatest;
  c.nan += nan;
  c.positive_infinity += positive;
  c.negative_infinity += infinite - positive;
  c.overflowed += not_finite - nan - infinite;  // what is not finite before is not so after: the rest is the rounding's
}

/// What is zero or small; and the least of the rest.
template <class T>
ULPSCOPE_BODY void count_small(const T* before, const T* after, int n, T least_normal, Extent<T>& extent, RoundingCounts& c) {
  using L = Layout<T>;
  using Int = typename Extent<T>::Int;
  const Int infinity = static_cast<Int>(L::infinity);
  const Int normal = static_cast<Int>(bits_of(least_normal));
  Int zero = 0, zero_after = 0, small = 0, least = infinity;
  for (int i = 0; i < n; ++i) {
    const Int a = static_cast<Int>(bits_of(before[i]) & L::magnitude);
    const Int b = static_cast<Int>(bits_of(after[i]) & L::magnitude);
    const Int is_zero = static_cast<Int>(a == 0);
    zero += is_zero;
    zero_after += static_cast<Int>(b == 0);
    small += static_cast<Int>(b < normal);
    const Int nonzero = a | (-is_zero & infinity);
    least = nonzero < least ? nonzero : least;
  }
  extent.least = least;
  c.flushed += zero_after - zero;  // likewise
  c.subnormal += small > zero_after ? small - zero_after : 0;  // small is 0 if no fp32 number is below the least normal
  c.zero += zero;
}

/// What can be counted with integers. Most blocks are finite and have nothing small, and one pass says so.
template <class T>
ULPSCOPE_BODY Extent<T> count_patterns(const T* before, const T* after, int n, T least_normal, RoundingCounts& c) {
  using L = Layout<T>;
  using Int = typename Extent<T>::Int;
  const Int infinity = static_cast<Int>(L::infinity);
  const Int normal = static_cast<Int>(bits_of(least_normal));
  Int least = L::magnitude, greatest = 0, least_after = L::magnitude, greatest_after = 0, difference = 0;
  for (int i = 0; i < n; ++i) {
    const Int x = static_cast<Int>(bits_of(before[i]));
    const Int y = static_cast<Int>(bits_of(after[i]));
    const Int a = x & static_cast<Int>(L::magnitude);
    const Int b = y & static_cast<Int>(L::magnitude);
    least = a < least ? a : least;
    greatest = a > greatest ? a : greatest;
    least_after = b < least_after ? b : least_after;
    greatest_after = b > greatest_after ? b : greatest_after;
    difference |= x ^ y;
  }
  Extent<T> extent;
  extent.least = least;
  extent.greatest = greatest;
  extent.finite = greatest < infinity && greatest_after < infinity;
  extent.unchanged = difference == 0;
  if (!extent.finite) count_not_finite(before, after, n, extent, c);
  if (least == 0 || least_after == 0 || least_after < normal) count_small(before, after, n, least_normal, extent, c);
  c.elements += n;
  const double least_value = value_of<T>(extent.least), greatest_value = value_of<T>(extent.greatest);
  if (extent.least < infinity && (c.least_magnitude == 0.0 || least_value < c.least_magnitude)) c.least_magnitude = least_value;
  if (greatest_value > c.greatest_magnitude) c.greatest_magnitude = greatest_value;
  return extent;
}

/// The same, but only what RoundingCounts::range_only asks for; without the values after rounding. limit: the least magnitude that
/// is not finite after it.
template <class T>
ULPSCOPE_BODY void count_range(const T* before, int n, T limit, RoundingCounts& c) {
  using L = Layout<T>;
  using Int = std::make_signed_t<typename L::Bits>;
  const Int infinity = static_cast<Int>(L::infinity);
  const Int first_lost = static_cast<Int>(bits_of(limit));
  Int greatest = 0;
  for (int i = 0; i < n; ++i) {
    const Int a = static_cast<Int>(bits_of(before[i]) & L::magnitude);
    greatest = a > greatest ? a : greatest;
  }
  c.elements += n;
  if (greatest >= first_lost) {   // seldom: who is not finite, and who will not be
    Int nan = 0, positive = 0, infinite = 0, lost = 0;
    greatest = 0;
    for (int i = 0; i < n; ++i) {
      const Int bits = static_cast<Int>(bits_of(before[i]));
      const Int a = bits & static_cast<Int>(L::magnitude);
      nan += static_cast<Int>(a > infinity);
      positive += static_cast<Int>(bits == infinity);
      infinite += static_cast<Int>(a == infinity);
      lost += static_cast<Int>(a >= first_lost);
      const Int finite = a & -static_cast<Int>(a < infinity);
      greatest = finite > greatest ? finite : greatest;
    }
    c.nan += nan;
    c.positive_infinity += positive;
    c.negative_infinity += infinite - positive;
    c.overflowed += lost - nan - infinite;
  }
  const double value = value_of<T>(greatest);
  if (value > c.greatest_magnitude) c.greatest_magnitude = value;
}

}  // namespace counting
}  // namespace ulpscope
