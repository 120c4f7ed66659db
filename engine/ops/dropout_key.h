// What dropout bits are keyed by: the run's seed and the forward node's name.
#pragma once

#include "engine/graph/operator.h"
#include "kernels/math/random.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {

/// Attributes "rate" and, on a backward node, "key" (the forward node's name).
DropoutParams dropout_params(const Node& node, const LaunchOptions& options);

}  // namespace ulpscope::engine
