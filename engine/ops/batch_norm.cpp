// Batch normalisation over [N, C, …]: with the statistics of the batch, or with running ones. The latter are buffers that
// "ema" nodes keep (engine/models). And the sum of each channel: the gradient of a convolution's bias.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/norm_epsilon.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

Format statistics_format(Format x) { return x == Format::fp64 ? Format::fp64 : Format::fp32; }

/// [N, C, everything else].
Shape as_channels(const Graph& graph, const Node& node, const Shape& shape) {
  if (shape.rank < 2) refuse(graph, node, "takes [N, C, ...]");
  std::int64_t length = 1;
  for (int i = 2; i < shape.rank; ++i) length *= shape[i];
  return Shape{shape[0], shape[1], length};
}

void expect_vectors(const Graph& graph, const Node& node, std::int64_t channels) {
  for (int i = 1; i < static_cast<int>(node.inputs.size()); ++i)
    if (!(input_of(graph, node, i).shape == Shape{channels})) refuse(graph, node, "gain, bias and statistics have one element for each channel");
}

BatchNormParams params_of(const Node& node) { return {norm_epsilon(node)}; }

/// x, gain, bias → y and the by-products mean, rstd, unbiased variance of each channel.
/// With running mean and variance behind them: those are used, and there is no gradient.
Operator forward() {
  Operator op;
  op.name = "batch_norm";
  op.autocast = "batch_norm";
  op.min_inputs = 3;
  op.max_inputs = 5;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    const Shape channels = as_channels(graph, node, x.shape);
    if (node.inputs.size() == 4) refuse(graph, node, "takes x, gain, bias, or these with running mean and variance");
    expect_vectors(graph, node, channels[1]);
    check_norm_epsilon(graph, node);
    if (node.inputs.size() == 5) return {{x.shape, x.format}};
    if (channels[0] * channels[2] < 2) refuse(graph, node, "needs more than one element in each channel");
    const ValueType statistics{Shape{channels[1]}, statistics_format(x.format)};
    return {{x.shape, x.format}, statistics, statistics, statistics};
  };
  op.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs, out = context.node().outputs;
    if (in.size() > 3) refuse(context.graph(), context.node(), "has no gradient with running statistics");
    const NodeId backward = context.emit_node("batch_norm_backward", "dx", {in[0], in[1], out[1], out[2], context.output_gradient()},
                                              {{"to", std::string(name(context.input(1).format))}});
    const std::vector<ValueId> d = context.graph().node(backward).outputs;
    for (int i = 0; i < 3; ++i)
      if (context.wanted(i)) context.set(i, d[static_cast<std::size_t>(i)]);
  };
  op.flops = per_input_element(8);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const bool running = node.inputs.size() > 3;
    LaunchPlan plan = simple_launch(running ? "batch_norm_inference" : "batch_norm", graph, node);
    const Shape channels = as_channels(graph, node, input_of(graph, node, 0).shape);
    plan.in[0] = reshaped(graph, node.inputs[0], channels);
    plan.out[0] = reshaped(graph, node.outputs[0], channels);
    plan.set_params(params_of(node));
    return {plan};
  };
  return op;
}

/// x, gain, mean, rstd, dy → dx, and the gradients of gain and bias in the gain's format (attribute "to").
Operator backward() {
  Operator op;
  op.name = "batch_norm_backward";
  op.min_inputs = op.max_inputs = 5;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    const ValueType vector{input_of(graph, node, 1).shape, format_attribute(graph, node, "to")};
    return {{x.shape, x.format}, vector, vector};
  };
  op.flops = per_input_element(12);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("batch_norm_backward", graph, node);
    const Shape channels = as_channels(graph, node, input_of(graph, node, 0).shape);
    plan.in[0] = reshaped(graph, node.inputs[0], channels);
    plan.in[4] = reshaped(graph, node.inputs[4], channels);
    plan.out[0] = reshaped(graph, node.outputs[0], channels);
    return {plan};
  };
  return op;
}

/// x [N, C, …] → [C].
Operator sum_channels() {
  Operator op;
  op.name = "sum_channels";
  op.autocast = "sum";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    return {{Shape{as_channels(graph, node, x.shape)[1]}, x.format}};
  };
  op.flops = per_input_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("sum_channels", graph, node);
    plan.in[0] = reshaped(graph, node.inputs[0], as_channels(graph, node, input_of(graph, node, 0).shape));
    return {plan};
  };
  return op;
}

}  // namespace

void add_batch_norm(OperatorTable& table) {
  table.add(forward());
  table.add(backward());
  table.add(sum_channels());
}

}  // namespace ulpscope::engine
