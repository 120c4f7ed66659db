// The own matrix product, compiled once per instruction set.
#include "kernels/cpu/product_pack.h"
#include "kernels/cpu/product_row.h"
#include "kernels/cpu/product_tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

struct Block {
  std::int64_t first, length;
};

ULPSCOPE_BODY Block block_of(const ProductDepth& d, std::int64_t k, std::int64_t block) {
  const std::int64_t first = block * d.depth;
  return {first, k - first < d.depth ? k - first : d.depth};
}

void pack(const ProductSource& b, std::int64_t n, std::int64_t k, float* packed) {
  const ProductDepth depth = product_depth(k);
  for (std::int64_t i = 0; i < depth.blocks; ++i) {
    const Block block = block_of(depth, k, i);
    pack_panels(b, block.first, block.length, n, packed + block.first * padded(n));
  }
}

/// Lines that lie a multiple of 4 KiB apart fall into the same few sets of the first-level cache: they are copied.
ULPSCOPE_BODY bool lines_collide(std::int64_t lines, std::int64_t stride) { return lines > 4 && stride % 1024 == 0; }

/// A's rows [row, row + m) in one block of k: in place, or converted into scratch.
inline LeftOperand left_operand(const ProductSource& a, std::int64_t row, std::int64_t m, const Block& block,
                                float* scratch) {
  const bool rows = a.column_stride == 1;
  const std::int64_t stride = rows ? a.row_stride : a.column_stride;
  const std::int64_t first = row * a.row_stride + block.first * a.column_stride;
  const bool collide = lines_collide(rows ? m : block.length, stride);
  if (reads_of(a) == Reads::fp32 && !collide) {
    return {static_cast<const float*>(a.data) + first, stride, rows ? Lines::rows : Lines::columns};
  }
  if (!rows) {
    pack_tiles(a, first, m, block.length, scratch);
    return {scratch, 0, Lines::tiles};
  }
  const std::int64_t apart = block.length + 16;
  for (std::int64_t i = 0; i < m; ++i) convert_line(a, first + i * stride, block.length, scratch + i * apart);
  return {scratch, apart, Lines::rows};
}

/// Asks for part `part` of `parts` of the columns of A that are read after this block of k: of the next block, or of
/// the rows below. Pieces of columns that lie pages apart are what the processor does not see coming. Nothing is read
/// here: they need not exist.
inline void fetch_next(const ProductSource& a, std::int64_t row, std::int64_t m, const ProductDepth& depth,
                       std::int64_t block, std::int64_t part, std::int64_t parts) {
  const std::int64_t size = info(a.format).storage_bytes;
  const std::int64_t apart = a.column_stride * size;
  if (a.column_stride == 1 || apart < 4096 || apart % 4096 == 0) return;  // the last would push each other out
  const bool last = block + 1 == depth.blocks;
  const std::int64_t first_k = last ? 0 : (block + 1) * depth.depth;
  const auto* first =
      static_cast<const char*>(a.data) + ((last ? row + m : row) * a.row_stride + first_k * a.column_stride) * size;
  for (std::int64_t i = depth.depth * part / parts; i < depth.depth * (part + 1) / parts; ++i) {
    for (std::int64_t b = 0; b < m * size + 63; b += 64) __builtin_prefetch(first + i * apart + b, 0, 2);
  }
}

void multiply(const ProductSource& a, std::int64_t row, std::int64_t m, std::int64_t n, std::int64_t k,
              const float* packed, float* c, std::int64_t c_stride, float* scratch) {
  const ProductDepth depth = product_depth(k);
  for (std::int64_t i = 0; i < depth.blocks; ++i) {
    const Block block = block_of(depth, k, i);
    const LeftOperand left = left_operand(a, row, m, block, scratch);
    const float* panels = packed + block.first * padded(n);
    const std::int64_t parts = (n + tile_columns - 1) / tile_columns;
    for (std::int64_t column = 0; column < n; column += tile_columns) {
      const std::int64_t width = n - column < tile_columns ? n - column : tile_columns;
      fetch_next(a, row, m, depth, i, column / tile_columns, parts);
      multiply_panel(left, m, {panels + column * block.length, padded(width)}, block.length, c + column, c_stride,
                     width, i > 0);
    }
  }
}

ULPSCOPE_BODY void multiply_row_turned(const float* a, std::int64_t stride, const ProductSource& b, const Block& block,
                                       std::int64_t n, float* c, bool add) {
  switch (reads_of(b)) {
    case Reads::fp32:
      return multiply_row_turned<Reads::fp32>(a, stride, b, block.first, block.length, n, c, add);
    case Reads::tf32:
      return multiply_row_turned<Reads::tf32>(a, stride, b, block.first, block.length, n, c, add);
    case Reads::fp16:
      return multiply_row_turned<Reads::fp16>(a, stride, b, block.first, block.length, n, c, add);
    case Reads::bf16:
      return multiply_row_turned<Reads::bf16>(a, stride, b, block.first, block.length, n, c, add);
    case Reads::other:
      return;
  }
}

void multiply_once(const ProductSource& a, std::int64_t row, std::int64_t m, const ProductSource& b, std::int64_t n,
                   std::int64_t k, float* c, std::int64_t c_stride, float* scratch) {
  const ProductDepth depth = product_depth(k);
  const Reads reads = reads_of(b);
  const bool in_place = reads == Reads::fp32 && b.column_stride == 1 && m <= 2 * tile_rows;
  const bool turned = reads != Reads::other && b.column_stride != 1 && m == 1;
  float* panel = scratch + scratch_elements(m, k);
  for (std::int64_t i = 0; i < depth.blocks; ++i) {
    const Block block = block_of(depth, k, i);
    const LeftOperand left = left_operand(a, row, m, block, scratch);
    const std::int64_t left_step = left.lines == Lines::columns ? left.stride : 1;  // from k to k + 1
    if (turned) {
      multiply_row_turned(left.data, left_step, b, block, n, c, i > 0);
      continue;
    }
    const RightOperand rows{static_cast<const float*>(b.data) + block.first * b.row_stride, b.row_stride};
    if (m == 1 && in_place) {
      multiply_row(left.data, left_step, rows, block.length, c, n, panel, i > 0);
      continue;
    }
    std::int64_t column = 0;
    while (column < n) {
      std::int64_t width = n - column < tile_columns ? n - column : tile_columns;
      RightOperand right{rows.data + column, rows.stride};
      if (in_place && width >= vector_length) {
        width = width / vector_length * vector_length;
      } else {
        ProductSource from = b;
        from.data = at(b, column * b.column_stride);
        pack_panels(from, block.first, block.length, width, panel);
        right = {panel, padded(width)};
      }
      multiply_panel(left, m, right, block.length, c + column, c_stride, width, i > 0);
      column += width;
    }
  }
}

constexpr ProductKernel kernel{tile_rows, tile_columns, vector_length, pack, multiply, multiply_once};

}  // namespace

const ProductKernel& product_kernel() { return kernel; }

}  // namespace ulpscope::ULPSCOPE_ISA
