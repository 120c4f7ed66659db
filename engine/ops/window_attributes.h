// The attributes of operators whose window slides over one or two dimensions.
#pragma once

#include "engine/graph/operator.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {

/// Attributes stride, padding (0) and dilation (1): a number for every dimension, or a list of `dimensions`. With one
/// dimension the window's first axis is one element high. kernel: as many sizes; stride: where the node names none. Throws
/// UsageError naming the node.
Window window_of(const Graph& graph, const Node& node, const std::vector<std::int64_t>& kernel,
                 const std::vector<std::int64_t>& stride);

/// A list, or one number for each of `dimensions`.
std::vector<std::int64_t> sizes_attribute(const Graph& graph, const Node& node, const char* name, int dimensions,
                                          std::int64_t fallback);

/// Outputs of the window along one of its axes. Throws UsageError if there is none.
std::int64_t outputs_of(const Graph& graph, const Node& node, const Window& window, int axis, std::int64_t extent);

/// [N, C, L] or [N, C, H, W] as [N, C, H, W]; other ranks are refused.
Shape as_planes(const Graph& graph, const Node& node, const Shape& shape, int dimensions);

}  // namespace ulpscope::engine
