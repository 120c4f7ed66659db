// Rotary positions: the table of rotations of a step, and the rotation of the heads of q or k by it.
#include <cmath>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

/// No input; attributes positions, depth (of a head), base (10000). Gives cos and sin, [positions, depth / 2].
Operator table_operator() {
  Operator op;
  op.name = "rotary_table";
  op.autocast = "cos";
  op.min_inputs = op.max_inputs = 0;
  op.differentiable_outputs = any_number;   // a loss may depend on them: they depend on no parameter
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const std::int64_t positions = node.attributes.integer("positions"), depth = node.attributes.integer("depth");
    if (positions < 1 || depth < 2 || depth % 2 != 0) refuse(graph, node, "takes positions of at least 1 and an even depth");
    if (!(node.attributes.number_or("base", 10000.0) > 1.0)) refuse(graph, node, "base must be greater than 1");
    const ValueType half{Shape{positions, depth / 2}, Format::fp32};
    return {half, half};
  };
  op.flops = per_output_element(40);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("rotary_table", graph, node);
    const double depth = static_cast<double>(node.attributes.integer("depth"));
    plan.set_params(RotaryTableParams{std::pow(node.attributes.number_or("base", 10000.0), -2.0 / depth)});
    return {plan};
  };
  return op;
}

/// x [B, T, heads * D], cos and sin [T, D / 2] → turned, in x's format (Llama casts the table to it; here it stays fp32).
Operator rotary() {
  Operator op;
  op.name = "rotary";
  op.autocast = "mul";
  op.min_inputs = op.max_inputs = 3;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &cosine = input_of(graph, node, 1), &sine = input_of(graph, node, 2);
    const std::int64_t heads = node.attributes.integer("heads");
    node.attributes.flag_or("inverse", false);
    if (x.shape.rank != 3 || heads < 1 || x.shape[2] % (2 * heads) != 0)
      refuse(graph, node, "takes [B, T, heads * D] with an even D");
    const Shape half{x.shape[1], x.shape[2] / heads / 2};
    if (!(cosine.shape == half) || !(sine.shape == half)) refuse(graph, node, "cos and sin must be " + to_string(half));
    return {{x.shape, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    const Node& node = context.node();
    if (context.wanted(0))
      context.set(0, context.emit("rotary", "dx", {context.output_gradient(), node.inputs[1], node.inputs[2]},
                                  {{"heads", node.attributes.integer("heads")}, {"inverse", !node.attributes.flag_or("inverse", false)}}));
  };
  op.flops = per_output_element(3);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Shape& x = input_of(graph, node, 0).shape;
    const std::int64_t heads = node.attributes.integer("heads");
    const Shape split{x[0], x[1], heads, x[2] / heads};
    LaunchPlan plan = simple_launch("rotary", graph, node);
    plan.in[0] = reshaped(graph, node.inputs[0], split);
    plan.out[0] = reshaped(graph, node.outputs[0], split);
    plan.set_params(RotaryParams{node.attributes.flag_or("inverse", false)});
    return {plan};
  };
  return op;
}

}  // namespace

void add_rotary(OperatorTable& table) {
  table.add(table_operator());
  table.add(rotary());
}

}  // namespace ulpscope::engine
