// Operators that work in place overwrite their inputs: nobody may read these afterwards.
#pragma once

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// Throws Error naming both nodes if a node reads a value, or a view of it, after another one overwrote its memory.
void check_overwrites(const Graph& graph);

}  // namespace ulpscope::engine
