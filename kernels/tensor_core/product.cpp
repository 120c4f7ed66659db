#include "kernels/tensor_core/product.h"

#include <algorithm>

namespace ulpscope::tensor_core {

namespace portable {
const ProductFunctions& product_functions();
}
#if defined(__x86_64__)
namespace avx2 {
const ProductFunctions& product_functions();
}
namespace avx512 {
const ProductFunctions& product_functions();
}
#endif

const ProductFunctions& product_functions(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512::product_functions();
  if (set == InstructionSet::avx2) return avx2::product_functions();
#endif
  static_cast<void>(set);
  return portable::product_functions();
}

std::int64_t scratch_floats(InstructionSet set, std::int64_t n, std::int64_t k) {
  const std::int64_t lanes = product_functions(set).lanes;
  const std::int64_t depth = std::min(deepest_piece, (k + widest_block + 15) / 16 * 16);
  const std::int64_t wide = std::min(widest_piece, (n + lanes - 1) / lanes * lanes);
  return deepest_piece + widest_piece + 2 * depth * (wide + rows_together);
}

void multiply(InstructionSet set, const SumRule& rule, const Operand& a, std::int64_t row, std::int64_t m, const Operand& b,
              std::int64_t n, std::int64_t k, float* c, std::int64_t c_stride, Start start, float* scratch) {
  if (k == 0 && start == Start::zero) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, 0.0f);
  }
  Product p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.row = row;
  p.rule = &rule;
  p.a = a;
  p.b = b;
  p.c = c;
  p.c_stride = c_stride;
  p.start = start;
  p.scratch = scratch;
  product_functions(set).multiply(p);
}

}  // namespace ulpscope::tensor_core
