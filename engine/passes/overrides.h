// Overrides of single nodes. Output and compute formats are part of autocast (autocast.h); how sums are added up is set on the
// finished graph of a step, so that nodes of the backward pass and the global norm can be meant too.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/precision/override.h"

namespace ulpscope::engine {

/// The last override whose pattern matches and that has this member, or null.
const Override* find_override(const std::vector<Override>& overrides, const std::string& node,
                              std::optional<OverrideFormat> Override::*member);

/// Throws UsageError for an override of output or compute that matches no node of the forward pass.
void check_overrides(const Graph& forward, const std::vector<Override>& overrides);

/// Sets Node::arithmetic. A pattern means nodes by their name, and the backward nodes of those. Throws UsageError for a pattern
/// that matches no node, or only such as keep no sum, naming the operators that do; not with check false (an evaluation is a
/// part of the step).
void set_arithmetic(Graph& graph, const std::vector<Override>& overrides, const Mode& mode, bool check);

/// In words, those that are not a choice of precision but reproduce a fault: accumulate, order, scalar.
std::vector<std::string> non_standard_words(const std::vector<Override>& overrides);

}  // namespace ulpscope::engine
