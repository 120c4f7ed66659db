// What a launch of the fp32 matmul works with: how C is cut, where its memory lies. Used by matmul.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul_plan.h"
#include "kernels/cpu/matmul_share.h"
#include "kernels/cpu/product.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/tensor_core/product.h"

namespace ulpscope {

inline constexpr std::int64_t most_tallies = 64;  ///< counted results are cut into at most this many runs of blocks

/// How C is cut: each product into stripes of columns, these into blocks of rows. From shapes alone: bits do not depend
/// on it, but the order of counts does. Blocks of one stripe follow each other, so that B's columns are packed once.
struct Blocks {
  bool once = false;  ///< one block of rows: what is packed of B is used at once
  std::int64_t row_blocks = 0;
  std::int64_t panels = 0;  ///< columns in units of the register tile
  std::int64_t stripes = 0;
  std::int64_t rows = 0, columns = 0;  ///< of one block, at most
};

struct MatmulWork {
  MatmulPlan plan;
  Blocks blocks;
  const ProductKernel* kernel = nullptr;
  const tensor_core::SumRule* rule = nullptr;  ///< of the matrix unit whose sums are asked for; null: plain sums
  InstructionSet set = InstructionSet::portable;
  ProductSource a, b;                  ///< of the first product
  bool in_place = false;               ///< products are written to C at once
  const Epilogue* epilogue = nullptr;  ///< takes the sums; C may have no memory
  int threads = 1;
  float* a_copy = nullptr;  ///< dense copies of operands neither of whose strides is 1
  float* b_copy = nullptr;
  float* bias = nullptr;
  RoundingCounts* counts = nullptr;
  WorkShare* shares = nullptr;
  float* own = nullptr;  ///< for each thread: a packed stripe, scratch, the sums of a block
  std::int64_t packed_floats = 0, scratch_floats = 0, sum_floats = 0;
  std::size_t bytes = 0;

  std::int64_t tasks() const { return plan.products() * blocks.stripes * blocks.row_blocks; }
  float* packed(int thread) const { return own + thread * (packed_floats + scratch_floats + sum_floats); }
  float* scratch(int thread) const { return packed(thread) + packed_floats; }
  float* sums(int thread) const { return scratch(thread) + scratch_floats; }
};

/// Throws Error for views that do not fit. Memory of the launch may be null: then only sizes mean something.
MatmulWork prepare_matmul(const Launch& launch, InstructionSet set);

/// Whether a product reads the matrix where it is.
inline bool readable(const MatmulView& v) { return v.row_major() || v.column_major(); }
/// What stands for a matrix that is not: dense, row-major fp32 in `copy`.
MatmulView dense(const MatmulView& v, float* copy);

/// The operand of product (i, j), given the first one's.
ProductSource operand(const ProductSource& first, const MatmulView& v, std::int64_t i, std::int64_t j);

inline const void* element(const void* data, Format format, std::int64_t index) {
  return static_cast<const unsigned char*>(data) + index * storage_bytes(format);
}

}  // namespace ulpscope
