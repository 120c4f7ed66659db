#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/gravity.h"
#include "reports/analysis/diagnosis/headroom.h"
#include "reports/analysis/diagnosis/imported_log.h"
#include "reports/analysis/diagnosis/remedy.h"
#include "reports/analysis/diagnosis/run_away.h"
#include "reports/analysis/diagnosis/swallowed.h"
#include "reports/analysis/diagnosis/verdict_words.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t most_roots = 12;  ///< causes of one step that are told apart

bool same_fault(const Cause& a, const Cause& b) { return a.kind == b.kind && a.node == b.node && a.tensor == b.tensor; }

/// Faults that all weights (or buffers) have for one reason: told once.
bool told_once(const Cause& cause) {
  return cause.kind == Kind::weights_poisoned || cause.kind == Kind::buffers_poisoned ||
         (cause.phase == "update" && cause.operation != "global_norm" && cause.operation != "unscale_check");
}

/// Weights, or moments, that an update made so: that was said of the update.
bool consequence(const Cause& cause, const std::vector<Cause>& causes) {
  if (cause.kind != Kind::weights_poisoned && cause.kind != Kind::update_overflowed) return false;
  const bool kept = cause.kind == Kind::update_overflowed && cause.node.empty();
  return std::any_of(causes.begin(), causes.end(), [&](const Cause& c) {
    return (c.gravity == Gravity::fatal || (kept && c.kind == cause.kind)) && c.phase == "update" && c.step < cause.step;
  });
}

/// What follows from an earlier fault of the same step is left out: the backward pass of a loss that is not finite, and
/// all but the first of its gradients (one scale is behind them all).
bool follows(const Suspect& s, bool forward_reached, bool backward_seen) {
  const Root& root = s.root;
  if (root.node == nullptr) return false;
  const bool own_matter = root.node->record.operation == "global_norm" && root.how == Root::How::inner;
  if (root.node->record.phase == Phase::forward || own_matter) return false;
  return forward_reached || (backward_seen && s.carries_scale());
}

constexpr int way_back = 4;  ///< operations between what swallowed an infinity and the next fault

/// What a fault of this kind met: the divisor, or what a function is taken of.
std::optional<TensorId> met_by(const PlanNode& node) {
  const bool divides = node.record.operation == "div" || node.record.operation == "expand";
  const std::size_t place = divides && node.inputs.size() > 1 ? 1 : 0;
  return place < node.inputs.size() ? node.inputs[place] : std::nullopt;
}

/// The one of these operations that the tensor comes from within a few operations of the forward pass; none: it comes from elsewhere.
const PlanNode* maker_among(const PlanView& plan, TensorId tensor, const std::vector<const PlanNode*>& makers, int depth = way_back) {
  const PlanNode* made_by = plan.producer(tensor);
  if (made_by == nullptr || made_by->record.phase != Phase::forward) return nullptr;
  if (std::find(makers.begin(), makers.end(), made_by) != makers.end()) return made_by;
  if (depth == 0 || is_product(*made_by)) return nullptr;
  for (const auto& input : made_by->inputs)
    if (const PlanNode* found = input ? maker_among(plan, *input, makers, depth - 1) : nullptr; found != nullptr) return found;
  return nullptr;
}

/// A fault of the forward pass whose infinities were swallowed: its cause is causes[index].
struct Swallowed {
  std::size_t index = 0;
  std::int64_t micro_batch = 0;
  std::vector<const PlanNode*> in{};
};

/// A zero (or another number) that an infinity became further up is met here: the fault is that of the infinity, and is told there. True if
/// it was.
bool told_by_earlier(const Evidence& e, const Suspect& later, const Cause& cause, const std::vector<Swallowed>& earlier, std::vector<Cause>& causes) {
  const bool meets = cause.kind == Kind::zero_divisor || cause.kind == Kind::outside_domain;
  if (!meets || later.root.node == nullptr || later.root.how != Root::How::arithmetic) return false;
  const std::optional<TensorId> met = met_by(later.node());
  const PlanNode* swallower = nullptr;
  const auto found = std::find_if(earlier.begin(), earlier.end(), [&](const Swallowed& s) {
    if (!met || s.micro_batch != later.root.micro_batch) return false;
    swallower = maker_among(e.plan(), *met, s.in);
    if (swallower == nullptr || cause.kind != Kind::zero_divisor) return swallower != nullptr;
    return std::any_of(swallower->outputs.begin(), swallower->outputs.end(), [&](TensorId output) {
      const Stat* stat = later.step.stat(output, s.micro_batch);
      return stat != nullptr && stat->stored_zero() > 0;
    });
  });
  if (found == earlier.end()) return false;
  Cause& first = causes[found->index];
  if (cause.gravity < first.gravity) {  // the graver, though it may have been told of a step before
    first.gravity = cause.gravity;
    first.reaches = cause.reaches;
  }
  const bool again = std::any_of(first.facts.begin(), first.facts.end(), [&](const Fact& f) { return f.key == "then" && f.text.starts_with(cause.node + " "); });
  if (again) return true;
  first.what += fmt::format("; {} makes finite numbers of what is not finite, and {} ({}, {}) fails on them", swallower->record.name, cause.node, cause.operation, cause.phase);
  first.facts.push_back(fact("then", "then", fmt::format("{} ({}, {}): {}", cause.node, cause.operation, cause.phase, cause.what), Provenance::inferred));
  first.chain.push_back(swallower->record.name);
  first.chain.insert(first.chain.end(), cause.chain.begin(), cause.chain.end());
  first.reaches = cause.reaches;
  return true;
}

/// The same fault in another step. It is contained where it was in every step; what it reaches is that of the gravest.
void see_again(Cause& known, Cause& now) {
  ++known.steps_seen;
  const bool was = known.gravity == Gravity::contained, is = now.gravity == Gravity::contained;
  if (was == is ? now.gravity >= known.gravity : is) return;
  known.gravity = now.gravity;
  known.reaches = std::move(now.reaches);
  known.chain = std::move(now.chain);
}

void causes_of_step(const Evidence& e, const StepStory& story, const ObservedStep& step, std::vector<Cause>& causes) {
  bool forward_reached = false, backward_seen = false;
  std::size_t told = 0;
  std::vector<Swallowed> swallowed;
  for (const Root& root : find_roots(e, step)) {
    if (told >= most_roots) break;
    Chain chain = follow(e, step, root);
    judge_swallowed(e, step, root, chain);
    const Suspect suspect{e, step, root, chain, story};
    const bool follow_up = follows(suspect, forward_reached, backward_seen);
    const bool forward = root.node == nullptr || root.node->record.phase == Phase::forward;
    if (forward && (chain.loss || chain.gradient)) forward_reached = true;
    if (follow_up) continue;
    std::optional<Cause> cause = cause_of(suspect);
    if (!cause) continue;
    if (suspect.carries_scale() && chain.gradient) backward_seen = true;
    cause->gravity = grade(suspect, *cause);
    if (cause->reaches.empty() && !cause->chain.empty())
      cause->reaches = fmt::format("no further than {}", cause->chain.back());
    ++told;
    if (consequence(*cause, causes) || told_by_earlier(e, suspect, *cause, swallowed, causes)) continue;
    const auto alike = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
      if (c.kind == Kind::scale_unbounded && cause->kind == c.kind) return !same_fault(c, *cause);
      return told_once(*cause) && c.kind == cause->kind && c.phase == cause->phase && !same_fault(c, *cause);
    });
    const auto known =
        std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return same_fault(c, *cause); });
    const bool merged = known == causes.end() && alike != causes.end();
    const auto at = static_cast<std::size_t>(known - causes.begin());   // where it is from now on, unless it was merged
    if (merged) {
      const bool same_step = alike->step == cause->step;
      const bool says_more = same_step && alike->kind == Kind::scale_unbounded && alike->phase == "forward";
      if (says_more) *alike = std::move(*cause);
      alike->others += same_step ? 1 : 0;
    } else if (known == causes.end()) {
      causes.push_back(std::move(*cause));
    } else {
      see_again(*known, *cause);
    }
    if (forward && root.node != nullptr && !merged && !chain.swallowed_in.empty() && !chain.loss && !chain.gradient)
      swallowed.push_back({at, root.micro_batch, chain.swallowed_in});
  }
}

std::string fact_text(const Cause& cause, std::string_view key) {
  const auto found = std::find_if(cause.facts.begin(), cause.facts.end(), [&](const Fact& f) { return f.key == key; });
  return found == cause.facts.end() ? "" : found->text;
}

void sort_causes(std::vector<Cause>& causes) {
  // The loss of evaluation is computed from running averages.
  const auto counts = [](const Cause& c) { return c.feeds_loss || c.operation == "ema"; };
  std::stable_sort(causes.begin(), causes.end(), [&](const Cause& a, const Cause& b) {
    return a.gravity != b.gravity ? a.gravity < b.gravity : counts(a) > counts(b);
  });
  for (std::size_t i = 0; i < causes.size(); ++i) {  // a consequence comes after its cause, where that is no less grave
    const std::string follows = fact_text(causes[i], "follows_from");
    for (std::size_t cause = i + 1; cause < causes.size() && !follows.empty(); ++cause) {
      if (causes[cause].gravity > causes[i].gravity || follows != fmt::format("{} at {}", name(causes[cause].kind), causes[cause].node)) continue;
      std::rotate(causes.begin() + static_cast<std::ptrdiff_t>(i), causes.begin() + static_cast<std::ptrdiff_t>(i) + 1, causes.begin() + static_cast<std::ptrdiff_t>(cause) + 1);
      break;
    }
  }
}

/// A run that ended badly without a cause: that much is known, and nothing is invented.
void add_unknown(const Evidence& e, const StepStory& story, std::vector<Cause>& causes) {
  const bool found =
      std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.gravity == Gravity::fatal; });
  const bool bad_end = story.trailing_bad_losses > 0 || story.stopped || story.trailing >= 3;
  if (found || (!bad_end && !story.ran_away) || (story.searching() && story.trailing_bad_losses == 0) || story.ends_in_a_skip()) return;
  Cause cause;
  cause.kind = Kind::unknown;
  cause.gravity = Gravity::fatal;
  if (story.trailing_bad_losses > 0) {
    cause.step = e.steps().back().step - story.trailing_bad_losses + 1;
    cause.what = fmt::format("the loss is not finite from step {} on", shown(*cause.step));
  } else if (story.ran_away && !story.stopped && story.trailing < 3) {
    tell_run_away(e, std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.gravity == Gravity::damage; }), cause);
    causes.push_back(std::move(cause));
    return;
  } else {
    cause.step = story.trailing > 0 ? e.steps()[e.steps().size() - static_cast<std::size_t>(story.trailing)].step : story.first_not_finite;
    cause.what = fmt::format("gradients are not finite in the last {}",
                             story.trailing > 1 ? fmt::format("{} steps", story.trailing) : "step");
  }
  const bool looked = cause.step && e.observed_step(*cause.step) != nullptr;
  cause.what +=
      e.observed().empty() ? "; no step was observed, so where it begins is not known: run it again with observation "
                             "(observe.every above 0)"
      : looked             ? "; in the step as it was observed no operation stands out"
                           : fmt::format("; {} observed, so where it begins is not known",
                             cause.step ? fmt::format("step {} was not", shown(*cause.step)) : "the steps were not");
  add_rate(e, cause);
  causes.push_back(std::move(cause));
}

Outcome outcome_of(const Evidence& e, const StepStory& story, const std::vector<Cause>& causes) {
  Outcome outcome = e.observed().empty() || story.steps == 0 ? Outcome::not_observed : Outcome::healthy;
  if (story.steps > 0 && story.applied == 0 && story.skips == story.steps) outcome = Outcome::untrained;
  for (const Cause& cause : causes) {
    if (cause.gravity == Gravity::fatal) return Outcome::fatal;
    if (cause.gravity == Gravity::damage) outcome = Outcome::damaged;
    if (cause.gravity == Gravity::contained && outcome == Outcome::healthy) outcome = Outcome::harmless;
  }
  return outcome;
}

void count_unseen(const Evidence& e, const std::vector<Cause>& causes, RunDiagnosis& run) {
  if (e.plan().empty()) return;
  std::int64_t registers = 0;
  for (const PlanNode& node : e.plan().nodes()) registers += node.record.materialised ? 0 : 1;
  run.not_materialised = registers;
  const ObservedStep* step = nullptr;
  for (const Cause& cause : causes)
    if (step == nullptr && cause.step) step = e.observed_step(*cause.step);
  if (step == nullptr && !e.observed().empty()) step = &e.observed().back();
  if (step == nullptr) return;
  std::vector<std::string> names;
  const StepRecord* record = e.step(step->step);
  const bool no_update = record != nullptr && (record->skipped || !record->finite);  // nothing was updated
  for (const PlanNode& node : e.plan().nodes())
    for (const TensorId id : node.outputs)
      if (!is_view(node) && !(no_update && (is_optimizer(node) || node.record.operation == "commit_buffer")) &&
          is_float(e.plan().format(id)) && step->stat(id) == nullptr)
        names.push_back(e.plan().title(id));
  run.not_observed = std::ssize(names);
  if (names.empty()) return;
  const auto listed = std::min<std::size_t>(names.size(), 4);
  run.notes.push_back(fmt::format("{} of the plan {} not observed in step {}: {}{}",
                                  counted(std::ssize(names), "result"), names.size() == 1 ? "was" : "were",
                                  shown(step->step),
                                  fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                                  names.size() > listed ? ", ..." : ""));
}

RunDiagnosis diagnose_run(const Evidence& e, const std::vector<MendRecord>& mends) {
  if (const auto other = imported(e.run())) return diagnose_imported(e, *other);
  RunDiagnosis run{.run = e.run()};
  const StepStory story = tell_steps(e);
  run.steps = story.steps;
  run.skipped = story.skips;
  for (const ObservedStep& step : e.observed()) run.observed.push_back(step.step);
  for (const ObservedStep& step : e.observed()) causes_of_step(e, story, step, run.causes);
  tell_mask_rows_apart(run.causes);
  silent_buffer_causes(e, run.causes);
  silent_mask_causes(e, run.causes);
  silent_norm_causes(e, run.causes);
  silent_variance_causes(e, run.causes);
  silent_step_causes(e, story, run.causes);
  silent_update_causes(e, run.causes);
  silent_moment_causes(e, run.causes);
  silent_sum_causes(e, run.causes);
  silent_norm_sum_causes(e, run.causes);
  silent_flushed_causes(e, run.causes);
  silent_gradient_causes(e, story, run.causes);
  silent_loss_causes(e, run.causes);
  silent_evaluation_causes(e, story, run.causes);
  add_unknown(e, story, run.causes);
  for (Cause& cause : run.causes) add_divergence(e, cause);
  for (Cause& cause : run.causes) {
    const PlanNode* node = e.plan().node(cause.node);
    cause.feeds_loss = node == nullptr || e.plan().feeds_loss(*node);
    if (cause.gravity == Gravity::damage && node != nullptr && reaches_nothing(e.plan(), *node)) cause.gravity = Gravity::contained;
  }
  sort_causes(run.causes);
  for (Cause& cause : run.causes) add_remedies(e, mends, cause);
  run.outcome = outcome_of(e, story, run.causes);
  run.layers = head_room(e);
  run.watch = watch_list(e);
  run.reasons = skip_sentences(story);
  count_unseen(e, run.causes, run);
  add_notes(e, story, run);
  if (std::string unseen = unseen_sums(e); !unseen.empty()) run.notes.push_back(std::move(unseen));
  for (const Remedy& trial : other_trials(e, mends, run.causes))
    run.notes.push_back(fmt::format("tried: {}: {}", trial.change, trial.status));
  run.lost_statistics = e.lost_statistics();
  if (e.lost_statistics() > 0)
    run.notes.push_back(fmt::format("{} of tensors {} lost while the file was written, of all its runs together: what they held is not known (ulpscope info says why)",
                                    counted(e.lost_statistics(), "row"), e.lost_statistics() == 1 ? "was" : "were"));
  if (!e.reading().empty()) run.notes.push_back(e.reading());
  run.verdict = verdict_of(e, story, run);
  return run;
}

bool chosen(const RunRecord& run, const DiagnoseOptions& options) {
  return (options.mode.empty() || run.mode == options.mode) && (!options.seed || run.seed == *options.seed);
}

std::vector<RunRecord> runs_to_look_at(const RunFileReader& reader, const DiagnoseOptions& options,
                                       const std::vector<MendRecord>& mends) {
  std::vector<RunRecord> all;
  for (RunRecord& run : reader.runs())
    if (std::none_of(mends.begin(), mends.end(), [&](const MendRecord& m) { return m.trial == run.id; }))
      all.push_back(std::move(run));
  if (all.empty()) throw UsageError(fmt::format("{} holds no run", reader.path()));
  if (std::any_of(all.begin(), all.end(), [&](const RunRecord& r) { return chosen(r, options); })) return all;
  std::vector<std::string> there;
  for (const RunRecord& run : all) there.push_back(fmt::format("{} seed {}", run.mode, run.seed));
  throw UsageError(fmt::format(
      "{} has no run of {}{}; there are {}", reader.path(), options.mode.empty() ? "any mode" : options.mode,
      options.seed ? fmt::format(" with seed {}", *options.seed) : "", fmt::join(there, ", ")));
}

/// The run in fp32 of the same seed, or else the first.
const RunDiagnosis* fp32_beside(const RunRecord& run, const std::vector<RunDiagnosis>& asked, const std::vector<RunDiagnosis>& others) {
  const RunDiagnosis* first = nullptr;
  for (const std::vector<RunDiagnosis>* list : {&asked, &others})
    for (const RunDiagnosis& candidate : *list) {
      if (candidate.run.mode != "fp32") continue;
      if (candidate.run.seed == run.seed) return &candidate;
      if (first == nullptr) first = &candidate;
    }
  return first;
}

}  // namespace

Diagnosis diagnose(const RunFileReader& reader, const DiagnoseOptions& options) {
  Diagnosis result{.file = reader.path(), .step = options.step, .full = !options.mode.empty()};
  const std::vector<MendRecord> mends = reader.mends();
  std::vector<std::unique_ptr<Evidence>> all;
  const Evidence* fp32 = nullptr;
  std::int64_t most_steps = 0;
  for (const RunRecord& run : runs_to_look_at(reader, options, mends)) {
    if (!chosen(run, options) && run.mode != "fp32") continue;
    all.push_back(std::make_unique<Evidence>(reader, run, options.step ? 0 : options.most_rows));
    if (fp32 == nullptr && run.mode == "fp32") fp32 = all.back().get();
    if (chosen(run, options) && !all.back()->steps().empty())
      most_steps = std::max(most_steps, all.back()->steps().back().step + 1);
  }
  if (options.step && *options.step >= most_steps)
    throw UsageError(fmt::format("--step {}: {} recorded", shown(*options.step),
                                 counted(most_steps, "step") + (most_steps == 1 ? " is" : " are")));
  for (const auto& evidence : all) {
    if (!chosen(evidence->run(), options)) continue;
    if (evidence->run().mode != "fp32") evidence->fp32 = fp32;
    for (const auto& twin : all)   // of the same seed, if there is one
      if (evidence->run().mode != "fp32" && twin->run().mode == "fp32" && twin->run().seed == evidence->run().seed)
        evidence->fp32 = twin.get();
    const std::vector<ObservedStep> observed = evidence->observed();
    if (options.step) evidence->look_only_at(*options.step);
    result.runs.push_back(diagnose_run(*evidence, mends));
    result.runs.back().window = scale_window(reader, *evidence, options.flushed_share);
    if (options.step && evidence->observed().empty()) {
      std::vector<std::int64_t> steps;
      for (const ObservedStep& step : observed) steps.push_back(shown(step.step));
      result.runs.back().notes.insert(result.runs.back().notes.begin(),
                                      fmt::format("step {} was not observed; observed: {}", shown(*options.step),
                                                  steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "))));
    }
  }
  std::vector<RunDiagnosis> beside;   // fp32, though another mode was asked for
  for (const auto& evidence : all)
    if (!chosen(evidence->run(), options)) beside.push_back(diagnose_run(*evidence, mends));
  for (RunDiagnosis& run : result.runs) {
    const RunDiagnosis* twin = fp32_beside(run.run, result.runs, beside);
    if (run.run.mode == "fp32" || twin == nullptr || !share_with_fp32(*twin, run)) continue;
    for (const auto& evidence : all)
      if (evidence->run().id == run.run.id) offer_lower_rate(*evidence, mends, run.causes.front());
  }
  return result;
}

}  // namespace ulpscope::reports
