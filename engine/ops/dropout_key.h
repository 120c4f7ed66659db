// What dropout bits are keyed by: the run's seed and the forward node's name.
#pragma once

#include "engine/graph/operator.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {

/// Attributes "rate" and, where the bits are those of another node (a backward pass, a node copied under another name),
/// "key": that node's name.
DropoutParams dropout_params(const Node& node, const LaunchOptions& options);

/// The node's attributes with its "key": the one it has, else its own name.
Attributes with_dropout_key(const Node& node);

/// Throws UsageError naming the node unless 0 <= rate < 1.
void check_dropout_rate(const Graph& graph, const Node& node, double rate);

}  // namespace ulpscope::engine
