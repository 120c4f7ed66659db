// Which optimizer, and its numbers.
#pragma once

#include <cstdint>

namespace ulpscope::engine {

enum class OptimizerKind : std::uint8_t { adamw, sgd };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;          ///< adamw
  double beta2 = 0.95;         ///< adamw
  double epsilon = 1e-8;       ///< adamw
  double momentum = 0.9;       ///< sgd
  bool nesterov = false;       ///< sgd
  double weight_decay = 0.1;
  double clip = 1.0;           ///< greatest global norm of the unscaled gradients; 0: no clipping
};

}  // namespace ulpscope::engine
