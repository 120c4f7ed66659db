#include "reports/analysis/diagnosis/gravity.h"

#include <algorithm>
#include <cmath>

#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::reports {
namespace {

Gravity over_or_fatal(const Suspect& s) {
  // Weights that were updated after a loss that is not a number: the run went on, and nobody knows by what.
  if (recovered(s.evidence, s.step.step)) return s.chain.loss && s.story.applied_bad_losses > 0 ? Gravity::damage : Gravity::normal;
  return s.story.ends_in_a_skip() ? Gravity::note : Gravity::fatal;
}

Gravity of_gradient(const Suspect& s) {
  const StepStory& story = s.story;
  if (recovered(s.evidence, s.step.step)) return story.later_normal ? Gravity::normal : Gravity::damage;
  if (!story.policy_known || !scaling::is_dynamic(story.policy)) return Gravity::fatal;
  if (s.root.how == Root::How::arithmetic) return over_or_fatal(s);  // it is not its size that makes it infinite
  const bool searching = story.leading == story.steps;
  if (searching) return story.searching() ? Gravity::normal : Gravity::fatal;
  return story.trailing < skips_in_a_row ? Gravity::normal : Gravity::fatal;
}

}  // namespace

bool recovered(const Evidence& evidence, std::int64_t step) {
  return std::any_of(evidence.steps().begin(), evidence.steps().end(), [&](const StepRecord& s) {
    return s.step > step && !s.skipped && s.finite && s.loss && std::isfinite(*s.loss);
  });
}

bool reaches_nothing(const PlanView& plan, const PlanNode& node) {
  if (node.record.phase != Phase::forward || plan.feeds_loss(node)) return false;
  std::vector<const PlanNode*> open{&node};
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i]->record.operation == "ema" || open[i]->record.operation == "commit_buffer") return false;
    for (const TensorId output : open[i]->outputs)
      for (const std::size_t reader : plan.readers(output))
        if (const PlanNode* next = &plan.nodes()[reader]; std::find(open.begin(), open.end(), next) == open.end()) open.push_back(next);
  }
  return true;
}

Gravity grade(const Suspect& s, const Cause& cause) {
  switch (cause.kind) {
    case Kind::update_overflowed:
      return second_moment_alone(s) ? Gravity::damage : Gravity::fatal;
    case Kind::weights_poisoned:
      return Gravity::fatal;
    case Kind::buffers_poisoned:
      return Gravity::damage;
    case Kind::norm_overflowed:
      if (s.root.how != Root::How::arithmetic && !mean_overflowed(s)) return Gravity::damage;
      break;
    case Kind::clip_overflowed:
      return number(s.node(), "max_norm").value_or(0.0) > 0.0 ? Gravity::damage : Gravity::note;
    case Kind::scale_unbounded:
      return Gravity::fatal;
    default:
      break;
  }
  if (s.root.node != nullptr && is_optimizer(s.node())) return Gravity::fatal;
  if (!s.chain.loss && !s.chain.gradient && !s.chain.weights && s.root.node != nullptr &&
      s.node().record.operation == "scale_loss")
    return Gravity::note;  // the number itself is read by nobody
  if (!s.chain.loss && !s.chain.gradient && !s.chain.weights)
    return s.chain.buffers || s.chain.zeroed_in != nullptr || s.chain.fate != Fate::same ? Gravity::damage : Gravity::contained;
  if (s.root.node != nullptr &&
      (s.carries_scale() || cause.kind == Kind::gradient_too_large_for_scale))
    return of_gradient(s);
  return over_or_fatal(s);
}

}  // namespace ulpscope::reports
