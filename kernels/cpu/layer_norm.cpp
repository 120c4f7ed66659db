// Layer norm and its gradient towards the input; that of the weights is in columns.cpp.
#include "kernels/ops/layer_norm.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/norm_error.h"
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
  Arithmetic arithmetic;  ///< of the sums, where it is not the default
  RoundingCounts* inner;
};

template <class T>
void narrow_forward_function(const void* pointer, const RunArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const RightMoments right = f.inner != nullptr ? right_moments(a.in[0], a.n, true, static_cast<double>(f.epsilon)) : RightMoments{};   // y may be x
  const Moments<T> moments = layer_norm_row(NarrowTeam(f.arithmetic, f.inner), a.in[0], f.gamma, f.beta, a.out[0], a.n, f.epsilon);
  if (f.inner != nullptr) add_row_error(*f.inner, row_error(right, static_cast<double>(moments.mean), static_cast<double>(moments.rstd)));
  write_element(f.mean, a.row, moments.mean, a.tally[1]);
  write_element(f.rstd, a.row, moments.rstd, a.tally[2]);
}

template <class T>
void forward_function(const void* pointer, const RunArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const Moments<T> moments = layer_norm_row(SerialTeam{}, a.in[0], f.gamma, f.beta, a.out[0], a.n, f.epsilon);
  write_element(f.mean, a.row, moments.mean, a.tally[1]);
  write_element(f.rstd, a.row, moments.rstd, a.tally[2]);
}

// Workspace: gamma and beta widened (two shared rows), then the threads' rows.
template <class T>
std::size_t forward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 2, 2, sizeof(T));
}

/// scratch: two rows.
template <class T>
Forward<T> make_forward(const Launch& launch, T* scratch) {
  const char* operation = "layer_norm";
  expect_operands(operation, launch, 3, 3);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  Forward<T> forward;
  forward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  forward.beta =
      read_run(vector_view(operation, launch.in[2], shape.length), 0, shape.length, scratch + padded(shape.length));
  forward.epsilon = static_cast<T>(static_cast<const LayerNormParams*>(launch.params)->epsilon);
  forward.mean = broadcast_view(operation, launch.out[1], shape.outer);
  forward.rstd = broadcast_view(operation, launch.out[2], shape.outer);
  forward.arithmetic = launch.arithmetic;
  forward.inner = launch.inner;
  return forward;
}

template <class T>
void run_forward(const Launch& launch) {
  expect_workspace("layer_norm", launch);
  T* scratch = static_cast<T*>(launch.workspace);
  const Forward<T> forward = make_forward<T>(launch, scratch);
  const int positions[] = {0};
  const RowOperands operands = row_operands("layer_norm", launch, 1, positions);
  const bool narrow = format_of<T>() == Format::fp32 && !launch.arithmetic.standard();
  run_rows(launch, operands, 4, scratch + 2 * padded(operands.length),
           narrow ? narrow_forward_function<T> : forward_function<T>, &forward);
}

template <class T>
struct Backward {
  const T* gamma;
  View mean;
  View rstd;
};

template <class T>
void backward_function(const void* pointer, const RunArgs<T>& a) {
  const Backward<T>& b = *static_cast<const Backward<T>*>(pointer);
  const Moments<T> moments = {read_element<T>(b.mean, a.row), read_element<T>(b.rstd, a.row)};
  layer_norm_backward_row(SerialTeam{}, a.in[0], b.gamma, moments, a.in[1], a.out[0], a.n);
}

// Workspace: gamma widened (one shared row), then the threads' rows.
template <class T>
std::size_t backward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 3, 1, sizeof(T));
}

/// scratch: one row.
template <class T>
Backward<T> make_backward(const Launch& launch, T* scratch) {
  const char* operation = "layer_norm_backward";
  expect_operands(operation, launch, 5, 1);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  Backward<T> backward;
  backward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  backward.mean = broadcast_view(operation, launch.in[2], shape.outer);
  backward.rstd = broadcast_view(operation, launch.in[3], shape.outer);
  return backward;
}

template <class T>
void run_backward(const Launch& launch) {
  expect_workspace("layer_norm_backward", launch);
  T* scratch = static_cast<T*>(launch.workspace);
  const Backward<T> backward = make_backward<T>(launch, scratch);
  const int positions[] = {0, 4};
  const RowOperands operands = row_operands("layer_norm_backward", launch, 2, positions);
  run_rows(launch, operands, 6, scratch + padded(operands.length), backward_function<T>, &backward);
}

void prepare_forward(const Launch& launch, void* scratch, void* body) {
  static_assert(sizeof(Forward<float>) <= stage_body_bytes);
  *static_cast<Forward<float>*>(body) = make_forward<float>(launch, static_cast<float*>(scratch));
}
void prepare_backward(const Launch& launch, void* scratch, void* body) {
  static_assert(sizeof(Backward<float>) <= stage_body_bytes);
  *static_cast<Backward<float>*>(body) = make_backward<float>(launch, static_cast<float*>(scratch));
}
template <int rows>
std::size_t weight_rows(const Launch& launch) {
  return padded(row_length(launch.out[0])) * static_cast<std::size_t>(rows) * sizeof(float);
}

constexpr StageFunctions forward_functions{4, prepare_forward, forward_function<float>, weight_rows<2>};
constexpr StageFunctions backward_functions{6, prepare_backward, backward_function<float>, weight_rows<1>};
constexpr Stage forward_stage{true, 1, {0}, &forward_functions};
constexpr Stage backward_stage{true, 2, {0, 4}, &backward_functions};

template <class T>
void add_layer_norm(KernelTable& table) {
  constexpr bool fuses = format_of<T>() == Format::fp32;
  add_kernel(table, "layer_norm", format_of<T>(), run_forward<T>, forward_workspace<T>, fuses ? &forward_stage : nullptr);
  add_kernel(table, "layer_norm_backward", format_of<T>(), run_backward<T>, backward_workspace<T>,
             fuses ? &backward_stage : nullptr);
}

}  // namespace

void register_layer_norm(KernelTable& table) {
  add_layer_norm<float>(table);
  add_layer_norm<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
