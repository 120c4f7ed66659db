// A matrix product with the sums of a matrix unit, on the CPU: vectorised over the columns of the result, one element's sum as
// reference.h computes it, bit for bit, whatever the instruction set. About ten times the work of the plain product.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/tensor_core/sum_rule.h"

namespace ulpscope::tensor_core {

/// A matrix as stored: element (row, column) is at row * row_stride + column * column_stride (elements). It is widened, and rounded
/// to `multiply` where that is narrower than `format`; what comes out are numbers of the rule's operands.
struct Operand {
  const void* data = nullptr;
  Format format = Format::fp32;
  Format multiply = Format::fp32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// What C starts from: zeros, or what it holds: numbers of the rule's result format.
enum class Start : std::uint8_t { zero, c };

/// Row-major C[m, n] = (C +) A[row … row + m, K] B[K, n] by the calling thread alone, c at element (row, 0) of C; k = 0 leaves C as it
/// starts. The rule must have passed check(). scratch: scratch_floats(set, n, k) floats, aligned to 64 bytes.
void multiply(InstructionSet set, const SumRule& rule, const Operand& a, std::int64_t row, std::int64_t m, const Operand& b,
              std::int64_t n, std::int64_t k, float* c, std::int64_t c_stride, Start start, float* scratch);
std::int64_t scratch_floats(InstructionSet set, std::int64_t n, std::int64_t k);

/// K and N are taken in pieces of at most so many elements; a sum is chained from piece to piece.
inline constexpr std::int64_t deepest_piece = longest_restart;
inline constexpr std::int64_t widest_piece = 256;
inline constexpr std::int64_t rows_together = 16;

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t row = 0;
  const SumRule* rule = nullptr;
  Operand a, b;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  Start start = Start::zero;
  float* scratch = nullptr;
};

/// One instruction set's.
struct ProductFunctions {
  std::int64_t lanes;
  void (*multiply)(const Product&);
};
const ProductFunctions& product_functions(InstructionSet set);

}  // namespace ulpscope::tensor_core
