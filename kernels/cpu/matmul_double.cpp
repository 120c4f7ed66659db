// The matrix product in double, for gradient checks: plain loops in ascending k, rows shared out over the team.
#include <omp.h>

#include <algorithm>

#include "kernels/cpu/matmul.h"
#include "kernels/matmul_plan.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope {
namespace {

struct Work {
  MatmulPlan plan;
  std::size_t bytes = 0;
  double* a = nullptr;      ///< dense copies of every matrix
  double* b = nullptr;
  double* bias = nullptr;
  double* sums = nullptr;   ///< the whole result
};

Work prepare(const Launch& launch) {
  Work w;
  w.plan = plan_matmul(launch);
  const MatmulPlan& p = w.plan;
  auto* base = static_cast<unsigned char*>(launch.workspace);
  const auto take = [&](std::int64_t elements) {
    unsigned char* at = base == nullptr ? nullptr : base + w.bytes;
    w.bytes += aligned_bytes(static_cast<std::size_t>(elements) * sizeof(double));
    return reinterpret_cast<double*>(at);
  };
  w.a = take(p.a.matrices() * p.m * p.k);
  w.b = take(p.b.matrices() * p.k * p.n);
  w.bias = take(p.bias != nullptr ? p.n : 0);
  w.sums = take(p.result_elements());
  return w;
}

const void* element(const void* data, Format format, std::int64_t index) {
  return static_cast<const unsigned char*>(data) + index * storage_bytes(format);
}

std::int64_t inner_matrices(const MatmulView& v) { return v.batch_stride[1] != 0 ? v.batch[1] : 1; }

std::int64_t matrix_of(const MatmulView& v, std::int64_t i, std::int64_t j) {
  return (v.batch_stride[0] != 0 ? i : 0) * inner_matrices(v) + (v.batch_stride[1] != 0 ? j : 0);
}

void copy(const MatmulView& v, double* to, const ProductLines<double>& lines) {
  for (std::int64_t item = 0; item < v.matrices() * v.rows; ++item) {
    const std::int64_t matrix = item / v.rows;
    const std::int64_t at =
        v.offset(matrix / inner_matrices(v), matrix % inner_matrices(v)) + item % v.rows * v.row_stride;
    lines.load(v.format, element(v.data, v.format, at), v.columns == 1 ? 1 : v.column_stride, to + item * v.columns,
               v.columns, Format::fp64);
  }
}

void multiply_row(const Work& w, std::int64_t row) {
  const MatmulPlan& p = w.plan;
  const std::int64_t product = row / p.m;
  const std::int64_t i = product / p.batch[1], j = product % p.batch[1];
  const double* a = w.a + (matrix_of(p.a, i, j) * p.m + row % p.m) * p.k;
  const double* b = w.b + matrix_of(p.b, i, j) * p.k * p.n;
  double* sum = w.sums + row * p.n;
  std::fill_n(sum, p.n, 0.0);
  for (std::int64_t k = 0; k < p.k; ++k)
    for (std::int64_t n = 0; n < p.n; ++n) sum[n] += a[k] * b[k * p.n + n];
}

template <InstructionSet set>
void run(const Launch& launch) {
  const Work w = prepare(launch);
  const MatmulPlan& p = w.plan;
  if (p.result_elements() == 0) return;
  const ProductLines<double>& lines = product_lines<double>(set);
  copy(p.a, w.a, lines);
  copy(p.b, w.b, lines);
  if (p.bias != nullptr)
    lines.load(p.bias->format, p.bias->data, p.n == 1 ? 1 : p.bias->stride[0], w.bias, p.n, Format::fp64);
#pragma omp parallel for num_threads(std::max(1, launch.threads)) schedule(static)
  for (std::int64_t row = 0; row < p.products() * p.m; ++row) multiply_row(w, row);
  RoundingCounts* counts = launch.counts != nullptr ? launch.counts[0] : nullptr;
  RoundingTally tally;
  if (counts != nullptr) begin_tally(tally, *counts);
  for (std::int64_t row = 0; row < p.products() * p.m; ++row) {
    const std::int64_t product = row / p.m;
    const std::int64_t at = p.c.offset(product / p.batch[1], product % p.batch[1]) + row % p.m * p.c.row_stride;
    lines.finish(w.sums + row * p.n, 1, 0, p.bias == nullptr ? nullptr : w.bias, p.c.format,
                 const_cast<void*>(element(p.c.data, p.c.format, at)), p.n == 1 ? 1 : p.c.column_stride, p.n,
                 counts != nullptr ? &tally : nullptr);
  }
  if (counts == nullptr) return;
  finish_tally(tally);
  merge_counts(*counts, tally.counts);
}

std::size_t workspace(const Launch& launch) {
  Launch without_memory = launch;
  without_memory.workspace = nullptr;
  return prepare(without_memory).bytes;
}

}  // namespace

Kernel matmul_double_kernel(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return {run<InstructionSet::avx512>, workspace};
  if (set == InstructionSet::avx2) return {run<InstructionSet::avx2>, workspace};
#endif
  static_cast<void>(set);
  return {run<InstructionSet::portable>, workspace};
}

}  // namespace ulpscope
