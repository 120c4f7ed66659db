// A block as the team of a row body (kernels/ops/team.h). A sum has the bits that the CPU computes: it goes along the tree of
// kernels/math/reduction_tree.h, whose 256 lanes are the block's 256 threads, or eight to each of 32: enough for short rows,
// and their barriers wait for nobody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/grid.h"
#include "kernels/math/reduction_tree.h"

namespace ulpscope::cuda {

static_assert(team_threads == math::tree_lanes);

/// Rows of at most this many elements, 16384 chunks: the tree has two levels.
inline constexpr std::int64_t longest_team_run = math::tree_chunk * math::tree_chunk;

/// A whole block of `threads` threads, launched by launch_team. scratch: scratch_bytes of the block's memory, 16-byte aligned.
template <int threads>
struct BlockTeam {
  static constexpr int size = threads;
  static constexpr std::size_t scratch_bytes = threads * sizeof(double);
  static constexpr int lanes = team_threads / threads;   ///< of each thread: thread, thread + threads, …
  struct Setup {};
  void* scratch;

  static ULPSCOPE_DEVICE_MEMBER BlockTeam make(void* scratch, const Setup&) { return {scratch}; }

  template <class F>
  ULPSCOPE_DEVICE_MEMBER void each(std::int64_t n, F f) const {
    for (std::int64_t i = thread_index(); i < n; i += threads) f(i);
    block_barrier();
  }
  template <class T, class F>
  ULPSCOPE_DEVICE_MEMBER T sum(std::int64_t n, F f) const {
    return reduce<math::TreeAdd, T>(n, f);
  }
  template <class T, class F>
  ULPSCOPE_DEVICE_MEMBER T max(std::int64_t n, F f) const {
    return reduce<math::TreeMax, T>(n, f);
  }

  /// Every thread gets the result. T: as large as scratch_bytes / threads at most, and copied as bytes can be.
  template <class Op, class T, class F>
  ULPSCOPE_DEVICE_MEMBER T reduce(std::int64_t n, F f) const {
    if (n <= math::tree_chunk) return chunk<Op, T>(n, f);
    // The chunks' results are reduced by the same rule: chunk c belongs to lane c mod 256, in ascending order.
    const std::int64_t chunks = math::tree_chunks(n);
    T lane[lanes];
    ULPSCOPE_UNROLL
    for (int k = 0; k < lanes; ++k) lane[k] = Op::template identity<T>();
    for (std::int64_t c = 0; c < chunks; ++c) {
      const T value = chunk<Op, T>(math::tree_chunk_length(n, c), [=](std::int64_t i) { return f(c * math::tree_chunk + i); });
      ULPSCOPE_UNROLL
      for (int k = 0; k < lanes; ++k)
        if (c % team_threads == thread_index() + k * threads) lane[k] = c < team_threads ? value : Op::combine(lane[k], value);
    }
    return fold<Op>(lane, team_threads);
  }
  /// lane: those of this thread. width: lanes in use, a power of two.
  template <class Op, class T>
  ULPSCOPE_DEVICE_MEMBER T fold(T (&lane)[lanes], std::int64_t width) const {
    ULPSCOPE_UNROLL
    for (int w = team_threads / 2; w >= threads; w /= 2) {
      if (w >= width) continue;
      ULPSCOPE_UNROLL
      for (int k = 0; k < w / threads; ++k) lane[k] = Op::combine(lane[k], lane[k + w / threads]);
    }
    T* shared = static_cast<T*>(scratch);
    const int own = thread_index();
    block_barrier();   // the last result has been read
    shared[own] = lane[0];
    block_barrier();
    for (int w = (width < threads ? static_cast<int>(width) : threads) / 2; w > 0; w /= 2) {
      if (own < w) shared[own] = Op::combine(shared[own], shared[own + w]);
      block_barrier();
    }
    return shared[0];
  }

 private:
  template <class Op, class T, class F>
  ULPSCOPE_DEVICE_MEMBER T chunk(std::int64_t n, F f) const {
    if (n <= 0) return Op::template empty<T>();
    T lane[lanes];
    ULPSCOPE_UNROLL
    for (int k = 0; k < lanes; ++k) lane[k] = Op::template identity<T>();
    for (std::int64_t base = thread_index(); base < n; base += team_threads) {
      ULPSCOPE_UNROLL
      for (int k = 0; k < lanes; ++k)
        if (base + k * threads < n) lane[k] = Op::combine(lane[k], static_cast<T>(f(base + k * threads)));
    }
    return fold<Op>(lane, math::tree_width(n));
  }
};

}  // namespace ulpscope::cuda
