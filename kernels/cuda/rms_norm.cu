// RMS norm and its gradient towards the input; that of the gain is in columns.cu.
#include "kernels/ops/rms_norm.h"

#include "kernels/cuda/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cuda {
namespace {

template <class T>
struct ForwardRow {
  static constexpr int reads = 1, vectors = 1;
  static constexpr bool writes = true, once = false;
  T epsilon;
  Result rstd;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const RightMoments right = right_moments_of(team, a.in[0], a.n, false, static_cast<double>(epsilon));
    const T own = rms_norm_row(team, a.in[0], a.vector[0], a.out, a.n, epsilon);
    if (thread_index() != 0) return;
    note_row_error(team, right, 0.0, static_cast<double>(own));
    write_element(rstd, a.row, own);
  }
};

template <class T>
RowLaunch<T, ForwardRow<T>> forward_rows(const Launch& l) {
  return {"rms_norm", l, l.out[0].shape, {0}, {1}};
}
/// First what narrow sums lose, then the rows.
template <class T>
std::size_t forward_workspace(const Launch& l) {
  return inner_bytes + forward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_forward(const Launch& l) {
  const char* operation = "rms_norm";
  if (l.workspace == nullptr) fail(operation, "no workspace");
  expect_operands(operation, l, 2, 2);
  auto rows = forward_rows<T>(l);
  Observation<T> observation(l);
  ForwardRow<T> body;
  body.epsilon = static_cast<T>(static_cast<const RmsNormParams*>(l.params)->epsilon);
  body.rstd = observation.result(1, broadcast_view(operation, l.out[1], row_shape(operation, l.out[0].shape).outer));
  const Result y = observation.result(0, view_of(l.out[0]));
  void* staged = static_cast<unsigned char*>(l.workspace) + inner_bytes;
  if (compute_format<T>() == Format::fp32 && !l.arithmetic.standard()) {
    DeviceInner* inner = begin_inner(l, l.workspace);
    rows.run_narrow(body, y, staged, inner);
    finish_inner(l, inner);
  } else {
    rows.run(body, y, staged);
  }
  observation.count(0, count_rows(rows.operands.rows, rows.operands.length));
  observation.count(1, count_rows(rows.operands.rows, 1));
}

template <class T>
struct BackwardRow {
  static constexpr int reads = 2, vectors = 1;
  static constexpr bool writes = true, once = false;
  DeviceView rstd;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const T own = load_any<T>(rstd.format, rstd.data, offset_of(rstd, a.row));
    rms_norm_backward_row(team, a.in[0], a.vector[0], own, a.in[1], a.out, a.n);
  }
};

template <class T>
RowLaunch<T, BackwardRow<T>> backward_rows(const Launch& l) {
  return {"rms_norm_backward", l, l.out[0].shape, {0, 3}, {1}};
}
template <class T>
std::size_t backward_workspace(const Launch& l) {
  return backward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_backward(const Launch& l) {
  const char* operation = "rms_norm_backward";
  expect_operands(operation, l, 4, 1);
  auto rows = backward_rows<T>(l);
  Observation<T> observation(l);
  BackwardRow<T> body;
  body.rstd = DeviceView(broadcast_view(operation, l.in[2], row_shape(operation, l.out[0].shape).outer));
  rows.run(body, observation.result(0, view_of(l.out[0])), l.workspace);
  observation.count(0, count_rows(rows.operands.rows, rows.operands.length));
}

template <class T>
void add_rms_norm(KernelTable& table) {
  table.add("rms_norm", compute_format<T>(), Kernel{run_forward<T>, forward_workspace<T>});
  table.add("rms_norm_backward", compute_format<T>(), Kernel{run_backward<T>, backward_workspace<T>});
}

}  // namespace

void register_rms_norm(KernelTable& table) {
  add_rms_norm<float>(table);
  add_rms_norm<double>(table);
}

}  // namespace ulpscope::cuda
