// One register tile of a product. Included only by sources compiled once per instruction set.
#pragma once

#include <array>
#include <utility>

#include "kernels/cpu/product_vector.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// A's rows lie apart, or its columns do: then one k is `rows` neighbouring numbers. tiles: what one register tile
/// reads lies together, column after column, tile_step apart.
enum class Lines { rows, columns, tiles };

/// The rows of A that tiles multiply, in one block of k.
struct LeftOperand {
  const float* data;    ///< element (first row, first k)
  std::int64_t stride;  ///< between lines
  Lines lines;
};

/// How m rows are cut into tiles of nearly the same height.
struct TileRows {
  std::int64_t tiles, least, higher;  ///< `higher` tiles of least + 1 rows, then the rest
};
ULPSCOPE_BODY TileRows cut_rows(std::int64_t m, std::int64_t highest) {
  const std::int64_t tiles = (m + highest - 1) / highest;
  return {tiles, m / tiles, m % tiles};
}

/// Numbers from k to k + 1 for Lines::tiles: whole vectors, so that no store runs over the end of a cache line.
constexpr std::int64_t tile_step = (tile_rows + vector_length - 1) / vector_length * vector_length;

/// The columns of B that a tile multiplies with: one k is at data + k * stride.
struct RightOperand {
  const float* data;
  std::int64_t stride;
};

/// c[rows, vectors * vector_length] = (add ? c : 0) + sum over k of a * b. Only `width` columns of c exist.
template <int rows, int vectors, Lines lines>
ULPSCOPE_BODY void tile(const float* a, std::int64_t stride, RightOperand right, std::int64_t k, float* c,
                        std::int64_t c_stride, std::int64_t width, bool add) {
  Vector sum[rows][vectors];
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[r][v] = zero();
  // Rows that lie apart are addressed three at a time from one pointer (base, base + s, base + 2s), so that all
  // addresses fit into registers.
  constexpr int pointers = (rows + 2) / 3;
  const float* base[pointers];
#pragma GCC unroll 5
  for (int i = 0; i < pointers; ++i) base[i] = a + 3 * i * stride;
  const float* b = right.data;
  for (std::int64_t i = 0; i < k; ++i) {
    Vector line[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) line[v] = load(b + v * vector_length);
    b += right.stride;
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Vector left = broadcast(lines == Lines::rows ? base[r / 3][(r % 3) * stride] : a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] = multiply_add(left, line[v], sum[r][v]);
    }
    if constexpr (lines == Lines::rows) {
#pragma GCC unroll 5
      for (int p = 0; p < pointers; ++p) ++base[p];
    } else {
      a += stride;
    }
  }
  const std::int64_t rest = width - (vectors - 1) * vector_length;  // of the last vector
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      float* at = c + r * c_stride + v * vector_length;
      if (v + 1 < vectors || rest == vector_length) {
        store(at, add ? load(at) + sum[r][v] : sum[r][v]);
      } else {
        store_part(at, add ? load_part(at, rest) + sum[r][v] : sum[r][v], rest);
      }
    }
  }
}

using TileFunction = void (*)(const float*, std::int64_t, RightOperand, std::int64_t, float*, std::int64_t,
                              std::int64_t, bool);

template <int rows, int vectors, Lines lines>
void tile_function(const float* a, std::int64_t stride, RightOperand right, std::int64_t k, float* c,
                   std::int64_t c_stride, std::int64_t width, bool add) {
  tile<rows, vectors, lines>(a, stride, right, k, c, c_stride, width, add);
}

template <int vectors, Lines lines, std::size_t... row>
constexpr std::array<TileFunction, sizeof...(row)> tiles_of(std::index_sequence<row...>) {
  return {tile_function<static_cast<int>(row) + 1, vectors, lines>...};
}

/// c[m, width] of a block of k, width at most tile_columns. B's columns are padded to whole vectors.
template <Lines lines>
inline void multiply_columns(const LeftOperand& left, std::int64_t m, RightOperand right, std::int64_t k, float* c,
                             std::int64_t c_stride, std::int64_t width, bool add) {
  constexpr Lines layout = lines == Lines::rows ? Lines::rows : Lines::columns;
  static constexpr auto wide = tiles_of<tile_vectors, layout>(std::make_index_sequence<tile_rows>());
  static constexpr auto narrow = tiles_of<1, layout>(std::make_index_sequence<narrow_rows>());
  const bool one = width <= vector_length;
  const TileFunction* functions = one ? narrow.data() : wide.data();
  const TileRows cut = cut_rows(m, one && lines != Lines::tiles ? narrow_rows : tile_rows);
  for (std::int64_t t = 0, row = 0; t < cut.tiles; ++t) {
    const std::int64_t rows = cut.least + (t < cut.higher ? 1 : 0);
    const std::int64_t place = lines == Lines::tiles  ? t * k * tile_step
                               : lines == Lines::rows ? row * left.stride
                                                      : row;
    functions[rows - 1](left.data + place, lines == Lines::tiles ? tile_step : left.stride, right, k,
                        c + row * c_stride, c_stride, width, add);
    row += rows;
  }
}

inline void multiply_panel(const LeftOperand& left, std::int64_t m, RightOperand right, std::int64_t k, float* c,
                           std::int64_t c_stride, std::int64_t width, bool add) {
  switch (left.lines) {
    case Lines::rows:
      return multiply_columns<Lines::rows>(left, m, right, k, c, c_stride, width, add);
    case Lines::columns:
      return multiply_columns<Lines::columns>(left, m, right, k, c, c_stride, width, add);
    case Lines::tiles:
      return multiply_columns<Lines::tiles>(left, m, right, k, c, c_stride, width, add);
  }
}

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
