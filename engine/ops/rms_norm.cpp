// Root-mean-square normalisation over the last dimension. The reciprocal root is kept in the compute type for the backward pass.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/norm_epsilon.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

Format statistics_format(Format x) { return x == Format::fp64 ? Format::fp64 : Format::fp32; }

constexpr double flops_each = 4.0;   // square, sum, two scales

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

Operator forward() {
  Operator op;
  op.name = "rms_norm";
  op.autocast = "rms_norm";
  op.min_inputs = op.max_inputs = 2;
  op.keeps_sum = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &gain = input_of(graph, node, 1);
    if (x.shape.rank < 1 || !(gain.shape == Shape{x.shape[-1]})) refuse(graph, node, "the gain must have the length of the last dimension");
    check_norm_epsilon(graph, node);
    Shape rows = x.shape;
    rows.rank -= 1;
    return {{x.shape, x.format}, {rows, statistics_format(x.format)}};
  };
  op.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs, out = context.node().outputs;
    const ValueId dy = context.output_gradient();
    if (context.wanted(1))
      context.set(1, context.emit("rms_norm_backward_weights", "dweight", {in[0], out[1], dy},
                                  {{"to", std::string(name(context.input(1).format))}}));
    if (context.wanted(0)) context.set(0, context.emit("rms_norm_backward", "dx", {in[0], in[1], out[1], dy}));
  };
  op.flops = per_input_element(flops_each);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("rms_norm", graph, node);
    plan.set_params(RmsNormParams{norm_epsilon(node)});
    return {plan};
  };
  return op;
}

Operator backward() {
  Operator op;
  op.name = "rms_norm_backward";
  op.min_inputs = op.max_inputs = 4;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.flops = per_input_element(2 * flops_each);
  op.launches = launch;
  return op;
}

/// A sum over all rows: rounded once, to the gain's format (attribute "to").
Operator backward_weights() {
  Operator op;
  op.name = "rms_norm_backward_weights";
  op.min_inputs = op.max_inputs = 3;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{Shape{input_of(graph, node, 0).shape[-1]}, format_attribute(graph, node, "to")}};
  };
  op.flops = per_input_element(3);
  op.launches = launch;
  return op;
}

}  // namespace

void add_rms_norm(OperatorTable& table) {
  table.add(forward());
  table.add(backward());
  table.add(backward_weights());
}

}  // namespace ulpscope::engine
