// The few scalars a step reads and writes. They live on the device, so that a step needs no synchronisation: the host
// fills them before the step and reads the flag afterwards.
#pragma once

#include <cstdint>

namespace ulpscope {

struct StepState {
  float loss_scale = 1.0f;         ///< S: the loss is multiplied by it
  float inverse_scale = 1.0f;      ///< float32(1 / double(S)), as PyTorch's unscale_ computes it
  double learning_rate = 0.0;      ///< double, as PyTorch keeps it: optimizers round what they derive from it, once
  float gradient_norm = 0.0f;      ///< out: global 2-norm of the unscaled gradients
  float clip_coefficient = 1.0f;   ///< out: min(1, max_norm / (norm + 1e-6)); 1 without clipping
  std::int32_t finite = 1;         ///< out: 1 if every unscaled parameter gradient is finite
  std::int32_t halt = 0;           ///< set: launched steps commit nothing
  std::int32_t micro_batch = 0;
  std::int64_t iteration = 0;      ///< counts every step, applied or skipped; keys dropout
  std::int64_t applied = 0;        ///< counts committed steps; the optimizer's t is applied + 1
};

}  // namespace ulpscope
