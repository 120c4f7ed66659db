// Adam's second moment where the format of the optimizer's state is too narrow for it: it is rounded to zero, and what that does to the
// update is lost_moment.h's. What meets an epsilon that is zero, too, is a division by zero: causes_optimizer.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/lost_moment.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Over all weights, in one step.
struct Moments {
  const PlanNode* node = nullptr;  ///< whose updates are the largest
  LostMoment lost{};
  std::int64_t step = 0;     ///< iteration
  std::int64_t applied = 0;  ///< updates, this one among them
  std::int64_t flushed = 0, with_gradient = 0;
  double size = 0.0;                   ///< of a typical weight's update, held against Adam's own: what decides
  double least = 0.0, greatest = 0.0;  ///< of those updates, in learning rates, where the rounded moment divides; 0: not known

  double share() const { return with_gradient > 0 ? static_cast<double>(flushed) / static_cast<double>(with_gradient) : 0.0; }
};

/// By the first moment as it was recorded: the update divides it by epsilon. Which of its elements are those whose second moment is lost is not
/// recorded; in the first step none of them comes from a gradient beyond the threshold.
void bound_updates(const Evidence& e, const ObservedStep& step, const PlanNode& node, Moments& now) {
  const Stat* const m = step.stat(node.outputs[1]);
  const Number beta1 = number(node, "beta1");
  if (m == nullptr || !beta1 || *beta1 >= 1.0 || !(now.lost.epsilon > 0.0) || m->bad() > 0) return;
  const Format kept = e.plan().format(node.outputs[1]);
  const double rate = 1.0 / (1.0 - std::pow(*beta1, static_cast<double>(now.applied))) / now.lost.epsilon;
  now.least = m->flushed > 0 ? 0.0 : rounded_to(m->least, kept) * rate;
  now.greatest = rounded_to(m->greatest, kept) * rate;
  if (now.applied == 1) now.greatest = std::min(now.greatest, now.lost.threshold() / now.lost.epsilon);
  now.least = std::min(now.least, now.greatest);
}

void add(const Evidence& e, const ObservedStep& step, const PlanNode& node, Moments& all) {
  if (node.record.operation != "adamw" || node.outputs.size() < 3 || node.inputs.empty() || !node.inputs.front()) return;
  const Stat *v = step.stat(node.outputs[2]), *gradient = step.stat(*node.inputs.front());
  const Number epsilon = number(node, "epsilon"), beta2 = number(node, "beta2");
  if (v == nullptr || gradient == nullptr || !epsilon || !beta2 || *beta2 >= 1.0 || gradient->bad() > 0) return;
  all.with_gradient += gradient->elements - gradient->zero;
  all.flushed += v->flushed;
  if (v->flushed == 0) return;
  const bool each = node.attributes.value("each_operation", false);
  const Format kept = e.plan().format(node.outputs[2]);
  Moments now{.node = &node, .lost = {kept, each, *beta2, added_epsilon(*epsilon, each, kept)}, .applied = all.applied};
  const double typical = std::min({gradient->rms.value_or(gradient->greatest), gradient->greatest, now.lost.threshold()});
  if (each)
    now.size = now.lost.epsilon > 0.0 ? typical / now.lost.epsilon : 0.0;  // none: a division by zero, which is told elsewhere
  else
    now.size = now.lost.lasting(typical);
  if (all.node != nullptr && now.size <= all.size) return;
  if (each) bound_updates(e, step, node, now);
  all.node = now.node;
  all.lost = now.lost;
  all.size = now.size;
  all.least = now.least;
  all.greatest = now.greatest;
}

std::optional<Moments> moments_of(const Evidence& e, const ObservedStep& step) {
  const StepRecord* const record = e.step(step.step);
  if (record != nullptr && record->skipped) return std::nullopt;
  Moments all{.step = step.step, .applied = record != nullptr && record->applied > 0 ? record->applied : step.step + 1};
  for (const PlanNode& node : e.plan().nodes()) add(e, step, node, all);
  return all.node != nullptr && all.size > large_update ? std::optional(all) : std::nullopt;
}

/// now: of the first step in which it was seen. last: of the last.
Cause told(const Evidence& e, const Moments& now, const Moments& last) {
  const bool rounded = now.lost.rounded_divides;
  Cause cause;
  cause.kind = Kind::second_moment_below_range;
  cause.gravity = now.share() >= many_large_updates ? Gravity::damage : Gravity::note;
  cause.step = now.step;
  cause.node = now.node->record.name;
  cause.operation = now.node->record.operation;
  cause.phase = std::string(name(now.node->record.phase));
  cause.tensor = e.plan().title(now.node->outputs[2]);
  cause.format = name(now.lost.kept);
  cause.what = fmt::format("optimizer, not model: the second moment is rounded to zero in {} for {} of {} that have a gradient ({}): |g| below {}; in {} {}", cause.format,
                           now.flushed, counted(now.with_gradient, "weight"), percent(now.share()), amount(now.lost.threshold()), cause.node,
                           how_updates_come_out(now.lost, now.least, now.greatest, rounded ? now.applied : last.applied));
  if (rounded && now.least < 0.999 * now.greatest) cause.what += " (bounds: which first moments belong to these weights is not recorded)";
  cause.reaches = "the weights, as steps that are too long";
  cause.facts.push_back(fact("v_flushed", "second moments rounded to zero", static_cast<double>(now.flushed), fmt::format("{} of {}", now.flushed, now.with_gradient)));
  cause.facts.push_back(fact("v_threshold", "smallest gradient that counts", now.lost.threshold(),
                             fmt::format("{} = sqrt({} / (1 - beta2))", amount(now.lost.threshold()), amount(info(now.lost.kept).flush_threshold)), Provenance::computed));
  cause.facts.push_back(fact("epsilon", "epsilon as it is added", now.lost.epsilon, amount(now.lost.epsilon), Provenance::computed));
  if (!rounded) {
    cause.facts.push_back(fact("update", "update, in learning rates", last.lost.grown(last.applied),
                               fmt::format("{:.4g} in step {}, of equal gradients", last.lost.grown(last.applied), last.applied), Provenance::computed));
  } else if (now.greatest > 0.0) {
    cause.facts.push_back(fact("update_least", "update, at least, in learning rates", now.least, fmt::format("{:.4g}, of the least first moment", now.least), Provenance::computed));
    cause.facts.push_back(fact("update", "update, at most, in learning rates", now.greatest, fmt::format("{:.4g}", now.greatest), Provenance::computed));
  }
  return cause;
}

}  // namespace

void silent_moment_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  const bool known = std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::epsilon_vanished && c.phase == "update"; });
  if (known) return;
  std::optional<Moments> first, last;
  std::int64_t seen = 0;
  for (const ObservedStep& step : evidence.observed())
    if (const std::optional<Moments> now = moments_of(evidence, step)) {
      if (!first) first = now;
      last = now;
      ++seen;
    }
  if (!first) return;
  causes.push_back(told(evidence, *first, *last));
  causes.back().steps_seen = seen;
}

}  // namespace ulpscope::reports
