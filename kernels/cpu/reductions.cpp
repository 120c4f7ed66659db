// Reductions along elements: sums, means, the squared error.
#include "kernels/ops/reductions.h"

#include "kernels/cpu/reduce.h"
#include "kernels/cpu/register_isa.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
std::size_t all_workspace(const Launch& launch) {
  return reduction_workspace(launch, chunks_of(launch.in[0]), launch.in_count, sizeof(T));
}

template <class T, bool mean>
void run_all(const Launch& launch) {
  const char* operation = mean ? "mean_all" : "sum_all";
  expect_operands(operation, launch, 1, 1);
  expect_workspace(operation, launch);
  const View view = view_of(launch.in[0]);
  T result = reduce<T, SumTerm<T>, 1>(launch, &view, static_cast<T*>(launch.workspace));
  if (mean) result = result / static_cast<T>(view.elements);
  write_observed(launch, 0, scalar_view(operation, launch.out[0]), result);
}

template <class T>
void run_mse_loss(const Launch& launch) {
  const char* operation = "mse_loss";
  expect_operands(operation, launch, 2, 1);
  expect_workspace(operation, launch);
  expect_shape(operation, "target", launch.in[1].shape, launch.in[0].shape);
  const View views[] = {view_of(launch.in[0]), view_of(launch.in[1])};
  const T sum = reduce<T, SquaredDifferenceTerm<T>, 2>(launch, views, static_cast<T*>(launch.workspace));
  write_observed(launch, 0, scalar_view(operation, launch.out[0]), sum / static_cast<T>(views[0].elements));
}

template <class T>
void sum_row(const void* pointer, const RunArgs<T>& a) {
  const T* x = a.in[0];
  const T sum = SerialTeam{}.sum<T>(a.n, [=](std::int64_t i) { return x[i]; });
  write_element(*static_cast<const View*>(pointer), a.row, sum, a.tally[0]);
}

template <class T>
std::size_t trailing_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.in[0]), 2, 0, sizeof(T));
}

template <class T>
void run_sum_trailing(const Launch& launch) {
  const char* operation = "sum_trailing";
  expect_operands(operation, launch, 1, 1);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.in[0].shape);
  RowOperands operands;
  operands.read[0] = view_of(launch.in[0]);
  operands.reads = 1;
  operands.rows = shape.rows;
  operands.length = shape.length;
  const View result = broadcast_view(operation, launch.out[0], shape.outer);
  run_rows(launch, operands, 1, static_cast<T*>(launch.workspace), sum_row<T>, &result);
}

template <class T>
void add_reductions(KernelTable& table) {
  add_kernel(table, "sum_all", format_of<T>(), run_all<T, false>, all_workspace<T>);
  add_kernel(table, "mean_all", format_of<T>(), run_all<T, true>, all_workspace<T>);
  add_kernel(table, "mse_loss", format_of<T>(), run_mse_loss<T>, all_workspace<T>);
  add_kernel(table, "sum_trailing", format_of<T>(), run_sum_trailing<T>, trailing_workspace<T>);
}

}  // namespace

void register_reductions(KernelTable& table) {
  add_reductions<float>(table);
  add_reductions<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
