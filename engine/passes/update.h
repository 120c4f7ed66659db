// The update: unscale and finite check, global norm and clipping, one optimizer node for each parameter.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/optim/optimizer_config.h"
#include "engine/passes/autodiff.h"

namespace ulpscope::engine {

void add_update(Graph& graph, const std::vector<ParameterGradient>& gradients, const OptimizerConfig& config);

}  // namespace ulpscope::engine
