// Which nodes of the forward pass are computed again in the backward pass: the choice behind checkpoint.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// The entry for the numbered parts of a model.
inline constexpr std::string_view blocks_entry = "blocks";

struct Segments {
  std::vector<std::string> names;    ///< in the order of their first nodes
  std::vector<std::int32_t> of;      ///< by node: its segment, −1 for none
  std::vector<bool> repeat;          ///< by node: backward nodes read its results computed again
};

/// As checkpoint.h says. Throws UsageError "recompute: …" for an entry of `what` that matches no forward node.
Segments find_segments(const Graph& graph, const std::vector<std::string>& what);

/// Whether an entry of `what` means this node.
bool means(const std::string& entry, const Node& node);

/// Nodes that have to be computed for the results of `node`, itself included, when every result of a node that is not
/// repeated is there; ascending. `done`: by node, those that are there already.
std::vector<NodeId> nodes_to_repeat(const Graph& graph, const std::vector<bool>& repeat, NodeId node,
                                    const std::vector<bool>& done);

}  // namespace ulpscope::engine
