// One register tile of a product. Included only by sources compiled once per instruction set.
#pragma once

#include "kernels/cpu/product_vector.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// A's rows lie apart (row_major) or its columns do: then one k is `rows` neighbouring numbers. stride: between them.
enum class Lines { rows, columns };

/// c[rows, tile_columns] = (add ? c : 0) + sum over k of a * b, b packed. Only `width` columns of c exist.
template <int rows, Lines lines>
ULPSCOPE_BODY void tile(const float* a, std::int64_t stride, const float* b, std::int64_t k, float* c, std::int64_t c_stride,
                        std::int64_t width, bool add) {
  Vector sum[rows][tile_vectors];
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < tile_vectors; ++v) sum[r][v] = zero();
  // Rows that lie apart are addressed three at a time from one pointer (base, base + s, base + 2s), so that all addresses
  // fit into registers.
  constexpr int pointers = (rows + 2) / 3;
  const float* base[pointers];
#pragma GCC unroll 5
  for (int i = 0; i < pointers; ++i) base[i] = a + 3 * i * stride;
  for (std::int64_t i = 0; i < k; ++i) {
    Vector right[tile_vectors];
#pragma GCC unroll 2
    for (int v = 0; v < tile_vectors; ++v) right[v] = load(b + v * vector_length);
    b += tile_columns;
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Vector left = broadcast(lines == Lines::rows ? base[r / 3][(r % 3) * stride] : a[r]);
#pragma GCC unroll 2
      for (int v = 0; v < tile_vectors; ++v) sum[r][v] = multiply_add(left, right[v], sum[r][v]);
    }
    if constexpr (lines == Lines::rows) {
#pragma GCC unroll 5
      for (int p = 0; p < pointers; ++p) ++base[p];
    } else {
      a += stride;
    }
  }
  if (width == tile_columns) {
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < tile_vectors; ++v) {
        float* at = c + r * c_stride + v * vector_length;
        store(at, add ? load(at) + sum[r][v] : sum[r][v]);
      }
    return;
  }
  float line[tile_columns];
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < tile_vectors; ++v) store(line + v * vector_length, sum[r][v]);
    float* at = c + r * c_stride;
    for (std::int64_t j = 0; j < width; ++j) at[j] = add ? at[j] + line[j] : line[j];
  }
}

using TileFunction = void (*)(const float*, std::int64_t, const float*, std::int64_t, float*, std::int64_t, std::int64_t, bool);

template <int rows, Lines lines>
void tile_function(const float* a, std::int64_t stride, const float* b, std::int64_t k, float* c, std::int64_t c_stride,
                   std::int64_t width, bool add) {
  tile<rows, lines>(a, stride, b, k, c, c_stride, width, add);
}

/// The tile of a given height, by number of rows.
template <Lines lines>
inline TileFunction tile_of(std::int64_t rows) {
  static constexpr TileFunction all[] = {
      nullptr,                  tile_function<1, lines>,  tile_function<2, lines>,  tile_function<3, lines>,
      tile_function<4, lines>,
#if defined(__AVX2__)
      tile_function<5, lines>,  tile_function<6, lines>,
#endif
#if defined(__AVX512F__)
      tile_function<7, lines>,  tile_function<8, lines>,  tile_function<9, lines>,  tile_function<10, lines>,
      tile_function<11, lines>, tile_function<12, lines>, tile_function<13, lines>, tile_function<14, lines>,
#endif
  };
  return all[rows];
}

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
