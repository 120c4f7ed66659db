// Pooling over one and two dimensions: the greatest element of a window (the first of equals), or its mean, the padding
// counting as zeros.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/window_attributes.h"

namespace ulpscope::engine {
namespace {

struct Sizes {
  Shape x, y;   ///< [N * C, H, W], [N * C, OH, OW]
  PoolParams params;
};

int dimensions_of(const Node& node) { return node.op->name.find("1d") != std::string::npos ? 1 : 2; }

/// Attributes kernel, stride (the kernel), padding (at most half the kernel).
Sizes sizes_of(const Graph& graph, const Node& node, const Shape& x) {
  const int dimensions = dimensions_of(node);
  const Shape planes = as_planes(graph, node, x, dimensions);
  Sizes s;
  if (!node.attributes.contains("kernel")) refuse(graph, node, "needs the attribute kernel");
  const std::vector<std::int64_t> kernel = sizes_attribute(graph, node, "kernel", dimensions, 1);
  if (node.attributes.contains("dilation")) refuse(graph, node, "takes no dilation");
  s.params.window = window_of(graph, node, kernel, kernel);
  for (int axis = 0; axis < 2; ++axis)
    if (2 * s.params.window.padding[axis] > s.params.window.kernel[axis]) refuse(graph, node, "the padding must be at most half the kernel");
  s.x = Shape{planes[0] * planes[1], planes[2], planes[3]};
  s.y = Shape{s.x[0], outputs_of(graph, node, s.params.window, 0, planes[2]), outputs_of(graph, node, s.params.window, 1, planes[3])};
  return s;
}

Shape pooled_shape(const Graph& graph, const Node& node, const Shape& x) {
  const Sizes s = sizes_of(graph, node, x);
  return dimensions_of(node) == 1 ? Shape{x[0], x[1], s.y[2]} : Shape{x[0], x[1], s.y[1], s.y[2]};
}

Attributes with_shape(const Node& node, const Shape& shape) {
  Attributes attributes = node.attributes;
  attributes.set("shape", as_list(shape));
  return attributes;
}

NodeCount per_window() {
  return [](const Graph& graph, const Node& node) {
    const Window& w = sizes_of(graph, node, input_of(graph, node, 0).shape).params.window;
    return static_cast<double>(graph.value(node.outputs[0]).shape.elements() * w.kernel[0] * w.kernel[1]);
  };
}

Operator forward(const std::string& name, bool max) {
  Operator op;
  op.name = name;
  op.autocast = name;
  op.infer = [max](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    const Shape shape = pooled_shape(graph, node, x.shape);
    std::vector<ValueType> types{{shape, x.format}};
    if (max) types.push_back({shape, Format::i32});   // where the greatest lies, in its plane
    return types;
  };
  op.gradient = [name, max](GradientContext& context) {
    std::vector<ValueId> in{context.output_gradient()};
    if (max) in.push_back(context.node().outputs[1]);
    context.set(0, context.emit(name + "_backward", "dx", std::move(in), with_shape(context.node(), context.input(0).shape)));
  };
  op.flops = per_window();
  op.launches = [max](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Sizes s = sizes_of(graph, node, input_of(graph, node, 0).shape);
    LaunchPlan plan;
    plan.kernel = max ? "max_pool" : "avg_pool";
    plan.in = {reshaped(graph, node.inputs[0], s.x)};
    for (const ValueId v : node.outputs) plan.out.push_back(reshaped(graph, v, s.y));
    plan.set_params(s.params);
    return {plan};
  };
  return op;
}

/// dy (and the index) → dx of the attribute "shape".
Operator backward(const std::string& name, bool max) {
  Operator op;
  op.name = name + "_backward";
  op.min_inputs = op.max_inputs = max ? 2 : 1;
  op.index_inputs = max ? 0b10 : 0;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Shape shape = shape_attribute(node);
    if (!(pooled_shape(graph, node, shape) == input_of(graph, node, 0).shape)) refuse(graph, node, "dy has another shape than the result");
    return {{shape, input_of(graph, node, 0).format}};
  };
  op.flops = [](const Graph& graph, const Node& node) {
    const Window& w = sizes_of(graph, node, shape_attribute(node)).params.window;
    return static_cast<double>(input_of(graph, node, 0).shape.elements() * (node.inputs.size() > 1 ? 1 : w.kernel[0] * w.kernel[1]));
  };
  op.launches = [max](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Sizes s = sizes_of(graph, node, shape_attribute(node));
    LaunchPlan plan;
    plan.kernel = max ? "max_pool_backward" : "avg_pool_backward";
    for (const ValueId v : node.inputs) plan.in.push_back(reshaped(graph, v, s.y));
    plan.out = {reshaped(graph, node.outputs[0], s.x)};
    plan.set_params(s.params);
    return {plan};
  };
  return op;
}

}  // namespace

void add_pooling(OperatorTable& table) {
  for (const char* dimensions : {"1d", "2d"})
    for (const bool max : {true, false}) {
      const std::string name = std::string(max ? "max_pool" : "avg_pool") + dimensions;
      table.add(forward(name, max));
      table.add(backward(name, max));
    }
}

}  // namespace ulpscope::engine
