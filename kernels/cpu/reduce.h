// A sum over all elements, along the tree of math/reduction_tree.h: chunks shared out over the team, their sums folded.
// Included only by sources that are compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/rows.h"
#include "kernels/ops/reductions.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T, class Term, int inputs>
T chunk_sum(const T* a, const T* b, std::int64_t n) {
  const Term term{};
  if constexpr (inputs == 1) {
    return math::tree_chunk_sum<T>(n, [=](std::int64_t i) { return term(a[i]); });
  } else {
    return math::tree_chunk_sum<T>(n, [=](std::int64_t i) { return term(a[i], b[i]); });
  }
}

inline std::int64_t chunks_of(const Tensor& tensor) {
  std::int64_t n = 1;
  for (int axis = 0; axis < tensor.shape.rank; ++axis) n *= tensor.shape.dim[static_cast<unsigned>(axis)];
  return math::tree_chunks(n);
}

/// Room for the chunks' sums, then for each thread a chunk of every input.
inline std::size_t reduction_workspace(const Launch& launch, std::int64_t chunks, int inputs, std::size_t item) {
  return padded(chunks) * item + row_workspace(launch, math::tree_chunk, inputs, 0, item);
}

/// The sum of the term over all elements of one or two views of the same shape.
template <class T, class Term, int inputs>
T reduce(const Launch& launch, const View* views, T* workspace) {
  const std::int64_t n = views[0].elements;
  const std::int64_t chunks = math::tree_chunks(n);
  T* scratch = workspace + padded(chunks);
  Launch unobserved = launch;
  unobserved.counts = nullptr;
  run_units(unobserved, chunks, n, [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const*) {
    T* own = scratch + static_cast<std::int64_t>(thread) * inputs * math::tree_chunk;
    for (std::int64_t c = first; c < last; ++c) {
      const std::int64_t begin = c * math::tree_chunk;
      const std::int64_t length = math::tree_chunk_length(n, c);
      const T* a = read_run(views[0], begin, length, own);
      const T* b = inputs == 1 ? a : read_run(views[1], begin, length, own + math::tree_chunk);
      workspace[c] = chunk_sum<T, Term, inputs>(a, b, length);
    }
  });
  return math::tree_fold_sum<T>(chunks, workspace);
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
