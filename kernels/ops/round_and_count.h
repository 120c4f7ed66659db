// Rounding with a look at what it loses. The rounding itself is the plain one (formats/tile.h), so the bits are the
// same whether anyone looks or not; the counts come from comparing the values before and after.
//
// Blocks of at most 1024 elements: inside one, the sums run in 16 fixed lanes that are folded at the end, and blocks
// are added in order. A caller that splits a tensor over threads must split it independently of their number and merge
// the tallies in order (kernels/cpu/team.h does); then the sums too have the same bits for any number of
// threads.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/formats/bits.h"
#include "kernels/formats/tile.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/portable.h"

namespace ulpscope {

inline constexpr int count_block_elements = 1024;

/// Counts in the making: those of one run of blocks. Large (about 7 KiB), meant for the stack of the thread that
/// counts.
struct RoundingTally {
  RoundingCounts counts;
  std::int64_t pending = 0;  ///< elements in `bins` that are not yet in counts.histogram
  /// Four copies of the histogram, so that equal exponents in a row do not wait for each other's store. The last bin
  /// collects what is not in the histogram: zeros and non-finite values.
  std::uint32_t bins[4][histogram_bins + 1];
};

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

/// The histogram's bin of a magnitude, given as bits.
ULPSCOPE_BODY std::int32_t bin_of(std::uint32_t magnitude) {
  const std::int32_t normal = static_cast<std::int32_t>(magnitude >> 23) - 127 - histogram_lowest_exponent;
  // A subnormal is a whole number of 2^-149; as a float that number shows its exponent.
  const std::uint32_t whole = float_bits(static_cast<float>(static_cast<std::int32_t>(magnitude)));
  const std::int32_t subnormal = static_cast<std::int32_t>(whole >> 23) - 127;
  const std::int32_t bin = magnitude < 0x00800000u ? subnormal : normal;
  return magnitude == 0 || magnitude >= Layout<float>::infinity ? histogram_bins : bin;
}
ULPSCOPE_BODY std::int32_t bin_of(std::uint64_t magnitude) {
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 52) - 1023 - histogram_lowest_exponent;
  const std::int32_t low = exponent < 0 ? 0 : exponent;
  const std::int32_t bin = low >= histogram_bins ? histogram_bins - 1 : low;
  return magnitude == 0 || magnitude >= Layout<double>::infinity ? histogram_bins : bin;
}

/// What can be counted with integers.
template <class T>
ULPSCOPE_BODY void count_patterns(const T* before, const T* after, int n, T least_normal, RoundingCounts& c) {
  using L = Layout<T>;
  using Bits = typename L::Bits;
  using Int = std::make_signed_t<Bits>;  // magnitudes fit, and signed comparisons are the cheaper ones
  const Int infinity = static_cast<Int>(L::infinity);
  const Int normal = static_cast<Int>(bits_of(least_normal));
  Int nan = 0, positive = 0, infinite = 0, zero = 0, not_finite = 0, zero_after = 0, small = 0;
  Int least = infinity, greatest = 0;
  for (int i = 0; i < n; ++i) {
    const Int bits = static_cast<Int>(bits_of(before[i]));
    const Int a = bits & static_cast<Int>(L::magnitude);
    const Int b = static_cast<Int>(bits_of(after[i]) & L::magnitude);
    nan += static_cast<Int>(a > infinity);
    positive += static_cast<Int>(bits == infinity);
    infinite += static_cast<Int>(a == infinity);
    zero += static_cast<Int>(a == 0);
    // What is not finite, or zero, before is so after: the difference of two counts is what the rounding made so.
    not_finite += static_cast<Int>(b >= infinity);
    zero_after += static_cast<Int>(b == 0);
    small += static_cast<Int>(b < normal);
  }
  for (int i = 0; i < n; ++i) {
    const Int a = static_cast<Int>(bits_of(before[i]) & L::magnitude);
    const Int finite = a & -static_cast<Int>(a < infinity);
    greatest = finite > greatest ? finite : greatest;
    const Int nonzero = a | (-static_cast<Int>(a == 0) & infinity);
    least = nonzero < least ? nonzero : least;
  }
  c.elements += n;
  c.nan += nan;
  c.positive_infinity += positive;
  c.negative_infinity += infinite - positive;
  c.overflowed += not_finite - nan - infinite;
  c.flushed += zero_after - zero;
  c.subnormal += small > zero_after ? small - zero_after : 0;  // small is 0 if no fp32 number is below the least normal
  c.zero += zero;
  T least_value, greatest_value;
  if constexpr (sizeof(T) == 4) {
    least_value = float_from_bits(static_cast<std::uint32_t>(least));
    greatest_value = float_from_bits(static_cast<std::uint32_t>(greatest));
  } else {
    least_value = double_from_bits(static_cast<std::uint64_t>(least));
    greatest_value = double_from_bits(static_cast<std::uint64_t>(greatest));
  }
  if (least < infinity && (c.least_magnitude == 0.0 || least_value < c.least_magnitude))
    c.least_magnitude = least_value;
  if (greatest_value > c.greatest_magnitude) c.greatest_magnitude = greatest_value;
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
  double value = 0.0;
  if constexpr (sizeof(T) == 4) {
    value = static_cast<double>(float_from_bits(static_cast<std::uint32_t>(greatest)));
  } else {
    value = double_from_bits(static_cast<std::uint64_t>(greatest));
  }
  if (value > c.greatest_magnitude) c.greatest_magnitude = value;
}

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

/// Whether rounding changed nothing, as in formats that hold T whole.
template <class T>
ULPSCOPE_BODY bool unchanged(const T* before, const T* after, int n) {
  typename Layout<T>::Bits difference = 0;
  for (int i = 0; i < n; ++i) difference |= bits_of(before[i]) ^ bits_of(after[i]);
  return difference == 0;
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

/// The same sums where there are no errors.
template <class T>
ULPSCOPE_BODY void count_sums(const T* values, int n, RoundingCounts& c) {
  double sum[sum_lanes] = {};
  double squares[sum_lanes] = {};
  int i = 0;
  for (; i + sum_lanes <= n; i += sum_lanes) add_lanes(values + i, sum, squares);
  T rest[sum_lanes] = {};  // zeros change no sum
  for (int lane = 0; i + lane < n; ++lane) rest[lane] = values[i + lane];
  add_lanes(rest, sum, squares);
  c.sum += fold(sum);
  c.sum_of_squares += fold(squares);
}

template <class T>
ULPSCOPE_BODY void count_sums(const T* before, const T* after, int n, RoundingCounts& c) {
  if (unchanged(before, after, n)) return count_sums(before, n, c);
  LaneSums<T> s;
  int i = 0;
  for (; i + sum_lanes <= n; i += sum_lanes) {
    for (int lane = 0; lane < sum_lanes; ++lane) add_lane(before[i + lane], after[i + lane], s, lane);
  }
  for (int lane = 0; i + lane < n; ++lane) add_lane(before[i + lane], after[i + lane], s, lane);
  c.sum += fold(s.sum);
  c.sum_of_squares += fold(s.squares);
  c.sum_of_errors += fold(s.errors);
  c.sum_of_squared_errors += fold(s.squared_errors);
  for (int lane = 0; lane < sum_lanes; ++lane) {
    if (s.relative[lane] > c.greatest_relative_error) c.greatest_relative_error = s.relative[lane];
  }
}

}  // namespace counting

ULPSCOPE_BODY void clear_bins(RoundingTally& tally) {
  for (int copy = 0; copy < 4; ++copy) {
    for (int bin = 0; bin <= histogram_bins; ++bin) tally.bins[copy][bin] = 0;
  }
  tally.pending = 0;
}

/// Starts a tally of what `into`, to which it will be added, asks for. Where that is the range alone, the rest of the tally is not
/// even written.
ULPSCOPE_BODY void begin_tally(RoundingTally& tally, const RoundingCounts& into) {
  tally.counts.range_only = into.range_only;
  clear_counts(tally.counts);
  if (!into.range_only) clear_bins(tally);
}

/// Ends a run of blocks: tally.counts is complete.
ULPSCOPE_BODY void finish_tally(RoundingTally& tally) {
  if (tally.counts.range_only) return;
  for (int bin = 0; bin < histogram_bins; ++bin) {
    for (int copy = 0; copy < 4; ++copy) tally.counts.histogram[bin] += tally.bins[copy][bin];
  }
  clear_bins(tally);
}

/// Whether a tally is content with count_range, which needs no values after rounding.
ULPSCOPE_BODY bool range_only(const RoundingTally& tally) { return tally.counts.range_only; }

/// Counts n values before a rounding to nearest. limit: the format's overflow threshold, as T.
template <class T>
ULPSCOPE_BODY void count_range(const T* before, int n, T limit, RoundingTally& tally) {
  counting::count_range(before, n, limit, tally.counts);
}

/// Counts one block of n <= count_block_elements values before and after rounding (both widened to T).
/// least_normal: the least normal magnitude of the format rounded to. Not for a tally that is range_only.
template <class T>
ULPSCOPE_BODY void count_block(const T* before, const T* after, int n, T least_normal, RoundingTally& tally) {
  counting::count_patterns(before, after, n, least_normal, tally.counts);
  counting::count_sums(before, after, n, tally.counts);
  std::int32_t bin[count_block_elements];
  for (int i = 0; i < n; ++i) bin[i] = counting::bin_of(counting::bits_of(before[i]) & counting::Layout<T>::magnitude);
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int copy = 0; copy < 4; ++copy) ++tally.bins[copy][bin[i + copy]];
  }
  for (; i < n; ++i) ++tally.bins[0][bin[i]];
  tally.pending += n;
  if (tally.pending > (std::int64_t{1} << 30)) finish_tally(tally);  // before a 32-bit bin could run over
}

}  // namespace ulpscope
