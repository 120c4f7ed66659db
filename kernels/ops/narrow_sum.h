// Sums whose every addend and every partial sum is rounded to a format, in a given order: kernels/arithmetic.h. Slow and
// exact; only for launches that ask for it.
#pragma once

#include <cstdint>

#include "kernels/arithmetic.h"
#include "kernels/formats/storage.h"
#include "kernels/math/reduction_tree.h"
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

template <Format F>
struct NarrowAdd : math::TreeAdd {
  ULPSCOPE_BODY float combine(float a, float b) { return rounded_to(F, a + b); }
};

template <Format F, class Load>
ULPSCOPE_BODY float narrow_serial(std::int64_t n, Load load) {
  float sum = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) sum = NarrowAdd<F>::combine(sum, load(i));
  return sum;
}

/// Neighbours are added as a binary counter counts: sums of 2^k elements wait at level k.
template <Format F, class Load>
ULPSCOPE_BODY float narrow_pairwise(std::int64_t n, Load load) {
  float waiting[64];
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = load(i);
    int level = 0;
    for (; (i >> level & 1) != 0; ++level) sum = NarrowAdd<F>::combine(waiting[level], sum);
    waiting[level] = sum;
  }
  bool any = false;
  float sum = 0.0f;  // the odd ones, carried upwards
  for (int level = 0; level < 63; ++level) {
    if ((n >> level & 1) == 0) continue;
    sum = any ? NarrowAdd<F>::combine(waiting[level], sum) : waiting[level];
    any = true;
  }
  return sum;
}

template <Format F, class Load>
ULPSCOPE_BODY float narrow_lanes32(std::int64_t n, Load load) {
  if (n <= 0) return 0.0f;
  float lane[32];
  for (int l = 0; l < 32; ++l) lane[l] = -0.0f;
  for (std::int64_t i = 0; i < n; ++i) lane[i % 32] = NarrowAdd<F>::combine(lane[i % 32], load(i));
  return math::tree_fold_lanes<NarrowAdd<F>>(lane, std::int64_t{32});
}

template <Format F, class Load>
ULPSCOPE_BODY float narrow_sum_in(SumOrder order, std::int64_t n, Load load) {
  const auto addend = [=](std::int64_t i) { return rounded_to(F, load(i)); };
  switch (order) {
    case SumOrder::serial:
      return narrow_serial<F>(n, addend);
    case SumOrder::pairwise:
      return narrow_pairwise<F>(n, addend);
    case SumOrder::lanes32:
      return narrow_lanes32<F>(n, addend);
    default:
      return math::tree_reduce<NarrowAdd<F>, float>(n, addend);
  }
}

/// load(i) returns element i as float.
template <class Load>
ULPSCOPE_BODY float narrow_sum(const Arithmetic& arithmetic, std::int64_t n, Load load) {
  switch (arithmetic.accumulate) {
    case Format::fp16:
      return narrow_sum_in<Format::fp16>(arithmetic.order, n, load);
    case Format::bf16:
      return narrow_sum_in<Format::bf16>(arithmetic.order, n, load);
    default:
      return narrow_sum_in<Format::fp32>(arithmetic.order, n, load);
  }
}

/// sum / count, both rounded to the scalar format first: in fp16 a count of 65520 is infinite and the mean 0.
ULPSCOPE_BODY float narrow_mean(const Arithmetic& arithmetic, float sum, std::int64_t count) {
  return rounded_to(arithmetic.scalar, sum) / rounded_to(arithmetic.scalar, static_cast<float>(count));
}

/// A team of one whose sums are narrow: row bodies written for a team need no second version.
struct NarrowTeam : SerialTeam {
  Arithmetic arithmetic;
  ULPSCOPE_MEMBER explicit NarrowTeam(const Arithmetic& a) : arithmetic(a) {}

  template <class T, class F>
  ULPSCOPE_MEMBER T sum(std::int64_t n, F f) const {
    return static_cast<T>(narrow_sum(arithmetic, n, [=](std::int64_t i) { return static_cast<float>(f(i)); }));
  }
};

}  // namespace ulpscope
