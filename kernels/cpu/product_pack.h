// Operands laid out for the register tile. Included only by sources compiled once per instruction set.
#pragma once

#include "kernels/cpu/product_read.h"
#include "kernels/cpu/product_tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// Columns of A, whose numbers are neighbours, as tiles read them: m numbers of each of `length` columns, from `first`
/// on.
template <Reads reads>
inline void pack_tiles(const ProductSource& a, std::int64_t first, std::int64_t m, std::int64_t length, float* to) {
  const TileRows cut = cut_rows(m, tile_rows);
  for (std::int64_t k = 0; k < length; ++k) {
    std::int64_t from = first + k * a.column_stride;
    float* tile = to + k * tile_step;
    for (std::int64_t t = 0; t < cut.tiles; ++t) {
      const std::int64_t rows = cut.least + (t < cut.higher ? 1 : 0);
      store(tile, read_part<reads>(a.data, from, rows));
      from += rows;
      tile += length * tile_step;
    }
  }
}

inline void pack_tiles(const ProductSource& a, std::int64_t first, std::int64_t m, std::int64_t length, float* to) {
  switch (reads_of(a)) {
    case Reads::fp32:
      return pack_tiles<Reads::fp32>(a, first, m, length, to);
    case Reads::tf32:
      return pack_tiles<Reads::tf32>(a, first, m, length, to);
    case Reads::fp16:
      return pack_tiles<Reads::fp16>(a, first, m, length, to);
    case Reads::bf16:
      return pack_tiles<Reads::bf16>(a, first, m, length, to);
    case Reads::other:
      break;
  }
  const TileRows cut = cut_rows(m, tile_rows);
  for (std::int64_t k = 0; k < length; ++k) {
    for (std::int64_t t = 0, row = 0; t < cut.tiles; ++t) {
      const std::int64_t rows = cut.least + (t < cut.higher ? 1 : 0);
      convert_line(a, first + k * a.column_stride + row, rows, to + (t * length + k) * tile_step);
      row += rows;
    }
  }
}

/// How the columns of a stripe lie in packed memory: panels of tile_columns, the last one as narrow as whole vectors
/// allow.
ULPSCOPE_BODY std::int64_t padded(std::int64_t n) { return (n + vector_length - 1) / vector_length * vector_length; }

/// B's rows are contiguous: k after k, so that long pieces of a row are read at a time.
template <Reads reads>
inline void pack_rows(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t n, float* to) {
  const std::int64_t whole = n / vector_length, rest = n % vector_length, vectors = padded(n) / vector_length;
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t from = (k0 + k) * b.row_stride;
    std::int64_t v = 0;
    for (; v + 1 < whole; v += 2) {
      float* line = to + (v * length + 2 * k) * vector_length;  // panels of two vectors
      store(line, read<reads>(b.data, from + v * vector_length));
      store(line + vector_length, read<reads>(b.data, from + (v + 1) * vector_length));
    }
    if (v == vectors) continue;
    float* line = to + (v * length + (vectors - v) * k) * vector_length;
    if (v < whole) {
      store(line, read<reads>(b.data, from + v * vector_length));
      line += vector_length;
      ++v;
    }
    if (rest != 0) store(line, read_part<reads>(b.data, from + v * vector_length, rest));
  }
}

/// One panel of B whose columns are contiguous.
template <Reads reads>
inline void pack_columns(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t column,
                         std::int64_t width, float* to) {
  const std::int64_t stride = padded(width);
  for (std::int64_t k = 0; k < length; k += vector_length) {
    const std::int64_t deep = length - k < vector_length ? length - k : vector_length;
    for (std::int64_t first = 0; first < width; first += vector_length) {
      const std::int64_t wide = width - first < vector_length ? width - first : vector_length;
      Vector turned[vector_length];
      read_turned<reads>(b, (column + first) * b.column_stride + k0 + k, deep, wide, turned);
      if (deep == vector_length) {
#pragma GCC unroll 16
        for (int i = 0; i < vector_length; ++i) store(to + (k + i) * stride + first, turned[i]);
      } else {
        for (int i = 0; i < deep; ++i) store(to + (k + i) * stride + first, turned[i]);
      }
    }
  }
}

/// One panel in a rare format.
inline void pack_other(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t column,
                       std::int64_t width, float* to) {
  const std::int64_t stride = padded(width);
  for (std::int64_t i = 0; i < length * stride; ++i) to[i] = 0.0f;
  if (b.column_stride == 1) {
    for (std::int64_t k = 0; k < length; ++k) convert_line(b, (k0 + k) * b.row_stride + column, width, to + k * stride);
    return;
  }
  float line[deepest_block];
  for (std::int64_t j = 0; j < width; ++j) {
    convert_line(b, k0 + (column + j) * b.column_stride, length, line);
    for (std::int64_t k = 0; k < length; ++k) to[k * stride + j] = line[k];
  }
}

/// `length` numbers from k0 on of columns 0 … n, panel after panel.
template <Reads reads>
inline void pack_panels(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t n, float* to) {
  if constexpr (reads != Reads::other) {
    if (b.column_stride == 1) return pack_rows<reads>(b, k0, length, n, to);
  }
  for (std::int64_t column = 0; column < n; column += tile_columns) {
    const std::int64_t width = n - column < tile_columns ? n - column : tile_columns;
    if constexpr (reads == Reads::other) {
      pack_other(b, k0, length, column, width, to + column * length);
    } else {
      pack_columns<reads>(b, k0, length, column, width, to + column * length);
    }
  }
}

inline void pack_panels(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t n, float* to) {
  switch (reads_of(b)) {
    case Reads::fp32:
      return pack_panels<Reads::fp32>(b, k0, length, n, to);
    case Reads::tf32:
      return pack_panels<Reads::tf32>(b, k0, length, n, to);
    case Reads::fp16:
      return pack_panels<Reads::fp16>(b, k0, length, n, to);
    case Reads::bf16:
      return pack_panels<Reads::bf16>(b, k0, length, n, to);
    case Reads::other:
      return pack_panels<Reads::other>(b, k0, length, n, to);
  }
}

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
