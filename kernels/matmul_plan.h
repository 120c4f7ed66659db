// What one matrix product is: its operands as stacks of matrices, checked and simplified.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/launch.h"
#include "kernels/ops/params.h"

namespace ulpscope {

/// One operand as a stack of matrices [batch0, batch1, rows, columns] after transposition. Strides in elements.
struct MatmulView {
  const void* data = nullptr;
  Format format = Format::fp32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  std::array<std::int64_t, 2> batch{1, 1};
  std::array<std::int64_t, 2> batch_stride{0, 0};  ///< 0: the same matrix for every index

  /// Whether sgemm can read (or write) it in place: one inner stride is 1, the other at least the length of a line.
  bool row_major() const { return (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns); }
  bool column_major() const { return (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows); }
  std::int64_t matrices() const {
    return (batch_stride[0] != 0 ? batch[0] : 1) * (batch_stride[1] != 0 ? batch[1] : 1);
  }
  std::int64_t offset(std::int64_t i, std::int64_t j) const { return i * batch_stride[0] + j * batch_stride[1]; }
};

/// The product C[M, N] = A[M, K] B[K, N], `batch` times.
struct MatmulPlan {
  MatmulView a, b, c;
  std::int64_t m = 0, n = 0, k = 0;
  std::array<std::int64_t, 2> batch{1, 1};
  Format multiply = Format::fp32;
  const Tensor* bias = nullptr;

  std::int64_t products() const { return batch[0] * batch[1]; }
  std::int64_t result_elements() const { return products() * m * n; }
};

/// Checks the views. Throws Error naming the views that do not fit.
MatmulPlan plan_matmul(const Launch& launch);

/// Whether values of `from` must be rounded to become operands of a multiplier that sees `multiply`: some of them are
/// not numbers of that format.
bool needs_rounding(Format from, Format multiply);

/// Bytes rounded up to a whole number of cache lines, so that what follows is aligned.
constexpr std::size_t aligned_bytes(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace ulpscope
