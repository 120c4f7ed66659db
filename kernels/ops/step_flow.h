// Steps that are launched before the host knows how the one before them ended. The host writes both states in which a step can
// begin; the device takes the one that is due, and keeps how the step ended for the host to read.
//
//   begin_step    before the forward pass of each micro-batch
//   settle_step   when the gradients are checked, before the update
//
// Both are operations without operands; params: StepFlowParams.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// Written by the host before each micro-batch.
struct StepChoices {
  StepState if_committed, if_skipped;   ///< after a step that was committed, or not; with halt set, a step that commits nothing
  std::int32_t follows = 0;             ///< a step was launched before, and the device knows how it ended; else if_committed is taken
  std::int32_t micro_batch = 0;         ///< above 0: the step has begun, and goes on with this one
};

/// Device memory.
struct StepFlow {
  StepChoices choices;
  StepState ended;                      ///< of the last step, before its update; finite as it was found
  std::int32_t committed = 0;           ///< whether its update counts
  std::int32_t finite_loss = 1;         ///< of its micro-batches so far
};

struct StepFlowParams {
  StepFlow* flow = nullptr;             ///< device memory
  const void* loss = nullptr;           ///< device memory: of the last micro-batch, one element
  Format loss_format = Format::fp32;
  bool apply_anyway = false;            ///< a step that is not finite is committed, too
  bool latch = false;                   ///< a step that is not finite halts: neither it nor what was launched after it commits anything
  bool latch_loss = false;              ///< a step whose loss is not finite halts, too
};

/// loss: of the micro-batch before; that of a step's first is not looked at.
ULPSCOPE_BODY void begin_step(StepFlow& flow, StepState& state, bool finite_loss) {
  const StepChoices& choices = flow.choices;
  if (choices.micro_batch == 0) {
    const bool follows = choices.follows != 0;
    const std::int32_t halted = follows ? state.halt : 0;
    state = follows && flow.committed == 0 ? choices.if_skipped : choices.if_committed;
    if (halted != 0) state.halt = halted;
    flow.finite_loss = 1;
  } else if (!finite_loss) {
    flow.finite_loss = 0;
  }
  state.micro_batch = choices.micro_batch;
}

/// loss: of the last micro-batch.
ULPSCOPE_BODY void settle_step(const StepFlowParams& params, StepFlow& flow, StepState& state, bool finite_loss) {
  flow.ended = state;
  if (!finite_loss) flow.finite_loss = 0;
  const bool finite = state.finite != 0;
  if ((!finite && params.latch) || (flow.finite_loss == 0 && params.latch_loss)) state.halt = 1;
  const bool commits = (finite || params.apply_anyway) && state.halt == 0;
  flow.committed = commits ? 1 : 0;
  if (commits) state.finite = 1;   // the optimizers look at the flag
}

}  // namespace ulpscope
