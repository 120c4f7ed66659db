// One matrix product in cuBLASLt's terms, decided without it: layouts, compute type, what is converted first, what the library
// repeats and what the caller does. No CUDA header: the tests execute the same plans by plain loops.
//
// cuBLASLt's matrices are stored column by column. A row-major C[M, N] = A[M, K] B[K, N] is its D' = B' A': our B is its A, and D
// has N rows. A row-major matrix read column by column is its own transpose, so neither operand has to move.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "kernels/launch.h"
#include "kernels/tensor.h"

namespace ulpscope::cuda {

/// CUBLAS_COMPUTE_32F_PEDANTIC (no tf32, no narrower products), _32F_FAST_TF32, _32F (16-bit operands), _64F.
enum class LtCompute : std::uint8_t { fp32_pedantic, fast_tf32, fp32, fp64 };
const char* name(LtCompute compute);

/// A stack of matrices, each stored column by column. Strides in elements.
struct LtLayout {
  Format format = Format::fp32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;        ///< from one column to the next
  std::int64_t batch_stride = 0;   ///< 0: the same matrix for all products of the batch

  auto operator<=>(const LtLayout&) const = default;
};

/// D = op(A) op(B) (+ bias, one element for each row of D, in D's format, added to the sum before it is rounded), `batch` times.
struct LtCall {
  LtCompute compute = LtCompute::fp32;
  bool transpose_a = false, transpose_b = false;
  LtLayout a, b, d;
  std::int64_t batch = 1;
  bool bias = false;

  std::int64_t depth() const { return transpose_a ? a.rows : a.columns; }
  auto operator<=>(const LtCall&) const = default;
};
std::string to_string(const LtCall& call);

struct LtPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
};

/// What one product is, from its operands to its result, in this order.
struct ProductPlan {
  static constexpr int most_copies = 3;
  struct Copy {
    Tensor from, to;
  };
  Copy copies[most_copies];         ///< operands that the library does not read where and as they are
  int copy_count = 0;
  bool empty_sum = false;           ///< K = 0: no call; the sums are zeros
  LtCall call;
  LtPointers pointers;              ///< of the first call
  std::int64_t calls = 0;           ///< the same call, so often:
  std::int64_t a_step = 0, b_step = 0, d_step = 0;   ///< elements from one to the next
  bool finishes = false;            ///< D is `sums`; the bias is added and the result rounded by a kernel of ours
  void* sums = nullptr;             ///< finishes: dense, in the order of the result, in the compute format
  bool bias_after = false;
  const void* bias = nullptr;       ///< bias_after: [N], in the compute format
  void* library_workspace = nullptr;   ///< 256-byte aligned
  std::int64_t elements = 0, columns = 0;   ///< of the result, and of one of its rows
  std::size_t bytes = 0;            ///< of workspace, the library's share included
};

/// What may be left to the library. Without, the result is the same: the bias is added to the fp32 sum by a kernel of ours, and 16-bit
/// operands are widened to fp32, which is exact and slower.
struct LtLeft {
  bool bias = true;
  bool narrow = true;
};

/// launch: of the operation matmul. compute: fp32 or fp64. Memory may be null: then only sizes and layouts mean something.
/// Throws Error naming the views that do not fit.
ProductPlan plan_product(const Launch& launch, Format compute, std::size_t library_bytes, LtLeft left = {});

/// What operands of these formats are handed to the library as, where MatmulParams::multiply is this: `multiply` if that has 16 bits (they are
/// rounded to it); fp16 or bf16 if all of them are numbers of it (the matrix units multiply those exactly and sum in fp32); else fp32. Throws Error for a format that no multiplier here has.
Format operand_format(std::initializer_list<Format> stored, Format multiply);

}  // namespace ulpscope::cuda
