// Sums and means of a whole tensor, in the compute type inside.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

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
    const Shape& shape = context.input(0).shape;
    const double factor = mean ? 1.0 / static_cast<double>(shape.elements()) : 1.0;
    std::vector<std::int64_t> dims(shape.dim.begin(), shape.dim.begin() + shape.rank);
    context.set(0, context.emit("expand", "dx", {context.output_gradient()}, {{"shape", std::move(dims)}, {"factor", factor}}));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    return static_cast<double>(input_of(graph, node, 0).shape.elements());
  };
  op.launches = [kernel](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch(kernel, graph, node)};
  };
  return op;
}

/// x broadcast to "shape" and multiplied by "factor": the gradient of a sum or a mean.
Operator expand() {
  Operator op;
  op.name = "expand";
  op.autocast = "expand";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    Shape shape;
    for (const std::int64_t d : node.attributes.integers("shape")) shape.dim[static_cast<std::size_t>(shape.rank++)] = d;
    return {{shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext& context) {   // set() sums over what was broadcast
    const double factor = context.node().attributes.number("factor");
    context.set(0, context.emit("scale", "dx", {context.output_gradient()}, {{"factor", factor}}));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("scale", graph, node);
    plan.in = {broadcast_to(graph, node.inputs[0], graph.value(node.outputs[0]).shape)};
    plan.set_params(ScaleParams{node.attributes.number("factor")});
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
