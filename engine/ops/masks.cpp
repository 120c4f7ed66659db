// Boolean masks: i32 values, 0 for "no". Made by comparing indices, used to fill, to choose, and to average what is left.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

/// x (i32) compared with the attribute "value": 1 or 0.
Operator compare(const char* name, bool equal) {
  Operator op;
  op.name = name;
  op.autocast = name;
  op.index_inputs = 0b1;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    node.attributes.integer("value");
    return {{input_of(graph, node, 0).shape, Format::i32}};
  };
  op.launches = [equal](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("compare", graph, node);
    plan.set_params(CompareParams{static_cast<std::int32_t>(node.attributes.integer("value")), equal});
    return {plan};
  };
  return op;
}

std::vector<LaunchPlan> launch_broadcast(const Graph& graph, const Node& node, const LaunchOptions&) {
  LaunchPlan plan;
  plan.kernel = node.op->name;
  const Shape& shape = graph.value(node.outputs[0]).shape;
  for (const ValueId v : node.inputs) plan.in.push_back(broadcast_to(graph, v, shape));
  plan.out.push_back(whole(graph, node.outputs[0]));
  return {plan};
}

/// x, mask (broadcast to x) → "value" where the mask is set, else x.
Operator masked_fill() {
  Operator op;
  op.name = "masked_fill";
  op.autocast = "masked_fill";
  op.min_inputs = op.max_inputs = 2;
  op.index_inputs = 0b10;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &mask = input_of(graph, node, 1);
    if (!(broadcast(x.shape, mask.shape, node) == x.shape)) refuse(graph, node, "the mask must broadcast to the value's shape");
    node.attributes.number("value");
    return {{x.shape, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("masked_fill", "dx", {context.output_gradient(), context.node().inputs[1]}, {{"value", 0.0}}));
  };
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    std::vector<LaunchPlan> plans = launch_broadcast(graph, node, options);
    plans.front().set_params(MaskedFillParams{node.attributes.number("value")});
    return plans;
  };
  return op;
}

/// condition, a, b → a where the condition is set, else b.
Operator where() {
  Operator op;
  op.name = "where";
  op.autocast = "where";
  op.min_inputs = op.max_inputs = 3;
  op.index_inputs = 0b1;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &condition = input_of(graph, node, 0), &a = input_of(graph, node, 1), &b = input_of(graph, node, 2);
    const Shape shape = broadcast(broadcast(a.shape, b.shape, node), condition.shape, node);
    return {{shape, promote(a.format, b.format)}};
  };
  op.gradient = [](GradientContext& context) {
    Graph& graph = context.graph();
    const ValueId condition = context.node().inputs[0], dy = context.output_gradient();
    const Format format = graph.value(dy).format;
    const ValueId zero = graph.add_constant(graph.free_name(context.node().name + ".zero"), Shape{}, {}, format);
    if (context.wanted(1)) context.set(1, context.emit("where", "da", {condition, dy, zero}));
    if (context.wanted(2)) context.set(2, context.emit("where", "db", {condition, zero, dy}));
  };
  op.flops = per_output_element(1);
  op.launches = launch_broadcast;
  return op;
}

/// x [B, T, C], mask i32 [B, T] → the mean of the positions whose mask is set, [B, C]. None set: NaN.
Operator masked_mean() {
  Operator op;
  op.name = "masked_mean";
  op.autocast = "sum";
  op.min_inputs = op.max_inputs = 2;
  op.index_inputs = 0b10;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &mask = input_of(graph, node, 1);
    if (x.shape.rank != 3 || !(mask.shape == Shape{x.shape[0], x.shape[1]})) refuse(graph, node, "takes x [B, T, C] and a mask [B, T]");
    return {{Shape{x.shape[0], x.shape[2]}, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("masked_mean_backward", "dx", {context.output_gradient(), context.node().inputs[1]}));
  };
  op.flops = per_input_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch("masked_mean", graph, node)};
  };
  return op;
}

Operator masked_mean_backward() {
  Operator op;
  op.name = "masked_mean_backward";
  op.min_inputs = op.max_inputs = 2;
  op.index_inputs = 0b10;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &dy = input_of(graph, node, 0), &mask = input_of(graph, node, 1);
    if (dy.shape.rank != 2 || mask.shape.rank != 2 || mask.shape[0] != dy.shape[0]) refuse(graph, node, "takes dy [B, C] and a mask [B, T]");
    return {{Shape{mask.shape[0], mask.shape[1], dy.shape[1]}, dy.format}};
  };
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch("masked_mean_backward", graph, node)};
  };
  return op;
}

}  // namespace

void add_masks(OperatorTable& table) {
  table.add(compare("eq", true));
  table.add(compare("ne", false));
  table.add(masked_fill());
  table.add(where());
  table.add(masked_mean());
  table.add(masked_mean_backward());
}

}  // namespace ulpscope::engine
