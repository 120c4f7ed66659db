// What the order of a step's parts does wrong, and what its record says without a look inside.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// A rate that differs between two skipped steps in a row is moved by steps that were never taken.
void schedule(const Evidence& e, const StepStory& story, std::vector<Cause>& causes) {
  const auto& steps = e.steps();
  if (story.skips == 0 || steps.size() < 2) return;
  bool moves = false;
  for (std::size_t i = 1; i < steps.size(); ++i)
    moves = moves || (steps[i - 1].skipped && steps[i - 1].step + 1 == steps[i].step && steps[i - 1].learning_rate &&
                      steps[i].learning_rate && *steps[i - 1].learning_rate != *steps[i].learning_rate);
  const auto first = std::find_if(steps.begin(), steps.end(), [](const StepRecord& s) { return !s.skipped; });
  if (!moves) return;
  Cause cause;
  cause.kind = Kind::schedule_ahead;
  cause.gravity = Gravity::damage;
  cause.what =
      fmt::format("{}: the schedule is {} ahead of the weights", counted(story.skips, "skipped step"), story.skips);
  if (first != steps.end() && first != steps.begin() && first->learning_rate && steps.front().learning_rate) {
    cause.step = first->step;
    cause.what += fmt::format("; the optimizer's first real step (step {}) used lr {} instead of {}",
                              shown(first->step), amount(*first->learning_rate), amount(*steps.front().learning_rate));
    cause.facts.push_back(fact(
        "first_lr", "lr of the first applied step", *first->learning_rate,
        fmt::format("{}; {} by applied steps", amount(*first->learning_rate), amount(*steps.front().learning_rate)),
        Provenance::computed));
  }
  cause.facts.push_back(
      fact("skipped", "skipped steps", static_cast<double>(story.skips), fmt::format("{}", story.skips)));
  causes.push_back(std::move(cause));
}

void clip_order(const Evidence& e, std::vector<Cause>& causes) {
  const PlanNode* norm = nullptr;
  const PlanNode* unscale = nullptr;
  for (const PlanNode& node : e.plan().nodes()) {
    if (node.record.operation == "global_norm") norm = &node;
    if (node.record.operation == "unscale_check") unscale = &node;
  }
  if (norm == nullptr || unscale == nullptr || norm->record.position > unscale->record.position) return;
  const double most = number(*norm, "max_norm").value_or(0.0);
  if (most <= 0.0) return;
  for (const StepRecord& step : e.steps()) {
    const double scale = step.loss_scale.value_or(1.0);
    if (scale == 1.0 || !step.gradient_norm || !std::isfinite(*step.gradient_norm) || *step.gradient_norm <= most)
      continue;
    Cause cause;
    cause.kind = Kind::clip_before_unscale;
    cause.gravity = Gravity::damage;
    cause.step = step.step;
    cause.node = norm->record.name;
    cause.operation = norm->record.operation;
    cause.phase = "update";
    const double truth = *step.gradient_norm / scale;
    cause.what = fmt::format(
        "gradient norm at clip {}, after unscale {}: clip acted on scaled gradients (ratio of the norms {} = the loss "
        "scale); the true norm {} {}",
        amount(*step.gradient_norm), amount(std::min(most, *step.gradient_norm) / scale), amount(scale), amount(truth),
        truth > most ? "needs clipping, by its own size" : "needs no clipping at all");
    cause.facts.push_back(
        fact("norm_at_clip", "norm at clip", *step.gradient_norm, amount(*step.gradient_norm), Provenance::computed));
    cause.facts.push_back(fact("effective_norm", "norm that is left", most / scale,
                               fmt::format("{} = {} / {}", amount(most / scale), amount(most), scale_amount(scale)),
                               Provenance::computed));
    cause.facts.push_back(fact("true_norm", "true norm", truth, amount(truth), Provenance::computed));
    causes.push_back(std::move(cause));
    return;
  }
}

/// Accumulated gradients of which one micro-batch was divided by the scale before it was added.
void early_unscale(const Evidence& e, std::vector<Cause>& causes) {
  const PlanNode* early = nullptr;
  for (const PlanNode& node : e.plan().nodes())
    if (node.record.operation == "accumulate" && node.attributes.value("early_unscale", false)) early = &node;
  const double scale = e.steps().empty() ? 1.0 : e.scale(e.steps().front().step);
  if ((early == nullptr && e.setting("unscale") != "early") || e.run().micro_batches.value_or(1) < 2 || scale == 1.0)
    return;
  Cause cause;
  cause.kind = Kind::unscaled_early;
  cause.gravity = Gravity::damage;
  if (early != nullptr) {
    cause.node = early->record.name;
    cause.operation = early->record.operation;
    cause.phase = std::string(name(early->record.phase));
  }
  cause.what = fmt::format(
      "one of {} micro-batches is unscaled before it is added to the others: the others weigh {} times as much (the "
      "ratio of the norms equals the loss scale)",
      e.run().micro_batches.value_or(2), scale_amount(scale));
  cause.facts.push_back(fact("ratio", "ratio of the norms", scale, scale_amount(scale), Provenance::inferred));
  causes.push_back(std::move(cause));
}

std::set<std::string> with_gradient(const PlanView& plan) {
  std::set<std::string> names;
  for (const PlanNode& node : plan.nodes())
    if (is_optimizer(node) && node.inputs.size() > 2 && node.inputs[2]) names.insert(plan.title(*node.inputs[2]));
  return names;
}

void no_gradient(const Evidence& e, std::vector<Cause>& causes) {
  if (e.plan().empty()) return;
  const bool updates = std::any_of(e.plan().nodes().begin(), e.plan().nodes().end(), [](const PlanNode& n) {
    return is_optimizer(n) && n.inputs.size() > 2 && n.inputs[2];
  });
  if (!updates) return;  // a file of schema 2 does not say what an update reads
  const std::set<std::string> have = with_gradient(e.plan());
  std::vector<std::string> lack;
  for (const TensorId id : e.plan().parameters())
    if (!have.contains(e.plan().title(id))) lack.push_back(e.plan().title(id));
  if (lack.empty()) return;
  std::vector<std::string> only_here;
  if (e.fp32 != nullptr) {
    const std::set<std::string> there = with_gradient(e.fp32->plan());
    std::copy_if(lack.begin(), lack.end(), std::back_inserter(only_here),
                 [&](const std::string& n) { return there.contains(n); });
  }
  const auto& listed = only_here.empty() ? lack : only_here;
  std::string list;
  for (std::size_t i = 0; i < listed.size() && i < 8; ++i) list += (i > 0 ? ", " : "") + listed[i];
  if (listed.size() > 8) list += fmt::format(" and {} more", listed.size() - 8);
  Cause cause;
  cause.kind = Kind::no_gradient;
  cause.gravity = only_here.empty() ? Gravity::note : Gravity::damage;
  cause.tensor = listed.front();
  cause.what =
      fmt::format("{} {} no gradient in mode {}{} ({})", counted(std::ssize(listed), "parameter"),
                  listed.size() == 1 ? "has" : "have", e.run().mode,
                  only_here.empty() ? (e.fp32 != nullptr ? ", nor in fp32: nothing leads from there to the loss"
                                                         : ": nothing leads from there to the loss")
                                    : " but one in fp32",
                  list);
  cause.facts.push_back(fact("parameters", "parameters without a gradient", static_cast<double>(listed.size()), list));
  causes.push_back(std::move(cause));
}

void device(const Evidence& e, std::vector<Cause>& causes) {
  for (const EventRecord& event : e.events()) {
    if (event.kind != event_kind::replay) continue;
    const nlohmann::json detail = nlohmann::json::parse(event.detail_json, nullptr, false);
    if (!detail.is_object() || !detail.contains("what") || !detail["what"].is_string() ||
        !detail["what"].get<std::string>().starts_with("differs"))
      continue;
    Cause cause;
    cause.kind = Kind::device_fault;
    cause.gravity = Gravity::fatal;
    cause.step = event.step;
    cause.what = fmt::format(
        "step {} computed again from the same inputs gave other bits: the device, its memory or a driver is at fault, "
        "not the precision",
        shown(event.step));
    causes.push_back(std::move(cause));
    return;
  }
}

double floor_of(const scaling::Policy& policy) {
  if (std::holds_alternative<scaling::TensorflowScaler>(policy)) return 1.0;
  double floor = 0.0;
  scaling::Policy copy = policy;
  std::visit(
      [&](auto& p) {
        p.fields([&](const char* key, auto& field) {
          if (std::string_view(key) == "floor" || std::string_view(key) == "threshold")
            floor = std::max(floor, static_cast<double>(field));
        });
      },
      copy);
  return floor;
}

void floor(const Evidence& e, const StepStory& story, std::vector<Cause>& causes) {
  if (!story.policy_known || !scaling::is_dynamic(story.policy) || story.trailing == 0 ||
      story.trailing_bad_losses > 0 || !story.scale_last)
    return;
  const double least = floor_of(story.policy);
  const bool gave_up = story.stopped && e.scales();
  if (!(*story.scale_last <= least) && !gave_up) return;
  Cause cause;
  cause.kind = Kind::scale_floor;
  cause.gravity = story.trailing >= 3 || gave_up ? Gravity::fatal : Gravity::damage;
  cause.step = e.steps().back().step;
  cause.what = fmt::format(
      "the loss scale is at {}, the lowest that {} allows, and gradients still overflow; {} in a row at the end",
      scale_amount(*story.scale_last), scaling::name(story.policy), counted(story.trailing, "skipped step"));
  cause.facts.push_back(fact("scale", "loss scale", *story.scale_last, scale_amount(*story.scale_last)));
  causes.push_back(std::move(cause));
}

/// Running statistics that took in a step which was not applied.
void buffers(const Evidence& e, const StepStory&, std::vector<Cause>& causes) {
  if (std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::buffers_poisoned; }))
    return;
  for (const ObservedStep& step : e.observed()) {
    std::vector<std::pair<std::string, const Stat*>> bad;
    const PlanNode* first = nullptr;
    for (const PlanNode& node : e.plan().nodes()) {
      if (node.record.phase != Phase::forward) continue;
      for (const TensorId id : node.outputs) {
        const TensorRecord* record = e.plan().tensor(id);
        const Stat* stat = step.stat(id);
        if (record == nullptr || record->role != TensorRole::buffer || stat == nullptr || stat->bad() == 0) continue;
        bad.emplace_back(
            node.inputs.empty() || !node.inputs.front() ? node.record.name : e.plan().title(*node.inputs.front()),
            stat);
        if (first == nullptr) first = &node;
      }
    }
    const StepRecord* record = e.step(step.step);
    if (bad.empty() || record == nullptr) continue;
    const bool evaluation_broken =
        std::any_of(e.evaluations().begin(), e.evaluations().end(),
                    [&](const EvaluationRecord& v) { return v.step > step.step && v.loss && !std::isfinite(*v.loss); });
    const bool losses_fine = !e.steps().empty() && e.steps().back().loss && std::isfinite(*e.steps().back().loss);
    const bool kept = !record->skipped || e.setting("buffers") == "always" ||
                      (e.setting("buffers").empty() && evaluation_broken && losses_fine);
    if (!kept) continue;  // a transaction: they went back
    Cause cause;
    cause.kind = Kind::buffers_poisoned;
    cause.gravity = Gravity::damage;
    cause.step = step.step;
    cause.node = first->record.name;
    cause.operation = first->record.operation;
    cause.phase = "forward";
    cause.tensor = bad.front().first;
    cause.what = fmt::format(
        "step {} {}; {} of {} of {}{} became not finite in it and stay so: a NaN in a running average never leaves; {}",
        shown(step.step), record->skipped ? "was skipped" : "was applied", bad.front().second->bad(),
        counted(bad.front().second->elements, "element"), bad.front().first,
        bad.size() > 1 ? fmt::format(" (and of {} more)", bad.size() - 1) : "",
        record->skipped ? "skipping protects parameters, not buffers: evaluation is broken from here"
                        : "evaluation is broken from here");
    if (evaluation_broken)
      cause.facts.push_back(fact("evaluation", "evaluation", "held-out loss is not finite afterwards, training loss is",
                                 Provenance::counted));
    for (const auto& [title, stat] : bad)
      cause.facts.push_back(fact("buffer", title, static_cast<double>(stat->bad()),
                                 fmt::format("{} of {} not finite", stat->bad(), counted(stat->elements, "element"))));
    causes.push_back(std::move(cause));
    return;
  }
}

}  // namespace

void silent_step_causes(const Evidence& evidence, const StepStory& story, std::vector<Cause>& causes) {
  device(evidence, causes);
  buffers(evidence, story, causes);
  floor(evidence, story, causes);
  schedule(evidence, story, causes);
  clip_order(evidence, causes);
  early_unscale(evidence, causes);
  no_gradient(evidence, causes);
}

}  // namespace ulpscope::reports
