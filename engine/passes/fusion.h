// Which nodes are launched together. The graph keeps its nodes and values; a group of them becomes one launch whose values
// pass from one operation to the next in the cache. Every planned rounding stays, so the bits are those without fusion.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"
#include "kernels/launch.h"

namespace ulpscope::engine {

/// What a group is built around.
enum class FusionKind : std::uint8_t {
  product,    ///< a matrix product and what is done to each element of its result
  rows,       ///< operations on whole rows (norms, softmax) and on elements
  elements,   ///< operations on elements
  unscale,    ///< unscale with the finite check, and the global norm: one pass over the gradients
};
const char* name(FusionKind kind);

struct FusionGroup {
  FusionKind kind = FusionKind::elements;
  std::vector<NodeId> nodes;   ///< at least two, in execution order
  /// By node, by read of its kernel's Stage: which of `nodes` the operand comes from without a way through memory, or -1.
  std::vector<std::array<int, max_stage_reads>> sources;
  NodeId lead;                 ///< whose launch it is counted as: the product, the first that needs rows, or the first node

  /// The group runs in the place of its last node.
  NodeId position() const { return nodes.back(); }
};

struct FusionPlan {
  std::vector<FusionGroup> groups;
  std::vector<std::int32_t> group_of;   ///< by node: index of its group, or -1
  std::vector<bool> stored;             ///< by value: false for those that only its own group reads: they have no memory

  const FusionGroup* group(NodeId node) const {
    const std::int32_t g = group_of[static_cast<std::size_t>(node.index)];
    return g < 0 ? nullptr : &groups[static_cast<std::size_t>(g)];
  }
  /// Index of the node in whose place `node` runs.
  std::int32_t runs_at(NodeId node) const { return group(node) == nullptr ? node.index : group(node)->position().index; }
};

/// keep: values that must be in memory after the step. alone: nodes that are launched alone.
FusionPlan plan_fusion(const Graph& graph, const KernelTable& kernels, const std::vector<ValueId>& keep,
                       const std::vector<NodeId>& alone = {});
/// Every node alone.
FusionPlan without_fusion(const Graph& graph);

}  // namespace ulpscope::engine
