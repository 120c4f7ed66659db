// Reductions over elements and over rows.
//
// Along elements (sum_all, mean_all, sum_trailing, norms, losses): the tree of math/reduction_tree.h.
// Along rows, for every column (sum_leading, gradients of biases and of a norm's weights): chunks of 64 rows, summed in
// ascending order starting from 0; then the sums of neighbouring chunks are added pairwise, level by level, an odd one
// being carried to the next level. Which is what a binary counter does: see fold_column_chunks.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

inline constexpr std::int64_t column_chunk_rows = 64;

ULPSCOPE_BODY std::int64_t column_chunks(std::int64_t rows) {
  return (rows + column_chunk_rows - 1) / column_chunk_rows;
}

/// What one row adds to the sum of its chunk: a piece of n columns.
template <class T>
ULPSCOPE_BODY void add_row(const T* x, int n, T* sum) {
  for (int i = 0; i < n; ++i) sum[i] += x[i];
}

/// Sums of chunks to the sum of all rows, in place: the result is in the first chunk's row. Chunk c of column i is
/// sum[c * stride + i], for i in [0, n).
template <class T>
ULPSCOPE_BODY void fold_column_chunks(T* sum, std::int64_t chunks, std::int64_t stride, int n) {
  for (std::int64_t step = 1; step < chunks; step *= 2) {
    for (std::int64_t c = 0; c + step < chunks; c += 2 * step) {
      T* left = sum + c * stride;
      const T* right = sum + (c + step) * stride;
      for (int i = 0; i < n; ++i) left[i] += right[i];
    }
  }
}

// What an element contributes to a reduction along elements.

template <class T>
struct SumTerm {
  ULPSCOPE_MEMBER T operator()(T x) const { return x; }
};

template <class T>
struct SquareTerm {
  ULPSCOPE_MEMBER T operator()(T x) const { return x * x; }
};

template <class T>
struct AbsoluteDifferenceTerm {
  ULPSCOPE_MEMBER T operator()(T a, T b) const { return a < b ? b - a : a - b; }
};

template <class T>
struct SquaredDifferenceTerm {
  ULPSCOPE_MEMBER T operator()(T a, T b) const { return (a - b) * (a - b); }
};

}  // namespace ulpscope
