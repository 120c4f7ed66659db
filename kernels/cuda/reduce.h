// A sum over all elements, along the tree of math/reduction_tree.h: a block for each chunk, then one block for the chunks' sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/read.h"
#include "kernels/launch.h"
#include "kernels/math/reduction_tree.h"

namespace ulpscope::cuda {

template <class T, class Term, int inputs>
ULPSCOPE_KERNEL void chunk_kernel(DeviceView a, DeviceView b, T* partial) {
  ULPSCOPE_SHARED T scratch[team_threads];
  const BlockTeam<team_threads> team{scratch};
  const Term term{};
  for (std::int64_t c = block_index(); c < math::tree_chunks(a.elements); c += grid_blocks()) {
    const std::int64_t begin = c * math::tree_chunk;
    const T sum = team.template sum<T>(math::tree_chunk_length(a.elements, c), [&](std::int64_t i) {
      const T x = read_element<T>(a, begin + i);
      if constexpr (inputs == 1) {
        return term(x);
      } else {
        return term(x, read_element<T>(b, begin + i));
      }
    });
    if (thread_index() == 0) partial[c] = sum;
  }
}

/// finish(sum, elements), by one thread: what becomes of the whole.
template <class T, class Finish>
ULPSCOPE_KERNEL void fold_kernel(const T* partial, std::int64_t chunks, std::int64_t elements, Finish finish) {
  ULPSCOPE_SHARED T scratch[team_threads];
  const T sum = BlockTeam<team_threads>{scratch}.template sum<T>(chunks, [=](std::int64_t c) { return partial[c]; });
  if (thread_index() == 0 && block_index() == 0) finish(sum, elements);
}

/// Elements of device memory for the chunks' sums: whole cache lines.
inline std::int64_t chunk_room(std::int64_t elements) { return (math::tree_chunks(elements) + 31) / 32 * 32; }

/// The sum of the term over one or two views of the same shape. partial: chunk_room elements.
template <class T, class Term, int inputs, class Finish>
void reduce(const Launch& l, const DeviceView* views, T* partial, const Finish& finish) {
  const std::int64_t n = views[0].elements, chunks = math::tree_chunks(n);
  launch_team(chunk_kernel<T, Term, inputs>, blocks_for(chunks), team_threads, 0, l.stream, views[0], views[inputs - 1], partial);
  launch_team(fold_kernel<T, Finish>, 1, team_threads, 0, l.stream, partial, chunks, n, finish);
}

}  // namespace ulpscope::cuda
