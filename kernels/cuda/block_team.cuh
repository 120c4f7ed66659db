// A block of 256 threads as the team of a row body (kernels/ops/team.h). Thread l is lane l of the reduction tree
// (kernels/math/reduction_tree.h), so a sum has the bits that the CPU computes.
#pragma once

#include <cstdint>

#include "kernels/math/reduction_tree.h"

namespace ulpscope::cuda {

inline constexpr int block_threads = static_cast<int>(math::tree_lanes);

/// scratch: block_threads elements of T in shared memory.
template <class Scratch>
struct BlockTeam {
  Scratch* scratch;

  template <class F>
  __device__ void each(std::int64_t n, F f) const {
    for (std::int64_t i = threadIdx.x; i < n; i += block_threads) f(i);
    __syncthreads();
  }
  template <class T, class F>
  __device__ T sum(std::int64_t n, F f) const {
    return reduce<math::TreeAdd, T>(n, f);
  }
  template <class T, class F>
  __device__ T max(std::int64_t n, F f) const {
    return reduce<math::TreeMax, T>(n, f);
  }

 private:
  /// Rows of at most 16384 chunks, 2^28 elements.
  template <class Op, class T, class F>
  __device__ T reduce(std::int64_t n, F f) const {
    if (n <= math::tree_chunk) return chunk<Op, T>(n, f);
    // The chunks' results are reduced by the same rule: chunk c belongs to lane c mod 256, in ascending order.
    const std::int64_t chunks = math::tree_chunks(n);
    T lane = Op::template identity<T>();
    for (std::int64_t c = 0; c < chunks; ++c) {
      const T value =
          chunk<Op, T>(math::tree_chunk_length(n, c), [=](std::int64_t i) { return f(c * math::tree_chunk + i); });
      if (c % math::tree_lanes == static_cast<std::int64_t>(threadIdx.x)) lane = Op::combine(lane, value);
    }
    return fold<Op, T>(lane, math::tree_width(chunks));
  }
  template <class Op, class T, class F>
  __device__ T chunk(std::int64_t n, F f) const {
    if (n <= 0) return Op::template empty<T>();
    T lane = Op::template identity<T>();
    for (std::int64_t i = threadIdx.x; i < n; i += block_threads) lane = Op::combine(lane, static_cast<T>(f(i)));
    return fold<Op, T>(lane, math::tree_width(n));
  }
  template <class Op, class T>
  __device__ T fold(T lane, std::int64_t width) const {
    T* lanes = reinterpret_cast<T*>(scratch);
    const std::int64_t own = threadIdx.x;
    __syncthreads();
    lanes[own] = lane;
    __syncthreads();
    for (std::int64_t w = width / 2; w > 0; w /= 2) {
      if (own < w) lanes[own] = Op::combine(lanes[own], lanes[own + w]);
      __syncthreads();
    }
    return lanes[0];
  }
};

}  // namespace ulpscope::cuda
