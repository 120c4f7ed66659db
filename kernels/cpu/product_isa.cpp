// The own matrix product, compiled once per instruction set.
#include "kernels/cpu/product_pack.h"
#include "kernels/cpu/product_tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

struct Block {
  std::int64_t first, length;
};

ULPSCOPE_BODY Block block_of(std::int64_t k, std::int64_t block) {
  const ProductDepth d = product_depth(k);
  const std::int64_t first = block * d.depth;
  return {first, k - first < d.depth ? k - first : d.depth};
}

ULPSCOPE_BODY std::int64_t panels_of(std::int64_t n) { return (n + tile_columns - 1) / tile_columns; }

/// Where a panel of a depth block lies in the packed B.
ULPSCOPE_BODY std::int64_t place(std::int64_t n, const Block& block, std::int64_t panel) {
  return (block.first * panels_of(n) + panel * block.length) * tile_columns;
}

void pack(const ProductSource& b, std::int64_t n, std::int64_t k, std::int64_t block_index, std::int64_t panel, float* packed) {
  const Block block = block_of(k, block_index);
  const std::int64_t column = panel * tile_columns;
  const std::int64_t width = n - column < tile_columns ? n - column : tile_columns;
  float* to = packed + place(n, block, panel);
  switch (reads_of(b)) {
    case Reads::fp32:
      return pack_panel<Reads::fp32>(b, block.first, block.length, column, width, to);
    case Reads::tf32:
      return pack_panel<Reads::tf32>(b, block.first, block.length, column, width, to);
    case Reads::fp16:
      return pack_panel<Reads::fp16>(b, block.first, block.length, column, width, to);
    case Reads::bf16:
      return pack_panel<Reads::bf16>(b, block.first, block.length, column, width, to);
    case Reads::other:
      return pack_panel<Reads::other>(b, block.first, block.length, column, width, to);
  }
}

/// A as the tiles read it: in place, or converted into scratch.
struct LeftOperand {
  const float* data;        ///< element (row, first k of the block)
  std::int64_t stride;      ///< between lines
};

/// Lines that lie a multiple of 4 KiB apart fall into the same few sets of the first-level cache: they are copied.
ULPSCOPE_BODY bool lines_collide(std::int64_t stride) { return stride % 1024 == 0; }

inline LeftOperand left_operand(const ProductSource& a, std::int64_t row, std::int64_t m, const Block& block, float* scratch) {
  const bool rows = a.column_stride == 1;
  const std::int64_t stride = rows ? a.row_stride : a.column_stride;
  const std::int64_t first = row * a.row_stride + block.first * a.column_stride;
  if (reads_of(a) == Reads::fp32 && !lines_collide(stride)) return {static_cast<const float*>(a.data) + first, stride};
  const std::int64_t lines = rows ? m : block.length;
  const std::int64_t length = rows ? block.length : m;
  const std::int64_t apart = length + 16;
  for (std::int64_t i = 0; i < lines; ++i) convert_line(a, first + i * stride, length, scratch + i * apart);
  return {scratch, apart};
}

template <Lines lines>
inline void multiply_block(const LeftOperand& left, std::int64_t m, std::int64_t n, const Block& block, const float* packed,
                           std::int64_t panel_first, std::int64_t panel_last, float* c, std::int64_t c_stride) {
  const std::int64_t tiles = (m + tile_rows - 1) / tile_rows;
  for (std::int64_t panel = panel_first; panel < panel_last; ++panel) {
    const float* right = packed + place(n, block, panel);
    const std::int64_t column = panel * tile_columns;
    const std::int64_t width = n - column < tile_columns ? n - column : tile_columns;
    float* to = c + (panel - panel_first) * tile_columns;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t first = m * t / tiles;
      const std::int64_t rows = m * (t + 1) / tiles - first;   // tiles of nearly the same height
      const float* from = left.data + first * (lines == Lines::rows ? left.stride : 1);
      tile_of<lines>(rows)(from, left.stride, right, block.length, to + first * c_stride, c_stride, width, block.first > 0);
    }
  }
}

void multiply(const ProductSource& a, std::int64_t row, std::int64_t m, std::int64_t n, std::int64_t k, const float* packed,
              std::int64_t panel_first, std::int64_t panel_last, float* c, std::int64_t c_stride, float* scratch) {
  const std::int64_t blocks = product_depth(k).blocks;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const Block block = block_of(k, i);
    const LeftOperand left = left_operand(a, row, m, block, scratch);
    if (a.column_stride == 1) {
      multiply_block<Lines::rows>(left, m, n, block, packed, panel_first, panel_last, c, c_stride);
    } else {
      multiply_block<Lines::columns>(left, m, n, block, packed, panel_first, panel_last, c, c_stride);
    }
  }
}

constexpr ProductKernel kernel{tile_rows, tile_columns, pack, multiply};

}  // namespace

const ProductKernel& product_kernel() { return kernel; }

}  // namespace ulpscope::ULPSCOPE_ISA
