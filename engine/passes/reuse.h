// Results that take over the memory of an operand: element i of the result is written where element i of the operand, which
// nobody reads afterwards, has just been read.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/fusion.h"

namespace ulpscope::engine {

struct Placement;

/// By value: the operand whose memory it takes over, or none. placements: lifetimes of the values, by value index (those of
/// views at their owners). An operand is taken over at most once, by a result whose elements are as many, as large and of the
/// same category.
std::vector<ValueId> reuse_operands(const Graph& graph, const KernelTable& kernels, const FusionPlan& fusion,
                                    const std::vector<Placement>& placements);

}  // namespace ulpscope::engine
