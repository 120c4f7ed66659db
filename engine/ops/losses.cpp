// Losses, averaged, a scalar in the compute type: cross-entropy on logits; mean squared and absolute error; binary
// cross-entropy on logits.
// Targets of cross-entropy lie in [0, classes): that is the business of whoever makes the batch (data/dataset.h), neither
// the graph nor the kernel looks.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

Format loss_format(Format x) { return x == Format::fp64 ? Format::fp64 : Format::fp32; }

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

/// Attributes label_smoothing (0) and ignore_index (-100), as torch.nn.functional.cross_entropy's. The mean is over the targets
/// that are not ignored; if all are, it is NaN, as PyTorch's is.
CrossEntropyParams cross_entropy_params(const Graph& graph, const Node& node) {
  CrossEntropyParams params;
  params.label_smoothing = node.attributes.number_or("label_smoothing", 0.0);
  params.ignore_index = static_cast<std::int32_t>(node.attributes.integer_or("ignore_index", -100));
  if (!(params.label_smoothing >= 0.0 && params.label_smoothing <= 1.0)) refuse(graph, node, "label_smoothing must lie in [0, 1]");
  return params;
}

std::vector<LaunchPlan> launch_cross_entropy(const Graph& graph, const Node& node, const LaunchOptions&) {
  LaunchPlan plan = simple_launch(node.op->name, graph, node);
  plan.set_params(cross_entropy_params(graph, node));
  return {plan};
}

void add_cross_entropy(OperatorTable& table) {
  Operator forward;
  forward.name = "cross_entropy";
  forward.autocast = "cross_entropy_loss";
  forward.min_inputs = forward.max_inputs = 2;
  forward.index_inputs = 0b10;
  forward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &logits = input_of(graph, node, 0), &target = input_of(graph, node, 1);
    Shape rows = logits.shape;
    if (rows.rank < 1) refuse(graph, node, "takes logits [.., classes] and i32 targets [..]");
    rows.rank -= 1;
    if (!(target.shape == rows)) refuse(graph, node, "targets must have the shape of the logits without the classes");
    cross_entropy_params(graph, node);
    const Format format = loss_format(logits.format);
    return {{Shape{}, format}, {rows, format}};
  };
  forward.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    context.set(0, context.emit("cross_entropy_backward", "dlogits",
                                {in[0], in[1], context.node().outputs[1], context.output_gradient()}, context.node().attributes));
  };
  forward.flops = per_input_element(12);
  forward.keeps_sum = forward.keeps_mean = true;
  forward.launches = launch_cross_entropy;

  Operator backward;
  backward.name = "cross_entropy_backward";
  backward.min_inputs = backward.max_inputs = 4;
  backward.index_inputs = 0b10;
  backward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  backward.flops = per_input_element(12);
  backward.launches = launch_cross_entropy;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

/// A loss over pairs of elements, and its gradient, which is also the target's where the loss is symmetric in them.
void add_pairwise(OperatorTable& table, const std::string& name, const char* autocast, bool symmetric, double each) {
  Operator forward;
  forward.name = name;
  forward.autocast = autocast;
  forward.min_inputs = forward.max_inputs = 2;
  forward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &prediction = input_of(graph, node, 0), &target = input_of(graph, node, 1);
    if (!(prediction.shape == target.shape)) refuse(graph, node, "prediction and target must be alike in shape");
    return {{Shape{}, loss_format(promote(prediction.format, target.format))}};
  };
  forward.gradient = [name, symmetric](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    if (context.wanted(1) && !symmetric) refuse(context.graph(), context.node(), "has no gradient with respect to its target");
    if (context.wanted(0)) context.set(0, context.emit(name + "_backward", "dprediction", {in[0], in[1], context.output_gradient()}));
    if (context.wanted(1)) context.set(1, context.emit(name + "_backward", "dtarget", {in[1], in[0], context.output_gradient()}));
  };
  forward.flops = per_input_element(each);
  forward.keeps_sum = forward.keeps_mean = true;
  forward.launches = launch;

  Operator backward;
  backward.name = name + "_backward";
  backward.min_inputs = backward.max_inputs = 3;
  backward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  backward.flops = per_input_element(each);
  backward.launches = launch;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

}  // namespace

void add_losses(OperatorTable& table) {
  add_cross_entropy(table);
  add_pairwise(table, "mse_loss", "mse_loss", true, 3);
  add_pairwise(table, "l1_loss", "l1_loss", true, 2);
  add_pairwise(table, "bce_with_logits", "binary_cross_entropy_with_logits", false, 25);
}

}  // namespace ulpscope::engine
