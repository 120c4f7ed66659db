// Running statistics and their commit, and the accumulator of gradients.
#include "kernels/ops/persistent.h"

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/lost_updates.h"
#include "kernels/cuda/read.h"

namespace ulpscope::cuda {
namespace {

/// Gradients, not zero, that the sum they are added to is too coarse to take. to: only its format matters.
template <class T>
ULPSCOPE_KERNEL void lost_additions_kernel(DeviceView gradient, DeviceView sum, Format to, ParameterBytes parameters, const StepState* state,
                                           std::int64_t elements, std::int64_t* lost) {
  const AccumulateBody<T> body = make_body<AccumulateBody<T>>(parameters, state, elements);
  if (body.first) return;
  std::int64_t own = 0;
  for (std::int64_t i = global_thread(); i < elements; i += global_threads()) {
    const T g = read_element<T>(gradient, i), before = read_element<T>(sum, i);
    const T added = rounded_to_storage(to, body(i, g, before));
    own += g != T(0) && added == before ? 1 : 0;
  }
  if (own != 0) atomic_add(lost, own);
}

template <class T>
void run_accumulate(const Launch& l) {
  expect_operands("accumulate", l, 2, 1);
  const View y = view_of(l.out[0]);
  if (std::int64_t* lost = begin_lost_updates("accumulate", l)) {
    launch(lost_additions_kernel<T>, blocks_of_threads(y.elements), team_threads, l.stream,
           DeviceView(broadcast_view("accumulate", l.in[0], l.out[0].shape)), DeviceView(broadcast_view("accumulate", l.in[1], l.out[0].shape)),
           y.format, parameter_bytes<AccumulateParams>(l), static_cast<const StepState*>(l.state), y.elements, lost);
    finish_lost_updates(l, lost);
  }
  run_map<T, AccumulateBody, 2, AccumulateParams>(l);
}

template <class T>
ULPSCOPE_KERNEL void commit_kernel(Result buffer, Result committed, const StepState* state) {
  const bool commit = state->finite != 0 && state->halt == 0;
  for (std::int64_t i = global_thread(); i < buffer.view.elements; i += global_threads()) {
    const T value = read_element<T>(commit ? buffer.view : committed.view, i);
    put_element(buffer, i, value);
    put_element(committed, i, value);
  }
}

/// Outputs are read, too.
template <class T>
void run_commit(const Launch& l) {
  expect_operands("commit_buffer", l, 0, 2);
  expect_shape("commit_buffer", "the committed buffer", l.out[1].shape, l.out[0].shape);
  Observation<T> observation(l);
  const Result buffer = observation.result(0, view_of(l.out[0])), committed = observation.result(1, view_of(l.out[1]));
  launch(commit_kernel<T>, blocks_of_threads(buffer.view.elements), team_threads, l.stream, buffer, committed,
         static_cast<const StepState*>(l.state));
  observation.count(0, count_tiles(buffer.view.elements));
  observation.count(1, count_tiles(buffer.view.elements));
}

template <class T>
void add_persistent(KernelTable& table, Format compute) {
  table.add("accumulate", compute, Kernel{run_accumulate<T>, lost_updates_workspace});
  table.add("commit_buffer", compute, Kernel{run_commit<T>});
}

}  // namespace

void register_persistent(KernelTable& table) {
  add_map<EmaBody, 2, EmaParams>(table);
  add_persistent<float>(table, Format::fp32);
  add_persistent<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
