#include "kernels/cpu/product.h"

#include <algorithm>

namespace ulpscope {

namespace portable {
const ProductKernel& product_kernel();
}
#if defined(__x86_64__)
namespace avx2 {
const ProductKernel& product_kernel();
}
namespace avx512 {
const ProductKernel& product_kernel();
}
#endif

ProductDepth product_depth(std::int64_t k) {
  const std::int64_t blocks = (k + deepest_block - 1) / deepest_block;
  if (blocks <= 1) return {blocks, k};
  const std::int64_t depth = ((k + blocks - 1) / blocks + 15) / 16 * 16;
  return {(k + depth - 1) / depth, depth};
}

const ProductKernel& product_kernel(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512::product_kernel();
  if (set == InstructionSet::avx2) return avx2::product_kernel();
#endif
  static_cast<void>(set);
  return portable::product_kernel();
}

std::int64_t packed_elements(const ProductKernel& kernel, std::int64_t n, std::int64_t k) {
  return (n + kernel.vector - 1) / kernel.vector * kernel.vector * k;
}

std::int64_t scratch_elements(std::int64_t m, std::int64_t k) {
  const std::int64_t depth = product_depth(k).depth;
  return (m + m / 3 + 32) / 16 * 16 * (depth + 16);  // tiles of six rows take the place of eight
}

std::int64_t once_elements(const ProductKernel& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return scratch_elements(m, k) + std::max(product_depth(k).depth * kernel.columns, packed_elements(kernel, n, 1));
}

}  // namespace ulpscope
