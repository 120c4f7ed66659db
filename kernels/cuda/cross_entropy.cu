#include "kernels/ops/cross_entropy.h"

#include "kernels/cuda/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cuda {
namespace {

CrossEntropyParams params_of(const Launch& launch) {
  return launch.params == nullptr ? CrossEntropyParams{} : *static_cast<const CrossEntropyParams*>(launch.params);
}

/// How many rows count, by a block.
template <class Team>
ULPSCOPE_DEVICE std::int64_t counted_by(const Team& team, const std::int32_t* target, std::int64_t rows, std::int32_t ignored) {
  return team.template sum<std::int64_t>(rows, [=](std::int64_t row) { return target[row] != ignored ? 1 : 0; });
}

template <class T>
struct ForwardRow {
  static constexpr int reads = 1, vectors = 0;
  static constexpr bool writes = false, once = false;
  const std::int32_t* target;
  T* loss;   ///< of each row
  Result log_sum_exp;
  std::int32_t ignore;
  T smoothing;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const std::int32_t own = target[a.row];
    const bool ignored = own == ignore;
    CrossEntropy<T> result = cross_entropy_row(team, a.in[0], ignored ? 0 : own, a.n, ignored ? T(0) : smoothing);
    if (thread_index() != 0) return;
    loss[a.row] = ignored ? T(0) : result.loss;
    write_element(log_sum_exp, a.row, result.log_sum_exp);
  }
};

template <class T, class Team>
ULPSCOPE_KERNEL void mean_kernel(const T* loss, const std::int32_t* target, std::int64_t rows, std::int32_t ignore, Result result,
                                 typename Team::Setup setup) {
  void* scratch = block_memory();
  const Team team = Team::make(scratch, setup);
  const std::int64_t counted = counted_by(BlockTeam<team_threads>{scratch}, target, rows, ignore);
  const T sum = team.template sum<T>(rows, [=](std::int64_t row) { return loss[row]; });
  if (thread_index() != 0) return;
  if constexpr (requires { setup.arithmetic; }) {
    write_element(result, 0, narrow_mean(setup.arithmetic, sum, counted));
  } else {
    write_element(result, 0, sum / static_cast<T>(counted));
  }
}
template <class T, class Team>
void launch_mean(const Launch& l, const ForwardRow<T>& forward, std::int64_t rows, const Result& loss, const typename Team::Setup& setup) {
  launch_team(mean_kernel<T, Team>, 1, Team::size, Team::scratch_bytes, l.stream, forward.loss, forward.target, rows, forward.ignore,
              loss, setup);
}

template <class T>
RowLaunch<T, ForwardRow<T>> forward_rows(const Launch& l) {
  return {"cross_entropy", l, l.in[0].shape, {0}, {}};
}
/// First what narrow sums lose, then the losses of the rows, then rows.
std::size_t loss_bytes(const Launch& l, std::size_t item) { return static_cast<std::size_t>(padded(row_count(l.in[0]))) * item; }
template <class T>
std::size_t forward_workspace(const Launch& l) {
  return inner_bytes + loss_bytes(l, sizeof(T)) + forward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_forward(const Launch& l) {
  const char* operation = "cross_entropy";
  expect_operands(operation, l, 2, 2, 1u << 1);
  if (l.workspace == nullptr) fail(operation, "no workspace");
  auto rows = forward_rows<T>(l);
  const std::int64_t count = rows.operands.rows;
  const Shape outer = row_shape(operation, l.in[0].shape).outer;
  expect_shape(operation, "target", l.in[1].shape, outer);
  if (count > longest_team_run) fail(operation, "more than 2^28 rows");
  Observation<T> observation(l);
  unsigned char* workspace = static_cast<unsigned char*>(l.workspace) + inner_bytes;
  const CrossEntropyParams params = params_of(l);
  ForwardRow<T> forward;
  forward.target = static_cast<const std::int32_t*>(l.in[1].data);
  forward.loss = reinterpret_cast<T*>(workspace);
  forward.log_sum_exp = observation.result(1, broadcast_view(operation, l.out[1], outer));
  forward.ignore = params.ignore_index;
  forward.smoothing = static_cast<T>(params.label_smoothing);
  const Result loss = observation.result(0, view_of(l.out[0]));
  rows.run(forward, Result{}, workspace + loss_bytes(l, sizeof(T)));
  bool narrow = false;
  if constexpr (compute_format<T>() == Format::fp32) {
    narrow = !l.arithmetic.standard();
    if (narrow) {
      DeviceInner* inner = begin_inner(l, l.workspace);
      launch_mean<T, NarrowBlockTeam>(l, forward, count, loss, {l.arithmetic, inner});
      finish_inner(l, inner);
    }
  }
  if (!narrow) launch_mean<T, BlockTeam<team_threads>>(l, forward, count, loss, {});
  observation.count(0, count_rows(1, 1));
  observation.count(1, count_rows(count, 1));
}

template <class T>
struct BackwardRow {
  static constexpr int reads = 1, vectors = 0;
  static constexpr bool writes = true, once = true;
  const std::int32_t* target;
  DeviceView log_sum_exp;
  std::int32_t ignore;
  T smoothing;
  const T* scale;

  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    const std::int32_t own = target[a.row];
    const T lse = load_any<T>(log_sum_exp.format, log_sum_exp.data, offset_of(log_sum_exp, a.row));
    cross_entropy_backward_row(team, a.in[0], own, own == ignore, lse, *scale, smoothing, a.out, a.n);
  }
};

/// dloss / counted rows.
template <class T>
ULPSCOPE_KERNEL void scale_kernel(const std::int32_t* target, std::int64_t rows, std::int32_t ignore, DeviceView dloss, T* scale) {
  const std::int64_t counted = counted_by(BlockTeam<team_threads>{block_memory()}, target, rows, ignore);
  if (thread_index() == 0) *scale = load_any<T>(dloss.format, dloss.data, 0) / static_cast<T>(counted);
}

template <class T>
RowLaunch<T, BackwardRow<T>> backward_rows(const Launch& l) {
  return {"cross_entropy_backward", l, l.out[0].shape, {0}, {}};
}
/// First the scale, then rows.
constexpr std::size_t scale_bytes = 256;
template <class T>
std::size_t backward_workspace(const Launch& l) {
  return scale_bytes + backward_rows<T>(l).workspace_bytes();
}

template <class T>
void run_backward(const Launch& l) {
  const char* operation = "cross_entropy_backward";
  expect_operands(operation, l, 4, 1, 1u << 1);
  if (l.workspace == nullptr) fail(operation, "no workspace");
  auto rows = backward_rows<T>(l);
  const Shape outer = row_shape(operation, l.out[0].shape).outer;
  expect_shape(operation, "target", l.in[1].shape, outer);
  if (rows.operands.rows > longest_team_run) fail(operation, "more than 2^28 rows");
  Observation<T> observation(l);
  const CrossEntropyParams params = params_of(l);
  T* scale = static_cast<T*>(l.workspace);
  BackwardRow<T> backward;
  backward.target = static_cast<const std::int32_t*>(l.in[1].data);
  backward.log_sum_exp = DeviceView(broadcast_view(operation, l.in[2], outer));
  backward.ignore = params.ignore_index;
  backward.smoothing = static_cast<T>(params.label_smoothing);
  backward.scale = scale;
  launch_team(scale_kernel<T>, 1, team_threads, BlockTeam<team_threads>::scratch_bytes, l.stream, backward.target, rows.operands.rows,
              backward.ignore, DeviceView(scalar_view(operation, l.in[3])), scale);
  rows.run(backward, observation.result(0, view_of(l.out[0])), static_cast<unsigned char*>(l.workspace) + scale_bytes);
  observation.count(0, count_rows(rows.operands.rows, rows.operands.length));
}

template <class T>
void add_cross_entropy(KernelTable& table) {
  table.add("cross_entropy", compute_format<T>(), Kernel{run_forward<T>, forward_workspace<T>});
  table.add("cross_entropy_backward", compute_format<T>(), Kernel{run_backward<T>, backward_workspace<T>});
}

}  // namespace

void register_cross_entropy(KernelTable& table) {
  add_cross_entropy<float>(table);
  add_cross_entropy<double>(table);
}

}  // namespace ulpscope::cuda
