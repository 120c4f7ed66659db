// Fills that ask for the lowest number of their format.
#pragma once

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// Attribute of masked_fill and causal_mask: their "value" is the lowest finite number of the format that they are stored in, as
/// torch.finfo(scores.dtype).min is, or of the narrowest range that casts lead them through before a softmax.
inline constexpr const char* fills_lowest = "lowest";

/// Gives every such fill the "value" of the formats as they now are.
void resolve_lowest_fills(Graph& graph);

}  // namespace ulpscope::engine
