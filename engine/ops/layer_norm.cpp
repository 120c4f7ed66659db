// Layer normalisation over the last dimension. Statistics are kept in the compute type for the backward pass.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/norm_epsilon.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

Format statistics_format(Format x) { return x == Format::fp64 ? Format::fp64 : Format::fp32; }

Shape rows_of(const Shape& shape) {
  Shape rows = shape;
  rows.rank -= 1;
  return rows;
}

constexpr double flops_each = 8.0;   // two passes of sums, subtract, scale, shift

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

Operator forward() {
  Operator op;
  op.name = "layer_norm";
  op.autocast = "layer_norm";
  op.min_inputs = op.max_inputs = 3;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &gamma = input_of(graph, node, 1), &beta = input_of(graph, node, 2);
    if (x.shape.rank < 1 || !(gamma.shape == Shape{x.shape[-1]}) || !(beta.shape == gamma.shape))
      refuse(graph, node, "gain and bias must have the length of the last dimension");
    check_norm_epsilon(graph, node);
    const Format statistics = statistics_format(x.format);
    return {{x.shape, x.format}, {rows_of(x.shape), statistics}, {rows_of(x.shape), statistics}};
  };
  op.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs, out = context.node().outputs;
    const ValueId dy = context.output_gradient();
    if (context.wanted(1) || context.wanted(2)) {
      const NodeId weights = context.emit_node("layer_norm_backward_weights", "dweights", {in[0], out[1], out[2], dy},
                                               {{"to", std::string(name(context.input(1).format))}});
      const std::vector<ValueId> d = context.graph().node(weights).outputs;
      if (context.wanted(1)) context.set(1, d[0]);
      if (context.wanted(2)) context.set(2, d[1]);
    }
    if (context.wanted(0)) context.set(0, context.emit("layer_norm_backward", "dx", {in[0], in[1], out[1], out[2], dy}));
  };
  op.flops = per_input_element(flops_each);
  op.keeps_sum = true;
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("layer_norm", graph, node);
    plan.set_params(LayerNormParams{norm_epsilon(node)});
    return {plan};
  };
  return op;
}

/// The gradients of gain and bias are sums over all rows: they are rounded once, to the gain's format (attribute "to"),
/// not to that of x, which may be narrower.
Operator backward(const char* name, bool weights) {
  Operator op;
  op.name = name;
  op.min_inputs = op.max_inputs = weights ? 4 : 5;
  op.infer = [weights](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    if (!weights) return {{x.shape, x.format}};
    const std::optional<Format> to = parse_format(node.attributes.text("to"));
    if (!to || !is_float(*to)) refuse(graph, node, "cannot sum in '" + node.attributes.text("to") + "'");
    const ValueType row{Shape{x.shape[-1]}, *to};
    return {row, row};
  };
  op.flops = per_input_element(flops_each);
  op.launches = launch;
  return op;
}

}  // namespace

void add_layer_norm(OperatorTable& table) {
  table.add(forward());
  table.add(backward("layer_norm_backward", false));
  table.add(backward("layer_norm_backward_weights", true));
}

}  // namespace ulpscope::engine
