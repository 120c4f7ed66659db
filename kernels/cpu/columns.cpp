// Reductions along rows, for every column: sum_leading and the gradients of a norm's weights.
#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/rms_norm.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

constexpr int max_sums = 2;

/// What is summed: `sums` results of `columns` elements over `rows` rows.
struct ColumnOperands {
  View read[max_row_reads];
  View write[max_sums];
  int reads = 0;
  int sums = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Adds a piece of one row to the sums.
template <class T>
using ColumnFunction = void (*)(const void* body, std::int64_t row, int n, const T* const* in, T* const* sum);

/// The sums of the chunks of 64 rows, one padded row for each chunk and sum.
inline std::size_t column_workspace(std::int64_t rows, std::int64_t columns, int sums, std::size_t item) {
  const std::int64_t chunks = rows < 1 ? 1 : column_chunks(rows);
  return static_cast<std::size_t>(chunks) * static_cast<std::size_t>(sums) * padded(columns) * item;
}

template <class T>
void sum_chunk(const ColumnOperands& o, std::int64_t chunk, std::int64_t column, int n, T* const* sum,
               ColumnFunction<T> function, const void* body) {
  Buffer<T> buffer[max_row_reads];
  const T* in[max_row_reads] = {};
  for (int s = 0; s < o.sums; ++s) {
    for (int i = 0; i < n; ++i) sum[s][i] = T(0);
  }
  const std::int64_t first = chunk * column_chunk_rows;
  const int rows = smaller(o.rows - first, column_chunk_rows);
  for (std::int64_t row = first; row < first + rows; ++row) {
    for (int r = 0; r < o.reads; ++r) in[r] = read_run(o.read[r], row * o.columns + column, n, buffer[r].value);
    function(body, row, n, in, sum);
  }
}

template <class T>
void run_columns(const Launch& launch, const ColumnOperands& o, int cost, ColumnFunction<T> function,
                 const void* body) {
  const std::int64_t chunks = o.rows < 1 ? 1 : column_chunks(o.rows);
  const std::int64_t pieces = (o.columns + tile_length - 1) / tile_length;
  const std::int64_t pitch = static_cast<std::int64_t>(padded(o.columns));
  T* partial = static_cast<T*>(launch.workspace);  // [sum][chunk][pitch]
  Launch unobserved = launch;
  unobserved.counts = nullptr;
  run_units(unobserved, chunks * pieces, o.rows * o.columns * cost,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const*) {
              for (std::int64_t unit = first; unit < last; ++unit) {
                const std::int64_t chunk = unit / pieces;
                const std::int64_t column = unit % pieces * tile_length;
                T* sum[max_sums];
                for (int s = 0; s < max_sums; ++s)
                  sum[s] = partial + ((s < o.sums ? s : 0) * chunks + chunk) * pitch + column;
                sum_chunk(o, chunk, column, smaller(o.columns - column, tile_length), sum, function, body);
              }
            });
  run_units(launch, pieces, chunks * o.columns * o.sums,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              for (std::int64_t piece = first; piece < last; ++piece) {
                const std::int64_t column = piece * tile_length;
                const int n = smaller(o.columns - column, tile_length);
                for (int s = 0; s < o.sums; ++s) {
                  T* sum = partial + s * chunks * pitch + column;
                  fold_column_chunks(sum, chunks, pitch, n);
                  write_run(o.write[s], column, n, sum, tally[s]);
                }
              }
            });
}

template <class T>
void add_row_function(const void*, std::int64_t, int n, const T* const* in, T* const* sum) {
  add_row(in[0], n, sum[0]);
}

template <class T>
std::size_t leading_workspace(const Launch& launch) {
  const LeadingShape shape = leading_shape(launch.in[0], launch.out[0]);
  return column_workspace(shape.rows, shape.columns, 1, sizeof(T));
}

/// Column by column, in the format and order asked for.
template <class T>
void run_narrow_columns(const Launch& launch, const LeadingShape& shape) {
  const View x = view_of(launch.in[0]);
  const View y = view_of(launch.out[0]);
  run_units(launch, shape.columns, x.elements * 16, [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
    for (std::int64_t c = first; c < last; ++c) {
      const float sum = narrow_sum(launch.arithmetic, shape.rows,
                                   [&x, &shape, c](std::int64_t r) { return read_element<float>(x, r * shape.columns + c); }, launch.inner);
      write_element(y, c, static_cast<T>(sum), tally[0]);
    }
  });
}

template <class T>
void run_sum_leading(const Launch& launch) {
  expect_operands("sum_leading", launch, 1, 1);
  expect_workspace("sum_leading", launch);
  const LeadingShape shape = leading_shape(launch.in[0], launch.out[0]);
  if (format_of<T>() == Format::fp32 && !launch.arithmetic.standard()) return run_narrow_columns<T>(launch, shape);
  ColumnOperands operands;
  operands.read[0] = view_of(launch.in[0]);
  operands.write[0] = view_of(launch.out[0]);
  operands.reads = 1;
  operands.sums = 1;
  operands.rows = shape.rows;
  operands.columns = shape.columns;
  run_columns(launch, operands, 1, add_row_function<T>, nullptr);
}

struct RowMoments {
  View mean;
  View rstd;
};

template <class T>
void weight_gradients_function(const void* pointer, std::int64_t row, int n, const T* const* in, T* const* sum) {
  const RowMoments& m = *static_cast<const RowMoments*>(pointer);
  const Moments<T> moments = {read_element<T>(m.mean, row), read_element<T>(m.rstd, row)};
  layer_norm_add_weight_gradients(in[0], in[1], moments, n, sum[0], sum[1]);
}

template <class T>
std::size_t weight_gradients_workspace(const Launch& launch) {
  return column_workspace(row_count(launch.in[0]), row_length(launch.in[0]), 2, sizeof(T));
}

template <class T>
void run_weight_gradients(const Launch& launch) {
  const char* operation = "layer_norm_backward_weights";
  expect_operands(operation, launch, 4, 2);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.in[0].shape);
  expect_shape(operation, "dy", launch.in[3].shape, launch.in[0].shape);
  ColumnOperands operands;
  operands.read[0] = view_of(launch.in[0]);
  operands.read[1] = view_of(launch.in[3]);
  operands.write[0] = vector_view(operation, launch.out[0], shape.length);
  operands.write[1] = vector_view(operation, launch.out[1], shape.length);
  operands.reads = 2;
  operands.sums = 2;
  operands.rows = shape.rows;
  operands.columns = shape.length;
  const RowMoments moments = {broadcast_view(operation, launch.in[1], shape.outer),
                              broadcast_view(operation, launch.in[2], shape.outer)};
  run_columns(launch, operands, 3, weight_gradients_function<T>, &moments);
}

template <class T>
void gain_gradient_function(const void* pointer, std::int64_t row, int n, const T* const* in, T* const* sum) {
  rms_norm_add_weight_gradients(in[0], in[1], read_element<T>(*static_cast<const View*>(pointer), row), n, sum[0]);
}

template <class T>
std::size_t gain_gradient_workspace(const Launch& launch) {
  return column_workspace(row_count(launch.in[0]), row_length(launch.in[0]), 1, sizeof(T));
}

template <class T>
void run_gain_gradient(const Launch& launch) {
  const char* operation = "rms_norm_backward_weights";
  expect_operands(operation, launch, 3, 1);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.in[0].shape);
  expect_shape(operation, "dy", launch.in[2].shape, launch.in[0].shape);
  ColumnOperands operands;
  operands.read[0] = view_of(launch.in[0]);
  operands.read[1] = view_of(launch.in[2]);
  operands.write[0] = vector_view(operation, launch.out[0], shape.length);
  operands.reads = 2;
  operands.sums = 1;
  operands.rows = shape.rows;
  operands.columns = shape.length;
  const View rstd = broadcast_view(operation, launch.in[1], shape.outer);
  run_columns(launch, operands, 3, gain_gradient_function<T>, &rstd);
}

template <class T>
void add_columns(KernelTable& table) {
  add_kernel(table, "sum_leading", format_of<T>(), run_sum_leading<T>, leading_workspace<T>);
  add_kernel(table, "layer_norm_backward_weights", format_of<T>(), run_weight_gradients<T>,
             weight_gradients_workspace<T>);
  add_kernel(table, "rms_norm_backward_weights", format_of<T>(), run_gain_gradient<T>, gain_gradient_workspace<T>);
}

}  // namespace

void register_columns(KernelTable& table) {
  add_columns<float>(table);
  add_columns<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
