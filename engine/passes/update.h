// The update: unscale and finite check, global norm and clipping, one optimizer node for each parameter.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/autodiff.h"
#include "engine/train/config.h"

namespace ulpscope::engine {

void add_update(Graph& graph, const std::vector<ParameterGradient>& gradients, const OptimizerConfig& config);

}  // namespace ulpscope::engine
