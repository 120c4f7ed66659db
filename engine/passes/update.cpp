#include "engine/passes/update.h"

#include "engine/graph/operator.h"

namespace ulpscope::engine {
namespace {

Node update_node(const char* op, std::string name, Phase phase, std::string why) {
  Node node;
  node.op = &operators().find(op);
  node.name = std::move(name);
  node.phase = phase;
  node.why = std::move(why);
  return node;
}

void add_optimizer(Graph& graph, ValueId parameter, ValueId gradient, ValueId norm, const OptimizerConfig& config) {
  const std::string parameter_name = graph.value(parameter).name;
  const Shape shape = graph.value(parameter).shape;
  const Format format = graph.value(parameter).format;
  const bool adamw = config.kind == OptimizerKind::adamw;
  Node node = update_node(adamw ? "adamw" : "sgd", parameter_name + ".update", Phase::update,
                          "updates the weights in their own format");
  node.inputs = {gradient, norm, parameter};
  node.attributes.set("weight_decay", config.weight_decay);
  if (adamw) {
    node.attributes.set("beta1", config.beta1);
    node.attributes.set("beta2", config.beta2);
    node.attributes.set("epsilon", config.epsilon);
    node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".m", shape, format));
    node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".v", shape, format));
  } else {
    node.attributes.set("momentum", config.momentum);
    node.attributes.set("nesterov", config.nesterov);
    if (config.momentum != 0.0)
      node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".momentum", shape, format));
  }
  graph.add_node(std::move(node));
}

}  // namespace

void add_update(Graph& graph, const std::vector<ParameterGradient>& gradients, const OptimizerConfig& config) {
  if (gradients.empty()) return;
  Node unscale = update_node("unscale_check", "unscale_check", Phase::unscale, "gradients / S, and the finite flag of the step");
  for (const ParameterGradient& g : gradients) unscale.inputs.push_back(g.gradient);
  const NodeId unscaled = graph.add_node(std::move(unscale));

  Node norm = update_node("global_norm", "global_norm", Phase::unscale, "fp32: norm of the unscaled gradients, for clipping");
  norm.inputs = graph.node(unscaled).outputs;
  norm.attributes.set("max_norm", config.clip);
  const ValueId norm_value = graph.node(graph.add_node(std::move(norm))).outputs.front();

  for (std::size_t i = 0; i < gradients.size(); ++i)
    add_optimizer(graph, gradients[i].parameter, graph.node(unscaled).outputs[i], norm_value, config);
}

}  // namespace ulpscope::engine
