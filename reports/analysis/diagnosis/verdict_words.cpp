#include "reports/analysis/diagnosis/verdict_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/gravity.h"
#include "reports/analysis/diagnosis/run_away.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

const Cause* first_of(const RunDiagnosis& run, Gravity gravity) {
  const auto found =
      std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.gravity == gravity; });
  return found == run.causes.end() ? nullptr : &*found;
}

std::string fatal(const Evidence& e, const StepStory& story, const RunDiagnosis& run) {
  const Cause& cause = *first_of(run, Gravity::fatal);
  std::string text = fmt::format("fatal ({})", name(cause.kind));
  if (!cause.node.empty()) text += fmt::format(": {}, {}", cause.node, cause.phase);
  if (cause.step) text += fmt::format(", step {}", shown(*cause.step));
  const bool forward =
      cause.phase == "forward" || cause.kind == Kind::weights_poisoned || cause.kind == Kind::data_not_finite;
  if (e.scales() && forward && story.trailing_bad_losses > 0)
    text +=
        fmt::format(". The loss itself is not finite in the forward pass: overflow does not depend on the loss scale{}",
                    story.trailing_bad_skips == 0   ? ""
                    : story.trailing_bad_skips == 1 ? ", and the 1 skip since then could not help"
                                                    : fmt::format(", and {} skips since then could not help", story.trailing_bad_skips));
  else if (e.scales() && story.trailing >= 3)
    text += fmt::format(". {} in a row were skipped", counted(story.trailing, "step"));
  return text;
}

/// Fewer steps than were planned, and no longer under way.
bool cut_short(const RunDiagnosis& run) {
  return run.run.status != RunStatus::running && run.run.steps_planned && run.steps < *run.run.steps_planned;
}

std::string healthy(const StepStory& story, const RunDiagnosis& run) {
  if (story.steps == 0) return "no step is recorded";
  // What "run" and "compare" call a divergence is not passed over in silence because it ended well.
  const std::string diverged = divergence_words(run.causes);
  std::string text = fmt::format("{}: {} of {} applied", !diverged.empty() ? "diverged: " + diverged
                                                         : story.ran_away  ? "no harm found, though the loss had run away"
                                                                           : "healthy",
                                 story.applied, counted(story.steps, "step"));
  if (story.skips > 0) text += fmt::format(", {} skipped", story.skips);
  if (cut_short(run))
    text += fmt::format(", then {} before the {} planned were done", run.run.status == RunStatus::interrupted
                            ? "it was interrupted" : "it ended", *run.run.steps_planned);
  std::size_t results = run.observed.size();
  text +=
      fmt::format("; nothing {}that harms the run in {} observed", diverged.empty() ? "" : "of precision ", counted(static_cast<std::int64_t>(results), "step"));
  return text;
}

std::string untrained(const StepStory& story) {
  std::string text = fmt::format("nothing was trained so far: 0 of {} applied, all were skipped",
                                 counted(story.steps, "step"));
  if (story.due && story.searching() && *story.due == 0 && !story.gradient_known)
    text += ". How long the search for the loss scale takes is not known";
  else if (story.due && story.searching())
    text += fmt::format(". The search for the loss scale takes {}{}", story.gradient_known ? "" : "at least ",
                        counted(*story.due, "skip"));
  return text;
}

/// 1 / (1 - beta) is how many steps the average reaches back.
void scalar_notes(const Evidence& e, RunDiagnosis& run) {
  for (const PlanNode& node : e.plan().nodes()) {
    if (!is_optimizer(node)) continue;
    for (const char* key : {"beta1", "beta2", "momentum"}) {
      const Number kept = number(node, key), asked = e.numeric_setting(key);
      if (!kept || !asked || *kept <= 0.0 || *kept >= 1.0 || *asked <= 0.0 || *asked >= 1.0) continue;
      const double reach = 1.0 / (1.0 - *kept), meant = 1.0 / (1.0 - *asked);
      if (std::fabs(reach / meant - 1.0) > 0.02)
        run.notes.push_back(fmt::format("{} {} is kept as {}: it reaches back {} steps, not {} [computed]", key,
                                        amount(*asked), amount(*kept), amount(std::round(reach)),
                                        amount(std::round(meant))));
    }
    return;  // all updates share them
  }
}

}  // namespace

namespace {

std::string of_outcome(const Evidence& evidence, const StepStory& story, const RunDiagnosis& run) {
  switch (run.outcome) {
    case Outcome::fatal:
      return fatal(evidence, story, run);
    case Outcome::damaged: {
      const Cause& cause = *first_of(run, Gravity::damage);
      if (cause.kind == Kind::gradient_too_large_for_scale)
        return fmt::format("damaged ({}): {} of {} were skipped, more than a search for the scale and its growth explain; {}, {}",
                           name(cause.kind), story.skips, counted(story.steps, "step"), cause.node, cause.phase);
      if (std::any_of(cause.facts.begin(), cause.facts.end(), [](const Fact& f) { return f.key == "may_change"; }))
        return fmt::format("may be damaged ({}): the run goes on with finite numbers in place of what {} could not hold, and whether they are right is not known; {}, {}",
                           name(cause.kind), cause.format, cause.node, cause.phase);
      if (cause.kind == Kind::held_out_not_finite)
        return fmt::format("damaged ({}): the training steps are finite, and the held-out loss, by which the run is judged, is not", name(cause.kind));
      return fmt::format("damaged ({}): the run goes on, and what it computes is wrong in silence{}", name(cause.kind),
                         cause.node.empty() ? "" : fmt::format("; {}, {}", cause.node, cause.phase));
    }
    case Outcome::healthy:
      return healthy(story, run);
    case Outcome::harmless: {
      const Cause& cause = *first_of(run, Gravity::contained);
      const bool leaves = std::any_of(cause.facts.begin(), cause.facts.end(), [](const Fact& f) { return f.key == "not_finite"; });
      return fmt::format(
          "harmless ({}): what {} in {} reaches neither the loss nor a gradient nor a weight; {} of {} "
          "applied",
          name(cause.kind), leaves ? "leaves its format" : "goes wrong", cause.node.empty() ? cause.tensor : cause.node, story.applied,
          counted(story.steps, "step"));
    }
    case Outcome::untrained:
      return untrained(story);
    case Outcome::not_observed:
      break;
  }
  if (story.steps == 0) return "no step is recorded";
  return fmt::format(
      "{} of {} applied, {} skipped, as far as steps tell; nothing was observed inside them, so nothing is said of "
      "ranges, lost updates or sums",
      story.applied, counted(story.steps, "step"), story.skips);
}

}  // namespace

std::string verdict_of(const Evidence& evidence, const StepStory& story, const RunDiagnosis& run) {
  const std::string diverged = divergence_words(run.causes);
  std::string text = of_outcome(evidence, story, run);
  if (evidence.lost_statistics() > 0 && (run.outcome == Outcome::healthy || run.outcome == Outcome::harmless))
    text = fmt::format("unknown in part: {} of tensors {} lost while the file was written. What is there says {}", counted(evidence.lost_statistics(), "row"),
                       evidence.lost_statistics() == 1 ? "was" : "were", text);
  if (diverged.empty() || run.outcome == Outcome::healthy || run.outcome == Outcome::fatal) return text;
  return fmt::format("{}. Besides, {}", text, diverged);
}

void add_notes(const Evidence& evidence, const StepStory& story, RunDiagnosis& run) {
  if (story.bad_losses > 0 && story.trailing_bad_losses == 0 && recovered(evidence, *story.first_bad_loss)) {
    const StepRecord* record = evidence.step(*story.first_bad_loss);
    run.notes.push_back(fmt::format("loss {} (raw) in step {}{}, and finite again afterwards: {} in all [counted]",
                                    amount(record->loss.value_or(NAN)), shown(*story.first_bad_loss),
                                    record->skipped ? ", which was skipped" : "",
                                    fmt::format("{} {}{}", story.bad_losses, story.bad_losses == 1 ? "loss" : "losses",
                                                story.applied_bad_losses == 0 ? ""
                                                : fmt::format(", {} of them in steps that were applied", story.applied_bad_losses))));
  } else if (story.bad_losses > 0 && story.trailing_bad_losses == 0) {
    run.notes.push_back(fmt::format("loss not finite in {} of {}, first in step {} [counted]", story.bad_losses,
                                    counted(story.steps, "step"), shown(*story.first_bad_loss)));
  }
  if (story.ends_in_a_skip() && run.outcome != Outcome::fatal)
    run.notes.push_back(fmt::format("the run ends in {}: no step is recorded after {}, so whether it gets over {} is not known; {} in a row would be no accident",
                                    story.trailing == 1 ? "a skipped step" : counted(story.trailing, "skipped step"),
                                    story.trailing == 1 ? "it" : "them", story.trailing == 1 ? "it" : "them", skips_in_a_row));
  scalar_notes(evidence, run);
  if (run.observed.empty() && story.steps > 0 && !evidence.one_step_asked())
    run.notes.emplace_back(
        "no statistics are recorded (an old file, or observe.every = 0): run it again with observation to see ranges, "
        "lost updates and where overflows begin");
  if (cut_short(run) && run.outcome != Outcome::healthy)
    run.notes.push_back(fmt::format("the run ended after {} of {} planned", story.steps,
                                    counted(*run.run.steps_planned, "step")));
  if (run.run.status == RunStatus::running)
    run.notes.emplace_back("the run is under way or was cut off: this is how it stands");
}

bool share_with_fp32(const RunDiagnosis& fp32, RunDiagnosis& run) {
  if (run.outcome != Outcome::fatal && run.outcome != Outcome::damaged) return false;
  const Cause& cause = run.causes.front();
  const bool same = std::any_of(fp32.causes.begin(), fp32.causes.end(), [&](const Cause& c) {
    return c.kind == cause.kind && c.node == cause.node && c.gravity <= Gravity::damage;
  });
  if (same)
    run.verdict += ". fp32 in this file has the same fault: the mode's precision is not its cause";
  else if (fp32.outcome == Outcome::fatal)
    run.verdict += ". fp32 in this file does not come through either";
  else if (run.outcome == Outcome::fatal && fp32.outcome == Outcome::healthy)
    run.verdict += divergence_words(fp32.causes).empty() ? ". fp32 in this file is healthy" : ". fp32 in this file diverges, too";
  return fp32.outcome == Outcome::fatal || !divergence_words(fp32.causes).empty();
}

}  // namespace ulpscope::reports
