// Softmax, its gradient, and the causal mask.
#include "kernels/cpu/rows.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/ops/causal_mask.h"
#include "kernels/ops/params.h"
#include "kernels/ops/softmax.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T, int reads>
std::size_t workspace(const Launch& launch) {
  return row_workspace(launch, row_length(launch.out[0]), reads + 1, 0, sizeof(T));
}

template <class T>
void softmax_function(const void*, const RunArgs<T>& a) {
  softmax_row(SerialTeam{}, a.in[0], a.out[0], a.n);
}

template <class T>
void softmax_backward_function(const void*, const RunArgs<T>& a) {
  softmax_backward_row(SerialTeam{}, a.in[0], a.in[1], a.out[0], a.n);
}

template <class T>
struct CausalMask {
  std::int64_t queries;
  T value;
};

template <class T>
void causal_mask_function(const void* pointer, const RunArgs<T>& a) {
  const CausalMask<T>& mask = *static_cast<const CausalMask<T>*>(pointer);
  causal_mask_row(SerialTeam{}, a.in[0], a.out[0], a.row % mask.queries, mask.queries, a.n, mask.value);
}

template <class T>
void run_softmax(const Launch& launch) {
  expect_operands("softmax", launch, 1, 1);
  expect_workspace("softmax", launch);
  const int positions[] = {0};
  run_rows(launch, row_operands("softmax", launch, 1, positions), 8, static_cast<T*>(launch.workspace),
           softmax_function<T>, nullptr);
}

template <class T>
void run_softmax_backward(const Launch& launch) {
  expect_operands("softmax_backward", launch, 2, 1);
  expect_workspace("softmax_backward", launch);
  const int positions[] = {0, 1};
  run_rows(launch, row_operands("softmax_backward", launch, 2, positions), 3, static_cast<T*>(launch.workspace),
           softmax_backward_function<T>, nullptr);
}

template <class T>
CausalMask<T> make_mask(const Launch& launch) {
  const Shape& shape = launch.out[0].shape;
  if (shape.rank < 2) fail("causal_mask", "scores must have at least the dimensions [Tq, Tk]");
  return {shape.dim[static_cast<unsigned>(shape.rank - 2)],
          static_cast<T>(static_cast<const CausalMaskParams*>(launch.params)->value)};
}

template <class T>
void run_causal_mask(const Launch& launch) {
  expect_operands("causal_mask", launch, 1, 1);
  expect_workspace("causal_mask", launch);
  const CausalMask<T> mask = make_mask<T>(launch);
  const int positions[] = {0};
  run_rows(launch, row_operands("causal_mask", launch, 1, positions), 1, static_cast<T*>(launch.workspace),
           causal_mask_function<T>, &mask);
}

void prepare_nothing(const Launch&, void*, void*) {}
void prepare_mask(const Launch& launch, void*, void* body) {
  *static_cast<CausalMask<float>*>(body) = make_mask<float>(launch);
}

constexpr StageFunctions softmax_functions{8, prepare_nothing, softmax_function<float>, nullptr};
constexpr StageFunctions softmax_backward_functions{3, prepare_nothing, softmax_backward_function<float>, nullptr};
constexpr StageFunctions mask_functions{1, prepare_mask, causal_mask_function<float>, nullptr};
constexpr Stage softmax_stage{true, 1, {0}, &softmax_functions};
constexpr Stage softmax_backward_stage{true, 2, {0, 1}, &softmax_backward_functions};
constexpr Stage mask_stage{true, 1, {0}, &mask_functions};

template <class T>
void add_rows(KernelTable& table) {
  constexpr bool fuses = format_of<T>() == Format::fp32;
  add_kernel(table, "softmax", format_of<T>(), run_softmax<T>, workspace<T, 1>, fuses ? &softmax_stage : nullptr);
  add_kernel(table, "softmax_backward", format_of<T>(), run_softmax_backward<T>, workspace<T, 2>,
             fuses ? &softmax_backward_stage : nullptr);
  add_kernel(table, "causal_mask", format_of<T>(), run_causal_mask<T>, workspace<T, 1>, fuses ? &mask_stage : nullptr);
}

}  // namespace

void register_rows(KernelTable& table) {
  add_rows<float>(table);
  add_rows<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
