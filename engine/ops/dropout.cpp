// Dropout. The mask is not kept: the backward pass draws the same bits again from the same key.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/dropout_key.h"

namespace ulpscope::engine {

DropoutParams dropout_params(const Node& node, const LaunchOptions& options) {
  DropoutParams params;
  params.rate = static_cast<float>(node.attributes.number_or("rate", 0.0));
  params.seed = options.seed;
  params.key = math::hash_name(node.attributes.contains("key") ? node.attributes.text("key") : node.name);
  return params;
}

void add_dropout(OperatorTable& table) {
  Operator op;
  op.name = "dropout";
  op.autocast = "dropout";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const double rate = node.attributes.number("rate");
    if (!(rate >= 0.0 && rate < 1.0)) refuse(graph, node, "rate must lie in [0, 1)");
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext& context) {
    Attributes attributes = context.node().attributes;
    attributes.set("key", context.node().name);
    context.set(0, context.emit("dropout", "dx", {context.output_gradient()}, std::move(attributes)));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    return static_cast<double>(graph.value(node.outputs[0]).shape.elements());
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("dropout", graph, node);
    plan.set_params(dropout_params(node, options));
    return {plan};
  };
  table.add(std::move(op));
}

}  // namespace ulpscope::engine
