// Softmax over the last dimension, and the causal mask of composed attention.
#include <limits>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

std::vector<ValueType> same_as_first(const Graph& graph, const Node& node) {
  return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
}

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

Operator softmax() {
  Operator op;
  op.name = "softmax";
  op.autocast = "softmax";
  op.infer = same_as_first;
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("softmax_backward", "dx", {context.node().outputs[0], context.output_gradient()}));
  };
  op.flops = per_output_element(13);
  op.launches = launch;
  return op;
}

Operator softmax_backward() {
  Operator op;
  op.name = "softmax_backward";
  op.min_inputs = op.max_inputs = 2;
  op.infer = same_as_first;
  op.flops = per_output_element(4);
  op.launches = launch;
  return op;
}

/// "value" (default −inf) where the key's position is after the query's.
Operator causal_mask() {
  Operator op;
  op.name = "causal_mask";
  op.autocast = "masked_fill";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    if (input_of(graph, node, 0).shape.rank < 2) refuse(graph, node, "takes scores [.., Tq, Tk]");
    node.attributes.number_or("value", 0.0);
    return same_as_first(graph, node);
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("causal_mask", "dx", {context.output_gradient()}, {{"value", 0.0}}));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("causal_mask", graph, node);
    const double value = node.attributes.number_or("value", -std::numeric_limits<double>::infinity());
    plan.set_params(CausalMaskParams{static_cast<float>(value)});
    return {plan};
  };
  return op;
}

}  // namespace

void add_softmax(OperatorTable& table) {
  table.add(softmax());
  table.add(softmax_backward());
  table.add(causal_mask());
}

}  // namespace ulpscope::engine
