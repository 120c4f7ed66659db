// Dropout. The mask is not kept: the backward pass draws the same bits again from the same key.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/dropout_key.h"
#include "engine/streams.h"

namespace ulpscope::engine {

DropoutParams dropout_params(const Node& node, const LaunchOptions& options) {
  DropoutParams params;
  params.rate = static_cast<float>(node.attributes.number_or("rate", 0.0));
  params.seed = options.seed;
  params.key = mask_stream(node.attributes.contains("key") ? node.attributes.text("key") : node.name);
  return params;
}

Attributes with_dropout_key(const Node& node) {
  Attributes attributes = node.attributes;
  if (!attributes.contains("key")) attributes.set("key", node.name);
  return attributes;
}

void check_dropout_rate(const Graph& graph, const Node& node, double rate) {
  if (!(rate >= 0.0 && rate < 1.0)) refuse(graph, node, "rate must lie in [0, 1)");
}

void add_dropout(OperatorTable& table) {
  Operator op;
  op.name = "dropout";
  op.autocast = "dropout";
  op.draws_random = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    check_dropout_rate(graph, node, node.attributes.number("rate"));
    if (node.attributes.contains("key")) node.attributes.text("key");
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("dropout", "dx", {context.output_gradient()}, with_dropout_key(context.node())));
  };
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("dropout", graph, node);
    plan.set_params(dropout_params(node, options));
    return {plan};
  };
  table.add(std::move(op));
}

}  // namespace ulpscope::engine
