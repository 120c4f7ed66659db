// The passes in DESIGN's order: autocast, loss scale, autodiff, update, checkpointing, fusion, memory plan.
#include <variant>

#include "engine/passes/autocast.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/loss_scale.h"
#include "engine/passes/update.h"
#include "engine/precision/policy.h"
#include "engine/train/trainer.h"

namespace ulpscope::engine {
namespace {

struct Forward {
  StepPlan plan;
  std::vector<ValueId> map;
};

Forward cast_forward(const Model& model, const Mode& mode, const TrainConfig& config, bool check_patterns) {
  Forward f;
  AutocastOptions options{mode, &find_policy(config.policy), config.keep_fp32, check_patterns};
  f.plan.graph = autocast(model.graph, options, &f.map);
  f.plan.loss = f.map[static_cast<std::size_t>(model.loss.index)];
  for (const ValueId v : model.inputs) f.plan.inputs.push_back(f.map[static_cast<std::size_t>(v.index)]);
  for (const ValueId v : f.plan.graph.with_role(Role::parameter)) f.plan.parameters += f.plan.graph.value(v).shape.elements();
  f.plan.tokens = model.tokens_per_batch;
  return f;
}

MemoryPlan plan_launches(Device& device, const StepPlan& plan, const Mode& mode, const TrainConfig& config) {
  const std::vector<ValueId> keep{plan.loss};
  FusionPlan fusion = config.fusion ? plan_fusion(plan.graph, device.kernels(), keep) : without_fusion(plan.graph);
  return plan_memory(plan.graph, std::move(fusion), device.kernels(), mode.mixed(), keep, device.description().threads);
}

}  // namespace

bool scales_loss(const Mode& mode, const TrainConfig& config) {
  return mode.loss_scaling && !std::holds_alternative<scaling::NoScaling>(config.scaler);
}

StepPlan plan_step(Device& device, const Model& model, const Mode& mode, const TrainConfig& config) {
  StepPlan plan = std::move(cast_forward(model, mode, config, true).plan);
  const ValueId start = scales_loss(mode, config) ? scale_loss(plan.graph, plan.loss) : plan.loss;
  const std::vector<ParameterGradient> gradients = differentiate(plan.graph, start);
  add_update(plan.graph, gradients, config.optimizer);
  return save_memory(std::move(plan), config, [&](StepPlan& p) {
    p.memory = plan_launches(device, p, mode, config);
  });
}

StepPlan plan_evaluation(Device& device, const Model& model, const Mode& mode, const TrainConfig& config) {
  StepPlan plan = std::move(cast_forward(model, mode, config, false).plan);
  plan.memory = plan_launches(device, plan, mode, config);
  return plan;
}

}  // namespace ulpscope::engine
