// Layer norm and its gradient towards the input; that of the weights is in columns.cu.
#include "kernels/ops/layer_norm.h"

#include "kernels/cuda/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cuda {
namespace {

template <class T>
struct ForwardRow {
  static constexpr int reads = 1, vectors = 2;
  static constexpr bool writes = true, once = false;
  T epsilon;
  Result mean, rstd;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const RightMoments right = right_moments_of(team, a.in[0], a.n, true, static_cast<double>(epsilon));
    const Moments<T> moments = layer_norm_row(team, a.in[0], a.vector[0], a.vector[1], a.out, a.n, epsilon);
    if (thread_index() != 0) return;
    note_row_error(team, right, static_cast<double>(moments.mean), static_cast<double>(moments.rstd));
    write_element(mean, a.row, moments.mean);
    write_element(rstd, a.row, moments.rstd);
  }
};

template <class T>
RowLaunch<T, ForwardRow<T>> forward_rows(const Launch& l) {
  return {"layer_norm", l, l.out[0].shape, {0}, {1, 2}};
}
/// First what narrow sums lose, then the rows.
template <class T>
std::size_t forward_workspace(const Launch& l) {
  return inner_bytes + forward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_forward(const Launch& l) {
  const char* operation = "layer_norm";
  if (l.workspace == nullptr) fail(operation, "no workspace");
  expect_operands(operation, l, 3, 3);
  auto rows = forward_rows<T>(l);
  const std::int64_t count = rows.operands.rows;
  const Shape outer = row_shape(operation, l.out[0].shape).outer;
  Observation<T> observation(l);
  ForwardRow<T> body;
  body.epsilon = static_cast<T>(static_cast<const LayerNormParams*>(l.params)->epsilon);
  body.mean = observation.result(1, broadcast_view(operation, l.out[1], outer));
  body.rstd = observation.result(2, broadcast_view(operation, l.out[2], outer));
  const Result y = observation.result(0, view_of(l.out[0]));
  void* staged = static_cast<unsigned char*>(l.workspace) + inner_bytes;
  if (compute_format<T>() == Format::fp32 && !l.arithmetic.standard()) {
    DeviceInner* inner = begin_inner(l, l.workspace);
    rows.run_narrow(body, y, staged, inner);
    finish_inner(l, inner);
  } else {
    rows.run(body, y, staged);
  }
  observation.count(0, count_rows(count, rows.operands.length));
  observation.count(1, count_rows(count, 1));
  observation.count(2, count_rows(count, 1));
}

template <class T>
struct BackwardRow {
  static constexpr int reads = 2, vectors = 1;
  static constexpr bool writes = true, once = false;
  DeviceView mean, rstd;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const Moments<T> moments = {load_any<T>(mean.format, mean.data, offset_of(mean, a.row)),
                                load_any<T>(rstd.format, rstd.data, offset_of(rstd, a.row))};
    layer_norm_backward_row(team, a.in[0], a.vector[0], moments, a.in[1], a.out, a.n);
  }
};

template <class T>
RowLaunch<T, BackwardRow<T>> backward_rows(const Launch& l) {
  return {"layer_norm_backward", l, l.out[0].shape, {0, 4}, {1}};
}
template <class T>
std::size_t backward_workspace(const Launch& l) {
  return backward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_backward(const Launch& l) {
  const char* operation = "layer_norm_backward";
  expect_operands(operation, l, 5, 1);
  auto rows = backward_rows<T>(l);
  const Shape outer = row_shape(operation, l.out[0].shape).outer;
  Observation<T> observation(l);
  BackwardRow<T> body;
  body.mean = DeviceView(broadcast_view(operation, l.in[2], outer));
  body.rstd = DeviceView(broadcast_view(operation, l.in[3], outer));
  rows.run(body, observation.result(0, view_of(l.out[0])), l.workspace);
  observation.count(0, count_rows(rows.operands.rows, rows.operands.length));
}

template <class T>
void add_layer_norm(KernelTable& table) {
  table.add("layer_norm", compute_format<T>(), Kernel{run_forward<T>, forward_workspace<T>});
  table.add("layer_norm_backward", compute_format<T>(), Kernel{run_backward<T>, backward_workspace<T>});
}

}  // namespace

void register_layer_norm(KernelTable& table) {
  add_layer_norm<float>(table);
  add_layer_norm<double>(table);
}

}  // namespace ulpscope::cuda
