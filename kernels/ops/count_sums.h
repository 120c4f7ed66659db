// Sums of a block's values and of its rounding errors, in 16 fixed lanes that are folded at the end: the same bits in any instruction
// set and on every device. Used by ops/round_and_count.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/ops/count_patterns.h"

namespace ulpscope::counting {

inline constexpr int sum_lanes = 16;

template <class T>
struct LaneSums {
  double sum[sum_lanes] = {};
  double squares[sum_lanes] = {};
  double errors[sum_lanes] = {};
  double squared_errors[sum_lanes] = {};
  T relative[sum_lanes] = {};
};

template <class T>
ULPSCOPE_BODY void add_lane(T x, T y, LaneSums<T>& s, int lane) {
  using L = Layout<T>;
  const bool finite = (bits_of(x) & L::magnitude) < L::infinity;
  const bool kept = finite && (bits_of(y) & L::magnitude) < L::infinity;
  const T value = finite ? x : T(0);
  const T difference = kept ? y - x : T(0);  // exact: a rounding error fits the format it was rounded from
  const T error = difference < T(0) ? -difference : difference;
  const T magnitude = value < T(0) ? -value : value;
  const T ratio = error / (magnitude == T(0) ? T(1) : magnitude);
  const double v = static_cast<double>(value);
  const double e = static_cast<double>(error);
  s.sum[lane] += v;
  s.squares[lane] += v * v;
  s.errors[lane] += e;
  s.squared_errors[lane] += e * e;
  s.relative[lane] = ratio > s.relative[lane] ? ratio : s.relative[lane];
}

ULPSCOPE_BODY double fold(double* lane) {
  for (int width = sum_lanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

/// x, or 0 where it is not finite; with integers, so that a loop over it becomes vector code.
ULPSCOPE_BODY float finite_or_zero(float x) {
  const auto magnitude = static_cast<std::int32_t>(bits_of(x) & Layout<float>::magnitude);
  const bool finite = magnitude < static_cast<std::int32_t>(Layout<float>::infinity);
  return float_from_bits(bits_of(x) & (0u - static_cast<std::uint32_t>(finite)));
}
ULPSCOPE_BODY double finite_or_zero(double x) {
  const auto magnitude = static_cast<std::int64_t>(bits_of(x) & Layout<double>::magnitude);
  const bool finite = magnitude < static_cast<std::int64_t>(Layout<double>::infinity);
  return double_from_bits(bits_of(x) & (0ull - static_cast<std::uint64_t>(finite)));
}

/// One value to each lane. Two strides, one in T and one in double: a loop with both does not become vector code.
template <class T>
ULPSCOPE_BODY void add_lanes(const T* values, double* sum, double* squares) {
  T finite[sum_lanes];
  for (int lane = 0; lane < sum_lanes; ++lane) finite[lane] = finite_or_zero(values[lane]);
  for (int lane = 0; lane < sum_lanes; ++lane) {
    const double v = static_cast<double>(finite[lane]);
    sum[lane] += v;
    squares[lane] += v * v;
  }
}

/// Adds the finite values of a block, and their squares.
template <class T>
ULPSCOPE_BODY void count_sums(const T* values, int n, double& total, double& total_of_squares) {
  double sum[sum_lanes] = {};
  double squares[sum_lanes] = {};
  int i = 0;
  for (; i + sum_lanes <= n; i += sum_lanes) add_lanes(values + i, sum, squares);
  T rest[sum_lanes] = {};  // zeros change no sum
  for (int lane = 0; i + lane < n; ++lane) rest[lane] = values[i + lane];
  add_lanes(rest, sum, squares);
  total += fold(sum);
  total_of_squares += fold(squares);
}

/// |y - x|, or 0 where either is not finite. Exact: a rounding error fits the format it was rounded from.
template <bool all_finite, class T>
ULPSCOPE_BODY T error_of(T x, T y) {
  using L = Layout<T>;
  using Bits = typename L::Bits;
  using Int = std::make_signed_t<Bits>;
  Bits error = bits_of(y - x) & L::magnitude;
  if constexpr (!all_finite) {
    const Int a = static_cast<Int>(bits_of(x) & L::magnitude), b = static_cast<Int>(bits_of(y) & L::magnitude);
    const bool kept = (a > b ? a : b) < static_cast<Int>(L::infinity);
    error &= Bits{0} - static_cast<Bits>(kept);
  }
  return value_of<T>(static_cast<Int>(error));
}

/// The greatest relative error of a block, if it is above `known`; else any number up to that. Dividing is the dear part, and only
/// few blocks have an element that can be above: error / x rounds to more than known only if error >= known * x, rounded or not.
template <class T>
ULPSCOPE_BODY T greatest_relative(const T* before, const T* error, int n, T known) {
  using L = Layout<T>;
  using Int = std::make_signed_t<typename L::Bits>;
  Int candidates = 0;
  if (known >= T(1)) {  // something was flushed; more than that takes an error above the number itself
    for (int i = 0; i < n; ++i) {
      const T x = before[i] < T(0) ? -before[i] : before[i];
      candidates |= static_cast<Int>(error[i] > x);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      const T x = before[i] < T(0) ? -before[i] : before[i];
      candidates |= static_cast<Int>(error[i] > T(0)) & static_cast<Int>(error[i] >= known * x);
    }
  }
  if (candidates == 0) return T(0);
  Int greatest = 0;  // not negative, so their bits are ordered as they are
  for (int i = 0; i < n; ++i) {
    const T x = before[i] < T(0) ? -before[i] : before[i];
    const T ratio = error[i] / x;
    const Int bits = static_cast<Int>(bits_of(ratio)) & -static_cast<Int>(error[i] > T(0));  // not of 0 / 0, nor of NaN
    greatest = bits > greatest ? bits : greatest;
  }
  return value_of<T>(greatest);
}

template <bool all_finite, class T>
ULPSCOPE_BODY void count_sums_and_errors(const T* before, const T* after, int n, RoundingCounts& c) {
  T error[count_block_elements];
  for (int i = 0; i < n; ++i) error[i] = error_of<all_finite>(before[i], after[i]);
  count_sums(before, n, c.sum, c.sum_of_squares);
  count_sums(static_cast<const T*>(error), n, c.sum_of_errors, c.sum_of_squared_errors);
  const double relative =
      static_cast<double>(greatest_relative(before, static_cast<const T*>(error), n, static_cast<T>(c.greatest_relative_error)));
  if (relative > c.greatest_relative_error) c.greatest_relative_error = relative;
}

}  // namespace ulpscope::counting
