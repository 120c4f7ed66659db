// Sums whose every addend and every partial sum is rounded to a format, in a given order: kernels/arithmetic.h. Slow and
// exact; only for launches that ask for it.
#pragma once

#include <cstdint>

#include "kernels/arithmetic.h"
#include "kernels/formats/storage.h"
#include "kernels/math/reduction_tree.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/ops/team.h"
#include "kernels/portable.h"

namespace ulpscope {

/// x rounded to nearest even to a float format of at most 32 bits that a sum may be kept in.
ULPSCOPE_BODY float rounded_to(Format format, float x) {
  switch (format) {
    case Format::fp16:
      return Storage<Format::fp16>::widen(Storage<Format::fp16>::round(x));
    case Format::bf16:
      return Storage<Format::bf16>::widen(Storage<Format::bf16>::round(x));
    default:
      return x;
  }
}

/// A partial sum, and what was lost on the way to it.
struct CountedSum {
  float value;
  std::int64_t additions;
  std::int64_t overflowed;  ///< roundings, of addends too, that made a finite number infinite
  std::int64_t lost;        ///< additions of two finite numbers, not zero, that changed nothing
  std::int64_t flushed;     ///< addends that were not zero and were rounded to zero
  std::int64_t zero;        ///< addends that were zero
  float missing;            ///< what the flushed addends come to
  float greatest;           ///< magnitude of the finite partial sums, before rounding

  ULPSCOPE_MEMBER CountedSum() : CountedSum(0.0f) {}
  ULPSCOPE_MEMBER explicit CountedSum(float x) : value(x), additions(0), overflowed(0), lost(0), flushed(0), zero(0), missing(0.0f), greatest(0.0f) {}
  ULPSCOPE_MEMBER explicit CountedSum(double x) : CountedSum(static_cast<float>(x)) {}
};

namespace narrow {

ULPSCOPE_BODY bool finite(float x) { return x - x == 0.0f; }
ULPSCOPE_BODY float magnitude(float x) { return x < 0.0f ? -x : x; }

/// What rounding `exact` to `rounded` did.
ULPSCOPE_BODY void note(CountedSum& sum, float exact, float rounded) {
  if (!finite(exact)) return;
  if (magnitude(exact) > sum.greatest) sum.greatest = magnitude(exact);
  if (!finite(rounded)) ++sum.overflowed;
}

template <Format F, class Load>
ULPSCOPE_BODY float addend(Load load, std::int64_t i, const float*) {
  return rounded_to(F, load(i));
}
template <Format F, class Load>
ULPSCOPE_BODY CountedSum addend(Load load, std::int64_t i, const CountedSum*) {
  const float exact = load(i);
  CountedSum sum(rounded_to(F, exact));
  note(sum, exact, sum.value);
  if (exact == 0.0f) ++sum.zero;
  if (exact != 0.0f && sum.value == 0.0f) {
    ++sum.flushed;
    sum.missing = exact;
  }
  return sum;
}

}  // namespace narrow

template <Format F>
struct NarrowAdd {
  template <class Sum>
  ULPSCOPE_BODY Sum identity() {
    return Sum(-0.0f);
  }
  template <class Sum>
  ULPSCOPE_BODY Sum empty() {
    return Sum(0.0f);
  }
  ULPSCOPE_BODY float combine(float a, float b) { return rounded_to(F, a + b); }
  ULPSCOPE_BODY CountedSum combine(const CountedSum& a, const CountedSum& b) {
    const float exact = a.value + b.value;
    CountedSum sum(rounded_to(F, exact));
    sum.additions = a.additions + b.additions;
    sum.overflowed = a.overflowed + b.overflowed;
    sum.lost = a.lost + b.lost;
    sum.flushed = a.flushed + b.flushed;
    sum.zero = a.zero + b.zero;
    sum.missing = a.missing + b.missing;
    sum.greatest = a.greatest > b.greatest ? a.greatest : b.greatest;
    narrow::note(sum, exact, sum.value);
    if (a.value == 0.0f || b.value == 0.0f) return sum;  // an empty lane, or nothing to add
    ++sum.additions;
    if (narrow::finite(exact) && (sum.value == a.value || sum.value == b.value)) ++sum.lost;
    return sum;
  }
};

template <Format F, class Sum, class Load>
ULPSCOPE_BODY Sum narrow_serial(std::int64_t n, Load load) {
  Sum sum(0.0f);
  for (std::int64_t i = 0; i < n; ++i) sum = NarrowAdd<F>::combine(sum, load(i));
  return sum;
}

/// Neighbours are added as a binary counter counts: sums of 2^k elements wait at level k. waiting: room for 64.
template <Format F, class Sum, class Load>
ULPSCOPE_BODY Sum narrow_pairwise(std::int64_t n, Load load, Sum* waiting) {
  for (std::int64_t i = 0; i < n; ++i) {
    Sum sum = load(i);
    int level = 0;
    for (; (i >> level & 1) != 0; ++level) sum = NarrowAdd<F>::combine(waiting[level], sum);
    waiting[level] = sum;
  }
  bool any = false;
  Sum sum(0.0f);  // the odd ones, carried upwards
  for (int level = 0; level < 63; ++level) {
    if ((n >> level & 1) == 0) continue;
    sum = any ? NarrowAdd<F>::combine(waiting[level], sum) : waiting[level];
    any = true;
  }
  return sum;
}

template <Format F, class Sum, class Load>
ULPSCOPE_BODY Sum narrow_pairwise(std::int64_t n, Load load) {
  Sum waiting[64];
  return narrow_pairwise<F, Sum>(n, load, waiting);
}

template <Format F, class Sum, class Load>
ULPSCOPE_BODY Sum narrow_lanes32(std::int64_t n, Load load) {
  if (n <= 0) return Sum(0.0f);
  Sum lane[32];
  for (int l = 0; l < 32; ++l) lane[l] = Sum(-0.0f);
  for (std::int64_t i = 0; i < n; ++i) lane[i % 32] = NarrowAdd<F>::combine(lane[i % 32], load(i));
  return math::tree_fold_lanes<NarrowAdd<F>>(lane, std::int64_t{32});
}

template <Format F, class Sum, class Load>
ULPSCOPE_BODY Sum narrow_sum_in(SumOrder order, std::int64_t n, Load load) {
  const auto addend = [=](std::int64_t i) { return narrow::addend<F>(load, i, static_cast<const Sum*>(nullptr)); };
  switch (order) {
    case SumOrder::serial:
      return narrow_serial<F, Sum>(n, addend);
    case SumOrder::pairwise:
      return narrow_pairwise<F, Sum>(n, addend);
    case SumOrder::lanes32:
      return narrow_lanes32<F, Sum>(n, addend);
    default:
      return math::tree_reduce<NarrowAdd<F>, Sum>(n, addend);
  }
}

/// Sum: float, or CountedSum; the value is the same.
template <class Sum, class Load>
ULPSCOPE_BODY Sum narrow_sum_as(const Arithmetic& arithmetic, std::int64_t n, Load load) {
  switch (arithmetic.accumulate) {
    case Format::fp16:
      return narrow_sum_in<Format::fp16, Sum>(arithmetic.order, n, load);
    case Format::bf16:
      return narrow_sum_in<Format::bf16, Sum>(arithmetic.order, n, load);
    default:
      return narrow_sum_in<Format::fp32, Sum>(arithmetic.order, n, load);
  }
}

/// The share of a sum that its flushed addends would have made, 0 … 1.
ULPSCOPE_BODY double share_missing(const CountedSum& sum) {
  if (sum.flushed == 0 || !narrow::finite(sum.value)) return 0.0;
  const double missing = static_cast<double>(narrow::magnitude(sum.missing));
  return missing == 0.0 ? 0.0 : missing / (static_cast<double>(narrow::magnitude(sum.value)) + missing);
}

/// Adds what a sum lost to the counts of a launch (Launch::inner): integers and a maximum, in any order the same.
ULPSCOPE_BODY void add_inner(RoundingCounts& counts, const CountedSum& sum) {
#if defined(_OPENMP) && !defined(__CUDACC__)
#pragma omp critical
#endif
  {
    counts.elements += sum.additions;
    counts.overflowed += sum.overflowed;
    counts.lost_updates += sum.lost;
    counts.flushed += sum.flushed;
    counts.zero += sum.zero;
    if (const double share = share_missing(sum); share > counts.greatest_relative_error) counts.greatest_relative_error = share;
    if (static_cast<double>(sum.greatest) > counts.greatest_magnitude)
      counts.greatest_magnitude = static_cast<double>(sum.greatest);
  }
}

/// The greatest error of a row that narrow sums inside a norm make (ops/norm_error.h).
ULPSCOPE_BODY void add_row_error(RoundingCounts& counts, double error) {
#if defined(_OPENMP) && !defined(__CUDACC__)
#pragma omp critical
#endif
  {
    if (error > counts.sum_of_errors) counts.sum_of_errors = error;
  }
}

/// load(i) returns element i as float. inner: null, or where it is counted what the sum loses.
template <class Load>
ULPSCOPE_BODY float narrow_sum(const Arithmetic& arithmetic, std::int64_t n, Load load, RoundingCounts* inner = nullptr) {
  if (inner == nullptr) return narrow_sum_as<float>(arithmetic, n, load);
  const CountedSum sum = narrow_sum_as<CountedSum>(arithmetic, n, load);
  add_inner(*inner, sum);
  return sum.value;
}

/// sum / count, both rounded to the scalar format first: in fp16 a count of 65520 is infinite and the mean 0.
ULPSCOPE_BODY float narrow_mean(const Arithmetic& arithmetic, float sum, std::int64_t count) {
  return rounded_to(arithmetic.scalar, sum) / rounded_to(arithmetic.scalar, static_cast<float>(count));
}

/// A team of one whose sums are narrow: row bodies written for a team need no second version.
struct NarrowTeam : SerialTeam {
  Arithmetic arithmetic;
  RoundingCounts* inner;  ///< null: nobody looks
  ULPSCOPE_MEMBER explicit NarrowTeam(const Arithmetic& a, RoundingCounts* counts = nullptr) : arithmetic(a), inner(counts) {}

  template <class T, class F>
  ULPSCOPE_MEMBER T sum(std::int64_t n, F f) const {
    return static_cast<T>(narrow_sum(arithmetic, n, [=](std::int64_t i) { return static_cast<float>(f(i)); }, inner));
  }
};

}  // namespace ulpscope
