// Reductions along elements: sums, means, the losses, and the sum of each row.
#include "kernels/ops/reductions.h"

#include "kernels/cuda/narrow_sums.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/losses.h"

namespace ulpscope::cuda {
namespace {

constexpr std::int64_t short_row = 1024;   ///< up to here a row is one warp's

template <class T>
std::size_t all_workspace(const Launch& l) {
  const std::size_t bytes = static_cast<std::size_t>(chunk_room(l.in[0].elements())) * sizeof(T);
  return bytes > narrow_workspace ? bytes : narrow_workspace;
}

/// Stores a sum, or the mean.
template <class T>
struct StoreAll {
  Result y;
  bool mean;
  ULPSCOPE_DEVICE_MEMBER void operator()(T sum, std::int64_t elements) const {
    write_element(y, 0, mean ? sum / static_cast<T>(elements) : sum);
  }
};

template <class T, class Term, int inputs>
void run_reduction(const char* operation, const Launch& l, bool mean, NarrowTerm narrow) {
  expect_operands(operation, l, inputs, 1);
  expect_workspace(operation, l);
  if (inputs == 2) expect_shape(operation, "target", l.in[1].shape, l.in[0].shape);
  const DeviceView views[] = {DeviceView(view_of(l.in[0])), DeviceView(view_of(l.in[inputs - 1]))};
  const View y = scalar_view(operation, l.out[0]);
  if (is_narrow<T>(l)) {
    NarrowSums sums;
    sums.a = views[0];
    sums.b = views[1];
    sums.term = narrow;
    sums.length = views[0].elements;
    sums.result = mean ? NarrowResult::mean : NarrowResult::sum;
    return run_narrow_sums(l, sums, y, count_rows(1, 1));
  }
  Observation<T> observation(l);
  reduce<T, Term, inputs>(l, views, static_cast<T*>(l.workspace), StoreAll<T>{observation.result(0, y), mean});
  observation.count(0, count_rows(1, 1));
}

template <class T>
void run_sum_all(const Launch& l) {
  run_reduction<T, SumTerm<T>, 1>("sum_all", l, false, NarrowTerm::value);
}
template <class T>
void run_mean_all(const Launch& l) {
  run_reduction<T, SumTerm<T>, 1>("mean_all", l, true, NarrowTerm::value);
}
template <class T>
void run_mse_loss(const Launch& l) {
  run_reduction<T, SquaredDifferenceTerm<T>, 2>("mse_loss", l, true, NarrowTerm::squared_difference);
}
template <class T>
void run_l1_loss(const Launch& l) {
  run_reduction<T, AbsoluteDifferenceTerm<T>, 2>("l1_loss", l, true, NarrowTerm::absolute_difference);
}
template <class T>
void run_bce_with_logits(const Launch& l) {
  run_reduction<T, BceWithLogitsTerm<T>, 2>("bce_with_logits", l, true, NarrowTerm::bce_with_logits);
}

template <class T, int threads>
ULPSCOPE_KERNEL void row_sum_kernel(DeviceView x, std::int64_t rows, std::int64_t length, Result y) {
  ULPSCOPE_SHARED double scratch[threads];
  const BlockTeam<threads> team{scratch};
  for (std::int64_t row = block_index(); row < rows; row += grid_blocks()) {
    const std::int64_t begin = row * length;
    const T sum = team.template sum<T>(length, [&x, begin](std::int64_t i) { return read_element<T>(x, begin + i); });
    if (thread_index() == 0) write_element(y, row, sum);
  }
}

std::size_t trailing_workspace(const Launch&) { return narrow_workspace; }

template <class T>
void run_sum_trailing(const Launch& l) {
  const char* operation = "sum_trailing";
  expect_operands(operation, l, 1, 1);
  expect_workspace(operation, l);
  const RowShape shape = row_shape(operation, l.in[0].shape);
  const DeviceView x(view_of(l.in[0]));
  const View y = broadcast_view(operation, l.out[0], shape.outer);
  if (is_narrow<T>(l)) {
    NarrowSums sums;
    sums.a = x;
    sums.sums = shape.rows;
    sums.length = sums.sum_step = shape.length;
    return run_narrow_sums(l, sums, y, count_rows(shape.rows, 1));
  }
  if (shape.length > longest_team_run) fail(operation, "rows of more than 2^28 elements");
  Observation<T> observation(l);
  const Result write = observation.result(0, y);
  if (shape.length <= short_row) {
    launch_team(row_sum_kernel<T, 32>, blocks_for(shape.rows, 32), 32, 0, l.stream, x, shape.rows, shape.length, write);
  } else {
    launch_team(row_sum_kernel<T, team_threads>, blocks_for(shape.rows), team_threads, 0, l.stream, x, shape.rows, shape.length, write);
  }
  observation.count(0, count_rows(shape.rows, 1));
}

template <class T>
void add_reductions(KernelTable& table, Format compute) {
  table.add("sum_all", compute, Kernel{run_sum_all<T>, all_workspace<T>});
  table.add("mean_all", compute, Kernel{run_mean_all<T>, all_workspace<T>});
  table.add("mse_loss", compute, Kernel{run_mse_loss<T>, all_workspace<T>});
  table.add("l1_loss", compute, Kernel{run_l1_loss<T>, all_workspace<T>});
  table.add("bce_with_logits", compute, Kernel{run_bce_with_logits<T>, all_workspace<T>});
  table.add("sum_trailing", compute, Kernel{run_sum_trailing<T>, trailing_workspace});
}

}  // namespace

void register_reductions(KernelTable& table) {
  add_reductions<float>(table, Format::fp32);
  add_reductions<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
