// Steps that follow each other without the host.
#include "kernels/ops/step_flow.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/register.h"
#include "kernels/cuda/view.h"
#include "kernels/error.h"
#include "kernels/launch.h"

namespace ulpscope::cuda {
namespace {

ULPSCOPE_DEVICE bool finite_loss(const StepFlowParams& params) {
  const float loss = load_any<float>(params.loss_format, static_cast<const std::byte*>(params.loss), 0);
  return loss - loss == 0.0f;
}
ULPSCOPE_KERNEL void begin_step_kernel(StepFlowParams params, StepState* state) { begin_step(*params.flow, *state, finite_loss(params)); }
ULPSCOPE_KERNEL void settle_step_kernel(StepFlowParams params, StepState* state) {
  settle_step(params, *params.flow, *state, finite_loss(params));
}

template <void (*kernel)(StepFlowParams, StepState*)>
void run(const Launch& l) {
  if (l.params == nullptr || l.state == nullptr) throw Error("begin_step, settle_step: no params, or no state");
  launch(kernel, 1, 1, l.stream, *static_cast<const StepFlowParams*>(l.params), l.state);
}

}  // namespace

void register_step_flow(KernelTable& table) {
  table.add("begin_step", Format::fp32, Kernel{run<begin_step_kernel>});
  table.add("settle_step", Format::fp32, Kernel{run<settle_step_kernel>});
}

}  // namespace ulpscope::cuda
