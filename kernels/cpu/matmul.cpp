#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "kernels/cpu/matmul_plan.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope {
namespace {

constexpr std::int64_t contiguous_line = 8192;  ///< a gapless stack of lines is copied in lines of this length instead
constexpr std::int64_t most_tallies = 64;       ///< counted results are cut into at most this many runs of lines

/// An operand as the product reads it: where, in which order, and how it gets there.
template <class T>
struct Operand {
  const T* data = nullptr;
  char trans = 'N';
  std::int64_t line_stride = 0;  ///< lda
  std::int64_t batch_stride[2] = {0, 0};
  bool copied = false;
  MatmulView source;
  std::int64_t lines = 0, line_length = 0;  ///< of one matrix, as stored in the copy
  std::int64_t source_line_stride = 0, source_stride = 0;
  std::int64_t copy_elements() const { return copied ? source.matrices() * lines * line_length : 0; }
};

template <class T>
Operand<T> make_operand(const MatmulView& view, Format multiply) {
  constexpr bool is_float = std::is_same_v<T, float>;
  Operand<T> o;
  o.source = view;
  const bool rows_first = view.row_major() || !view.column_major();
  o.trans = rows_first ? 'N' : 'T';
  o.lines = rows_first ? view.rows : view.columns;
  o.line_length = rows_first ? view.columns : view.rows;
  o.source_line_stride = rows_first ? view.row_stride : view.column_stride;
  o.source_stride = rows_first ? view.column_stride : view.row_stride;
  if (o.line_length == 1) o.source_stride = 1;  // a stride that is never taken may be anything
  const bool readable =
      is_float ? (view.format == Format::fp32 || view.format == Format::tf32) && !needs_rounding(view.format, multiply)
               : view.format == Format::fp64;
  o.copied = !readable || !(view.row_major() || view.column_major());
  if (!o.copied) {
    o.data = static_cast<const T*>(view.data);
    o.line_stride = o.lines == 1 ? o.line_length : o.source_line_stride;
    for (int i = 0; i < 2; ++i) o.batch_stride[i] = view.batch_stride[static_cast<std::size_t>(i)];
    return o;
  }
  o.line_stride = o.line_length;
  const std::int64_t matrix = o.lines * o.line_length;
  const bool inner = view.batch_stride[1] != 0;
  o.batch_stride[1] = inner ? matrix : 0;
  o.batch_stride[0] = view.batch_stride[0] != 0 ? matrix * (inner ? view.batch[1] : 1) : 0;
  return o;
}

/// Everything one launch needs to know, and where its scratch memory lies.
template <class T>
struct Work {
  MatmulPlan plan;
  Operand<T> a, b;
  bool in_place = false;  ///< products are written to C at once
  std::int64_t tallies = 0;
  std::size_t bytes = 0;
  T* a_copy = nullptr;
  T* b_copy = nullptr;
  T* bias = nullptr;
  T* sums = nullptr;  ///< [part][product][m][n]
  RoundingCounts* counts = nullptr;
};

template <class T>
Work<T> prepare(const Launch& launch) {
  Work<T> w;
  w.plan = plan_matmul(launch);
  const MatmulPlan& p = w.plan;
  w.a = make_operand<T>(p.a, p.multiply);
  w.b = make_operand<T>(p.b, p.multiply);
  const Format own = std::is_same_v<T, float> ? Format::fp32 : Format::fp64;
  w.in_place = p.c.format == own && p.c.row_major() && p.depth_blocks == 1;
  w.tallies = std::min<std::int64_t>(most_tallies, p.products() * p.m);
  auto* base = static_cast<unsigned char*>(launch.workspace);
  const auto take = [&](std::int64_t elements, std::size_t size) {
    unsigned char* at = base == nullptr ? nullptr : base + w.bytes;
    w.bytes += aligned_bytes(static_cast<std::size_t>(elements) * size);
    return at;
  };
  w.a_copy = reinterpret_cast<T*>(take(w.a.copy_elements(), sizeof(T)));
  w.b_copy = reinterpret_cast<T*>(take(w.b.copy_elements(), sizeof(T)));
  w.bias = reinterpret_cast<T*>(take(p.bias != nullptr ? p.n : 0, sizeof(T)));
  w.sums = reinterpret_cast<T*>(take(w.in_place ? 0 : p.depth_blocks * p.result_elements(), sizeof(T)));
  w.counts = reinterpret_cast<RoundingCounts*>(take(w.tallies, sizeof(RoundingCounts)));
  if (w.a.copied) w.a.data = w.a_copy;
  if (w.b.copied) w.b.data = w.b_copy;
  return w;
}

const unsigned char* element(const void* data, Format format, std::int64_t index) {
  return static_cast<const unsigned char*>(data) + index * storage_bytes(format);
}

/// Widens an operand into its copy. Called by every thread of the team; there is no barrier at the end.
template <class T>
void copy_operand(const Operand<T>& o, T* copy, const ProductLines<T>& lines, Format multiply) {
  if (!o.copied) return;
  const MatmulView& v = o.source;
  std::int64_t length = o.line_length;
  std::int64_t count = o.lines;
  std::int64_t step = o.source_line_stride;
  if (o.source_stride == 1 && step == length) {
    length = std::min(contiguous_line, count * length);
    count = (o.lines * o.line_length + length - 1) / std::max<std::int64_t>(length, 1);
    step = length;
  }
  const std::int64_t total = o.lines * o.line_length;
  const std::int64_t inner = v.batch_stride[1] != 0 ? v.batch[1] : 1;
#pragma omp for schedule(static) nowait
  for (std::int64_t item = 0; item < v.matrices() * count; ++item) {
    const std::int64_t matrix = item / count;
    const std::int64_t line = item % count;
    const std::int64_t from = v.offset(matrix / inner, matrix % inner) + line * step;
    lines.load(v.format, element(v.data, v.format, from), o.source_stride, copy + matrix * total + line * length,
               std::min(length, total - line * length), multiply);
  }
}

/// Where line `row` of product (i, j) is gathered before it is rounded, and the line of C it goes to.
template <class T>
T* sum_line(const Work<T>& w, std::int64_t i, std::int64_t j, std::int64_t row) {
  const MatmulPlan& p = w.plan;
  if (w.in_place) return static_cast<T*>(const_cast<void*>(p.c.data)) + p.c.offset(i, j) + row * p.c.row_stride;
  return w.sums + ((i * p.batch[1] + j) * p.m + row) * p.n;
}

template <class T>
void finish_line(const Work<T>& w, const ProductLines<T>& lines, std::int64_t product, std::int64_t row,
                 std::int64_t column, std::int64_t n, RoundingTally* tally) {
  const MatmulPlan& p = w.plan;
  const std::int64_t i = product / p.batch[1];
  const std::int64_t j = product % p.batch[1];
  const std::int64_t at = p.c.offset(i, j) + row * p.c.row_stride + column * p.c.column_stride;
  void* line = const_cast<unsigned char*>(element(p.c.data, p.c.format, at));
  lines.finish(sum_line(w, i, j, row) + column, p.depth_blocks, p.result_elements(),
               p.bias == nullptr ? nullptr : w.bias + column, p.c.format, line, n == 1 ? 1 : p.c.column_stride, n,
               tally);
}

/// One block of one part of one product; false if the library failed.
template <class T>
bool compute_block(const Work<T>& w, std::int64_t task, const ProductLines<T>& lines, bool finish_here) {
  const MatmulPlan& p = w.plan;
  const std::int64_t part = task % p.depth_blocks;
  const std::int64_t column_block = task / p.depth_blocks % p.column_blocks;
  const std::int64_t row_block = task / (p.depth_blocks * p.column_blocks) % p.row_blocks;
  const std::int64_t product = task / (p.depth_blocks * p.column_blocks * p.row_blocks);
  const std::int64_t i = product / p.batch[1];
  const std::int64_t j = product % p.batch[1];
  const std::int64_t row = row_block * p.block_rows;
  const std::int64_t column = column_block * p.block_columns;
  const std::int64_t depth = part * p.block_depth;
  const std::int64_t m = std::min(p.block_rows, p.m - row);
  const std::int64_t n = std::min(p.block_columns, p.n - column);
  const std::int64_t k = std::min(p.block_depth, p.k - depth);
  const T* a = w.a.data + i * w.a.batch_stride[0] + j * w.a.batch_stride[1] +
               (w.a.trans == 'N' ? row * w.a.line_stride + depth : depth * w.a.line_stride + row);
  const T* b = w.b.data + i * w.b.batch_stride[0] + j * w.b.batch_stride[1] +
               (w.b.trans == 'N' ? depth * w.b.line_stride + column : column * w.b.line_stride + depth);
  T* c = sum_line(w, i, j, row) + column + part * p.result_elements();
  const std::int64_t ldc = w.in_place ? (p.m == 1 ? p.n : p.c.row_stride) : p.n;
  const bool good = multiply_block(w.a.trans, w.b.trans, m, n, k, a, w.a.line_stride, b, w.b.line_stride, c, ldc);
  if (finish_here) {
    for (std::int64_t r = 0; r < m; ++r) finish_line(w, lines, product, row + r, column, n, nullptr);
  }
  return good;
}

/// Rounds all lines of one run, in order, and counts.
template <class T>
void finish_run(const Work<T>& w, std::int64_t run, const ProductLines<T>& lines, bool counting) {
  const MatmulPlan& p = w.plan;
  const std::int64_t all = p.products() * p.m;
  RoundingTally tally;
  if (counting) begin_tally(tally);
  for (std::int64_t line = all * run / w.tallies; line < all * (run + 1) / w.tallies; ++line) {
    finish_line(w, lines, line / p.m, line % p.m, 0, p.n, counting ? &tally : nullptr);
  }
  if (!counting) return;
  finish_tally(tally);
  w.counts[run] = tally.counts;
}

template <class T, InstructionSet set>
void run_matmul(const Launch& launch) {
  const Work<T> w = prepare<T>(launch);
  const MatmulPlan& p = w.plan;
  if (p.result_elements() == 0) return;
  const ProductLines<T>& lines = product_lines<T>(set);
  if (p.bias != nullptr) {
    lines.load(p.bias->format, p.bias->data, p.n == 1 ? 1 : p.bias->stride[0], w.bias, p.n, Format::fp32);
  }
  RoundingCounts* counts = launch.counts != nullptr ? launch.counts[0] : nullptr;
  const bool finish_here = counts == nullptr && p.depth_blocks == 1 && (!w.in_place || p.bias != nullptr);
  const bool finish_later = counts != nullptr || p.depth_blocks > 1;
  const std::int64_t tasks = p.products() * p.row_blocks * p.column_blocks * p.depth_blocks;
  constexpr std::int64_t worth_sharing = 100000;  // multiplications: about the cost of waking a team
  const int threads =
      p.result_elements() * std::max<std::int64_t>(p.k, 1) < worth_sharing ? 1 : std::max(1, launch.threads);
  std::atomic<bool> failed{false};
#pragma omp parallel num_threads(threads)
  {
    keep_library_single_threaded();
    copy_operand(w.a, w.a_copy, lines, p.multiply);
    copy_operand(w.b, w.b_copy, lines, p.multiply);
    if (w.a.copied || w.b.copied) {
#pragma omp barrier
    }
#pragma omp for schedule(dynamic, 1) nowait
    for (std::int64_t task = 0; task < tasks; ++task) {
      if (!compute_block(w, task, lines, finish_here)) failed = true;
    }
    if (finish_later) {
#pragma omp barrier
#pragma omp for schedule(dynamic, 1) nowait
      for (std::int64_t run = 0; run < w.tallies; ++run) finish_run(w, run, lines, counts != nullptr);
    }
  }
  if (failed) report_library_failure("matmul");
  if (counts != nullptr) {
    for (std::int64_t run = 0; run < w.tallies; ++run) merge_counts(*counts, w.counts[run]);
  }
}

template <class T>
std::size_t matmul_workspace(const Launch& launch) {
  Launch without_memory = launch;
  without_memory.workspace = nullptr;
  return prepare<T>(without_memory).bytes;
}

}  // namespace

namespace cpu {
template <class T, InstructionSet set>
Kernel matmul_kernel() {
  return {run_matmul<T, set>, matmul_workspace<T>};
}
template Kernel matmul_kernel<float, InstructionSet::portable>();
template Kernel matmul_kernel<float, InstructionSet::avx2>();
template Kernel matmul_kernel<float, InstructionSet::avx512>();
template Kernel matmul_kernel<double, InstructionSet::portable>();
template Kernel matmul_kernel<double, InstructionSet::avx2>();
template Kernel matmul_kernel<double, InstructionSet::avx512>();
}  // namespace cpu

}  // namespace ulpscope
