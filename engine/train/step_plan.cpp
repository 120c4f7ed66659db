// The passes in DESIGN's order: autocast, loss scale, autodiff, update, checkpointing, fusion, memory plan.
#include <variant>

#include <fmt/format.h>

#include "engine/passes/autocast.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/commit.h"
#include "engine/passes/loss_scale.h"
#include "engine/passes/matrix_unit.h"
#include "engine/passes/overrides.h"
#include "engine/passes/rewrites.h"
#include "engine/passes/update.h"
#include "engine/precision/policy.h"
#include "engine/graph/operator.h"
#include "engine/train/injector.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

struct Forward {
  StepPlan plan;
  std::vector<ValueId> map;
};

/// training: the mode that keeps the weights.
Forward cast_forward(const Model& model, const Mode& mode, const TrainConfig& config, bool check_patterns, const Mode& training) {
  Forward f;
  if (!config.rewrites.empty()) {
    std::vector<ValueId> now;
    Model changed{rewrite(model.graph, config.rewrites, check_patterns, &now), {}, {}, model.tokens_per_batch};
    changed.loss = now[static_cast<std::size_t>(model.loss.index)];
    for (const ValueId v : model.inputs) changed.inputs.push_back(now[static_cast<std::size_t>(v.index)]);
    TrainConfig rest = config;
    rest.rewrites.clear();
    return cast_forward(changed, mode, rest, check_patterns, training);
  }
  AutocastOptions options{mode, &find_policy(config.policy), config.keep_fp32, check_patterns, config.overrides, training};
  f.plan.graph = autocast(model.graph, options, &f.map);
  f.plan.loss = f.map[static_cast<std::size_t>(model.loss.index)];
  for (const ValueId v : model.inputs) f.plan.inputs.push_back(f.map[static_cast<std::size_t>(v.index)]);
  for (const ValueId v : f.plan.graph.with_role(Role::parameter)) f.plan.parameters += f.plan.graph.value(v).shape.elements();
  f.plan.tokens = model.tokens_per_batch;
  return f;
}

/// alone: nodes that nothing is fused with.
MemoryPlan plan_launches(Device& device, const StepPlan& plan, const Mode& mode, const TrainConfig& config,
                         const std::vector<NodeId>& alone = {}) {
  std::vector<ValueId> keep{plan.loss};
  for (const std::string& name : config.keep)
    if (plan.graph.contains(name)) keep.push_back(plan.graph.find(name));
  FusionPlan fusion = config.fusion ? plan_fusion(plan.graph, device.kernels(), keep, alone) : without_fusion(plan.graph);
  return plan_memory(plan.graph, std::move(fusion), device.kernels(), mode.mixed(), keep, device.description().threads);
}

/// The loss of one micro-batch as a share of the step's mean: what is differentiated.
ValueId share_of_step(Graph& graph, ValueId loss, std::int64_t micro_batches) {
  if (micro_batches == 1) return loss;
  Node node;
  node.op = &operators().find("scale");
  node.name = "micro_batch_share";
  node.inputs = {loss};
  node.attributes.set("factor", 1.0 / static_cast<double>(micro_batches));
  node.why = fmt::format("the step's loss is the mean of {} micro-batches", micro_batches);
  return graph.node(graph.add_node(std::move(node))).outputs.front();
}

GradientOptions gradient_options(const TrainConfig& config) {
  GradientOptions options;
  options.format = config.gradient_format;
  if (config.micro_batches > 1) options.accumulator = config.accumulator_format;
  options.early_unscale = config.early_unscale;
  return options;
}

}  // namespace

bool scales_loss(const Mode& mode, const TrainConfig& config) {
  const bool pure = mode.pure && mode.lower == Format::fp16 && config.scale_pure;
  return (mode.loss_scaling || pure || config.scale_all) && !std::holds_alternative<scaling::NoScaling>(config.scaler);
}

StepPlan plan_step(Device& device, const Model& model, const Mode& mode, const TrainConfig& config) {
  if (config.accumulate_as != MatrixUnit::none && device.description().kind != DeviceKind::cpu)
    throw UsageError(fmt::format("train.accumulate_as = \"{}\": sums of matrix units are emulated on the CPU alone, a GPU has its own; "
                                 "run.device must be cpu, or train.accumulate_as none",
                                 name(config.accumulate_as)));
  StepPlan plan = std::move(cast_forward(model, mode, config, true, mode).plan);
  check(config, "train");
  plan.micro_batches = config.micro_batches;
  plan.tokens *= config.micro_batches;
  ValueId start = share_of_step(plan.graph, plan.loss, config.micro_batches);
  if (scales_loss(mode, config)) start = scale_loss(plan.graph, start);
  const std::vector<ParameterGradient> gradients = differentiate(plan.graph, start, gradient_options(config));
  add_update(plan.graph, gradients, config.optimizer);
  if (config.buffers == BufferCommit::transaction) add_buffer_commits(plan.graph);
  set_arithmetic(plan.graph, config.overrides, mode, true);
  set_matrix_unit(plan.graph, config.accumulate_as);
  for (const std::string& name : config.keep)
    if (!plan.graph.contains(name)) throw UsageError(fmt::format("keep: no value of the step is named '{}'", name));
  return save_memory(std::move(plan), config, [&](StepPlan& p) {
    p.memory = plan_launches(device, p, mode, config, injected_nodes(p.graph, config.injections));
  });
}

StepPlan plan_evaluation(Device& device, const Model& model, const Mode& mode, const TrainConfig& config) {
  const std::optional<Format> format = config.evaluation_format;
  const Mode& in = !format ? mode : find_mode(*format == Format::fp32 ? "fp32" : fmt::format("{}_pure", name(*format)));
  StepPlan plan = std::move(cast_forward(model, in, config, false, mode).plan);
  set_arithmetic(plan.graph, config.overrides, in, false);
  set_matrix_unit(plan.graph, config.accumulate_as);
  plan.memory = plan_launches(device, plan, in, config);
  return plan;
}

}  // namespace ulpscope::engine
