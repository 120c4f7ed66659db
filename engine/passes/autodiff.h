// Reverse-mode differentiation: appends the backward pass to a forward graph.
#pragma once

#include <optional>
#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;    ///< its own memory: the accumulator's if gradients are accumulated
};

/// What becomes of the gradients of parameters.
struct GradientOptions {
  std::optional<Format> format;               ///< none: the parameter's
  std::optional<Format> accumulator;          ///< of a sum over micro-batches (StepState::micro_batch 0 writes, later ones add); none: no sum
  bool early_unscale = false;                 ///< non-standard: the first micro-batch is unscaled before it is stored
};

/// Appends backward nodes for the scalar `loss`. A value's gradient has the value's format. Gradients that meet (a tied
/// weight, a residual) are added by explicit nodes. Parameters that do not lead to the loss get no entry. Throws UsageError
/// naming the node where the way from the loss to a parameter meets an operator without a gradient, or an output without one
/// (cross_entropy's lse, layer_norm's statistics, attention's probabilities).
std::vector<ParameterGradient> differentiate(Graph& graph, ValueId loss, const GradientOptions& options = {});

}  // namespace ulpscope::engine
