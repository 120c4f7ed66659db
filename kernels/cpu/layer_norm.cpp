// Layer norm and its gradient towards the input; that of the weights is in columns.cpp.
#include "kernels/ops/layer_norm.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
struct Forward {
  const T* gamma;
  const T* beta;
  T epsilon;
  View mean;
  View rstd;
};

template <class T>
void forward_function(const void* pointer, const RowArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const Moments<T> moments = layer_norm_row(SerialTeam{}, a.in[0], f.gamma, f.beta, a.out, a.n, f.epsilon);
  write_element(f.mean, a.row, moments.mean, a.tally[1]);
  write_element(f.rstd, a.row, moments.rstd, a.tally[2]);
}

// Workspace: gamma and beta widened (two shared rows), then the threads' rows.
template <class T>
std::size_t forward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 2, 2, sizeof(T));
}

template <class T>
void run_forward(const Launch& launch) {
  const char* operation = "layer_norm";
  expect_operands(operation, launch, 3, 3);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  const std::size_t pitch = padded(shape.length);
  T* scratch = static_cast<T*>(launch.workspace);
  const int positions[] = {0};
  const RowOperands operands = row_operands(operation, launch, 1, positions);
  Forward<T> forward;
  forward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  forward.beta = read_run(vector_view(operation, launch.in[2], shape.length), 0, shape.length, scratch + pitch);
  forward.epsilon = static_cast<T>(static_cast<const LayerNormParams*>(launch.params)->epsilon);
  forward.mean = broadcast_view(operation, launch.out[1], shape.outer);
  forward.rstd = broadcast_view(operation, launch.out[2], shape.outer);
  run_rows(launch, operands, 4, scratch + 2 * pitch, forward_function<T>, &forward);
}

template <class T>
struct Backward {
  const T* gamma;
  View mean;
  View rstd;
};

template <class T>
void backward_function(const void* pointer, const RowArgs<T>& a) {
  const Backward<T>& b = *static_cast<const Backward<T>*>(pointer);
  const Moments<T> moments = {read_element<T>(b.mean, a.row), read_element<T>(b.rstd, a.row)};
  layer_norm_backward_row(SerialTeam{}, a.in[0], b.gamma, moments, a.in[1], a.out, a.n);
}

// Workspace: gamma widened (one shared row), then the threads' rows.
template <class T>
std::size_t backward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 3, 1, sizeof(T));
}

template <class T>
void run_backward(const Launch& launch) {
  const char* operation = "layer_norm_backward";
  expect_operands(operation, launch, 5, 1);
  expect_workspace(operation, launch);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  T* scratch = static_cast<T*>(launch.workspace);
  const int positions[] = {0, 4};
  const RowOperands operands = row_operands(operation, launch, 2, positions);
  Backward<T> backward;
  backward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  backward.mean = broadcast_view(operation, launch.in[2], shape.outer);
  backward.rstd = broadcast_view(operation, launch.in[3], shape.outer);
  run_rows(launch, operands, 6, scratch + padded(shape.length), backward_function<T>, &backward);
}

template <class T>
void add_layer_norm(KernelTable& table) {
  add_kernel(table, "layer_norm", format_of<T>(), run_forward<T>, forward_workspace<T>);
  add_kernel(table, "layer_norm_backward", format_of<T>(), run_backward<T>, backward_workspace<T>);
}

}  // namespace

void register_layer_norm(KernelTable& table) {
  add_layer_norm<float>(table);
  add_layer_norm<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
