// The products on the CPU: what matmul and attention share.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul_lines.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/launch.h"
#include "kernels/tensor_core/product.h"

namespace ulpscope {

/// Adds matmul, attention, convolutions and their gradients, in fp32 and fp64, compiled for `set`.
void register_cpu_products(KernelTable& table, InstructionSet set);

/// The line loops compiled for `set`, which must be available.
template <class T>
const ProductLines<T>& product_lines(InstructionSet set);

/// Row-major C[m, n] = op(A) op(B) by the calling thread alone. A trans flag says that the operand is stored
/// transposed; lda, ldb, ldc are the distances between stored lines in elements. k = 0 gives zeros. float: the own
/// product (product.h) with scratch memory of multiply_scratch floats; double: a loop in ascending k, without scratch.
/// Of row i only the first wanted + i columns are needed (all_columns: all); the others may be left as they are.
inline constexpr std::int64_t all_columns = std::int64_t{1} << 40;

/// How the sums of a product are made: plain, or as a matrix unit makes them, perhaps chained onto what C holds (float only).
struct BlockSums {
  const tensor_core::SumRule* rule = nullptr;  ///< null: plain
  tensor_core::Start start = tensor_core::Start::zero;
};
void multiply_block(InstructionSet set, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
                    float* scratch, std::int64_t wanted = all_columns, BlockSums sums = {});
void multiply_block(InstructionSet set, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc,
                    double* scratch, std::int64_t wanted = all_columns, BlockSums sums = {});
std::int64_t multiply_scratch(InstructionSet set, std::int64_t m, std::int64_t n, std::int64_t k, BlockSums sums = {});

Kernel matmul_kernel(InstructionSet set);
Kernel matmul_double_kernel(InstructionSet set);

namespace cpu {
/// Launchers, instantiated for float and double and every instruction set.
template <class T, InstructionSet set>
Kernel attention_kernel();
template <class T, InstructionSet set>
Kernel attention_backward_kernel();
}  // namespace cpu

}  // namespace ulpscope
