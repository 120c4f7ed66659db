// The matrix product in fp32: B is packed by the whole team, then blocks of C are shared out. What a block's owner needs
// beyond that (rows of A converted, sums before they are rounded) is its own.
#include "kernels/cpu/matmul.h"

#include <omp.h>

#include <algorithm>

#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/product.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope {
namespace {

constexpr std::int64_t most_packed = 1 << 20;   ///< floats of B packed at a time: 4 MiB, half of a core's share of the cache
constexpr std::int64_t most_tallies = 64;       ///< counted results are cut into at most this many runs of blocks

/// How C is cut into blocks, from shapes alone: bits do not depend on it, but the order of counts does.
struct Blocks {
  std::int64_t rows = 0;                 ///< of one block, at most
  std::int64_t row_blocks = 0;
  std::int64_t panels = 0;               ///< of B: columns in units of the register tile
  std::int64_t chunk = 0;                ///< panels packed at a time
  std::int64_t chunks = 0;
  std::int64_t block_panels = 0;         ///< of one block, at most
};

Blocks cut(const MatmulPlan& p, const ProductKernel& kernel, std::int64_t matrices) {
  constexpr std::int64_t enough = 24;    // blocks to share out
  Blocks b;
  b.panels = (p.n + kernel.columns - 1) / kernel.columns;
  const std::int64_t panel_floats = std::max<std::int64_t>(1, matrices * p.k * kernel.columns);
  b.chunk = std::clamp<std::int64_t>(most_packed / panel_floats, 1, b.panels);
  b.chunks = (b.panels + b.chunk - 1) / b.chunk;
  b.chunk = (b.panels + b.chunks - 1) / b.chunks;
  b.rows = 84;                           // six tiles of AVX-512, fourteen of AVX2
  b.block_panels = std::min<std::int64_t>(16, b.chunk);
  const auto blocks = [&] {
    return p.products() * ((p.m + b.rows - 1) / b.rows) * ((b.chunk + b.block_panels - 1) / b.block_panels);
  };
  while (blocks() < enough && b.block_panels > 2) b.block_panels = (b.block_panels + 1) / 2;
  while (blocks() < enough && b.rows > 2 * kernel.rows) b.rows /= 2;
  b.row_blocks = (p.m + b.rows - 1) / b.rows;
  return b;
}

struct Work {
  MatmulPlan plan;
  Blocks blocks;
  const ProductKernel* kernel = nullptr;
  ProductSource a, b;                    ///< of the first product
  bool in_place = false;                 ///< products are written to C at once
  std::size_t bytes = 0;
  float* a_copy = nullptr;               ///< dense copies of operands neither of whose strides is 1
  float* b_copy = nullptr;
  float* bias = nullptr;
  float* packed = nullptr;
  float* scratch = nullptr;              ///< for each thread
  float* sums = nullptr;                 ///< for each thread: one block
  RoundingCounts* counts = nullptr;
  std::int64_t scratch_floats = 0, sum_floats = 0;

  std::int64_t packed_floats() const { return blocks.chunk * kernel->columns * plan.k; }
};

bool usable(const MatmulView& v) { return v.row_major() || v.column_major(); }

ProductSource source_of(const MatmulView& v, Format multiply) {
  ProductSource s{v.data, v.format, multiply, v.row_stride, v.column_stride};
  // A stride that is never taken may be anything; here it must tell which numbers are neighbours.
  if (v.row_major()) {
    s.column_stride = 1;
    if (v.rows == 1) s.row_stride = v.columns;
  } else {
    s.row_stride = 1;
    if (v.columns == 1) s.column_stride = v.rows;
  }
  return s;
}

/// Dense, row-major fp32 in `copy`: what copy_dense fills.
MatmulView dense(const MatmulView& v, float* copy) {
  MatmulView d = v;
  d.data = copy;
  d.format = Format::fp32;
  d.row_stride = v.columns;
  d.column_stride = 1;
  const bool inner = v.batch_stride[1] != 0;
  d.batch_stride[1] = inner ? v.rows * v.columns : 0;
  d.batch_stride[0] = v.batch_stride[0] != 0 ? v.rows * v.columns * (inner ? v.batch[1] : 1) : 0;
  return d;
}

Work prepare(const Launch& launch, InstructionSet set) {
  Work w;
  w.plan = plan_matmul(launch);
  MatmulPlan& p = w.plan;
  w.kernel = &product_kernel(set);
  w.blocks = cut(p, *w.kernel, p.b.matrices());
  w.in_place = p.c.format == Format::fp32 && p.c.row_major();
  auto* base = static_cast<unsigned char*>(launch.workspace);
  const auto take = [&](std::int64_t elements, std::size_t size) {
    unsigned char* at = base == nullptr ? nullptr : base + w.bytes;
    w.bytes += aligned_bytes(static_cast<std::size_t>(elements) * size);
    return at;
  };
  const auto floats = [&](std::int64_t n) { return reinterpret_cast<float*>(take(n, sizeof(float))); };
  const auto aligned_floats = [](std::int64_t n) { return (n + 15) / 16 * 16; };
  w.a_copy = floats(usable(p.a) ? 0 : p.a.matrices() * p.m * p.k);
  w.b_copy = floats(usable(p.b) ? 0 : p.b.matrices() * p.k * p.n);
  w.bias = floats(p.bias != nullptr ? p.n : 0);
  w.packed = floats(p.b.matrices() * w.packed_floats());
  w.scratch_floats = aligned_floats(scratch_elements(std::min(w.blocks.rows, p.m), p.k));
  w.scratch = floats(launch.threads * w.scratch_floats);
  w.sum_floats = w.in_place ? 0 : aligned_floats(std::min(w.blocks.rows, p.m) * w.blocks.block_panels * w.kernel->columns);
  w.sums = floats(launch.threads * w.sum_floats);
  w.counts = reinterpret_cast<RoundingCounts*>(take(most_tallies, sizeof(RoundingCounts)));
  w.a = source_of(usable(p.a) ? p.a : dense(p.a, w.a_copy), p.multiply);
  w.b = source_of(usable(p.b) ? p.b : dense(p.b, w.b_copy), p.multiply);
  return w;
}

const void* element(const void* data, Format format, std::int64_t index) {
  return static_cast<const unsigned char*>(data) + index * storage_bytes(format);
}

/// Called by every thread of the team; ends with a barrier.
void copy_dense(const MatmulView& v, float* copy, const ProductLines<float>& lines) {
  if (usable(v)) return;
  const std::int64_t inner = v.batch_stride[1] != 0 ? v.batch[1] : 1;
#pragma omp for schedule(static)
  for (std::int64_t item = 0; item < v.matrices() * v.rows; ++item) {
    const std::int64_t matrix = item / v.rows;
    const std::int64_t at = v.offset(matrix / inner, matrix % inner) + item % v.rows * v.row_stride;
    lines.load(v.format, element(v.data, v.format, at), v.column_stride, copy + item * v.columns, v.columns, Format::fp32);
  }
}

/// The operand of product (i, j), given the first one's.
ProductSource operand(const ProductSource& first, const MatmulView& v, std::int64_t i, std::int64_t j) {
  ProductSource s = first;
  const std::int64_t offset = usable(v) ? v.offset(i, j) : dense(v, nullptr).offset(i, j);
  if (!usable(v)) s.format = Format::fp32;
  s.data = element(first.data, s.format, offset);
  return s;
}

/// Which of the packed matrices product (i, j) reads.
std::int64_t matrix_of(const MatmulView& v, std::int64_t i, std::int64_t j) {
  const bool inner = v.batch_stride[1] != 0;
  return (v.batch_stride[0] != 0 ? i : 0) * (inner ? v.batch[1] : 1) + (inner ? j : 0);
}

/// Panels [first, last) of every matrix of B. Called by every thread; ends with a barrier.
void pack_chunk(const Work& w, std::int64_t first, std::int64_t last) {
  const MatmulPlan& p = w.plan;
  const std::int64_t depth_blocks = product_depth(p.k).blocks;
  const std::int64_t inner = p.b.batch_stride[1] != 0 ? p.b.batch[1] : 1;
  const std::int64_t panels = last - first;
#pragma omp for schedule(static)
  for (std::int64_t item = 0; item < p.b.matrices() * depth_blocks * panels; ++item) {
    const std::int64_t panel = item % panels;
    const std::int64_t block = item / panels % depth_blocks;
    const std::int64_t matrix = item / (panels * depth_blocks);
    ProductSource b = operand(w.b, p.b, matrix / inner, matrix % inner);
    const std::int64_t column = first * w.kernel->columns;
    b.data = element(b.data, b.format, column * b.column_stride);
    w.kernel->pack(b, std::min(p.n - column, panels * w.kernel->columns), p.k, block, panel,
                   w.packed + matrix * w.packed_floats());
  }
}

/// One block of C: panels [first + begin, first + end) of the chunk.
struct Task {
  std::int64_t i, j, row, rows, begin, end;
};

Task task_of(const Work& w, std::int64_t index, std::int64_t panels) {
  const MatmulPlan& p = w.plan;
  const std::int64_t column_blocks = (panels + w.blocks.block_panels - 1) / w.blocks.block_panels;
  const std::int64_t column_block = index % column_blocks;
  const std::int64_t row_block = index / column_blocks % w.blocks.row_blocks;
  const std::int64_t product = index / (column_blocks * w.blocks.row_blocks);
  const std::int64_t row = p.m * row_block / w.blocks.row_blocks;
  return {product / p.batch[1], product % p.batch[1],
          row, p.m * (row_block + 1) / w.blocks.row_blocks - row,
          panels * column_block / column_blocks, panels * (column_block + 1) / column_blocks};
}

void run_task(const Work& w, const Task& t, std::int64_t first, std::int64_t panels, const ProductLines<float>& lines,
              RoundingTally* tally) {
  const MatmulPlan& p = w.plan;
  const auto thread = static_cast<std::int64_t>(omp_get_thread_num());
  const std::int64_t chunk_column = first * w.kernel->columns;
  const std::int64_t column = chunk_column + t.begin * w.kernel->columns;
  const std::int64_t n = std::min(p.n - column, (t.end - t.begin) * w.kernel->columns);
  const std::int64_t at = p.c.offset(t.i, t.j) + t.row * p.c.row_stride + column * p.c.column_stride;
  auto* c = static_cast<unsigned char*>(const_cast<void*>(p.c.data)) + at * storage_bytes(p.c.format);
  const std::int64_t c_line = p.c.rows == 1 ? p.n : p.c.row_stride;
  float* sums = w.in_place ? reinterpret_cast<float*>(c) : w.sums + thread * w.sum_floats;
  const std::int64_t stride = w.in_place ? c_line : (t.end - t.begin) * w.kernel->columns;
  if (p.k == 0) {
    for (std::int64_t r = 0; r < t.rows; ++r) std::fill_n(sums + r * stride, n, 0.0f);
  }
  w.kernel->multiply(operand(w.a, p.a, t.i, t.j), t.row, t.rows, std::min(p.n - chunk_column, panels * w.kernel->columns), p.k,
                     w.packed + matrix_of(p.b, t.i, t.j) * w.packed_floats(), t.begin, t.end, sums, stride,
                     w.scratch + thread * w.scratch_floats);
  if (w.in_place && p.bias == nullptr && tally == nullptr) return;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    void* line = c + r * c_line * storage_bytes(p.c.format);
    lines.finish(sums + r * stride, 1, 0, p.bias == nullptr ? nullptr : w.bias + column, p.c.format, line,
                 p.n == 1 ? 1 : p.c.column_stride, n, tally);
  }
}

/// Blocks of one chunk in runs; with counts a run has a tally of its own. Ends with a barrier.
void run_chunk(const Work& w, std::int64_t first, std::int64_t panels, const ProductLines<float>& lines, bool counting) {
  const std::int64_t column_blocks = (panels + w.blocks.block_panels - 1) / w.blocks.block_panels;
  const std::int64_t tasks = w.plan.products() * w.blocks.row_blocks * column_blocks;
  const std::int64_t runs = counting ? std::min(most_tallies, tasks) : tasks;
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t run = 0; run < runs; ++run) {
    RoundingTally tally;
    if (counting) begin_tally(tally);
    for (std::int64_t t = tasks * run / runs; t < tasks * (run + 1) / runs; ++t)
      run_task(w, task_of(w, t, panels), first, panels, lines, counting ? &tally : nullptr);
    if (!counting) continue;
    finish_tally(tally);
    merge_counts(w.counts[run], tally.counts);
  }
}

template <InstructionSet set>
void run_matmul(const Launch& launch) {
  const Work w = prepare(launch, set);
  const MatmulPlan& p = w.plan;
  if (p.result_elements() == 0) return;
  const ProductLines<float>& lines = product_lines<float>(set);
  if (p.bias != nullptr) {
    lines.load(p.bias->format, p.bias->data, p.n == 1 ? 1 : p.bias->stride[0], w.bias, p.n, Format::fp32);
  }
  RoundingCounts* counts = launch.counts != nullptr ? launch.counts[0] : nullptr;
  for (std::int64_t i = 0; counts != nullptr && i < most_tallies; ++i) w.counts[i] = RoundingCounts{};
  constexpr std::int64_t worth_sharing = 100000;   // multiplications: about the cost of waking a team
  const bool small = p.result_elements() * std::max<std::int64_t>(p.k, 1) < worth_sharing;
  const int threads = small ? 1 : std::max(1, launch.threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    copy_dense(p.a, w.a_copy, lines);
    copy_dense(p.b, w.b_copy, lines);
    for (std::int64_t chunk = 0; chunk < w.blocks.chunks; ++chunk) {
      const std::int64_t first = w.blocks.panels * chunk / w.blocks.chunks;
      const std::int64_t last = w.blocks.panels * (chunk + 1) / w.blocks.chunks;
      pack_chunk(w, first, last);
      run_chunk(w, first, last - first, lines, counts != nullptr);
    }
  }
  for (std::int64_t i = 0; counts != nullptr && i < most_tallies; ++i) merge_counts(*counts, w.counts[i]);
}

template <InstructionSet set>
std::size_t matmul_workspace(const Launch& launch) {
  Launch without_memory = launch;
  without_memory.workspace = nullptr;
  return prepare(without_memory, set).bytes;
}

}  // namespace

Kernel matmul_kernel(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return {run_matmul<InstructionSet::avx512>, matmul_workspace<InstructionSet::avx512>};
  if (set == InstructionSet::avx2) return {run_matmul<InstructionSet::avx2>, matmul_workspace<InstructionSet::avx2>};
#endif
  static_cast<void>(set);
  return {run_matmul<InstructionSet::portable>, matmul_workspace<InstructionSet::portable>};
}

}  // namespace ulpscope
