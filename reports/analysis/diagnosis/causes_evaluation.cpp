// Held-out losses that are not finite while the training loss is: the training goes on, and what it is judged by is worth nothing. Nothing of
// an evaluation is observed; what the training steps had at the same places says how far from the end of the range it runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

bool finite(const Number& loss) { return loss && std::isfinite(*loss); }

struct Story {
  const EvaluationRecord* first = nullptr;   ///< not finite, behind a step whose loss is
  const StepRecord* training = nullptr;      ///< that step
  std::int64_t bad = 0, all = 0;
};

Story story_of(const Evidence& e) {
  Story story;
  for (const EvaluationRecord& evaluation : e.evaluations()) {
    if (!evaluation.loss) continue;
    ++story.all;
    if (finite(evaluation.loss)) continue;
    const StepRecord* step = e.step(evaluation.step - 1);
    if (step == nullptr || !finite(step->loss)) continue;  // that of the training is told of
    ++story.bad;
    if (story.first == nullptr) {
      story.first = &evaluation;
      story.training = step;
    }
  }
  return story;
}

/// What is not finite in training is so in evaluation, and was told: weights, running statistics and what they come of.
bool told_already(const std::vector<Cause>& causes) {
  return std::any_of(causes.begin(), causes.end(), [](const Cause& c) {
    return c.gravity == Gravity::fatal || (c.gravity == Gravity::damage && (c.kind == Kind::buffers_poisoned || c.operation == "ema"));
  });
}

/// Of the training steps that were observed: a tensor of the forward pass (or a weight) by the limit of the format in which evaluation has it.
struct Nearest {
  TensorId tensor{};
  Format format = Format::fp32;
  double greatest = 0.0, share = 0.0;
};

/// Of the data, not of weights and constants alone.
bool of_data(const PlanView& plan, TensorId id) {
  const TensorRecord* source = plan.tensor(plan.uncast(id));
  return source == nullptr || source->node || source->role == TensorRole::input;
}

bool narrow_range(Format format) { return limit(format) < limit(Format::bf16); }

/// asked: of train.evaluation_format; none: evaluation computes as the mode does.
std::optional<Nearest> nearest_of(const Evidence& e, std::optional<Format> asked) {
  std::optional<Nearest> found;
  const auto see = [&](TensorId id) {
    const Format format = asked.value_or(e.plan().format(id));
    if (!is_float(e.plan().format(id)) || !narrow_range(format)) return;
    for (const ObservedStep& step : e.observed()) {
      const Stat* stat = step.stat(id);
      if (stat == nullptr || stat->bad() > stat->overflowed) continue;   // NaN, and infinities that masks bring
      const Nearest now{id, format, stat->greatest, stat->greatest / limit(format)};
      // The first that does not fit, and the nearest of those that do.
      if (!found || (found->share < 1.0 && now.share > found->share)) found = now;
    }
  };
  if (asked)
    for (const TensorId weight : e.plan().parameters()) see(weight);
  for (const PlanNode& node : e.plan().nodes()) {
    const bool stays = node.record.phase == Phase::forward && node.record.operation != "scale_loss" && e.plan().feeds_loss(node) && !node.outputs.empty();
    if (stays && (asked || of_data(e.plan(), node.outputs.front()))) see(node.outputs.front());
  }
  return found;
}

void tell_nearest(const Evidence& e, const Nearest& nearest, bool asked, Cause& cause) {
  const std::string title = e.plan().title(nearest.tensor);
  const std::string held = held_against_limit(nearest.greatest, nearest.format);
  cause.facts.push_back(fact("nearest", "nearest to the limit in training", nearest.greatest, fmt::format("{}: {}", title, held)));
  const PlanNode* made_by = e.plan().producer(nearest.tensor);
  if (nearest.share < 1.0) {
    cause.what += fmt::format("; in the training steps that were observed {} comes nearest to the limit: {}. There a number {} times as large is infinite", title, held, amount(1.0 / nearest.share));
  } else if (asked) {
    cause.what += fmt::format("; {} has {} in training, where it is kept in {}: in evaluation it is infinite", title, held, name(e.plan().format(nearest.tensor)));
    cause.tensor = title;
    if (made_by == nullptr) return;
    cause.node = made_by->record.name;
    cause.operation = made_by->record.operation;
    cause.phase = std::string(name(made_by->record.phase));
  }
}

/// The evaluation of fp32's own run at the same place.
void tell_fp32(const Evidence& e, const Story& story, Cause& cause) {
  if (e.fp32 == nullptr) return;
  for (const EvaluationRecord& other : e.fp32->evaluations()) {
    if (other.step != story.first->step || !other.loss) continue;
    const bool well = finite(other.loss);
    cause.what += well ? fmt::format("; in fp32 it is {} there", amount(*other.loss)) : fmt::format("; in fp32 it is {} there, too: the mode's precision is not its cause", amount(*other.loss));
    cause.facts.push_back(fact("fp32_held_out", "held-out loss in fp32", *other.loss, amount(*other.loss)));
    if (!well) cause.facts.push_back(fact("fp32_too", "fp32", "is not finite there either", Provenance::counted));
    return;
  }
}

bool keeps_averages(const PlanView& plan) {
  return std::any_of(plan.nodes().begin(), plan.nodes().end(), [](const PlanNode& n) { return n.record.operation == "ema"; });
}

}  // namespace

void silent_evaluation_causes(const Evidence& e, const StepStory& steps, std::vector<Cause>& causes) {
  const Story story = story_of(e);
  if (story.first == nullptr || steps.trailing_bad_losses > 0 || told_already(causes)) return;
  const std::optional<Format> asked = parse_format(e.setting("evaluation_format"));
  const std::optional<Nearest> nearest = nearest_of(e, asked);
  Cause cause;
  cause.kind = Kind::held_out_not_finite;
  cause.gravity = Gravity::damage;
  cause.step = story.training->step;
  cause.steps_seen = story.bad;
  cause.format = asked ? std::string(name(*asked)) : nearest ? std::string(name(nearest->format)) : "";
  cause.what = fmt::format("the held-out loss is {} after step {}{}, where the training loss is {}: the training goes on, and what it is judged by is worth nothing. Evaluation computes {}, and "
                           "is not observed",
                           amount(*story.first->loss), shown(*cause.step), story.all > 1 ? fmt::format(" ({} of {} evaluations)", story.bad, story.all) : "", amount(*story.training->loss),
                           asked ? fmt::format("everything in {} (train.evaluation_format), weights as well", name(*asked)) : fmt::format("in the formats of {}, as training does", e.run().mode));
  if (nearest) tell_nearest(e, *nearest, asked.has_value(), cause);
  tell_fp32(e, story, cause);
  if (keeps_averages(e.plan())) cause.what += "; it reads running statistics in place of the batch's: those that were observed are finite";
  cause.facts.push_back(fact("held_out", "held-out loss", *story.first->loss, fmt::format("{} after step {}", amount(*story.first->loss), shown(*cause.step))));
  cause.facts.push_back(fact("training", "training loss", *story.training->loss, fmt::format("{} in step {}", amount(*story.training->loss), shown(*cause.step))));
  cause.facts.push_back(fact("evaluations", "evaluations that are not finite", static_cast<double>(story.bad), fmt::format("{} of {}", story.bad, story.all)));
  causes.push_back(std::move(cause));
}

}  // namespace ulpscope::reports
