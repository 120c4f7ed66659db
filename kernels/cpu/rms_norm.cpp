// RMS norm and its gradient towards the input; that of the gain is in columns.cpp.
#include "kernels/ops/rms_norm.h"

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
  T epsilon;
  View rstd;
  Arithmetic arithmetic;  ///< of the sum, where it is not the default
  RoundingCounts* inner;
};

template <class T>
void narrow_forward_function(const void* pointer, const RunArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const RightMoments right = f.inner != nullptr ? right_moments(a.in[0], a.n, false, static_cast<double>(f.epsilon)) : RightMoments{};   // y may be x
  const T rstd = rms_norm_row(NarrowTeam(f.arithmetic, f.inner), a.in[0], f.gamma, a.out[0], a.n, f.epsilon);
  if (f.inner != nullptr) add_row_error(*f.inner, row_error(right, 0.0, static_cast<double>(rstd)));
  write_element(f.rstd, a.row, rstd, a.tally[1]);
}

template <class T>
void forward_function(const void* pointer, const RunArgs<T>& a) {
  const Forward<T>& f = *static_cast<const Forward<T>*>(pointer);
  const T rstd = rms_norm_row(SerialTeam{}, a.in[0], f.gamma, a.out[0], a.n, f.epsilon);
  write_element(f.rstd, a.row, rstd, a.tally[1]);
}

// Workspace: gamma widened (one shared row), then the threads' rows.
template <class T>
std::size_t forward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 2, 1, sizeof(T));
}

/// scratch: one row.
template <class T>
Forward<T> make_forward(const Launch& launch, T* scratch) {
  const char* operation = "rms_norm";
  expect_operands(operation, launch, 2, 2);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  Forward<T> forward;
  forward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  forward.epsilon = static_cast<T>(static_cast<const RmsNormParams*>(launch.params)->epsilon);
  forward.rstd = broadcast_view(operation, launch.out[1], shape.outer);
  forward.arithmetic = launch.arithmetic;
  forward.inner = launch.inner;
  return forward;
}

template <class T>
void run_forward(const Launch& launch) {
  expect_workspace("rms_norm", launch);
  T* scratch = static_cast<T*>(launch.workspace);
  const Forward<T> forward = make_forward<T>(launch, scratch);
  const int positions[] = {0};
  const RowOperands operands = row_operands("rms_norm", launch, 1, positions);
  const bool narrow = format_of<T>() == Format::fp32 && !launch.arithmetic.standard();
  run_rows(launch, operands, 4, scratch + padded(operands.length),
           narrow ? narrow_forward_function<T> : forward_function<T>, &forward);
}

template <class T>
struct Backward {
  const T* gamma;
  View rstd;
};

template <class T>
void backward_function(const void* pointer, const RunArgs<T>& a) {
  const Backward<T>& b = *static_cast<const Backward<T>*>(pointer);
  rms_norm_backward_row(SerialTeam{}, a.in[0], b.gamma, read_element<T>(b.rstd, a.row), a.in[1], a.out[0], a.n);
}

// Workspace: gamma widened (one shared row), then the threads' rows.
template <class T>
std::size_t backward_workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), 3, 1, sizeof(T));
}

/// scratch: one row.
template <class T>
Backward<T> make_backward(const Launch& launch, T* scratch) {
  const char* operation = "rms_norm_backward";
  expect_operands(operation, launch, 4, 1);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  Backward<T> backward;
  backward.gamma = read_run(vector_view(operation, launch.in[1], shape.length), 0, shape.length, scratch);
  backward.rstd = broadcast_view(operation, launch.in[2], shape.outer);
  return backward;
}

template <class T>
void run_backward(const Launch& launch) {
  expect_workspace("rms_norm_backward", launch);
  T* scratch = static_cast<T*>(launch.workspace);
  const Backward<T> backward = make_backward<T>(launch, scratch);
  const int positions[] = {0, 3};
  const RowOperands operands = row_operands("rms_norm_backward", launch, 2, positions);
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
std::size_t gain_row(const Launch& launch) { return padded(row_length(launch.out[0])) * sizeof(float); }

constexpr StageFunctions forward_functions{4, prepare_forward, forward_function<float>, gain_row};
constexpr StageFunctions backward_functions{6, prepare_backward, backward_function<float>, gain_row};
constexpr Stage forward_stage{true, 1, {0}, &forward_functions};
constexpr Stage backward_stage{true, 2, {0, 3}, &backward_functions};

template <class T>
void add_rms_norm(KernelTable& table) {
  constexpr bool fuses = format_of<T>() == Format::fp32;
  add_kernel(table, "rms_norm", format_of<T>(), run_forward<T>, forward_workspace<T>, fuses ? &forward_stage : nullptr);
  add_kernel(table, "rms_norm_backward", format_of<T>(), run_backward<T>, backward_workspace<T>,
             fuses ? &backward_stage : nullptr);
}

}  // namespace

void register_rms_norm(KernelTable& table) {
  add_rms_norm<float>(table);
  add_rms_norm<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
