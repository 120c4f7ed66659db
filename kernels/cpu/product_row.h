// One row of A times B: each number of B is used once, so nothing is packed. Included only by sources compiled once per
// instruction set.
#pragma once

#include "kernels/cpu/product_read.h"
#include "kernels/cpu/product_tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// c[n] = (add ? c : 0) + a row of A times B in place, whose rows are contiguous: a few rows at a time from end to end,
/// sums in `sum`.
inline void multiply_row(const float* a, std::int64_t stride, RightOperand right, std::int64_t k, float* c,
                         std::int64_t n, float* sum, bool add) {
  constexpr int depth = 8;
  for (std::int64_t i = 0; i < k; i += depth) {
    const std::int64_t deep = k - i < depth ? k - i : depth;
    Vector left[depth];
    for (int d = 0; d < depth; ++d) left[d] = d < deep ? broadcast(a[(i + d) * stride]) : zero();
    const float* b = right.data + i * right.stride;
    for (std::int64_t j = 0; j < n; j += vector_length) {
      const std::int64_t wide = n - j < vector_length ? n - j : vector_length;
      Vector x = i == 0 ? zero() : load(sum + j);
      if (deep == depth && wide == vector_length) {
#pragma GCC unroll 8
        for (int d = 0; d < depth; ++d) x = multiply_add(left[d], load(b + d * right.stride + j), x);
      } else {
        for (std::int64_t d = 0; d < deep; ++d) {
          const float* at = b + d * right.stride + j;
          x = multiply_add(left[d], wide == vector_length ? load(at) : load_part(at, wide), x);
        }
      }
      store(sum + j, x);
    }
  }
  for (std::int64_t j = 0; j < n; j += vector_length) {
    const std::int64_t wide = n - j < vector_length ? n - j : vector_length;
    const Vector x = load(sum + j);
    if (wide == vector_length) {
      store(c + j, add ? load(c + j) + x : x);
    } else {
      store_part(c + j, add ? load_part(c + j, wide) + x : x, wide);
    }
  }
}

/// c[width] = (add ? c : 0) + the row `a` times one vector of columns of B, which lie from `first` on; width may leave
/// out some. Squares of B are transposed in registers and multiplied at once.
template <Reads reads>
ULPSCOPE_BODY void multiply_turned(const float* a, std::int64_t stride, const ProductSource& b, std::int64_t first,
                                   std::int64_t length, std::int64_t width, float* c, bool add) {
  const std::int64_t wide = width < vector_length ? width : vector_length;
  const auto* next = static_cast<const char*>(b.data) + (first + vector_length * b.column_stride) * bytes_of<reads>;
  Vector sum = zero();
  std::int64_t k = 0;
  for (; k + vector_length <= length; k += vector_length, next += b.column_stride * bytes_of<reads>) {
    // The columns after these, one after the other: the processor follows few streams by itself.
    for (std::int64_t i = 0; i < length * bytes_of<reads>; i += 64) __builtin_prefetch(next + i, 0, 2);
    Vector turned[vector_length];
    read_turned<reads>(b, first + k, vector_length, wide, turned);
#pragma GCC unroll 16
    for (int i = 0; i < vector_length; ++i) sum = multiply_add(broadcast(a[(k + i) * stride]), turned[i], sum);
  }
  if (k < length) {
    Vector turned[vector_length];
    read_turned<reads>(b, first + k, length - k, wide, turned);
    for (std::int64_t i = 0; k + i < length; ++i) sum = multiply_add(broadcast(a[(k + i) * stride]), turned[i], sum);
  }
  if (wide == vector_length) {
    store(c, add ? load(c) + sum : sum);
  } else {
    store_part(c, add ? load_part(c, wide) + sum : sum, wide);
  }
}

/// c[n] = (add ? c : 0) + the row `a` times B, whose columns are contiguous.
template <Reads reads>
inline void multiply_row_turned(const float* a, std::int64_t stride, const ProductSource& b, std::int64_t k0,
                                std::int64_t length, std::int64_t n, float* c, bool add) {
  for (std::int64_t column = 0; column < n; column += vector_length)
    multiply_turned<reads>(a, stride, b, column * b.column_stride + k0, length, n - column, c + column, add);
}

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
