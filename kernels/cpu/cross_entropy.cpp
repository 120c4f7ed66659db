#include "kernels/ops/cross_entropy.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/params.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

inline CrossEntropyParams params_of(const Launch& launch) {
  return launch.params == nullptr ? CrossEntropyParams{} : *static_cast<const CrossEntropyParams*>(launch.params);
}

template <class T>
struct Forward {
  const std::int32_t* target;
  T* loss;  ///< of each row
  View log_sum_exp;
  std::int32_t ignore;
  T smoothing;
};

template <class T>
void forward_function(const void* pointer, const RunArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const std::int32_t target = f.target[a.row];
  const CrossEntropy<T> result = target == f.ignore ? ignored_row(SerialTeam{}, a.in[0], a.n)
                                                    : cross_entropy_row(SerialTeam{}, a.in[0], target, a.n, f.smoothing);
  f.loss[a.row] = result.loss;
  write_element(f.log_sum_exp, a.row, result.log_sum_exp, a.tally[1]);
}

// Workspace: the rows' losses, then the threads' rows.
template <class T>
std::size_t forward_workspace(const Launch& launch) {
  return padded(row_count(launch.in[0])) * sizeof(T) + row_workspace(launch, row_length(launch.in[0]), 2, 0, sizeof(T));
}

template <class T>
void run_forward(const Launch& launch) {
  const char* operation = "cross_entropy";
  expect_operands(operation, launch, 2, 2, 1u << 1);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.in[0].shape);
  expect_shape(operation, "target", launch.in[1].shape, shape.outer);
  RowOperands operands;
  operands.read[0] = view_of(launch.in[0]);
  operands.reads = 1;
  operands.rows = shape.rows;
  operands.length = shape.length;
  Forward<T> forward;
  forward.target = static_cast<const std::int32_t*>(launch.in[1].data);
  forward.loss = static_cast<T*>(launch.workspace);
  forward.log_sum_exp = broadcast_view(operation, launch.out[1], shape.outer);
  forward.ignore = params_of(launch).ignore_index;
  forward.smoothing = static_cast<T>(params_of(launch).label_smoothing);
  // The loss is one number, made of all rows: it is counted afterwards, not by the rows' threads.
  RoundingCounts* const row_counts[] = {nullptr, launch.counts == nullptr ? nullptr : launch.counts[1]};
  Launch rows = launch;
  rows.counts = row_counts;
  run_rows(rows, operands, 8, forward.loss + padded(shape.rows), forward_function<T>, &forward);
  const T* loss = forward.loss;
  const std::int64_t counted = counted_targets(forward.target, shape.rows, forward.ignore);
  if constexpr (format_of<T>() == Format::fp32) {
    if (!launch.arithmetic.standard()) {
      const float sum = narrow_sum(launch.arithmetic, shape.rows, [=](std::int64_t row) { return loss[row]; }, launch.inner);
      return write_observed(launch, 0, view_of(launch.out[0]), narrow_mean(launch.arithmetic, sum, counted));
    }
  }
  const T total = SerialTeam{}.sum<T>(shape.rows, [=](std::int64_t row) { return loss[row]; });
  write_observed(launch, 0, view_of(launch.out[0]), total / static_cast<T>(counted));
}

template <class T>
struct Backward {
  const std::int32_t* target;
  View log_sum_exp;
  std::int32_t ignore;
  T smoothing;
  T scale;
};

template <class T>
void backward_function(const void* pointer, const RunArgs<T>& a) {
  const Backward<T>& b = *static_cast<const Backward<T>*>(pointer);
  const std::int32_t target = b.target[a.row];
  cross_entropy_backward_row(SerialTeam{}, a.in[0], target, target == b.ignore, read_element<T>(b.log_sum_exp, a.row), b.scale,
                             b.smoothing, a.out[0], a.n);
}

template <class T>
std::size_t backward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.in[0]), 2, 0, sizeof(T));
}

template <class T>
void run_backward(const Launch& launch) {
  const char* operation = "cross_entropy_backward";
  expect_operands(operation, launch, 4, 1, 1u << 1);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  expect_shape(operation, "target", launch.in[1].shape, shape.outer);
  const int positions[] = {0};
  const RowOperands operands = row_operands(operation, launch, 1, positions);
  Backward<T> backward;
  backward.target = static_cast<const std::int32_t*>(launch.in[1].data);
  backward.log_sum_exp = broadcast_view(operation, launch.in[2], shape.outer);
  backward.ignore = params_of(launch).ignore_index;
  backward.smoothing = static_cast<T>(params_of(launch).label_smoothing);
  const std::int64_t counted = counted_targets(backward.target, shape.rows, backward.ignore);
  backward.scale = read_element<T>(scalar_view(operation, launch.in[3]), 0) / static_cast<T>(counted);
  run_rows(launch, operands, 6, static_cast<T*>(launch.workspace), backward_function<T>, &backward);
}

template <class T>
void add_cross_entropy(KernelTable& table) {
  add_kernel(table, "cross_entropy", format_of<T>(), run_forward<T>, forward_workspace<T>);
  add_kernel(table, "cross_entropy_backward", format_of<T>(), run_backward<T>, backward_workspace<T>);
}

}  // namespace

void register_cross_entropy(KernelTable& table) {
  add_cross_entropy<float>(table);
  add_cross_entropy<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
