// What a parameter costs, computed from a plan: 16 bytes in fp32 with AdamW, 18 in a mixed mode that keeps a copy of it, 8 in a
// pure one.
#pragma once

namespace ulpscope::engine {

struct StepPlan;

/// Bytes for each parameter, means over all of them. Alignment is left out.
struct ParameterBytes {
  double weights = 0.0;           ///< as the optimizer updates them: the fp32 master in mixed modes
  double weight_copies = 0.0;     ///< 16-bit copies: all if they are kept, as many as live at a time if they are cast again
  double gradients = 0.0;         ///< as the optimizer reads them: with several micro-batches the accumulators
  double optimizer_state = 0.0;   ///< moments, compensation
  double total() const { return weights + weight_copies + gradients + optimizer_state; }
};

ParameterBytes parameter_bytes(const StepPlan& plan);

}  // namespace ulpscope::engine
