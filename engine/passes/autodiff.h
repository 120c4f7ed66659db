// Reverse-mode differentiation: appends the backward pass to a forward graph.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;    ///< in the parameter's format; its own memory
};

/// Appends backward nodes for the scalar `loss`. A value's gradient has the value's format. Gradients that meet (a tied
/// weight, a residual) are added by explicit nodes. Parameters that do not lead to the loss get no entry. Throws UsageError
/// naming the node where the way from the loss to a parameter meets an operator without a gradient, or an output without one
/// (cross_entropy's lse, layer_norm's statistics, attention's probabilities).
std::vector<ParameterGradient> differentiate(Graph& graph, ValueId loss);

}  // namespace ulpscope::engine
