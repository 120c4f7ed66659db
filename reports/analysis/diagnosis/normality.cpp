#include "reports/analysis/diagnosis/normality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr std::int64_t longest_search = 4096;
/// What the search may take beyond the skips that are known to be due, where not every magnitude is known: half of what
/// fp32's exponents allow.
constexpr std::int64_t unknown_skips = 64;

bool bad(const StepRecord& step) { return step.loss && !std::isfinite(*step.loss); }

void count(const Evidence& evidence, StepStory& story) {
  bool begun = false;
  for (const StepRecord& step : evidence.steps()) {
    ++story.steps;
    story.skips += step.skipped ? 1 : 0;
    if (!step.skipped) begun = true;
    if (step.skipped) ++(begun ? story.later : story.leading);
    story.trailing = step.skipped ? story.trailing + 1 : 0;
    story.bad_losses += bad(step) ? 1 : 0;
    story.trailing_bad_losses = bad(step) ? story.trailing_bad_losses + 1 : 0;
    story.trailing_bad_skips = bad(step) ? story.trailing_bad_skips + (step.skipped ? 1 : 0) : 0;
    story.applied_bad_losses += bad(step) && !step.skipped ? 1 : 0;
    if (bad(step) && !story.first_bad_loss) story.first_bad_loss = step.step;
    if (!step.finite && !story.first_not_finite) story.first_not_finite = step.step;
    if (!step.loss_scale) continue;
    const double scale = *step.loss_scale;
    if (!story.scale_first) story.scale_first = scale;
    story.scale_least = std::min(story.scale_least.value_or(scale), scale);
    story.scale_greatest = std::max(story.scale_greatest.value_or(scale), scale);
    story.scale_last = scale;
  }
  story.applied = evidence.steps().empty() ? 0 : evidence.steps().back().applied;
  for (const EventRecord& event : evidence.events()) {
    if (event.kind == event_kind::stop) story.stopped = true;
    if (event.kind == event_kind::divergence && event.value && std::isfinite(*event.value)) story.ran_away = true;
    // The scale after the last step is known from its event alone.
    if (event.kind == event_kind::scale_change && event.value && !evidence.steps().empty() &&
        event.step == evidence.steps().back().step)
      story.scale_last = event.value;
  }
}

/// The gradient that is nearest to its own limit decides.
void take(StepStory& story, double gradient, double edge) {
  if (story.greatest_gradient && gradient / edge <= *story.greatest_gradient / *story.gradient_limit) return;
  story.greatest_gradient = gradient;
  story.gradient_limit = edge;
}

// Of everything the backward pass stores in fp16 (or another format whose limit a scale can reach), divided by the
// scale.
void find_gradient(const Evidence& evidence, StepStory& story) {
  const std::int64_t end = story.leading + 1;  // the search, and the first step after it
  for (const ObservedStep& step : evidence.observed()) {
    if (story.greatest_gradient && (step.step > end || story.gradient_known)) break;
    std::int64_t seen = 0;
    bool known = true;
    const double scale = evidence.scale(step.step);
    if (!(scale > 0.0) || !std::isfinite(scale)) continue;
    for (const PlanNode& node : evidence.plan().nodes()) {
      if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) { return evidence.plan().carries_scale(id); })) continue;
      for (const TensorId id : node.outputs) {
        const Stat* stat = step.stat(id);
        const double edge = limit(evidence.plan().format(id));
        seen += stat != nullptr ? 1 : 0;
        known = known && (stat == nullptr || stat->nan + stat->infinite() == 0);
        if (stat == nullptr || stat->greatest <= 0.0 ||
            (story.greatest_gradient && edge > *story.gradient_limit &&
             stat->greatest / scale <= *story.greatest_gradient))
          continue;
        take(story, stat->greatest / scale, edge);
      }
      // A sum that is kept narrow inside an operation has that format's limit, whatever its result is stored in.
      const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
      if (inner == nullptr || inner->greatest <= 0.0) continue;
      known = known && inner->overflowed == 0;
      take(story, inner->greatest / scale, limit(sum_format(node)));
    }
    story.gradient_known = story.gradient_known || (known && seen > 0);
  }
}

/// "20 due, were the greatest gradient of every step 1 [computed], as it was first: the scale grows after every good step".
std::string later_due_words(const StepStory& story) {
  const bool every = *story.interval == 1.0;
  const std::string steps = every ? "good step" : fmt::format("{:.0f} good steps", *story.interval);
  if (static_cast<double>(story.steps - story.leading) <= *story.interval) return fmt::format("none due: the scale first grows after {}{}", every ? "a " : "", steps);
  const std::string grows = fmt::format("the scale grows after {} {}", every ? "every" : "each", steps);
  if (!story.due_later) return fmt::format("how many were due is not known, as no gradient was observed; {}", grows);
  const std::string gradient = fmt::format("were the greatest {}gradient of every step {} [computed], as it was first", story.gradient_known ? "" : "known ",
                                           amount(*story.greatest_gradient));
  if (*story.due_later > 0) return fmt::format("{}{} due, {}: {}", story.gradient_known ? "" : "at least ", *story.due_later, gradient, grows);
  return fmt::format("none due, {}: {}, to {} at most, at which that is {:.3g} of the limit {}", gradient, grows, scale_amount(*story.due_scale),
                     *story.greatest_gradient * *story.due_scale / *story.gradient_limit, amount(*story.gradient_limit));
}

/// What the backward pass computes of results of the forward pass alone, is not finite, and reaches a gradient that is not finite either.
const PlanNode* beyond_scales(const PlanView& plan, const ObservedStep& step) {
  const auto bad = [&](TensorId id) { return step.stat(id) != nullptr && step.stat(id)->bad() > 0; };
  const auto reaches = [&](TensorId id) {
    return std::any_of(plan.readers(id).begin(), plan.readers(id).end(), [&](std::size_t reader) {
      const std::vector<TensorId>& outputs = plan.nodes()[reader].outputs;
      return std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) { return plan.carries_scale(output) && bad(output); });
    });
  };
  for (const PlanNode& node : plan.nodes())
    for (const TensorId id : node.outputs)
      if (node.record.phase == Phase::backward && !plan.carries_scale(id) && bad(id) && reaches(id)) return &node;
  return nullptr;
}

/// In all steps that were skipped before the first that was applied, as far as they were observed.
void find_unscaled(const Evidence& evidence, StepStory& story) {
  const PlanNode* first = nullptr;
  std::int64_t place = 0;
  for (const StepRecord& record : evidence.steps()) {
    if (place++ == story.leading) break;
    const ObservedStep* step = evidence.observed_step(record.step);
    if (step == nullptr) continue;
    const PlanNode* node = beyond_scales(evidence.plan(), *step);
    if (node == nullptr) return;
    if (first == nullptr) first = node;
  }
  if (first != nullptr) story.unscaled = first->record.name;
}

std::string settled(const StepStory& story) {
  return story.scale_last && story.later == 0 ? fmt::format(" -> {}", scale_amount(*story.scale_last)) : "";
}

}  // namespace

std::optional<scaling::Policy> recorded_policy(const Evidence& evidence) {
  const std::string named = evidence.setting("scaler.policy");
  if (!evidence.scales() || named.empty()) return std::nullopt;
  try {
    scaling::Policy policy = scaling::find_policy(named, "train.scaler.policy");
    std::visit(
        [&](auto& p) {
          p.fields([&](const char* key, auto& field) {
            if (const Number value = evidence.numeric_setting(std::string("scaler.") + key))
              field = static_cast<std::remove_reference_t<decltype(field)>>(*value);
          });
        },
        policy);
    return policy;
  } catch (const UsageError&) {  // of a later version
    return std::nullopt;
  }
}

std::optional<std::int64_t> due_skips(const scaling::Policy& policy, double greatest_gradient, double edge) {
  scaling::ScalerState state = scaling::initial_state(policy);
  for (std::int64_t k = 0; k < longest_search; ++k) {
    if (greatest_gradient * static_cast<double>(state.scale) < edge) return k;
    const scaling::Transition t = scaling::next(policy, state, true);
    if (t.event == scaling::ScaleEvent::gave_up || t.state.scale <= 0.0f) return std::nullopt;
    if (t.state.scale == state.scale && t.event != scaling::ScaleEvent::absorbed) return std::nullopt;
    state = t.state;
  }
  return std::nullopt;
}

LaterSkips later_skips(const scaling::Policy& policy, double greatest_gradient, double edge, std::int64_t steps) {
  LaterSkips later;
  scaling::ScalerState state = scaling::initial_state(policy);
  bool begun = false;
  for (std::int64_t i = 0; i < steps; ++i) {
    const bool overflow = !(greatest_gradient * static_cast<double>(state.scale) < edge);
    begun = begun || !overflow;
    later.skips += begun && overflow ? 1 : 0;
    later.greatest_scale = begun ? std::max(later.greatest_scale, static_cast<double>(state.scale)) : 0.0;
    const scaling::Transition t = scaling::next(policy, state, overflow);
    if (t.event == scaling::ScaleEvent::gave_up) break;
    state = t.state;
  }
  return later;
}

StepStory tell_steps(const Evidence& evidence) {
  StepStory story;
  count(evidence, story);
  if (evidence.scales()) {
    find_gradient(evidence, story);
    find_unscaled(evidence, story);
  }
  if (const auto policy = recorded_policy(evidence)) {
    story.policy = *policy;
    story.policy_known = true;
    story.interval = evidence.numeric_setting("scaler.interval");
    if (story.greatest_gradient && story.unscaled.empty()) story.due = due_skips(*policy, *story.greatest_gradient, *story.gradient_limit);
    const double first = static_cast<double>(scaling::initial_state(*policy).scale) * story.greatest_gradient.value_or(0.0);
    const double before = story.due ? std::ldexp(first, -static_cast<int>(*story.due)) : 0.0, edge = story.gradient_limit.value_or(0.0);
    story.halves = story.due && before < edge && (*story.due == 0 || 2.0 * before >= edge);
  }
  if (story.policy_known && story.greatest_gradient && scaling::is_dynamic(story.policy)) {
    const LaterSkips later = later_skips(story.policy, *story.greatest_gradient, *story.gradient_limit, story.steps);
    story.due_later = later.skips;
    story.due_scale = later.greatest_scale;
  }
  // Gradients differ from step to step: at any scale near the limit one of them may overflow, and as many may as the scale grows.
  const double after = static_cast<double>(story.steps - story.leading);
  if (story.interval && *story.interval > 0) story.expected_later = after / *story.interval;
  story.expected_later = std::max(story.expected_later, static_cast<double>(story.due_later.value_or(0)));
  // Gradients of the first steps are not alike: one step more or less is no sign of anything.
  if (story.leading > 0)
    story.search_normal = !story.due || story.leading <= *story.due + (story.gradient_known ? 1 : unknown_skips);
  story.later_normal = static_cast<double>(story.later) <= 2.0 + 2.0 * story.expected_later;
  return story;
}

bool StepStory::ends_in_a_skip() const {
  return policy_known && scaling::is_dynamic(policy) && applied > 0 && trailing > 0 && trailing < skips_in_a_row &&
         trailing_bad_losses <= trailing && !stopped;
}

bool StepStory::searching() const {
  return steps > 0 && leading == steps && due && leading <= *due + (gradient_known ? 1 : unknown_skips);
}

std::vector<std::string> skip_sentences(const StepStory& story) {
  std::vector<std::string> list;
  const bool dynamic = story.policy_known && scaling::is_dynamic(story.policy);
  // A loss that is not finite in steps that were applied is not what the others were skipped for.
  if (story.leading > 0 && dynamic && (story.bad_losses < story.leading || story.applied_bad_losses > 0)) {
    const bool over = story.leading < story.steps;
    const bool exact = story.gradient_known || (over && story.due && story.leading <= *story.due);
    std::string text =
        fmt::format("search for the loss scale {}{}: {} skipped{}", scale_amount(story.scale_first.value_or(1.0)),
                    settled(story), counted(story.leading, "step"), over ? "" : " so far");
    if (!story.unscaled.empty())
      text += fmt::format("; {} is not finite at any scale: no loss scale is in it", story.unscaled);
    else if (story.due && *story.due == 0 && !exact)
      text += fmt::format("; how many were due is not known: the greatest gradient that is known, {} [computed], fits at once, and what comes after the first "
                          "overflow is not known",
                          amount(*story.greatest_gradient));
    else if (story.due)
      text += fmt::format(", {}{} due (greatest {}gradient {} [computed]: first k with {} x scale{} < {}{}{})", exact ? "" : "at least ", *story.due,
                          exact ? "" : "known ", amount(*story.greatest_gradient), amount(*story.greatest_gradient), story.halves ? " / 2^k" : " after k skips",
                          amount(*story.gradient_limit), story.halves ? "" : fmt::format(", by the factor and the hysteresis of {}", scaling::name(story.policy)),
                          exact ? "" : "; what comes after the first overflow is not known");
    else if (story.greatest_gradient)
      text += fmt::format("; no scale of this policy brings a gradient of {} below {}",
                          amount(*story.greatest_gradient), amount(*story.gradient_limit));
    else
      text += "; how many were due is unknown: no gradient was observed";
    list.push_back(text);
  }
  if (story.steps > story.leading && dynamic) {
    std::string text = fmt::format("{}overflows: {} in {}", list.empty() ? "" : "later ", story.later,
                                   counted(story.steps - story.leading, "step"));
    if (list.empty() && story.leading > 0)
      text += fmt::format(" after the first {}, skipped for a loss that is not finite", counted(story.leading, "step"));
    if (story.interval) text += fmt::format(" ({})", later_due_words(story));
    list.push_back(text);
  }
  return list;
}

}  // namespace ulpscope::reports
