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
  const Format moments = config.moment_format.value_or(format);
  const bool adamw = config.kind == OptimizerKind::adamw;
  const auto scalar = [&](double x) { return in_scalar_format(x, config.scalar_format, config.scalar_rounding); };
  Node node = update_node(adamw ? "adamw" : "sgd", parameter_name + ".update", Phase::update,
                          "updates the weights in their own format");
  node.inputs = {gradient, norm, parameter};
  node.attributes.set("weight_decay", scalar(config.weight_decay));
  if (adamw) {
    node.attributes.set("beta1", scalar(config.beta1));
    node.attributes.set("beta2", scalar(config.beta2));
    node.attributes.set("epsilon", scalar(config.epsilon));
    node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".m", shape, moments));
    node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".v", shape, moments));
  } else {
    node.attributes.set("momentum", scalar(config.momentum));
    node.attributes.set("nesterov", config.nesterov);
    if (config.momentum != 0.0)
      node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".momentum", shape, moments));
  }
  if (is_16bit(format) && config.arithmetic == UpdateArithmetic::storage) {
    node.attributes.set("each_operation", true);
    node.why += "; every operation is rounded to it, as PyTorch's for-loop optimizers do";
  }
  if (config.rounding == UpdateRounding::stochastic) node.attributes.set("rounding", std::string("stochastic"));
  if (config.rounding == UpdateRounding::kahan) {
    node.attributes.set("rounding", std::string("kahan"));
    node.inputs.push_back(graph.add_optimizer_state(parameter_name + ".compensation", shape, format));
  }
  graph.add_node(std::move(node));
}

ValueId add_norm(Graph& graph, const std::vector<ValueId>& gradients, const OptimizerConfig& config) {
  Node norm = update_node("global_norm", "global_norm", Phase::unscale,
                          std::string(name(config.norm_accumulate)) + ": norm of the " +
                              (config.clip_before_unscale ? "scaled" : "unscaled") + " gradients, for clipping");
  norm.inputs = gradients;
  norm.attributes.set("max_norm", config.clip);
  norm.arithmetic.accumulate = config.norm_accumulate;
  return graph.node(graph.add_node(std::move(norm))).outputs.front();
}

}  // namespace

void add_update(Graph& graph, const std::vector<ParameterGradient>& gradients, const OptimizerConfig& config) {
  if (gradients.empty()) return;
  std::vector<ValueId> read;
  for (const ParameterGradient& g : gradients) read.push_back(g.gradient);
  ValueId norm;
  if (config.clip_before_unscale) norm = add_norm(graph, read, config);
  Node unscale = update_node("unscale_check", "unscale_check", Phase::unscale, "gradients / S, and the finite flag of the step");
  unscale.inputs = read;
  read = graph.node(graph.add_node(std::move(unscale))).outputs;
  if (!norm) norm = add_norm(graph, read, config);
  for (std::size_t i = 0; i < gradients.size(); ++i) add_optimizer(graph, gradients[i].parameter, read[i], norm, config);
}

}  // namespace ulpscope::engine
