#include "engine/ops/window_attributes.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace ulpscope::engine {
namespace {

/// Of kernel, stride, padding and dilation: what follows from two of them still fits into 64 bits.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::vector<std::int64_t> sizes_attribute(const Graph& graph, const Node& node, const char* name, int dimensions,
                                          std::int64_t fallback) {
  const auto count = static_cast<std::size_t>(dimensions);
  if (!node.attributes.contains(name)) return std::vector<std::int64_t>(count, fallback);
  const auto found = node.attributes.all().find(name);
  if (std::holds_alternative<std::int64_t>(found->second)) return std::vector<std::int64_t>(count, std::get<std::int64_t>(found->second));
  std::vector<std::int64_t> list = node.attributes.integers(name);
  if (list.size() != count) refuse(graph, node, fmt::format("{} takes a number or a list of {}", name, dimensions));
  return list;
}

Window window_of(const Graph& graph, const Node& node, const std::vector<std::int64_t>& kernel,
                 const std::vector<std::int64_t>& otherwise) {
  const int dimensions = static_cast<int>(kernel.size());
  const bool given = node.attributes.contains("stride");
  const std::vector<std::int64_t> stride = given ? sizes_attribute(graph, node, "stride", dimensions, 1) : otherwise;
  const std::vector<std::int64_t> padding = sizes_attribute(graph, node, "padding", dimensions, 0);
  const std::vector<std::int64_t> dilation = sizes_attribute(graph, node, "dilation", dimensions, 1);
  Window window;
  for (int i = 0; i < dimensions; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int axis = 2 - dimensions + i;
    if (kernel[k] < 1 || stride[k] < 1 || dilation[k] < 1 || padding[k] < 0)
      refuse(graph, node, "kernel, stride and dilation must be at least 1, padding at least 0");
    if (kernel[k] > most || stride[k] > most || dilation[k] > most || padding[k] > most)
      refuse(graph, node, fmt::format("kernel, stride, dilation and padding are at most {}", most));
    window.kernel[axis] = kernel[k];
    window.stride[axis] = stride[k];
    window.padding[axis] = padding[k];
    window.dilation[axis] = dilation[k];
  }
  return window;
}

std::int64_t outputs_of(const Graph& graph, const Node& node, const Window& w, int axis, std::int64_t extent) {
  const std::int64_t reach = w.dilation[axis] * (w.kernel[axis] - 1) + 1;
  const std::int64_t room = extent + 2 * w.padding[axis] - reach;
  if (room < 0)
    refuse(graph, node, fmt::format("a window that reaches over {} elements does not fit into {} with a padding of {}", reach, extent,
                                    w.padding[axis]));
  return room / w.stride[axis] + 1;
}

Shape as_planes(const Graph& graph, const Node& node, const Shape& shape, int dimensions) {
  if (shape.rank != dimensions + 2) refuse(graph, node, dimensions == 1 ? "takes [N, C, L]" : "takes [N, C, H, W]");
  return dimensions == 1 ? Shape{shape[0], shape[1], 1, shape[2]} : shape;
}

}  // namespace ulpscope::engine
