// Autocast as a pass: inserts casts into a forward graph as a policy says, and chooses what products multiply in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/precision/mode.h"
#include "engine/precision/override.h"
#include "engine/precision/policy.h"

namespace ulpscope::engine {

struct AutocastOptions {
  Mode mode;
  const Policy* policy = nullptr;          ///< of mixed modes
  std::vector<std::string> keep_fp32;      ///< node name patterns that run in fp32 whatever the policy says
  bool check_patterns = true;              ///< refuse patterns that match no node; not for a graph that is only a part of
                                           ///< what is trained (evaluation has no dropout)
  std::vector<Override> overrides = {};    ///< output and compute formats of single nodes; they win over all of the above
  /// The mode whose weights, constants and buffers are read, if it is another (evaluation in full 16 bits): they stay as it keeps
  /// them, and are rounded before their first use.
  std::optional<Mode> kept_by = std::nullopt;
};

/// The same forward graph with casts. A weight is cast once and the copy shared (PyTorch's cache); any other value is cast
/// for each use; fp64 values, indices and buffers are never cast. Pure modes keep parameters, constants and buffers in 16 bits, cast
/// the inputs and ignore the policy. Every node says why it has its formats. Names stay, ids do not
/// (values without a producer come first): `map` (if given) receives the new id of every old value.
/// Throws UsageError for a keep_fp32 pattern that matches no node, naming the nearest one.
Graph autocast(const Graph& forward, const AutocastOptions& options, std::vector<ValueId>* map = nullptr);

}  // namespace ulpscope::engine
