// The matrix product in fp32: blocks of C are shared out, and each thread packs what it reads of B itself. So nobody
// waits for anybody, at the cost of packing a stripe as often as threads work at it.
#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "kernels/cpu/matmul_work.h"
#include "kernels/cpu/whole_team.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope {
namespace {

void copy_dense(const Launch& launch, const MatmulView& v, float* copy, const ProductLines<float>& lines, int threads) {
  if (readable(v)) return;
  const std::int64_t inner = v.batch_stride[1] != 0 ? v.batch[1] : 1;
  const std::int64_t items = v.matrices() * v.rows;
  std::atomic<std::int64_t> next{0};
  on_team(launch, threads, [&](int) {
    for (std::int64_t item = next++; item < items; item = next++) {
      const std::int64_t matrix = item / v.rows;
      const std::int64_t at = v.offset(matrix / inner, matrix % inner) + item % v.rows * v.row_stride;
      lines.load(v.format, element(v.data, v.format, at), v.column_stride, copy + item * v.columns, v.columns,
                 Format::fp32);
    }
  });
}

/// One block of C.
struct Task {
  std::int64_t i, j, row, rows, column, columns;
};

Task task_of(const MatmulWork& w, std::int64_t index) {
  const MatmulPlan& p = w.plan;
  const Blocks& b = w.blocks;
  const std::int64_t row_block = index % b.row_blocks;
  const std::int64_t stripe = index / b.row_blocks % b.stripes;
  const std::int64_t product = index / (b.row_blocks * b.stripes);
  const std::int64_t row = p.m * row_block / b.row_blocks;
  const std::int64_t column = b.panels * stripe / b.stripes * w.kernel->columns;
  const std::int64_t end = std::min(p.n, b.panels * (stripe + 1) / b.stripes * w.kernel->columns);
  return {product / p.batch[1], product % p.batch[1], row, p.m * (row_block + 1) / b.row_blocks - row, column,
          end - column};
}

/// One thread at work.
class Worker {
 public:
  Worker(const MatmulWork& work, const ProductLines<float>& lines, int thread)
      : w_(work), lines_(lines), thread_(thread) {}

  void run(std::int64_t first, std::int64_t last, RoundingTally* tally) {
    for (std::int64_t index = first; index < last; ++index) run(task_of(w_, index), tally);
  }

 private:
  void run(const Task& t, RoundingTally* tally) {
    const MatmulPlan& p = w_.plan;
    const std::int64_t at = p.c.offset(t.i, t.j) + t.row * p.c.row_stride + t.column * p.c.column_stride;
    auto* c = p.c.data == nullptr
                  ? nullptr
                  : static_cast<unsigned char*>(const_cast<void*>(p.c.data)) + at * storage_bytes(p.c.format);
    const std::int64_t c_line = p.c.rows == 1 ? p.n : p.c.row_stride;
    float* sums = w_.in_place ? reinterpret_cast<float*>(c) : w_.sums(thread_);
    const std::int64_t stride = w_.in_place ? c_line : t.columns;
    multiply(t, sums, stride);
    if (w_.in_place && p.bias == nullptr && tally == nullptr && w_.epilogue == nullptr) return;
    const float* bias = p.bias == nullptr ? nullptr : w_.bias + t.column;
    for (std::int64_t r = 0; r < t.rows; ++r) {
      float* line = sums + r * stride;
      if (w_.epilogue == nullptr) {
        lines_.finish(line, 1, 0, bias, p.c.format, c + r * c_line * storage_bytes(p.c.format),
                      p.n == 1 ? 1 : p.c.column_stride, t.columns, tally);
        continue;
      }
      if (bias != nullptr) lines_.finish(line, 1, 0, bias, Format::fp32, line, 1, t.columns, nullptr);
      w_.epilogue->run(w_.epilogue->context, thread_, at + r * p.n, t.columns, line);  // C is contiguous
    }
  }

  void multiply(const Task& t, float* sums, std::int64_t stride) {
    const MatmulPlan& p = w_.plan;
    if (p.k == 0) {
      for (std::int64_t r = 0; r < t.rows; ++r) std::fill_n(sums + r * stride, t.columns, 0.0f);
      return;
    }
    const ProductSource a = operand(w_.a, p.a, t.i, t.j);
    ProductSource b = operand(w_.b, p.b, t.i, t.j);
    b.data = element(b.data, b.format, t.column * b.column_stride);
    if (w_.rule != nullptr) {
      const auto operand = [](const ProductSource& s) -> tensor_core::Operand {
        return {s.data, s.format, s.multiply, s.row_stride, s.column_stride};
      };
      return tensor_core::multiply(w_.set, *w_.rule, operand(a), t.row, t.rows, operand(b), t.columns, p.k, sums, stride,
                                   tensor_core::Start::zero, w_.scratch(thread_));
    }
    if (w_.blocks.once) {
      return w_.kernel->multiply_once(a, t.row, t.rows, b, t.columns, p.k, sums, stride, w_.scratch(thread_));
    }
    if (packed_ != b.data) w_.kernel->pack(b, t.columns, p.k, w_.packed(thread_));
    packed_ = b.data;
    w_.kernel->multiply(a, t.row, t.rows, t.columns, p.k, w_.packed(thread_), sums, stride, w_.scratch(thread_));
  }

  const MatmulWork& w_;
  const ProductLines<float>& lines_;
  const int thread_;
  const void* packed_ = nullptr;  ///< where the stripe begins that is packed
};

void start_counts(RoundingCounts& c, const RoundingCounts& into) {
  c.range_only = into.range_only;
  clear_counts(c);
}

/// A run of blocks with a tally of its own.
__attribute__((noinline)) void run_counted(const MatmulWork& w, Worker& worker, std::int64_t run, std::int64_t runs) {
  RoundingTally tally;
  begin_tally(tally, w.counts[run]);
  worker.run(w.tasks() * run / runs, w.tasks() * (run + 1) / runs, &tally);
  finish_tally(tally);
  merge_counts(w.counts[run], tally.counts);
}

template <InstructionSet set>
void run_matmul(const Launch& launch) {
  const MatmulWork w = prepare_matmul(launch, set);
  const MatmulPlan& p = w.plan;
  if (p.result_elements() == 0) return;
  const ProductLines<float>& lines = product_lines<float>(set);
  if (p.bias != nullptr) {
    lines.load(p.bias->format, p.bias->data, p.n == 1 ? 1 : p.bias->stride[0], w.bias, p.n, Format::fp32);
  }
  const int team = w.threads > 1 ? launch.threads : 1;
  copy_dense(launch, p.a, w.a_copy, lines, team);
  copy_dense(launch, p.b, w.b_copy, lines, team);
  RoundingCounts* counts = launch.counts != nullptr ? launch.counts[0] : nullptr;
  const std::int64_t pieces = counts != nullptr ? std::min(most_tallies, w.tasks()) : w.tasks();
  for (std::int64_t i = 0; counts != nullptr && i < pieces; ++i) start_counts(w.counts[i], *counts);
  for (int t = 0; t < w.threads; ++t) new (w.shares + t) WorkShare;
  deal(w.shares, w.threads, pieces);
  on_team(launch, w.threads, [&](int thread) {
    Worker worker(w, lines, thread);
    for (std::int64_t i = next_piece(w.shares, w.threads, thread); i >= 0;
         i = next_piece(w.shares, w.threads, thread)) {
      if (counts == nullptr) worker.run(i, i + 1, nullptr);
      if (counts != nullptr) run_counted(w, worker, i, pieces);
    }
  });
  for (std::int64_t i = 0; counts != nullptr && i < pieces; ++i) merge_counts(*counts, w.counts[i]);
}

template <InstructionSet set>
std::size_t matmul_workspace(const Launch& launch) {
  Launch without_memory = launch;
  without_memory.workspace = nullptr;
  return prepare_matmul(without_memory, set).bytes;
}

}  // namespace

Kernel matmul_kernel(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512)
    return {run_matmul<InstructionSet::avx512>, matmul_workspace<InstructionSet::avx512>, nullptr, true};
  if (set == InstructionSet::avx2)
    return {run_matmul<InstructionSet::avx2>, matmul_workspace<InstructionSet::avx2>, nullptr, true};
#endif
  static_cast<void>(set);
  return {run_matmul<InstructionSet::portable>, matmul_workspace<InstructionSet::portable>, nullptr, true};
}

}  // namespace ulpscope
