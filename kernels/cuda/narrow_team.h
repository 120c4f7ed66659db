// Sums in the format and order that a launch asks for (kernels/ops/narrow_sum.h), by a block, and what they lose, from the
// device's memory into the host's Launch::inner. The tree and the 32 lanes are the block's threads; a serial sum and a pairwise
// one are the work of its first thread. Slow, and seldom asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/block_team.h"
#include "kernels/formats/bits.h"
#include "kernels/launch.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/norm_error.h"

namespace ulpscope::cuda {

/// What add_inner adds up, in device memory. Magnitudes as bits of doubles: they order as the numbers do.
struct DeviceInner {
  std::int64_t additions, overflowed, lost, flushed, zero;
  std::uint64_t share, greatest, row_error;
};
/// Of the workspace, for the operations that honour Launch::arithmetic.
inline constexpr std::size_t inner_bytes = 256;

/// Before the kernels: zeros in `memory`, or null if nobody looks. Behind them: adds to Launch::inner.
inline DeviceInner* begin_inner(const Launch& launch, void* memory) {
  static_assert(sizeof(DeviceInner) <= inner_bytes);
  if (launch.inner == nullptr) return nullptr;
  fill_memory(memory, 0, sizeof(DeviceInner), launch.stream);
  return static_cast<DeviceInner*>(memory);
}
inline void finish_inner(const Launch& launch, const DeviceInner* inner) {
  if (inner == nullptr) return;
  DeviceInner lost;
  copy_to_host(&lost, inner, sizeof lost, launch.stream);
  RoundingCounts& counts = *launch.inner;
  counts.elements += lost.additions;
  counts.overflowed += lost.overflowed;
  counts.lost_updates += lost.lost;
  counts.flushed += lost.flushed;
  counts.zero += lost.zero;
  const double share = double_from_bits(lost.share), greatest = double_from_bits(lost.greatest);
  add_row_error(counts, double_from_bits(lost.row_error));
  if (share > counts.greatest_relative_error) counts.greatest_relative_error = share;
  if (greatest > counts.greatest_magnitude) counts.greatest_magnitude = greatest;
}

/// What one sum lost; called by one thread.
ULPSCOPE_DEVICE void add_inner(DeviceInner* inner, const CountedSum& sum) {
  atomic_add(&inner->additions, sum.additions);
  atomic_add(&inner->overflowed, sum.overflowed);
  atomic_add(&inner->lost, sum.lost);
  atomic_add(&inner->flushed, sum.flushed);
  atomic_add(&inner->zero, sum.zero);
  atomic_max(&inner->share, double_bits(share_missing(sum)));
  atomic_max(&inner->greatest, double_bits(static_cast<double>(sum.greatest)));
}

/// What they make of a row; called by one thread.
ULPSCOPE_DEVICE void add_row_error(DeviceInner* inner, double error) {
  if (error > 0.0) atomic_max(&inner->row_error, double_bits(error));
}

/// As BlockTeam<256>, with narrow sums.
struct NarrowBlockTeam {
  static constexpr int size = team_threads;
  static constexpr std::size_t scratch_bytes = team_threads * sizeof(CountedSum);
  using Plain = BlockTeam<team_threads>;
  struct Setup {
    Arithmetic arithmetic;
    DeviceInner* inner = nullptr;   ///< null: nobody looks
  };
  Plain plain;
  Setup setup;

  static ULPSCOPE_DEVICE_MEMBER NarrowBlockTeam make(void* scratch, const Setup& setup) { return {{scratch}, setup}; }

  template <class F>
  ULPSCOPE_DEVICE_MEMBER void each(std::int64_t n, F f) const {
    plain.each(n, f);
  }
  template <class T, class F>
  ULPSCOPE_DEVICE_MEMBER T max(std::int64_t n, F f) const {
    return plain.template max<T>(n, f);
  }
  template <class T, class F>
  ULPSCOPE_DEVICE_MEMBER T sum(std::int64_t n, F f) const {
    const auto load = [=](std::int64_t i) { return static_cast<float>(f(i)); };
    CountedSum result;
    switch (setup.arithmetic.accumulate) {
      case Format::fp16:
        result = sum_in<Format::fp16>(n, load);
        break;
      case Format::bf16:
        result = sum_in<Format::bf16>(n, load);
        break;
      default:
        result = sum_in<Format::fp32>(n, load);
    }
    if (setup.inner != nullptr && thread_index() == 0) add_inner(setup.inner, result);
    return static_cast<T>(result.value);
  }

 private:
  template <Format F, class Load>
  ULPSCOPE_DEVICE_MEMBER CountedSum sum_in(std::int64_t n, Load load) const {
    const auto addend = [=](std::int64_t i) { return narrow::addend<F>(load, i, static_cast<const CountedSum*>(nullptr)); };
    if (setup.arithmetic.order == SumOrder::tree) return plain.template reduce<NarrowAdd<F>, CountedSum>(n, addend);
    if (setup.arithmetic.order == SumOrder::lanes32) {
      if (n <= 0) return CountedSum(0.0f);
      CountedSum lane[1] = {CountedSum(-0.0f)};
      if (thread_index() < 32)
        for (std::int64_t i = thread_index(); i < n; i += 32) lane[0] = NarrowAdd<F>::combine(lane[0], addend(i));
      return plain.template fold<NarrowAdd<F>>(lane, 32);
    }
    // Behind the first place, which is for the result, there is room for the sums that wait for their neighbours.
    CountedSum* shared = static_cast<CountedSum*>(plain.scratch);
    block_barrier();   // the last result has been read
    if (thread_index() == 0)
      shared[0] = setup.arithmetic.order == SumOrder::serial ? narrow_serial<F, CountedSum>(n, addend)
                                                             : narrow_pairwise<F, CountedSum>(n, addend, shared + 1);
    block_barrier();
    return shared[0];
  }
};

/// The row as it is without narrow sums, where somebody looks at what they make of it; the first thread has it. Before the row's result is
/// written, which may lie in its place.
template <class Team, class T>
ULPSCOPE_DEVICE RightMoments right_moments_of(const Team&, const T*, std::int64_t, bool, double) {
  return {};
}
template <class T>
ULPSCOPE_DEVICE RightMoments right_moments_of(const NarrowBlockTeam& team, const T* x, std::int64_t n, bool takes_mean, double epsilon) {
  if (team.setup.inner == nullptr) return {};
  block_barrier();
  return thread_index() == 0 ? right_moments(x, n, takes_mean, epsilon) : RightMoments{};
}
/// Called by the first thread.
template <class Team>
ULPSCOPE_DEVICE void note_row_error(const Team&, const RightMoments&, double, double) {}
ULPSCOPE_DEVICE void note_row_error(const NarrowBlockTeam& team, const RightMoments& right, double mean, double rstd) {
  if (team.setup.inner != nullptr) add_row_error(team.setup.inner, row_error(right, mean, rstd));
}

}  // namespace ulpscope::cuda
