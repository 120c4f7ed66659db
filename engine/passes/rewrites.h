// Rewrites of a model's graph before autocast: what it computes stays (clamp is the exception), where its values lie moves. In fp32 the results agree; for
// factors that are powers of two to the bit, unless something underflows. A mask's fully masked rows become uniform.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/rewrite.h"

namespace ulpscope::engine {

/// The forward graph with every rewrite made, one after the other. Names stay: a factor that moves before its product keeps its name;
/// nodes that are new end in ".down", ".up", ".clamp" and ".boolean". Constants that nothing reads any more are left out. `map` (if given)
/// receives the new id of every old value, of values that are gone none.
/// Throws UsageError naming the node and the reason for one that cannot be rewritten; with `check`, also for a pattern that
/// matches no node of an operator that the kind is about (an evaluation is only a part of what is trained).
Graph rewrite(const Graph& forward, const std::vector<Rewrite>& rewrites, bool check, std::vector<ValueId>* map = nullptr);

}  // namespace ulpscope::engine
