// Losses: cross-entropy on logits and mean squared error, both averaged, both a scalar in the compute type.
// Targets of cross-entropy lie in [0, classes): that is the business of whoever makes the batch (data/dataset.h), neither
// the graph nor the kernel looks.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"

namespace ulpscope::engine {
namespace {

Format loss_format(Format x) { return x == Format::fp64 ? Format::fp64 : Format::fp32; }

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
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
    const Format format = loss_format(logits.format);
    return {{Shape{}, format}, {rows, format}};
  };
  forward.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    context.set(0, context.emit("cross_entropy_backward", "dlogits",
                                {in[0], in[1], context.node().outputs[1], context.output_gradient()}));
  };
  forward.flops = per_input_element(12);
  forward.launches = launch;

  Operator backward;
  backward.name = "cross_entropy_backward";
  backward.min_inputs = backward.max_inputs = 4;
  backward.index_inputs = 0b10;
  backward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  backward.flops = per_input_element(12);
  backward.launches = launch;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

void add_mse(OperatorTable& table) {
  Operator forward;
  forward.name = "mse_loss";
  forward.autocast = "mse_loss";
  forward.min_inputs = forward.max_inputs = 2;
  forward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &prediction = input_of(graph, node, 0), &target = input_of(graph, node, 1);
    if (!(prediction.shape == target.shape)) refuse(graph, node, "prediction and target must be alike in shape");
    return {{Shape{}, loss_format(promote(prediction.format, target.format))}};
  };
  forward.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    if (context.wanted(0)) context.set(0, context.emit("mse_loss_backward", "dprediction", {in[0], in[1], context.output_gradient()}));
    if (context.wanted(1)) context.set(1, context.emit("mse_loss_backward", "dtarget", {in[1], in[0], context.output_gradient()}));
  };
  forward.flops = per_input_element(3);
  forward.launches = launch;

  Operator backward;
  backward.name = "mse_loss_backward";
  backward.min_inputs = backward.max_inputs = 3;
  backward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  backward.flops = per_input_element(3);
  backward.launches = launch;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

}  // namespace

void add_losses(OperatorTable& table) {
  add_cross_entropy(table);
  add_mse(table);
}

}  // namespace ulpscope::engine
