#include "kernels/ops/embedding.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/reductions.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// Columns that the gradient takes at a time: few, so that a frequent index is shared by the threads.
constexpr std::int64_t gradient_columns = 64;

template <class T>
void run_embedding(const Launch& launch) {
  const char* operation = "embedding";
  expect_operands(operation, launch, 2, 1, 1u << 1);
  const EmbeddingShape shape = embedding_shape(operation, launch.in[0], launch.in[1], launch.out[0]);
  const View table = view_of(launch.in[0]);
  const View y = view_of(launch.out[0]);
  const std::int32_t* index = static_cast<const std::int32_t*>(launch.in[1].data);
  const std::int64_t n = shape.columns;
  run_units(launch, shape.positions, y.elements,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              Buffer<T> buffer;
              for (std::int64_t p = first; p < last; ++p) {
                for (std::int64_t done = 0; done < n; done += tile_length) {
                  const int length = smaller(n - done, tile_length);
                  const T* row = read_run(table, index[p] * n + done, length, buffer.value);
                  write_tile(y, p * n + done, length, row, tally[0]);
                }
              }
            });
}

// Workspace: where each row of the table starts in the list of positions, and the list.
std::size_t backward_workspace(const Launch& launch) {
  const std::int64_t rows = row_count(launch.out[0]);
  const std::int64_t positions = row_count(launch.in[0]);
  return static_cast<std::size_t>(rows + 1 + positions) * sizeof(std::int64_t);
}

/// `length` columns of one row of the table from `positions` rows of the gradient, every sum by itself.
template <class T>
void narrow_row(const Launch& launch, const View& dy, std::int64_t pitch, std::int64_t column, const std::int64_t* position,
                std::int64_t positions, int length, T* sum) {
  for (int i = 0; i < length; ++i)
    sum[i] = static_cast<T>(narrow_sum(launch.arithmetic, positions, [&dy, pitch, column, position, i](std::int64_t k) {
      return read_element<float>(dy, position[k] * pitch + column + i);
    }, launch.inner));
}

template <class T>
void run_backward(const Launch& launch) {
  const char* operation = "embedding_backward";
  expect_operands(operation, launch, 2, 1, 1u << 1);
  expect_workspace(operation, launch);
  const EmbeddingShape shape = embedding_shape(operation, launch.out[0], launch.in[1], launch.in[0]);
  const View dy = view_of(launch.in[0]);
  const View dtable = view_of(launch.out[0]);
  const std::int64_t n = shape.columns;
  const std::int64_t rows = shape.rows;
  std::int64_t* start = static_cast<std::int64_t*>(launch.workspace);
  std::int64_t* position = start + rows + 1;
  sort_positions(static_cast<const std::int32_t*>(launch.in[1].data), shape.positions, rows, start, position);
  const std::int64_t pieces = (n + gradient_columns - 1) / gradient_columns;
  run_units(launch, pieces * rows, dy.elements + dtable.elements,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              Buffer<T> buffer, sum;
              for (std::int64_t unit = first; unit < last; ++unit) {
                const std::int64_t column = unit / rows * gradient_columns;
                const std::int64_t row = unit % rows;
                const int length = smaller(n - column, gradient_columns);
                for (int i = 0; i < length; ++i) sum.value[i] = T(0);
                if (format_of<T>() == Format::fp32 && !launch.arithmetic.standard()) {
                  narrow_row(launch, dy, n, column, position + start[row], start[row + 1] - start[row], length, sum.value);
                  write_tile(dtable, row * n + column, length, sum.value, tally[0]);
                  continue;
                }
                for (std::int64_t k = start[row]; k < start[row + 1]; ++k) {
                  add_row(read_run(dy, position[k] * n + column, length, buffer.value), length, sum.value);
                }
                write_tile(dtable, row * n + column, length, sum.value, tally[0]);
              }
            });
}

template <class T>
void add_embedding(KernelTable& table) {
  add_kernel(table, "embedding", format_of<T>(), run_embedding<T>);
  add_kernel(table, "embedding_backward", format_of<T>(), run_backward<T>, backward_workspace);
}

}  // namespace

void register_embedding(KernelTable& table) {
  add_embedding<float>(table);
  add_embedding<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
