// Masks made of indices, and the mean over the positions that a mask leaves. (Choosing by a mask is element-wise.)
#include "kernels/ops/masks.h"

#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/reductions.h"

namespace ulpscope::cuda {
namespace {

std::int64_t blocks_of_threads(std::int64_t threads) { return blocks_for((threads + team_threads - 1) / team_threads); }

ULPSCOPE_KERNEL void compare_kernel(const std::int32_t* x, std::int32_t* y, std::int64_t n, CompareParams params) {
  for (std::int64_t i = global_thread(); i < n; i += global_threads()) y[i] = compare_index(x[i], params);
}

void run_compare(const Launch& l) {
  expect_index_map("compare", l);
  const std::int64_t n = l.out[0].elements();
  launch(compare_kernel, blocks_of_threads(n), team_threads, l.stream, static_cast<const std::int32_t*>(l.in[0].data),
         static_cast<std::int32_t*>(l.out[0].data), n, *static_cast<const CompareParams*>(l.params));
}

/// What a sequence [T, C] of a batch leaves: mask [B, T].
struct Sequences {
  std::int64_t batch, length, columns;
  const std::int32_t* mask;
};

Sequences sequences(const char* operation, const Shape& x, const Tensor& mask) {
  if (x.rank != 3) fail(operation, "takes sequences [B, T, C]");
  expect_shape(operation, "the mask", mask.shape, matrix_shape(x.dim[0], x.dim[1]));
  return {x.dim[0], x.dim[1], x.dim[2], static_cast<const std::int32_t*>(mask.data)};
}

/// visible, of each sequence, was 0.
ULPSCOPE_KERNEL void visible_kernel(Sequences s, std::int64_t* visible) {
  for (std::int64_t i = global_thread(); i < s.batch * s.length; i += global_threads())
    if (s.mask[i] != 0) atomic_add(&visible[i / s.length], std::int64_t{1});
}
void count_visible(const Launch& l, const Sequences& s, std::int64_t* visible) {
  fill_memory(visible, 0, static_cast<std::size_t>(s.batch) * sizeof(std::int64_t), l.stream);
  launch(visible_kernel, blocks_of_threads(s.batch * s.length), team_threads, l.stream, s, visible);
}
std::size_t visible_bytes(std::int64_t batch) { return (static_cast<std::size_t>(batch) * sizeof(std::int64_t) + 255) / 256 * 256; }

std::int64_t chunks_of(std::int64_t length) { return length < 1 ? 1 : column_chunks(length); }

/// A thread for each chunk of each column: sum [B, chunks, C].
template <class T>
ULPSCOPE_KERNEL void chunk_kernel(DeviceView x, Sequences s, std::int64_t chunks, T* sum) {
  for (std::int64_t i = global_thread(); i < s.batch * chunks * s.columns; i += global_threads()) {
    const std::int64_t column = i % s.columns, chunk = i / s.columns % chunks, b = i / s.columns / chunks;
    const std::int64_t first = chunk * column_chunk_rows;
    const std::int64_t last = first + column_chunk_rows < s.length ? first + column_chunk_rows : s.length;
    T own = T(0);
    for (std::int64_t t = first; t < last; ++t) {
      const std::int64_t row = b * s.length + t;
      if (s.mask[row] == 0) continue;
      const T value = load_any<T>(x.format, x.data, offset_of(x, row * s.columns + column));
      add_row(&value, 1, &own);
    }
    sum[i] = own;
  }
}

template <class T>
ULPSCOPE_KERNEL void mean_kernel(Sequences s, std::int64_t chunks, T* sum, const std::int64_t* visible, Result y) {
  for (std::int64_t i = global_thread(); i < s.batch * s.columns; i += global_threads()) {
    T* own = sum + i / s.columns * chunks * s.columns + i % s.columns;
    fold_column_chunks(own, chunks, s.columns, 1);
    write_element(y, i, *own / static_cast<T>(visible[i / s.columns]));
  }
}

/// The numbers of visible positions, then the chunks' sums.
template <class T>
std::size_t mean_workspace(const Launch& l) {
  const Shape& x = l.in[0].shape;
  if (x.rank != 3) return 0;
  return visible_bytes(x.dim[0]) + static_cast<std::size_t>(x.dim[0] * chunks_of(x.dim[1]) * x.dim[2]) * sizeof(T);
}

template <class T>
void run_mean(const Launch& l) {
  const char* operation = "masked_mean";
  expect_operands(operation, l, 2, 1, 1u << 1);
  if (l.workspace == nullptr) fail(operation, "no workspace");
  const Sequences s = sequences(operation, l.in[0].shape, l.in[1]);
  expect_shape(operation, "the result", l.out[0].shape, matrix_shape(s.batch, s.columns));
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  std::int64_t* visible = static_cast<std::int64_t*>(l.workspace);
  T* sum = reinterpret_cast<T*>(static_cast<unsigned char*>(l.workspace) + visible_bytes(s.batch));
  const std::int64_t chunks = chunks_of(s.length);
  count_visible(l, s, visible);
  launch(chunk_kernel<T>, blocks_of_threads(s.batch * chunks * s.columns), team_threads, l.stream, DeviceView(view_of(l.in[0])), s, chunks,
         sum);
  launch(mean_kernel<T>, blocks_of_threads(s.batch * s.columns), team_threads, l.stream, s, chunks, sum, visible, y);
  observation.count(0, count_pieces(s.batch, s.columns));
}

/// dx = dy / count where the mask is set, else 0.
template <class T>
ULPSCOPE_KERNEL void mean_backward_kernel(DeviceView dy, Sequences s, const std::int64_t* visible, Result dx) {
  for (std::int64_t i = global_thread(); i < dx.view.elements; i += global_threads()) {
    const std::int64_t row = i / s.columns, b = row / s.length;
    T value = T(0);
    if (s.mask[row] != 0)
      value = load_any<T>(dy.format, dy.data, offset_of(dy, b * s.columns + i % s.columns)) / static_cast<T>(visible[b]);
    write_element(dx, i, value);
  }
}

std::size_t mean_backward_workspace(const Launch& l) { return l.out[0].shape.rank == 3 ? visible_bytes(l.out[0].shape.dim[0]) : 0; }

template <class T>
void run_mean_backward(const Launch& l) {
  const char* operation = "masked_mean_backward";
  expect_operands(operation, l, 2, 1, 1u << 1);
  if (l.workspace == nullptr) fail(operation, "no workspace");
  const Sequences s = sequences(operation, l.out[0].shape, l.in[1]);
  expect_shape(operation, "dy", l.in[0].shape, matrix_shape(s.batch, s.columns));
  Observation<T> observation(l);
  const Result dx = observation.result(0, view_of(l.out[0]));
  std::int64_t* visible = static_cast<std::int64_t*>(l.workspace);
  count_visible(l, s, visible);
  launch(mean_backward_kernel<T>, blocks_of_threads(dx.view.elements), team_threads, l.stream, DeviceView(view_of(l.in[0])), s, visible,
         dx);
  observation.count(0, count_rows(s.batch * s.length, s.columns));
}

template <class T>
void add_masks(KernelTable& table, Format compute) {
  table.add("compare", compute, Kernel{run_compare});
  table.add("masked_mean", compute, Kernel{run_mean<T>, mean_workspace<T>});
  table.add("masked_mean_backward", compute, Kernel{run_mean_backward<T>, mean_backward_workspace});
}

}  // namespace

void register_masks(KernelTable& table) {
  add_masks<float>(table, Format::fp32);
  add_masks<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
