// The heads of attention seen inside packed values.
#pragma once

#include "engine/graph/operator.h"

namespace ulpscope::engine {

/// Part `part` of a packed value [B, T, parts * heads * D], seen as `heads` = [B, heads, T, D]: a strided view.
Operand head_view(const Graph& graph, ValueId packed, const Shape& heads, std::int64_t parts, std::int64_t part);

}  // namespace ulpscope::engine
