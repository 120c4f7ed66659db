// The epsilon of a normalisation.
#pragma once

#include <fmt/format.h>

#include <cmath>

#include "engine/graph/operator.h"

namespace ulpscope::engine {

/// As the kernels take it; 1e-5 where it is not given.
inline float norm_epsilon(const Node& node) { return static_cast<float>(node.attributes.number_or("epsilon", 1e-5)); }

/// Refuses what is negative, NaN or beyond fp32. 0 is allowed: what it does can be looked at.
inline void check_norm_epsilon(const Graph& graph, const Node& node) {
  const float epsilon = norm_epsilon(node);
  if (!std::isfinite(epsilon) || epsilon < 0.0f)
    refuse(graph, node, fmt::format("epsilon = {:g} is no epsilon: it takes a finite number of fp32, 0 or more", node.attributes.number_or("epsilon", 1e-5)));
}

}  // namespace ulpscope::engine
