#include "reports/analysis/diagnosis/still_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr int way = 8;  ///< casts and views, one on top of the other

/// The tensor and what casts and views make of it in the backward pass.
std::vector<TensorId> also_as(const PlanView& plan, TensorId tensor) {
  std::vector<TensorId> list{tensor};
  for (std::size_t i = 0; i < list.size() && list.size() < way; ++i)
    for (const std::size_t reader : plan.readers(list[i])) {
      const PlanNode& node = plan.nodes()[reader];
      if (node.record.phase == Phase::backward && is_view_or_cast(node) && !node.outputs.empty()) list.push_back(node.outputs.front());
    }
  return list;
}

/// The weight that an optimizer moves by this gradient; none: it is no weight's.
std::optional<TensorId> weight_of(const PlanView& plan, TensorId gradient) {
  for (const TensorId same : also_as(plan, gradient))
    for (const std::size_t reader : plan.readers(same)) {
      const PlanNode& check = plan.nodes()[reader];
      const auto place = static_cast<std::size_t>(std::find(check.inputs.begin(), check.inputs.end(), same) - check.inputs.begin());
      if (check.record.operation != "unscale_check" || place >= check.outputs.size()) continue;
      for (const std::size_t user : plan.readers(check.outputs[place]))
        if (is_optimizer(plan.nodes()[user]))
          for (const auto& input : plan.nodes()[user].inputs)
            if (const TensorRecord* record = input ? plan.tensor(*input) : nullptr;
                record != nullptr && (record->role == TensorRole::weight || record->role == TensorRole::master_weight))
              return *input;
    }
  return std::nullopt;
}

/// Whether a gradient as large as what is lost (at most) would move a weight of the tensor's size.
bool would_move(const Evidence& e, const ObservedStep& step, TensorId weight, double gradient) {
  const Stat* stat = step.stat(weight);
  const StepRecord* record = e.step(step.step);
  if (stat == nullptr || record == nullptr || !record->learning_rate) return false;
  const double momentum = std::min(e.numeric_setting("momentum").value_or(0.0), 0.999);
  if (by_own_size(e)) gradient = 1.0 - momentum;   // whatever its size, it moves the weight by about the learning rate
  return *record->learning_rate * gradient / (1.0 - momentum) > half_ulp_below(stat->rms.value_or(stat->greatest), e.plan().format(weight));
}

double zeros_in(const Stat* stat) { return stat == nullptr || stat->elements == 0 ? 1.0 : static_cast<double>(stat->stored_zero()) / static_cast<double>(stat->elements); }

}  // namespace

bool by_own_size(const Evidence& e) { return e.run().optimizer.find("adam") != std::string::npos; }

bool is_weight_gradient(const PlanView& plan, TensorId tensor) { return weight_of(plan, tensor).has_value(); }

bool would_have_moved(const Evidence& e, const ObservedStep& step, TensorId flushed) {
  const auto weight = weight_of(e.plan(), flushed);
  const StepRecord* record = e.step(step.step);
  if (!weight || step.stat(*weight) == nullptr || record == nullptr || !record->learning_rate) return true;
  return would_move(e, step, *weight, info(e.plan().format(flushed)).flush_threshold / e.scale(step.step));
}

std::optional<StillWeights> still_weights(const Evidence& e, const ObservedStep& step, TensorId flushed, double share) {
  const PlanView& plan = e.plan();
  const Stat* lost = step.stat(flushed);
  if (lost == nullptr || lost->elements == 0) return std::nullopt;
  const double most = info(plan.format(flushed)).flush_threshold / e.scale(step.step);
  if (const auto weight = weight_of(plan, flushed)) {
    if (static_cast<double>(lost->flushed) < share * static_cast<double>(lost->elements) || !would_move(e, step, *weight, most)) return std::nullopt;
    return StillWeights{plan.title(flushed), lost->flushed, lost->elements};
  }
  for (const TensorId same : also_as(plan, flushed))
    for (const std::size_t reader : plan.readers(same)) {
      const PlanNode& node = plan.nodes()[reader];
      // Rows of a table that no index names have no gradient anyway.
      if (node.record.phase != Phase::backward || is_view_or_cast(node) || node.record.operation == "embedding_backward") continue;
      // Zeros that come of zeros in what else is read, or of those that were there before, are no more than these.
      double others = static_cast<double>(lost->zero) / static_cast<double>(lost->elements);
      for (const auto& input : node.inputs)
        if (input && *input != same && is_float(plan.format(*input))) others += zeros_in(step.stat(*input));
      for (const TensorId gradient : node.outputs) {
        const Stat* stat = step.stat(gradient);
        const auto weight = weight_of(plan, gradient);
        if (stat == nullptr || !weight || stat->bad() > 0) continue;
        const auto n = static_cast<double>(stat->elements);
        const double still = std::floor(n * (zeros_in(stat) - others) + 1e-6);
        if (still < share * n || still < 1.0 || !would_move(e, step, *weight, most * static_cast<double>(lost->elements) / n)) continue;
        return StillWeights{plan.title(gradient), static_cast<std::int64_t>(still), stat->elements};
      }
    }
  return std::nullopt;
}

}  // namespace ulpscope::reports
