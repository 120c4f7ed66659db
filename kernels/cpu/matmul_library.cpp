// oneDNN, and the plain loop in double beside it.
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <string>

#include "kernels/cpu/matmul.h"
#include "kernels/error.h"
#include "kernels/matmul.h"

namespace ulpscope {

std::string matmul_library() {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

void keep_library_single_threaded() { omp_set_num_threads(1); }

void report_library_failure(const char* operation) {
  throw Error(std::string(operation) + ": " + matmul_library() + " reported a failure of dnnl_sgemm (out of memory?)");
}

bool multiply_block(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                    std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  if (k == 0) {  // dnnl_sgemm returns without touching C
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0.0f);
    return true;
  }
  return dnnl_sgemm(trans_a, trans_b, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) == dnnl_success;
}

bool multiply_block(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                    std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i) {
    double* line = c + i * ldc;
    std::fill_n(line, n, 0.0);
    for (std::int64_t d = 0; d < k; ++d) {
      const double x = trans_a == 'N' ? a[i * lda + d] : a[d * lda + i];
      if (trans_b == 'N') {
        for (std::int64_t j = 0; j < n; ++j) line[j] += x * b[d * ldb + j];
      } else {
        for (std::int64_t j = 0; j < n; ++j) line[j] += x * b[j * ldb + d];
      }
    }
  }
  return true;
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
template <class T, InstructionSet set>
void add_products(KernelTable& table, Format compute) {
  table.add("matmul", compute, cpu::matmul_kernel<T, set>());
  table.add("attention", compute, cpu::attention_kernel<T, set>());
  table.add("attention_backward", compute, cpu::attention_backward_kernel<T, set>());
}
template <InstructionSet set>
void add_products(KernelTable& table) {
  add_products<float, set>(table, Format::fp32);
  add_products<double, set>(table, Format::fp64);
}
}  // namespace

void register_cpu_products(KernelTable& table, InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      return add_products<InstructionSet::portable>(table);
    case InstructionSet::avx2:
      return add_products<InstructionSet::avx2>(table);
    case InstructionSet::avx512:
      return add_products<InstructionSet::avx512>(table);
  }
}

}  // namespace ulpscope
