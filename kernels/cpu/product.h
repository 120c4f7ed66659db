// The own matrix product: operands are converted while they are packed, sums are fp32, what comes out is one block of
// C.
//
// C[M, N] is computed in tiles of `rows` × `columns` numbers held in registers. K is cut into blocks of at most 256; a
// tile's sum over one block is a chain of multiply-adds in ascending k from zero, and block sums are added in ascending
// order. So the bits of an element depend on K and on the instruction set's multiply-add (fused for AVX2 and AVX-512,
// separate for portable) alone: not on threads, not on M and N, not on how the work is shared out.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/formats/instruction_set.h"

namespace ulpscope {

/// A matrix as stored: element (row, column) is at row * row_stride + column * column_stride (elements). One of the
/// strides is 1. It is widened, and rounded to `multiply` where that is narrower.
struct ProductSource {
  const void* data = nullptr;
  Format format = Format::fp32;
  Format multiply = Format::fp32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// A panel of B of that depth (32 KiB for AVX-512) stays in the first-level cache.
inline constexpr std::int64_t deepest_block = 256;

/// How K is cut: `blocks` of `depth` (the last may be shorter). A function of K alone.
struct ProductDepth {
  std::int64_t blocks = 0;
  std::int64_t depth = 0;
};
ProductDepth product_depth(std::int64_t k);

/// The kernels of one instruction set. Columns of B are taken in panels of `columns`; the last panel is as narrow as
/// whole vectors allow.
struct ProductKernel {
  std::int64_t rows = 0;  ///< of a register tile
  std::int64_t columns = 0;
  std::int64_t vector = 0;  ///< numbers of one vector

  /// Packs B[K, N]: packed_elements(n, k) floats.
  void (*pack)(const ProductSource& b, std::int64_t n, std::int64_t k, float* packed);

  /// Row-major C[row … row + m, n] = A B with B packed. `c` points to C's element (row, 0). K is not 0.
  /// scratch: rows of A converted, scratch_elements(m, k) floats.
  void (*multiply)(const ProductSource& a, std::int64_t row, std::int64_t m, std::int64_t n, std::int64_t k,
                   const float* packed, float* c, std::int64_t c_stride, float* scratch);

  /// The same with B as it is: for so few rows that what is packed is used at once. Panels are packed one at a time, or
  /// read in place. scratch: once_elements(m, n, k) floats.
  void (*multiply_once)(const ProductSource& a, std::int64_t row, std::int64_t m, const ProductSource& b,
                        std::int64_t n, std::int64_t k, float* c, std::int64_t c_stride, float* scratch);
};

const ProductKernel& product_kernel(InstructionSet set);

/// Floats of packed B, and of the scratch for m rows of A.
std::int64_t packed_elements(const ProductKernel& kernel, std::int64_t n, std::int64_t k);
std::int64_t scratch_elements(std::int64_t m, std::int64_t k);
std::int64_t once_elements(const ProductKernel& kernel, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace ulpscope
