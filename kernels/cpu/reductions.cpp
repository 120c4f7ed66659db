// Reductions along elements: sums, means, the squared error, and the gradients' global norm.
#include "kernels/ops/reductions.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/params.h"
#include "kernels/ops/unscale.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T, class Term, int inputs>
T chunk_sum(const T* a, const T* b, std::int64_t n) {
  const Term term{};
  if constexpr (inputs == 1) {
    return math::tree_chunk_sum<T>(n, [=](std::int64_t i) { return term(a[i]); });
  } else {
    return math::tree_chunk_sum<T>(n, [=](std::int64_t i) { return term(a[i], b[i]); });
  }
}

inline std::int64_t chunks_of(const Tensor& tensor) {
  std::int64_t n = 1;
  for (int axis = 0; axis < tensor.shape.rank; ++axis) n *= tensor.shape.dim[static_cast<unsigned>(axis)];
  return math::tree_chunks(n);
}

/// Room for the chunks' sums, then for each thread a chunk of every input.
inline std::size_t reduction_workspace(const Launch& launch, std::int64_t chunks, int inputs, std::size_t item) {
  return padded(chunks) * item + row_workspace(launch, math::tree_chunk, inputs, 0, item);
}

/// The sum of the term over all elements of one or two views of the same shape.
template <class T, class Term, int inputs>
T reduce(const Launch& launch, const View* views, T* workspace) {
  const std::int64_t n = views[0].elements;
  const std::int64_t chunks = math::tree_chunks(n);
  T* scratch = workspace + padded(chunks);
  Launch unobserved = launch;
  unobserved.counts = nullptr;
  run_units(unobserved, chunks, n, [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const*) {
    T* own = scratch + static_cast<std::int64_t>(thread) * inputs * math::tree_chunk;
    for (std::int64_t c = first; c < last; ++c) {
      const std::int64_t begin = c * math::tree_chunk;
      const std::int64_t length = math::tree_chunk_length(n, c);
      const T* a = read_run(views[0], begin, length, own);
      const T* b = inputs == 1 ? a : read_run(views[1], begin, length, own + math::tree_chunk);
      workspace[c] = chunk_sum<T, Term, inputs>(a, b, length);
    }
  });
  return math::tree_fold_sum<T>(chunks, workspace);
}

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
void sum_row(const void* pointer, const RowArgs<T>& a) {
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

// Workspace: the tensors' norms, then what the largest tensor needs.
template <class T>
std::size_t norm_workspace(const Launch& launch) {
  std::int64_t chunks = 0;
  for (int i = 0; i < launch.in_count; ++i) {
    const std::int64_t own = chunks_of(launch.in[i]);
    chunks = own > chunks ? own : chunks;
  }
  return padded(launch.in_count) * sizeof(T) + reduction_workspace(launch, chunks, 1, sizeof(T));
}

template <class T>
void run_global_norm(const Launch& launch) {
  const char* operation = "global_norm";
  expect_operands(operation, launch, launch.in_count, 1);
  expect_workspace(operation, launch);
  T* norms = static_cast<T*>(launch.workspace);
  for (int i = 0; i < launch.in_count; ++i) {
    const View view = view_of(launch.in[i]);
    norms[i] = math::sqrt(reduce<T, SquareTerm<T>, 1>(launch, &view, norms + padded(launch.in_count)));
  }
  const T norm = math::sqrt(SerialTeam{}.sum<T>(launch.in_count, [=](std::int64_t i) { return norms[i] * norms[i]; }));
  const T max_norm = static_cast<T>(static_cast<const ClipParams*>(launch.params)->max_norm);
  launch.state->gradient_norm = static_cast<float>(norm);
  launch.state->clip_coefficient = static_cast<float>(clip_coefficient(norm, max_norm));
  write_observed(launch, 0, scalar_view(operation, launch.out[0]), norm);
}

template <class T>
void add_reductions(KernelTable& table) {
  add_kernel(table, "sum_all", format_of<T>(), run_all<T, false>, all_workspace<T>);
  add_kernel(table, "mean_all", format_of<T>(), run_all<T, true>, all_workspace<T>);
  add_kernel(table, "mse_loss", format_of<T>(), run_mse_loss<T>, all_workspace<T>);
  add_kernel(table, "sum_trailing", format_of<T>(), run_sum_trailing<T>, trailing_workspace<T>);
  add_kernel(table, "global_norm", format_of<T>(), run_global_norm<T>, norm_workspace<T>);
}

}  // namespace

void register_reductions(KernelTable& table) {
  add_reductions<float>(table);
  add_reductions<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
