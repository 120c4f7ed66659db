// Reductions along elements: sums, means, the squared error.
#include "kernels/ops/reductions.h"

#include "kernels/cpu/reduce.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/ops/losses.h"
#include "kernels/ops/narrow_sum.h"

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
  if constexpr (format_of<T>() == Format::fp32) {
    if (!launch.arithmetic.standard()) {
      const float sum = narrow_sum(launch.arithmetic, view.elements, [&view](std::int64_t i) { return read_element<float>(view, i); }, launch.inner);
      const float narrow = mean ? narrow_mean(launch.arithmetic, sum, view.elements) : sum;
      return write_observed(launch, 0, scalar_view(operation, launch.out[0]), narrow);
    }
  }
  T result = reduce<T, SumTerm<T>, 1>(launch, &view, static_cast<T*>(launch.workspace));
  if (mean) result = result / static_cast<T>(view.elements);
  write_observed(launch, 0, scalar_view(operation, launch.out[0]), result);
}

/// The mean of a term over pairs of elements.
template <class T, class Term>
void run_loss(const char* operation, const Launch& launch) {
  expect_operands(operation, launch, 2, 1);
  expect_workspace(operation, launch);
  expect_shape(operation, "target", launch.in[1].shape, launch.in[0].shape);
  const View views[] = {view_of(launch.in[0]), view_of(launch.in[1])};
  if constexpr (format_of<T>() == Format::fp32) {
    if (!launch.arithmetic.standard()) {
      const Term term{};
      const float sum = narrow_sum(launch.arithmetic, views[0].elements, [&views, term](std::int64_t i) {
        return term(read_element<float>(views[0], i), read_element<float>(views[1], i));
      }, launch.inner);
      return write_observed(launch, 0, scalar_view(operation, launch.out[0]),
                            narrow_mean(launch.arithmetic, sum, views[0].elements));
    }
  }
  const T sum = reduce<T, Term, 2>(launch, views, static_cast<T*>(launch.workspace));
  write_observed(launch, 0, scalar_view(operation, launch.out[0]), sum / static_cast<T>(views[0].elements));
}

template <class T>
void run_mse_loss(const Launch& launch) {
  run_loss<T, SquaredDifferenceTerm<T>>("mse_loss", launch);
}
template <class T>
void run_l1_loss(const Launch& launch) {
  run_loss<T, AbsoluteDifferenceTerm<T>>("l1_loss", launch);
}
template <class T>
void run_bce_with_logits(const Launch& launch) {
  run_loss<T, BceWithLogitsTerm<T>>("bce_with_logits", launch);
}

struct RowSums {
  View result;
  Arithmetic arithmetic;
  RoundingCounts* inner;
};

template <class T>
void sum_row(const void* pointer, const RunArgs<T>& a) {
  const RowSums& sums = *static_cast<const RowSums*>(pointer);
  const T* x = a.in[0];
  const T sum = SerialTeam{}.sum<T>(a.n, [=](std::int64_t i) { return x[i]; });
  write_element(sums.result, a.row, sum, a.tally[0]);
}
template <class T>
void narrow_sum_row(const void* pointer, const RunArgs<T>& a) {
  const RowSums& sums = *static_cast<const RowSums*>(pointer);
  const T* x = a.in[0];
  const T sum = NarrowTeam(sums.arithmetic, sums.inner).sum<T>(a.n, [=](std::int64_t i) { return x[i]; });
  write_element(sums.result, a.row, sum, a.tally[0]);
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
  const RowSums sums = {broadcast_view(operation, launch.out[0], shape.outer), launch.arithmetic, launch.inner};
  const bool narrow = format_of<T>() == Format::fp32 && !launch.arithmetic.standard();
  run_rows(launch, operands, 1, static_cast<T*>(launch.workspace), narrow ? narrow_sum_row<T> : sum_row<T>, &sums);
}

template <class T>
void add_reductions(KernelTable& table) {
  add_kernel(table, "sum_all", format_of<T>(), run_all<T, false>, all_workspace<T>);
  add_kernel(table, "mean_all", format_of<T>(), run_all<T, true>, all_workspace<T>);
  add_kernel(table, "mse_loss", format_of<T>(), run_mse_loss<T>, all_workspace<T>);
  add_kernel(table, "l1_loss", format_of<T>(), run_l1_loss<T>, all_workspace<T>);
  add_kernel(table, "bce_with_logits", format_of<T>(), run_bce_with_logits<T>, all_workspace<T>);
  add_kernel(table, "sum_trailing", format_of<T>(), run_sum_trailing<T>, trailing_workspace<T>);
}

}  // namespace

void register_reductions(KernelTable& table) {
  add_reductions<float>(table);
  add_reductions<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
