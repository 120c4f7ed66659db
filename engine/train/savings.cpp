#include "engine/train/savings.h"

#include <optional>

#include "engine/passes/checkpoint.h"
#include "engine/train/trainer.h"

namespace ulpscope::engine {
namespace {

using Finish = std::function<void(StepPlan&)>;

StepPlan as_it_is(StepPlan plan, const Finish& finish) {
  plan.savings.weight_copies = WeightCopies::keep;
  finish(plan);
  return plan;
}

StepPlan rewritten(const StepPlan& base, const CheckpointOptions& options, const Finish& finish) {
  Checkpointed c = checkpoint(base.graph, options);
  StepPlan plan;
  plan.graph = std::move(c.graph);
  plan.loss = c.map[static_cast<std::size_t>(base.loss.index)];
  for (const ValueId v : base.inputs) plan.inputs.push_back(c.map[static_cast<std::size_t>(v.index)]);
  plan.parameters = base.parameters;
  plan.tokens = base.tokens;
  plan.micro_batches = base.micro_batches;
  plan.savings.segments = std::move(c.segments);
  plan.savings.repeated = c.repeated;
  plan.savings.recast = c.recast;
  plan.savings.flops = c.flops;
  plan.savings.weight_copies = options.recast ? WeightCopies::recast : WeightCopies::keep;
  finish(plan);
  return plan;
}

StepPlan choose(StepPlan keep, StepPlan recast, WeightCopies wanted) {
  const PlannedBytes with_keep = planned_bytes(keep), with_recast = planned_bytes(recast);
  const double fallen = static_cast<double>(with_keep.peak - with_recast.peak) / static_cast<double>(with_keep.peak);
  const bool again = wanted == WeightCopies::recast || (wanted == WeightCopies::automatic && fallen > recast_threshold);
  StepPlan chosen = std::move(again ? recast : keep);
  chosen.savings.has_weight_copies = true;
  chosen.savings.with_keep = with_keep;
  chosen.savings.with_recast = with_recast;
  return chosen;
}

}  // namespace

PlannedBytes planned_bytes(const StepPlan& plan) {
  PlannedBytes bytes{plan.memory.persistent_bytes + plan.memory.arena_bytes, 0};
  for (const auto& [category, count] : plan.memory.kept_for_backward) bytes.kept += count;
  return bytes;
}

StepPlan save_memory(StepPlan base, const TrainConfig& config, const Finish& finish) {
  // A copy cast again would not have a value that was set in the first.
  const bool copies = !base.graph.with_role(Role::weight_copy).empty() && config.injections.empty(), checkpointing = !config.recompute.empty();
  std::optional<StepPlan> recast;
  if (copies) recast = rewritten(base, {config.recompute, true}, finish);
  // A graph is copied by rewriting alone: where it stays as it is, its last user gets it.
  StepPlan keep = checkpointing ? rewritten(base, {config.recompute, false}, finish) : as_it_is(std::move(base), finish);
  StepPlan result = recast ? choose(std::move(keep), std::move(*recast), config.weight_copies) : std::move(keep);
  if (checkpointing) {
    result.savings.asked = true;
    const bool again = result.savings.weight_copies == WeightCopies::recast;
    result.savings.without_checkpointing =
        planned_bytes(again ? rewritten(base, {{}, true}, finish) : as_it_is(std::move(base), finish));
  }
  return result;
}

}  // namespace ulpscope::engine
