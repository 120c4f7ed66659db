// Unary functions. Those whose derivative reads the output keep the output, the others the input.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/clamp.h"

namespace ulpscope::engine {
namespace {

std::vector<ValueType> infer_unary(const Graph& graph, const Node& node) {
  return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
}

std::vector<ValueType> infer_backward(const Graph& graph, const Node& node) {
  const Value &kept = input_of(graph, node, 0), &gradient = input_of(graph, node, 1);
  if (!(kept.shape == gradient.shape)) refuse(graph, node, "the gradient has another shape than the value");
  return {{kept.shape, kept.format}};
}

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

enum class Keeps { input, output };

/// `each`: floating-point operations per element, counted roughly for functions that are polynomials inside.
void add_pair(OperatorTable& table, const std::string& name, const char* autocast, Keeps keeps, double each) {
  Operator forward;
  forward.name = name;
  forward.autocast = autocast;
  forward.infer = infer_unary;
  forward.gradient = [name, keeps](GradientContext& context) {
    const ValueId kept = keeps == Keeps::input ? context.node().inputs[0] : context.node().outputs[0];
    context.set(0, context.emit(name + "_backward", "dx", {kept, context.output_gradient()}));
  };
  forward.flops = per_output_element(each);
  forward.launches = launch;

  Operator backward;
  backward.name = name + "_backward";
  backward.min_inputs = backward.max_inputs = 2;
  backward.infer = infer_backward;
  backward.flops = forward.flops;
  backward.launches = launch;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

Operator logarithm() {
  Operator op;
  op.name = "log";
  op.autocast = "log";
  op.infer = infer_unary;
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("div", "dx", {context.output_gradient(), context.node().inputs[0]}));
  };
  op.flops = per_output_element(10);
  op.launches = launch;
  return op;
}

LaunchPlan launch_clamp(const Graph& graph, const Node& node) {
  LaunchPlan plan = simple_launch(node.op->name, graph, node);
  plan.set_params(ClampParams{node.attributes.number("min"), node.attributes.number("max")});
  return plan;
}

void add_clamp(OperatorTable& table) {
  Operator forward;
  forward.name = "clamp";
  forward.autocast = "clamp";
  forward.infer = [](const Graph& graph, const Node& node) {
    const double least = node.attributes.number("min"), greatest = node.attributes.number("max");
    if (!(least <= greatest)) refuse(graph, node, fmt::format("min = {:g} is above max = {:g}", least, greatest));
    return infer_unary(graph, node);
  };
  forward.gradient = [](GradientContext& context) {
    const Node& node = context.node();
    context.set(0, context.emit("clamp_backward", "dx", {node.inputs[0], context.output_gradient()},
                                {{"min", node.attributes.number("min")}, {"max", node.attributes.number("max")}}));
  };
  forward.flops = per_output_element(2);
  forward.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {launch_clamp(graph, node)};
  };

  Operator backward;
  backward.name = "clamp_backward";
  backward.min_inputs = backward.max_inputs = 2;
  backward.infer = infer_backward;
  backward.flops = forward.flops;
  backward.launches = forward.launches;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

}  // namespace

void add_activations(OperatorTable& table) {
  add_pair(table, "relu", "relu", Keeps::input, 1);
  add_pair(table, "gelu", "gelu", Keeps::input, 20);
  add_pair(table, "gelu_tanh", "gelu", Keeps::input, 20);
  add_pair(table, "silu", "silu", Keeps::input, 15);
  add_pair(table, "tanh", "tanh", Keeps::output, 15);
  add_pair(table, "sigmoid", "sigmoid", Keeps::output, 12);
  add_pair(table, "exp", "exp", Keeps::output, 10);
  add_pair(table, "sqrt", "sqrt", Keeps::output, 1);
  table.add(logarithm());
  add_clamp(table);
}

}  // namespace ulpscope::engine
