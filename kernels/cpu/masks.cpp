// Masks made of indices, and the mean over the positions that a mask leaves. (Choosing by a mask is element-wise.)
#include "kernels/ops/masks.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/reductions.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

void run_compare(const Launch& launch) {
  const char* operation = "compare";
  expect_index_map(operation, launch);
  const CompareParams params = *static_cast<const CompareParams*>(launch.params);
  const std::int32_t* x = static_cast<const std::int32_t*>(launch.in[0].data);
  std::int32_t* y = static_cast<std::int32_t*>(launch.out[0].data);
  const std::int64_t n = launch.out[0].elements();
  for (std::int64_t i = 0; i < n; ++i) y[i] = compare_index(x[i], params);
}

/// What a sequence [T, C] of a batch leaves: mask [B, T].
struct Sequences {
  std::int64_t batch, length, columns;
  const std::int32_t* mask;

  std::int64_t visible(std::int64_t b) const {
    std::int64_t count = 0;
    for (std::int64_t t = 0; t < length; ++t) count += mask[b * length + t] != 0 ? 1 : 0;
    return count;
  }
};

Sequences sequences(const char* operation, const Shape& x, const Tensor& mask) {
  if (x.rank != 3) fail(operation, "takes sequences [B, T, C]");
  expect_shape(operation, "the mask", mask.shape, matrix_shape(x.dim[0], x.dim[1]));
  return {x.dim[0], x.dim[1], x.dim[2], static_cast<const std::int32_t*>(mask.data)};
}

// Workspace: for each thread the sums of the chunks of a piece of columns.
template <class T>
std::size_t mean_workspace(const Launch& launch) {
  const std::int64_t length = launch.in[0].shape.rank == 3 ? launch.in[0].shape.dim[1] : 1;
  const std::size_t threads = static_cast<std::size_t>(launch.threads < 1 ? 1 : launch.threads);
  const std::int64_t chunks = length < 1 ? 1 : column_chunks(length);
  return threads * static_cast<std::size_t>(chunks) * tile_length * sizeof(T);
}

template <class T>
void run_mean(const Launch& launch) {
  const char* operation = "masked_mean";
  expect_operands(operation, launch, 2, 1, 1u << 1);
  expect_workspace(operation, launch);
  const Sequences s = sequences(operation, launch.in[0].shape, launch.in[1]);
  expect_shape(operation, "the result", launch.out[0].shape, matrix_shape(s.batch, s.columns));
  const View x = view_of(launch.in[0]), y = view_of(launch.out[0]);
  const std::int64_t chunks = s.length < 1 ? 1 : column_chunks(s.length);
  const std::int64_t pieces = (s.columns + tile_length - 1) / tile_length;
  run_units(launch, s.batch * pieces, x.elements,
            [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              T* sum = static_cast<T*>(launch.workspace) + thread * chunks * tile_length;
              Buffer<T> buffer;
              for (std::int64_t unit = first; unit < last; ++unit) {
                const std::int64_t b = unit / pieces, column = unit % pieces * tile_length;
                const int n = smaller(s.columns - column, tile_length);
                for (std::int64_t i = 0; i < chunks * tile_length; ++i) sum[i] = T(0);
                for (std::int64_t t = 0; t < s.length; ++t) {
                  if (s.mask[b * s.length + t] == 0) continue;
                  const T* row = read_run(x, (b * s.length + t) * s.columns + column, n, buffer.value);
                  add_row(row, n, sum + t / column_chunk_rows * tile_length);
                }
                fold_column_chunks(sum, chunks, tile_length, n);
                const T count = static_cast<T>(s.visible(b));
                for (int i = 0; i < n; ++i) sum[i] = sum[i] / count;
                write_run(y, b * s.columns + column, n, sum, tally[0]);
              }
            });
}

/// dx = dy / count where the mask is set, else 0.
template <class T>
void run_mean_backward(const Launch& launch) {
  const char* operation = "masked_mean_backward";
  expect_operands(operation, launch, 2, 1, 1u << 1);
  const Sequences s = sequences(operation, launch.out[0].shape, launch.in[1]);
  expect_shape(operation, "dy", launch.in[0].shape, matrix_shape(s.batch, s.columns));
  const View dy = view_of(launch.in[0]), dx = view_of(launch.out[0]);
  run_units(launch, s.batch * s.length, dx.elements,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              Buffer<T> buffer, result;
              for (std::int64_t row = first; row < last; ++row) {
                const std::int64_t b = row / s.length;
                const bool visible = s.mask[row] != 0;
                const T count = static_cast<T>(s.visible(b));
                for (std::int64_t column = 0; column < s.columns; column += tile_length) {
                  const int n = smaller(s.columns - column, tile_length);
                  const T* from = read_run(dy, b * s.columns + column, n, buffer.value);
                  for (int i = 0; i < n; ++i) result.value[i] = visible ? from[i] / count : T(0);
                  write_tile(dx, row * s.columns + column, n, result.value, tally[0]);
                }
              }
            });
}

template <class T>
void add_masks(KernelTable& table) {
  add_kernel(table, "compare", format_of<T>(), run_compare);
  add_kernel(table, "masked_mean", format_of<T>(), run_mean<T>, mean_workspace<T>);
  add_kernel(table, "masked_mean_backward", format_of<T>(), run_mean_backward<T>);
}

}  // namespace

void register_masks(KernelTable& table) {
  add_masks<float>(table);
  add_masks<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
