// One product by the calling thread alone, and the table of products.
#include <algorithm>

#include "kernels/cpu/convolution.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/product.h"
#include "kernels/error.h"
#include "kernels/matmul.h"

namespace ulpscope {

std::string matmul_library(InstructionSet set) { return std::string("own kernels (") + name(set) + ")"; }

std::int64_t multiply_scratch(InstructionSet set, std::int64_t m, std::int64_t n, std::int64_t k, BlockSums sums) {
  if (sums.rule != nullptr) return tensor_core::scratch_floats(set, n, k);
  return packed_elements(product_kernel(set), n, k) + scratch_elements(m, k);
}

void multiply_block(InstructionSet set, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
                    float* scratch, std::int64_t wanted, BlockSums sums) {
  if (sums.rule != nullptr) {
    const tensor_core::Operand left{a, Format::fp32, Format::fp32, trans_a ? 1 : lda, trans_a ? lda : 1};
    const tensor_core::Operand right{b, Format::fp32, Format::fp32, trans_b ? 1 : ldb, trans_b ? ldb : 1};
    return tensor_core::multiply(set, *sums.rule, left, 0, m, right, n, k, c, ldc, sums.start, scratch);
  }
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0.0f);
    return;
  }
  const ProductKernel& kernel = product_kernel(set);
  const ProductSource left{a, Format::fp32, Format::fp32, trans_a ? 1 : lda, trans_a ? lda : 1};
  const ProductSource right{b, Format::fp32, Format::fp32, trans_b ? 1 : ldb, trans_b ? ldb : 1};
  kernel.pack(right, n, k, scratch);
  float* rows = scratch + packed_elements(kernel, n, k);
  // With one block of k the first panels lie where they would if there were no others.
  const bool banded = wanted < n && product_depth(k).blocks == 1;
  const std::int64_t band = banded ? 2 * kernel.rows : m;
  for (std::int64_t row = 0; row < m; row += band) {
    const std::int64_t height = std::min(band, m - row);
    const std::int64_t panels = (wanted + row + height - 1 + kernel.columns - 1) / kernel.columns;
    const std::int64_t columns = banded ? std::min(n, panels * kernel.columns) : n;
    if (columns > 0) kernel.multiply(left, row, height, columns, k, scratch, c + row * ldc, ldc, rows);
  }
}

void multiply_block(InstructionSet, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc,
                    double*, std::int64_t, BlockSums) {
  for (std::int64_t i = 0; i < m; ++i) {
    double* line = c + i * ldc;
    std::fill_n(line, n, 0.0);
    for (std::int64_t d = 0; d < k; ++d) {
      const double x = trans_a ? a[d * lda + i] : a[i * lda + d];
      if (trans_b) {
        for (std::int64_t j = 0; j < n; ++j) line[j] += x * b[j * ldb + d];
      } else {
        for (std::int64_t j = 0; j < n; ++j) line[j] += x * b[d * ldb + j];
      }
    }
  }
}

template <class T>
const ProductLines<T>& product_lines(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512::product_lines<T>();
  if (set == InstructionSet::avx2) return avx2::product_lines<T>();
#endif
  static_cast<void>(set);
  return portable::product_lines<T>();
}
template const ProductLines<float>& product_lines<float>(InstructionSet);
template const ProductLines<double>& product_lines<double>(InstructionSet);

namespace {

template <InstructionSet set>
void add_attention(KernelTable& table) {
  table.add("attention", Format::fp32, cpu::attention_kernel<float, set>());
  table.add("attention", Format::fp64, cpu::attention_kernel<double, set>());
  table.add("attention_backward", Format::fp32, cpu::attention_backward_kernel<float, set>());
  table.add("attention_backward", Format::fp64, cpu::attention_backward_kernel<double, set>());
}

}  // namespace

void register_cpu_products(KernelTable& table, InstructionSet set) {
  table.add("matmul", Format::fp32, matmul_kernel(set));
  table.add("matmul", Format::fp64, matmul_double_kernel(set));
  register_cpu_convolutions(table, set);
  switch (set) {
    case InstructionSet::portable:
      return add_attention<InstructionSet::portable>(table);
    case InstructionSet::avx2:
      return add_attention<InstructionSet::avx2>(table);
    case InstructionSet::avx512:
      return add_attention<InstructionSet::avx512>(table);
  }
}

}  // namespace ulpscope
