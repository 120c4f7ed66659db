// Reductions along rows, for every column: sum_leading and the gradients of a norm's weights. A thread sums 64 rows of a column,
// then the sums of these chunks are folded (ops/reductions.h).
#include "kernels/cuda/narrow_sums.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/rms_norm.h"

namespace ulpscope::cuda {
namespace {

constexpr int most_sums = 2;
constexpr int fold_columns = 32;   ///< that a block folds at a time

/// x, and what else a row of it needs.
struct ColumnOperands {
  DeviceView x, dy, mean, rstd;
  std::int64_t rows = 0, columns = 0;
};

template <class T>
struct SumColumns {
  static constexpr int sums = 1;
  static ULPSCOPE_DEVICE_MEMBER void add(const ColumnOperands& o, std::int64_t, std::int64_t at, T* sum) {
    const T x = read_element<T>(o.x, at);
    add_row(&x, 1, sum);
  }
};
template <class T>
struct LayerNormColumns {
  static constexpr int sums = 2;
  static ULPSCOPE_DEVICE_MEMBER void add(const ColumnOperands& o, std::int64_t row, std::int64_t at, T* sum) {
    const T x = read_element<T>(o.x, at), dy = read_element<T>(o.dy, at);
    const Moments<T> moments = {read_element<T>(o.mean, row), read_element<T>(o.rstd, row)};
    layer_norm_add_weight_gradients(&x, &dy, moments, 1, &sum[0], &sum[1]);
  }
};
template <class T>
struct RmsNormColumns {
  static constexpr int sums = 1;
  static ULPSCOPE_DEVICE_MEMBER void add(const ColumnOperands& o, std::int64_t row, std::int64_t at, T* sum) {
    const T x = read_element<T>(o.x, at), dy = read_element<T>(o.dy, at);
    rms_norm_add_weight_gradients(&x, &dy, read_element<T>(o.rstd, row), 1, sum);
  }
};

ULPSCOPE_DEVICE std::int64_t chunks_of(const ColumnOperands& o) { return o.rows < 1 ? 1 : column_chunks(o.rows); }

/// partial: [sum][chunk][column]
template <class T, class Body>
ULPSCOPE_KERNEL void column_chunk_kernel(ColumnOperands o, T* partial) {
  const std::int64_t chunks = chunks_of(o);
  for (std::int64_t i = global_thread(); i < chunks * o.columns; i += global_threads()) {
    const Divided place = divided(i, o.columns);
    const std::int64_t first = place.quotient * column_chunk_rows;
    const std::int64_t last = first + column_chunk_rows < o.rows ? first + column_chunk_rows : o.rows;
    T sum[Body::sums];
    ULPSCOPE_UNROLL
    for (int s = 0; s < Body::sums; ++s) sum[s] = T(0);
    for (std::int64_t row = first; row < last; ++row) Body::add(o, row, row * o.columns + place.rest, sum);
    ULPSCOPE_UNROLL
    for (int s = 0; s < Body::sums; ++s) partial[s * chunks * o.columns + i] = sum[s];
  }
}

/// Level by level, as fold_column_chunks: a block takes 32 columns of one sum.
template <class T>
ULPSCOPE_KERNEL void column_fold_kernel(T* partial, std::int64_t chunks, std::int64_t columns, Result y) {
  const int across = thread_index() % fold_columns, down = thread_index() / fold_columns;
  constexpr int depth = team_threads / fold_columns;
  for (std::int64_t group = block_index(); group * fold_columns < columns; group += grid_blocks()) {
    const std::int64_t column = group * fold_columns + across;
    for (std::int64_t step = 1; step < chunks; step *= 2) {
      for (std::int64_t c = down * 2 * step; c + step < chunks; c += depth * 2 * step)
        if (column < columns) fold_column_chunks(partial + c * columns + column, 2, step * columns, 1);
      block_barrier();
    }
    if (down == 0 && column < columns) write_element(y, column, partial[column]);
  }
}

std::size_t partial_bytes(std::int64_t rows, std::int64_t columns, int sums, std::size_t item) {
  const std::int64_t chunks = rows < 1 ? 1 : column_chunks(rows);
  return static_cast<std::size_t>(chunks * columns) * static_cast<std::size_t>(sums) * item;
}

template <class T, class Body>
void run_columns(const Launch& l, const ColumnOperands& o, const View* write) {
  static_assert(Body::sums <= most_sums);
  const std::int64_t chunks = o.rows < 1 ? 1 : column_chunks(o.rows);
  T* partial = static_cast<T*>(l.workspace);
  Observation<T> observation(l);
  launch(column_chunk_kernel<T, Body>, blocks_of_threads(chunks * o.columns), team_threads, l.stream, o, partial);
  for (int s = 0; s < Body::sums; ++s)
    launch_team(column_fold_kernel<T>, blocks_for((o.columns + fold_columns - 1) / fold_columns), team_threads, 0, l.stream,
                partial + s * chunks * o.columns, chunks, o.columns, observation.result(s, write[s]));
  for (int s = 0; s < Body::sums; ++s) observation.count(s, count_tiles(o.columns));
}

template <class T>
std::size_t leading_workspace(const Launch& l) {
  const LeadingShape shape = leading_shape(l.in[0], l.out[0]);
  const std::size_t bytes = partial_bytes(shape.rows, shape.columns, 1, sizeof(T));
  return bytes > narrow_workspace ? bytes : narrow_workspace;
}

template <class T>
void run_sum_leading(const Launch& l) {
  const char* operation = "sum_leading";
  expect_operands(operation, l, 1, 1);
  expect_workspace(operation, l);
  const LeadingShape shape = leading_shape(l.in[0], l.out[0]);
  const View x = view_of(l.in[0]), y = view_of(l.out[0]);
  if (is_narrow<T>(l)) {
    NarrowSums sums;
    sums.a = DeviceView(x);
    sums.sums = shape.columns;
    sums.length = shape.rows;
    sums.sum_step = 1;
    sums.item_step = shape.columns;
    return run_narrow_sums(l, sums, y, count_rows(shape.columns, 1));
  }
  ColumnOperands o;
  o.x = DeviceView(x);
  o.rows = shape.rows;
  o.columns = shape.columns;
  run_columns<T, SumColumns<T>>(l, o, &y);
}

template <class T>
std::size_t layer_norm_workspace(const Launch& l) {
  return partial_bytes(row_count(l.in[0]), row_length(l.in[0]), 2, sizeof(T));
}

template <class T>
void run_layer_norm(const Launch& l) {
  const char* operation = "layer_norm_backward_weights";
  expect_operands(operation, l, 4, 2);
  expect_workspace(operation, l);
  const RowShape shape = row_shape(operation, l.in[0].shape);
  expect_shape(operation, "dy", l.in[3].shape, l.in[0].shape);
  const View write[] = {vector_view(operation, l.out[0], shape.length), vector_view(operation, l.out[1], shape.length)};
  ColumnOperands o;
  o.x = DeviceView(view_of(l.in[0]));
  o.dy = DeviceView(view_of(l.in[3]));
  o.mean = DeviceView(broadcast_view(operation, l.in[1], shape.outer));
  o.rstd = DeviceView(broadcast_view(operation, l.in[2], shape.outer));
  o.rows = shape.rows;
  o.columns = shape.length;
  run_columns<T, LayerNormColumns<T>>(l, o, write);
}

template <class T>
std::size_t rms_norm_workspace(const Launch& l) {
  return partial_bytes(row_count(l.in[0]), row_length(l.in[0]), 1, sizeof(T));
}

template <class T>
void run_rms_norm(const Launch& l) {
  const char* operation = "rms_norm_backward_weights";
  expect_operands(operation, l, 3, 1);
  expect_workspace(operation, l);
  const RowShape shape = row_shape(operation, l.in[0].shape);
  expect_shape(operation, "dy", l.in[2].shape, l.in[0].shape);
  const View write = vector_view(operation, l.out[0], shape.length);
  ColumnOperands o;
  o.x = DeviceView(view_of(l.in[0]));
  o.dy = DeviceView(view_of(l.in[2]));
  o.rstd = DeviceView(broadcast_view(operation, l.in[1], shape.outer));
  o.rows = shape.rows;
  o.columns = shape.length;
  run_columns<T, RmsNormColumns<T>>(l, o, &write);
}

template <class T>
void add_columns(KernelTable& table, Format compute) {
  table.add("sum_leading", compute, Kernel{run_sum_leading<T>, leading_workspace<T>});
  table.add("layer_norm_backward_weights", compute, Kernel{run_layer_norm<T>, layer_norm_workspace<T>});
  table.add("rms_norm_backward_weights", compute, Kernel{run_rms_norm<T>, rms_norm_workspace<T>});
}

}  // namespace

void register_columns(KernelTable& table) {
  add_columns<float>(table, Format::fp32);
  add_columns<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
