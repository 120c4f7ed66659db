// Activation checkpointing: what the backward pass reads is computed again there instead of being kept; and casts of weights
// made again at each use, by the same means. The bits stay: a repeated node is the same operator on the same operands, and
// one that draws random bits draws those of the node it repeats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

struct CheckpointOptions {
  /// Which forward nodes: "blocks" (those of numbered parts: block0.…, layer3.…) and patterns of node names (pattern.h).
  /// Empty: none. The nodes whose names have the same beginning up to the first dot form one segment; casts and views of
  /// their results go with them.
  std::vector<std::string> what;
  /// Whether every use of a weight's 16-bit copy but the first has a cast of its own.
  bool recast = false;
};

struct Checkpointed {
  Graph graph;
  std::vector<ValueId> map;            ///< the new id of every old value
  std::vector<std::string> segments;   ///< of which something is computed again: "block0", … as they run forwards
  std::int32_t repeated = 0;           ///< nodes computed again, casts of weights not among them
  std::int32_t recast = 0;             ///< casts of weights made again
  double flops = 0.0;                  ///< of both, computed
};

/// The same step as a new graph. Ids change (values without a producer come first), names stay; a repeated node is called
/// "<name>.again", belongs to the phase that reads it, says "recomputed" in `why` and names its origin in `of` and in the
/// attribute "recomputes". It stands right before the first node that needs it; what nobody needs is not repeated.
///
/// Kept are: what a segment reads; those of its results that other nodes read, if computing them again took matrix products
/// that the segment's own backward pass can do without; results of nodes that overwrite an input, or read what is
/// overwritten later (running statistics), since they cannot be repeated; copies of weights, unless recast.
///
/// Throws UsageError "recompute: …" for a pattern that matches no forward node, with the nearest choice, and for one by
/// which nothing at all is computed again.
Checkpointed checkpoint(const Graph& graph, const CheckpointOptions& options);

}  // namespace ulpscope::engine
