// The products on the CPU: what matmul and attention share.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul_lines.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/launch.h"

namespace ulpscope {

/// Adds matmul, attention and attention_backward, in fp32 and fp64. Their row and line loops use `set`.
void register_cpu_products(KernelTable& table, InstructionSet set);

/// The line loops compiled for `set`, which must be available.
template <class T>
const ProductLines<T>& product_lines(InstructionSet set);

/// Row-major C[m, n] = op(A) op(B) by the calling thread alone. A trans flag of 'T' says that the operand is stored
/// transposed; lda, ldb, ldc are the distances between stored lines in elements. k = 0 gives zeros. float: oneDNN,
/// called from inside a region made by SingleThreaded; double: a loop in ascending k. False if the library reports a
/// failure.
bool multiply_block(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                    std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc);
bool multiply_block(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                    std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc);

/// Called by every thread of a parallel region before multiply_block: makes oneDNN work in that thread alone. In a team
/// of several it would by itself; a team of one does not count as parallel, and there it would start a team of its own.
/// The setting belongs to the region's implicit task and ends with it.
void keep_library_single_threaded();

/// Throws Error for a failure that multiply_block reported inside the parallel region.
[[noreturn]] void report_library_failure(const char* operation);

namespace cpu {
/// Launchers, instantiated for float and double and every instruction set.
template <class T, InstructionSet set>
Kernel matmul_kernel();
template <class T, InstructionSet set>
Kernel attention_kernel();
template <class T, InstructionSet set>
Kernel attention_backward_kernel();
}  // namespace cpu

}  // namespace ulpscope
