// The loss multiplied by S, as a node of the graph: the gradient it starts is S.
#pragma once

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// Appends scale_loss to the graph; returns the scaled loss, from which differentiation starts.
ValueId scale_loss(Graph& graph, ValueId loss);

}  // namespace ulpscope::engine
