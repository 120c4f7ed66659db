// The driver of row-wise kernels: rows widened into a thread's scratch, a body over the row, the result rounded out.
// Included only by sources that are compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/register.h"
#include "kernels/cpu/team.h"
#include "kernels/cpu/tile_io.h"
#include "kernels/ops/team.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

constexpr int max_row_reads = 2;

/// Rows are runs of `length` elements of views with rows * length elements; at most one result has rows.
struct RowOperands {
  View read[max_row_reads];
  View write;
  int reads = 0;
  bool writes = false;
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

/// A row of scratch: whole cache lines.
inline std::size_t padded(std::int64_t length) { return (static_cast<std::size_t>(length) + 15u) / 16u * 16u; }

inline std::size_t row_workspace(const Launch& launch, std::int64_t length, int rows_per_thread, int shared,
                                 std::size_t item) {
  const std::size_t threads = static_cast<std::size_t>(launch.threads < 1 ? 1 : launch.threads);
  return (threads * static_cast<std::size_t>(rows_per_thread) + static_cast<std::size_t>(shared)) * padded(length) *
         item;
}

inline void expect_workspace(const char* operation, const Launch& launch) {
  if (launch.workspace == nullptr) fail(operation, "no workspace");
}

/// scratch: for each thread reads + 1 rows of padded(length) elements.
template <class T>
inline void run_rows(const Launch& launch, const RowOperands& operands, int cost, T* scratch, RunBody<T> function,
                     const void* body) {
  const std::int64_t n = operands.length;
  const std::size_t pitch = padded(n);
  run_units(launch, operands.rows, operands.rows * n * cost,
            [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              T* own =
                  scratch + static_cast<std::size_t>(thread) * static_cast<std::size_t>(operands.reads + 1) * pitch;
              RunArgs<T> args = {};
              args.n = n;
              args.tally = tally;
              for (std::int64_t row = first; row < last; ++row) {
                args.row = row;
                args.begin = row * n;
                for (int r = 0; r < operands.reads; ++r) {
                  args.in[r] = read_run(operands.read[r], row * n, n, own + static_cast<std::size_t>(r) * pitch);
                }
                T* place = own + static_cast<std::size_t>(operands.reads) * pitch;
                if (operands.writes) place = write_place(operands.write, row * n, place, tally[0]);
                args.out[0] = place;
                function(body, args);
                if (operands.writes) write_run(operands.write, row * n, n, place, tally[0]);
              }
            });
}

/// Reads `reads` inputs of the first output's shape, given by their positions; the first output has rows.
inline RowOperands row_operands(const char* operation, const Launch& launch, int reads, const int* positions) {
  const Shape& shape = launch.out[0].shape;
  const RowShape rows = row_shape(operation, shape);
  RowOperands operands;
  for (int r = 0; r < reads; ++r) operands.read[r] = broadcast_view(operation, launch.in[positions[r]], shape);
  operands.write = view_of(launch.out[0]);
  operands.reads = reads;
  operands.writes = true;
  operands.rows = rows.rows;
  operands.length = rows.length;
  return operands;
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
