// Rotary positions: the table of rotations, and turning heads by it: a thread for each pair.
#include "kernels/ops/rotary.h"

#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/params.h"
#include "kernels/ops/team.h"

namespace ulpscope::cuda {
namespace {

std::int64_t blocks_of_threads(std::int64_t threads) { return blocks_for((threads + team_threads - 1) / team_threads); }

template <class T>
ULPSCOPE_KERNEL void table_kernel(Result cosine, Result sine, std::int64_t half, double ratio) {
  for (std::int64_t i = global_thread(); i < cosine.view.elements; i += global_threads()) {
    const Rotation<T> r = rotation<T>(ratio, i / half, i % half);
    write_element(cosine, i, r.cosine);
    write_element(sine, i, r.sine);
  }
}

template <class T>
void run_table(const Launch& l) {
  const char* operation = "rotary_table";
  expect_operands(operation, l, 0, 2);
  expect_shape(operation, "sin", l.out[1].shape, l.out[0].shape);
  const RowShape shape = row_shape(operation, l.out[0].shape);
  Observation<T> observation(l);
  const Result cosine = observation.result(0, view_of(l.out[0])), sine = observation.result(1, view_of(l.out[1]));
  launch(table_kernel<T>, blocks_of_threads(cosine.view.elements), team_threads, l.stream, cosine, sine, shape.length,
         static_cast<const RotaryTableParams*>(l.params)->ratio);
  for (int o = 0; o < 2; ++o) observation.count(o, count_single_elements(shape.rows, shape.length));
}

struct Heads {
  std::int64_t pairs, half, heads, positions;
  bool inverse;
};

template <class T>
ULPSCOPE_KERNEL void rotary_kernel(DeviceView x, DeviceView cosine, DeviceView sine, Result y, Heads h) {
  for (std::int64_t p = global_thread(); p < h.pairs; p += global_threads()) {
    const std::int64_t row = p / h.half, i = p % h.half;
    const std::int64_t first = row * 2 * h.half + i, second = first + h.half;
    const std::int64_t at = row / h.heads % h.positions * h.half + i;
    const T c = load_any<T>(cosine.format, cosine.data, offset_of(cosine, at));
    const T s = load_any<T>(sine.format, sine.data, offset_of(sine, at));
    const T pair[2] = {load_any<T>(x.format, x.data, offset_of(x, first)), load_any<T>(x.format, x.data, offset_of(x, second))};
    T turned[2];
    rotary_row(SerialTeam{}, pair, &c, &s, h.inverse, turned, 2);
    write_element(y, first, turned[0]);
    write_element(y, second, turned[1]);
  }
}

template <class T>
void run_rotary(const Launch& l) {
  const char* operation = "rotary";
  expect_operands(operation, l, 3, 1);
  const Shape& shape = l.out[0].shape;
  if (shape.rank != 4 || shape.dim[3] % 2 != 0) fail(operation, "takes [B, T, H, D] with an even D");
  const Shape table = matrix_shape(shape.dim[1], shape.dim[3] / 2);
  expect_shape(operation, "cos", l.in[1].shape, table);
  expect_shape(operation, "sin", l.in[2].shape, table);
  const DeviceView x(broadcast_view(operation, l.in[0], shape)), cosine(view_of(l.in[1])), sine(view_of(l.in[2]));
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  const Heads heads{y.view.elements / 2, shape.dim[3] / 2, shape.dim[2], shape.dim[1], static_cast<const RotaryParams*>(l.params)->inverse};
  launch(rotary_kernel<T>, blocks_of_threads(heads.pairs), team_threads, l.stream, x, cosine, sine, y, heads);
  const RowShape rows = row_shape(operation, shape);
  observation.count(0, count_rows(rows.rows, rows.length));
}

template <class T>
void add_rotary(KernelTable& table, Format compute) {
  table.add("rotary_table", compute, Kernel{run_table<T>});
  table.add("rotary", compute, Kernel{run_rotary<T>});
}

}  // namespace

void register_rotary(KernelTable& table) {
  add_rotary<float>(table, Format::fp32);
  add_rotary<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
