// What makes a step of gradients: loss scale, unscale with finite check, global norm, optimizers. In place; the kernels
// write nothing when the step's flag says that the gradients are not finite.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/streams.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

std::vector<ValueType> same_types(const Graph& graph, const Node& node) {
  std::vector<ValueType> types;
  for (const ValueId v : node.inputs) types.push_back({graph.value(v).shape, graph.value(v).format});
  return types;
}

Operator scale_loss() {
  Operator op;
  op.name = "scale_loss";
  op.infer = same_types;
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("scale_loss", "dloss", {context.output_gradient()}));
  };
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch("scale_by_loss_scale", graph, node)};
  };
  return op;
}

/// All parameter gradients at once: g ← g / S, and the finite flag, which looks at the unscaled values. PyTorch's looks at
/// the scaled ones; kernels/ops/unscale.h says where that differs and why.
Operator unscale_check() {
  Operator op;
  op.name = "unscale_check";
  op.internal = true;
  op.max_inputs = any_number;
  op.infer = same_types;
  op.in_place_all = true;
  op.flops = per_element_of_all_inputs(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch("unscale_check", graph, node)};
  };
  return op;
}

Operator global_norm() {
  Operator op;
  op.name = "global_norm";
  op.internal = true;
  op.max_inputs = any_number;
  op.infer = [](const Graph&, const Node&) -> std::vector<ValueType> { return {{Shape{}, Format::fp32}}; };
  op.flops = per_element_of_all_inputs(2);
  op.keeps_sum = true;
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("global_norm", graph, node);
    plan.set_params(ClipParams{static_cast<float>(node.attributes.number_or("max_norm", 0.0))});
    return {plan};
  };
  return op;
}

/// Inputs: gradient, norm (orders the node after it), then what is updated in place: weights, moments, Kahan's compensation.
std::vector<ValueType> updated_types(const Graph& graph, const Node& node) {
  std::vector<ValueType> types = same_types(graph, node);
  types.erase(types.begin(), types.begin() + 2);
  return types;
}

LaunchPlan update_launch(const char* kernel, const Graph& graph, const Node& node) {
  LaunchPlan plan;
  plan.kernel = kernel;
  plan.in = {whole(graph, node.inputs[0])};
  for (const ValueId v : node.outputs) plan.out.push_back(whole(graph, v));
  return plan;
}

UpdateNumerics numerics_of(const Graph& graph, const Node& node, const LaunchOptions& options) {
  UpdateNumerics numerics;
  numerics.each_operation = node.attributes.flag_or("each_operation", false);
  if (node.attributes.contains("rounding"))
    numerics.rounding = node.attributes.text("rounding") == "kahan" ? UpdateRounding::kahan : UpdateRounding::stochastic;
  numerics.seed = options.seed;
  numerics.key = update_stream(graph.value(node.inputs[2]).name);
  return numerics;
}

Operator sgd() {
  Operator op;
  op.name = "sgd";
  op.internal = true;
  op.min_inputs = 3;
  op.max_inputs = 5;
  op.infer = updated_types;
  op.in_place = {2, 3, 4};
  op.flops = per_input_element(6);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    LaunchPlan plan = update_launch("sgd", graph, node);
    SgdParams params;
    params.numerics = numerics_of(graph, node, options);
    params.momentum = static_cast<float>(node.attributes.number("momentum"));
    params.weight_decay = static_cast<float>(node.attributes.number("weight_decay"));
    params.nesterov = node.attributes.flag("nesterov");
    plan.set_params(params);
    return {plan};
  };
  return op;
}

Operator adamw() {
  Operator op;
  op.name = "adamw";
  op.internal = true;
  op.min_inputs = 5;
  op.max_inputs = 6;
  op.infer = updated_types;
  op.in_place = {2, 3, 4, 5};
  op.flops = per_input_element(15);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    LaunchPlan plan = update_launch("adamw", graph, node);
    AdamWParams params;
    params.numerics = numerics_of(graph, node, options);
    params.beta1 = node.attributes.number("beta1");
    params.beta2 = node.attributes.number("beta2");
    params.epsilon = node.attributes.number("epsilon");
    params.weight_decay = node.attributes.number("weight_decay");
    plan.set_params(params);
    return {plan};
  };
  return op;
}

}  // namespace

void add_update(OperatorTable& table) {
  table.add(scale_loss());
  table.add(unscale_check());
  table.add(global_norm());
  table.add(sgd());
  table.add(adamw());
}

}  // namespace ulpscope::engine
