// Convolutions over one and two dimensions; both are the same kernels, a line being a plane one element high.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/window_attributes.h"

namespace ulpscope::engine {
namespace {

struct Sizes {
  Shape x, weight, y;   ///< [N, C, H, W], [O, C / groups, KH, KW], [N, O, OH, OW]
  ConvParams params;
};

int dimensions_of(const Node& node) { return node.op->name.find("1d") != std::string::npos ? 1 : 2; }

Sizes sizes_of(const Graph& graph, const Node& node, const Shape& x, const Shape& weight) {
  const int dimensions = dimensions_of(node);
  Sizes s;
  s.x = as_planes(graph, node, x, dimensions);
  if (weight.rank != x.rank) refuse(graph, node, "takes a weight [outputs, inputs / groups, kernel…] with as many dimensions as x");
  s.weight = as_planes(graph, node, weight, dimensions);
  const std::vector<std::int64_t> kernel(weight.dim.begin() + 2, weight.dim.begin() + weight.rank);
  s.params.window = window_of(graph, node, kernel, std::vector<std::int64_t>(kernel.size(), 1));
  s.params.groups = node.attributes.integer_or("groups", 1);
  const std::int64_t groups = s.params.groups;
  if (groups < 1 || s.x[1] % groups != 0 || s.weight[0] % groups != 0)
    refuse(graph, node, fmt::format("{} groups do not divide {} input and {} output channels", groups, s.x[1], s.weight[0]));
  if (s.weight[1] != s.x[1] / groups)
    refuse(graph, node, fmt::format("the weight reads {} channels, x has {} in each group", s.weight[1], s.x[1] / groups));
  s.y = Shape{s.x[0], s.weight[0], outputs_of(graph, node, s.params.window, 0, s.x[2]), outputs_of(graph, node, s.params.window, 1, s.x[3])};
  return s;
}

Shape without_plane(const Shape& planes, int dimensions) {
  return dimensions == 1 ? Shape{planes[0], planes[1], planes[3]} : planes;
}

double flops_of(const Sizes& s) {
  return 2.0 * static_cast<double>(s.y.elements()) * static_cast<double>(s.weight[1] * s.weight[2] * s.weight[3]);
}

void set_params(LaunchPlan& plan, const Graph& graph, const Node& node, ConvParams params) {
  params.multiply = graph.value(node.outputs[0]).format == Format::fp64 ? Format::fp64 : node.multiply;
  plan.set_params(params);
}

Attributes window_attributes(const Node& node) {
  Attributes attributes;
  for (const char* name : {"stride", "padding", "dilation", "groups"})
    if (const auto found = node.attributes.all().find(name); found != node.attributes.all().end()) attributes.set(name, found->second);
  return attributes;
}

/// x, weight, bias (optional); attributes stride, padding, dilation, groups.
Operator forward(const std::string& name) {
  Operator op;
  op.name = name;
  op.autocast = name;
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.product = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &weight = input_of(graph, node, 1);
    const Sizes s = sizes_of(graph, node, x.shape, weight.shape);
    if (node.inputs.size() > 2 && !(input_of(graph, node, 2).shape == Shape{s.weight[0]}))
      refuse(graph, node, "the bias must have one element for each output channel");
    return {{without_plane(s.y, dimensions_of(node)), promote(x.format, weight.format)}};
  };
  op.gradient = [name](GradientContext& context) {
    const Node& node = context.node();
    const std::vector<ValueId> in = node.inputs;
    const ValueId dy = context.output_gradient();
    const Attributes window = window_attributes(node);
    const auto with = [&](const char* key, const Shape& shape) {
      Attributes attributes = window;
      attributes.set(key, as_list(shape));
      return attributes;
    };
    if (context.wanted(1))
      context.set(1, context.emit(name + "_backward_weight", "dweight", {in[0], dy}, with("shape", context.input(1).shape)));
    if (in.size() > 2 && context.wanted(2)) context.set(2, context.emit("sum_channels", "dbias", {dy}));
    if (context.wanted(0))
      context.set(0, context.emit(name + "_backward_input", "dx", {in[1], dy}, with("shape", context.input(0).shape)));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    const Sizes s = sizes_of(graph, node, input_of(graph, node, 0).shape, input_of(graph, node, 1).shape);
    return flops_of(s) + (node.inputs.size() > 2 ? static_cast<double>(s.y.elements()) : 0.0);
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Sizes s = sizes_of(graph, node, input_of(graph, node, 0).shape, input_of(graph, node, 1).shape);
    LaunchPlan plan;
    plan.kernel = "conv2d";
    plan.in = {reshaped(graph, node.inputs[0], s.x), reshaped(graph, node.inputs[1], s.weight)};
    if (node.inputs.size() > 2) plan.in.push_back(whole(graph, node.inputs[2]));
    plan.out = {reshaped(graph, node.outputs[0], s.y)};
    set_params(plan, graph, node, s.params);
    return {plan};
  };
  return op;
}

/// weight, dy → dx of the attribute "shape"; or x, dy → dweight.
Operator backward(const std::string& name, bool of_weight) {
  Operator op;
  op.name = name + (of_weight ? "_backward_weight" : "_backward_input");
  op.min_inputs = op.max_inputs = 2;
  op.product = true;
  const auto sizes = [of_weight](const Graph& graph, const Node& node) {
    const Shape& given = input_of(graph, node, 0).shape;
    const Shape wanted = shape_attribute(node);
    const Sizes s = of_weight ? sizes_of(graph, node, given, wanted) : sizes_of(graph, node, wanted, given);
    const Shape& dy = input_of(graph, node, 1).shape;
    if (!(as_planes(graph, node, dy, dimensions_of(node)) == s.y)) refuse(graph, node, "dy must be " + to_string(s.y));
    return s;
  };
  op.infer = [sizes](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    sizes(graph, node);
    return {{shape_attribute(node), promote(input_of(graph, node, 0).format, input_of(graph, node, 1).format)}};
  };
  op.flops = [sizes](const Graph& graph, const Node& node) { return flops_of(sizes(graph, node)); };
  op.launches = [sizes, of_weight](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Sizes s = sizes(graph, node);
    LaunchPlan plan;
    plan.kernel = of_weight ? "conv2d_backward_weight" : "conv2d_backward_input";
    plan.in = {reshaped(graph, node.inputs[0], of_weight ? s.x : s.weight), reshaped(graph, node.inputs[1], s.y)};
    plan.out = {reshaped(graph, node.outputs[0], of_weight ? s.weight : s.x)};
    set_params(plan, graph, node, s.params);
    return {plan};
  };
  return op;
}

}  // namespace

void add_convolutions(OperatorTable& table) {
  for (const char* name : {"conv1d", "conv2d"}) {
    table.add(forward(name));
    table.add(backward(name, false));
    table.add(backward(name, true));
  }
}

}  // namespace ulpscope::engine
