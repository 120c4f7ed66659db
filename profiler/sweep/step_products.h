// The matrix products of a training step, each with its shape and formats, as a library would be asked for them one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/train/trainer.h"
#include "profiler/sweep/swept_product.h"

namespace ulpscope::profiler {

struct StepProduct {
  SweptProduct product;       ///< of the first node that has it
  std::int64_t count = 0;     ///< how often a step has it, micro-batches included
  double flops() const;       ///< of all of them
};

struct StepProducts {
  std::vector<StepProduct> products;   ///< each once, in the order of the step
  double flops = 0.0;                  ///< of them, per step
  double left_out = 0.0;               ///< FLOPs per step of products that are not in the list: convolutions
};

/// linear and matmul as they are planned. Attention as the two products of each head forwards and the four backwards, everything in the
/// formats of what it reads and gives: scores and their gradients in that of q. Nothing that a fused kernel computes again is counted.
StepProducts step_products(const engine::StepPlan& plan);

}  // namespace ulpscope::profiler
