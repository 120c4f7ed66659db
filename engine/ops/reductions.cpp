// Sums and means of a whole tensor, in the compute type inside.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"

namespace ulpscope::engine {
namespace {

Operator reduction(const char* name, const char* kernel, bool mean) {
  Operator op;
  op.name = name;
  op.autocast = mean ? "mean" : "sum";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{Shape{}, input_of(graph, node, 0).format}};
  };
  op.gradient = [mean](GradientContext& context) {
    const Shape shape = context.input(0).shape;   // a copy: a new value moves the graph's
    std::vector<ValueId> in{context.output_gradient()};
    if (mean) {
      const Format format = context.input(0).format == Format::fp64 ? Format::fp64 : Format::fp32;
      const Initial count{Initial::Kind::constant, static_cast<double>(shape.elements()), {}};
      Graph& graph = context.graph();
      in.push_back(graph.add_constant(graph.free_name(context.node().name + ".count"), Shape{}, count, format));
    }
    context.set(0, context.emit("expand", "dx", std::move(in), {{"shape", as_list(shape)}}));
  };
  op.flops = per_input_element(1);
  op.keeps_sum = true;
  op.keeps_mean = mean;
  op.launches = [kernel](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch(kernel, graph, node)};
  };
  return op;
}

/// x broadcast to "shape" and divided by a second input, if there is one: the gradient of a sum or a mean. A division, not a
/// product with 1/n: the quotient is rounded once.
Operator expand() {
  Operator op;
  op.name = "expand";
  op.autocast = "expand";
  op.max_inputs = 2;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Shape shape = shape_attribute(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!(broadcast(graph.value(node.inputs[i]).shape, shape, node) == shape))
        refuse(graph, node, "does not broadcast to " + to_string(shape));
    return {{shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext& context) {   // set() sums over what was broadcast
    const std::vector<ValueId> in = context.node().inputs;
    if (in.size() == 1) return context.set(0, context.output_gradient());
    if (context.wanted(1)) refuse(context.graph(), context.node(), "has no gradient with respect to its divisor");
    context.set(0, context.emit("div", "dx", {context.output_gradient(), in[1]}));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    return node.inputs.size() > 1 ? static_cast<double>(graph.value(node.outputs[0]).shape.elements()) : 0.0;
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch(node.inputs.size() > 1 ? "div" : "copy", graph, node);
    for (Operand& operand : plan.in) operand = broadcast_to(graph, operand.value, graph.value(node.outputs[0]).shape);
    return {plan};
  };
  return op;
}

}  // namespace

void add_reductions(OperatorTable& table) {
  table.add(reduction("sum", "sum_all", false));
  table.add(reduction("mean", "mean_all", true));
  table.add(expand());
}

}  // namespace ulpscope::engine
