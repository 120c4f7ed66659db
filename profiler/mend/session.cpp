#include "profiler/mend/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/error.h"
#include "profiler/experiment/json_text.h"
#include "profiler/experiment/machine.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;
using reports::MendRecord;
using reports::MendStatus;

/// Order among the changes: before a mode of another precision.
constexpr int keep_cost = 2;
/// The search for nodes, which takes several runs, begins after what costs at most this: after a mode of another precision, and before
/// what changes the results.
constexpr int tried_before_search = 3;
/// Runs that one takes for which everything has to be longer: the unchanged experiment and it, and about as many again as there are changes.
constexpr double runs_of_one = 2.0, runs_of_all = 10.0;

/// Iteration in which every fault was seen, as often as it was recorded; nothing where the step of one is not known.
std::optional<std::int64_t> all_shown(const Patient& patient) {
  std::int64_t last = 0;
  for (const Fault& fault : faults_of(patient.recorded)) {
    if (!fault.step) return std::nullopt;
    last = std::max(last, *fault.step);
  }
  return std::max(last, patient.last_shown.value_or(0));
}

/// Changes that leave the state of a step as it is: formats of what is kept, scaler, mode.
bool keeps_state(const std::string& kind) {
  static const std::vector<std::string> kinds{"keep_fp32", "scale_before_product", "boolean_mask", "rescale", "sum_fp32", "override", "clip_order", "norm_fp32", "buffers"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

json words_of(const std::vector<Fault>& faults) {
  json list = json::array();
  for (const Fault& fault : faults) list.push_back(fault.words());
  return list;
}

void refute_for_skips(const Trial& trial, Judgement& judgement) {
  judgement.status = MendStatus::refuted;
  judgement.why = fmt::format("{} of {} steps overflow at it and are skipped, step {} first: a fixed scale does not come down", trial.skipped, trial.steps,
                              trial.first_skipped.value_or(0) + 1);
}

/// What a candidate has to end. A loss scale is one for the whole model: which of its gradients overflows is not what it is about.
std::vector<Fault> targets_of(const Candidate& candidate, const std::vector<Fault>& faults) {
  std::vector<Fault> targets = candidate.targets;
  if (candidate.kind == "scale" || candidate.kind == "scaler" || candidate.kind == "scale_floor")
    for (const Fault& fault : faults)
      if (fault.kind == reports::Kind::gradient_too_large_for_scale &&
          std::any_of(candidate.targets.begin(), candidate.targets.end(), [&](const Fault& f) { return f.kind == fault.kind; }))
        add_faults(targets, {fault});
  return targets;
}

}  // namespace

std::optional<std::int64_t> last_shown(const std::vector<reports::StepRecord>& steps) {
  const auto shows = [](const reports::StepRecord& step) { return step.skipped || !step.finite || (step.loss && !std::isfinite(*step.loss)); };
  auto last = std::find_if(steps.rbegin(), steps.rend(), shows);
  if (last == steps.rend()) return std::nullopt;
  if (last == steps.rbegin())
    while (std::next(last) != steps.rend() && shows(*std::next(last))) ++last;
  return last->step;
}

Session::Session(const Patient& patient, Runner& runner, const Budget& budget, std::function<void(const std::string&)> say)
    : patient_(patient),
      runner_(runner),
      budget_(budget),
      say_(std::move(say)),
      trials_(runner, patient.recorded.run.seed, [&budget] { return budget.over(); }),
      experiment_(patient.experiment) {
  trials_.judge_beside(patient.fp32);
  const std::int64_t planned = patient.experiment.train.steps;
  const std::optional<std::int64_t> shown = all_shown(patient);
  shown_ = shown.value_or(planned - 1);
  experiment_.train.steps = shown ? std::min(planned, *shown + 1 + margin) : planned;
}

void Session::tell(const std::string& what) const {
  if (say_) say_(fmt::format("trial {}, after {:.1f} s: {}", trials_.count() + 1, budget_.spent(), what));
}

/// A run that would take more than half of what is left is not made longer than the others.
std::int64_t Session::steps_of_recording() const {
  const std::int64_t all = std::max(patient_.recorded.steps, experiment_.train.steps);
  return there_is_time(all, 2.0) ? all : experiment_.train.steps;
}

bool Session::long_enough(const Experiment& changed, Length length, Trial& trial) {
  const Asked asked{.first = trial.first_step, .steps = trial.first_step + trial.steps, .planned = planned_steps(), .shown = shown_,
                    .leading = baseline_ && baseline_->scale.leading < baseline_->steps ? baseline_->scale.leading : 0};
  const std::int64_t needed = steps_needed(trial.scale, asked);
  if (needed > experiment_.train.steps) {
    if (there_is_time(needed, runs_of_one)) {
      longer_ = needed;
      return false;
    }
    if (trial.scale.falling) {
      no_time_ = fmt::format("after {} steps its loss scale was still on its way down, at {:g}, and there was no time for more", trial.steps, trial.scale.last.value_or(0.0));
      return false;
    }
    trial.remark = fmt::format("{} of them after the search for its loss scale, and there was no time for more", trial.steps - trial.scale.leading);
  }
  if (length != Length::growth) return true;
  const std::optional<std::int64_t> grown = steps_to_growth(changed.train.scaler, trial.scale, asked);
  if (!grown || *grown <= experiment_.train.steps) return true;
  const bool planned = *grown <= planned_steps();
  if (planned && there_is_time(*grown, runs_of_all)) {
    longer_ = *grown;
    return false;
  }
  const std::int64_t interval = growth_interval(changed.train.scaler).value_or(0);
  trial.remark = fmt::format("its loss scale first grows after {} good steps, {}: what it does then was not run", interval,
                             planned ? "for which there was no time" : "which the plan does not come to");
  return true;
}

std::optional<Trial> Session::attempt(const std::function<void(Experiment&)>& change, bool from_checkpoint, Length length) {
  no_time_.clear();
  if (over() || longer_) return std::nullopt;
  Experiment changed = experiment_;
  if (length == Length::whole) changed.train.steps = steps_of_recording();
  if (change) change(changed);
  const engine::TrainerState* const start = from_checkpoint && patient_.checkpoint ? &*patient_.checkpoint : nullptr;
  Trial trial;
  try {
    trial = trials_.run(changed, start);
  } catch (const NotKept& fault) {
    machine_fault_ = fault.what();
    return std::nullopt;
  }
  if (trial.stopped) return std::nullopt;
  if (change && !long_enough(changed, length, trial)) return std::nullopt;
  if (length == Length::whole && trial.last_step > experiment_.train.steps) trial.remark = "as far as the recording goes: a fixed scale does not come down";
  return trial;
}

Session::Baseline Session::run_baseline() {
  const std::vector<Fault> recorded = faults_of(patient_.recorded);
  for (;;) {
    if (over()) return Baseline::no_time;
    tell(fmt::format("the unchanged experiment, steps 1 to {}", experiment_.train.steps));
    const double before = budget_.spent();
    std::optional<Trial> trial = attempt(nullptr, true);
    if (!trial) return Baseline::no_time;
    step_seconds_ = (budget_.spent() - before) / static_cast<double>(std::max<std::int64_t>(trial->steps, 1));
    baseline_ = std::move(trial);
    // What it shows is no fault yet, if the scale that is still too high has the steps skipped.
    if (baseline_->scale.falling) {
      if (there_is_time(experiment_.train.steps + margin, 1.0)) {
        experiment_.train.steps += margin;
        continue;
      }
      baseline_->remark = "its loss scale was still on its way down, and there was no time for more";
    }
    const std::vector<Fault> now = faults_of(baseline_->diagnosis);
    comes_back_ = recorded.front().kind == reports::Kind::unknown ? !now.empty() : contains(now, recorded.front());
    if (comes_back_) {
      if (!found_) found_ = baseline_->diagnosis;
      return Baseline::comes_back;
    }
    found_.reset();
    if (experiment_.train.steps >= patient_.experiment.train.steps) return Baseline::does_not;
    experiment_.train.steps = patient_.experiment.train.steps;
  }
}

std::vector<Fault> Session::there_before() const {
  std::vector<Fault> list = faults();
  if (baseline_) add_faults(list, faults_of(baseline_->diagnosis));
  return list;
}

std::string Session::baseline_length() const {
  if (!baseline_) return "";
  const std::int64_t leading = baseline_->scale.leading;
  return fmt::format("over {} step{}{}", baseline_->steps, baseline_->steps == 1 ? "" : "s",
                     leading > 0 && leading < baseline_->steps ? fmt::format(", of which the first {} only lowered the loss scale", leading) : "");
}

std::string Session::baseline_words() const {
  if (!comes_back_) return "the unchanged experiment was not run to its end: " + why_over();
  return fmt::format("the unchanged experiment was run again, {}: the fault came back", how_run(*baseline_, 1));
}

std::string Session::how_run(const Trial& trial, std::int64_t runs) const {
  std::string text = trial.first_step > 0 ? fmt::format("from the checkpoint after step {}", trial.first_step) : "from the start";
  text += fmt::format(", step{} {} to {} of {}", trial.last_step == 1 ? "" : "s", trial.first_step + 1, trial.last_step, patient_.experiment.train.steps);
  if (trial.last_step == 1) text = fmt::format("step 1 of {}", patient_.experiment.train.steps);
  if (trial.last_step > patient_.experiment.train.steps) {
    const std::int64_t leading = trial.scale.leading;
    text += leading > 0 && leading < trial.steps ? fmt::format(" planned: the first {} only lowered the loss scale", leading)
                                                 : " planned: as many as a change whose loss scale first had to come down";
  }
  if (runs > 1) text += fmt::format(", {} runs", runs);
  if (!trial.remark.empty()) text += ": " + trial.remark;
  if (!trial.gaps.empty()) text += "; " + trial.gaps;
  return text;
}

void Session::add_costs(const Trial& trial, MendRecord& record) const {
  if (trial.step_seconds && baseline_->step_seconds && *baseline_->step_seconds > 0.0) {
    record.time_ratio = *trial.step_seconds / *baseline_->step_seconds;
    const auto emulated = reports::Provenance::emulated;
    record.time_provenance = baseline_->time_provenance == emulated ? emulated : trial.time_provenance;
  }
  if (trial.peak_bytes && baseline_->peak_bytes) record.memory_delta_bytes = *trial.peak_bytes - *baseline_->peak_bytes;
}

Tried Session::try_one(const Candidate& candidate) {
  Tried tried{.candidate = candidate};
  MendRecord& record = tried.record;
  record.kind = candidate.kind;
  record.change = candidate.change;
  record.settings_json = json_text({{"ulpscope", candidate.ulpscope}, {"frameworks", candidate.settings}});
  json detail{{"cost", candidate.cost}, {"targets", words_of(candidate.targets)}, {"baseline", baseline_words()}, {"faults", words_of(faults())}};
  if (!candidate.apply) {
    detail["why"] = candidate.impossible;
  } else if (!comes_back_ || over()) {
    detail["why"] = why_over();
  } else {
    tell(candidate.change);
    try {
      const Length length = candidate.whole ? Length::whole : candidate.regrows ? Length::growth : Length::shared;
      if (const std::optional<Trial> trial = attempt(candidate.apply, keeps_state(candidate.kind), length)) {
        Judgement judgement = judge(targets_of(candidate, faults()), there_before(), trial->diagnosis);
        if (candidate.no_skips && judgement.status == MendStatus::verified && trial->skipped > 0) refute_for_skips(*trial, judgement);
        record.status = judgement.status;
        record.how_run = how_run(*trial, 1);
        add_costs(*trial, record);
        detail["why"] = judgement.why;
        detail["when"] = utc_now();
        tried.remains = judgement.remains;
        detail["remains"] = words_of(judgement.remains);
        detail["runs"] = 1;
      } else {
        detail["why"] = why_not_tried();
      }
    } catch (const Error& error) {   // the plan refuses it
      detail["why"] = fmt::format("it cannot be run: {}", error.what());
    }
  }
  record.detail_json = json_text(detail);
  return tried;
}

std::optional<Tried> Session::try_together(const std::vector<Tried>& tried) {
  if (std::any_of(tried.begin(), tried.end(), [](const Tried& t) { return t.verified() && t.remains.empty(); })) return std::nullopt;
  std::vector<Fault> left = faults();
  Candidate together{.kind = "together", .cost = keep_cost, .targets = left};
  std::vector<std::function<void(Experiment&)>> parts;
  for (const Tried& t : tried) {
    if (!t.verified()) continue;
    const auto mended = [&](const Fault& fault) { return !contains(t.remains, fault); };
    if (std::none_of(left.begin(), left.end(), mended)) continue;
    std::erase_if(left, mended);
    parts.push_back(t.candidate.apply);
    together.change += fmt::format("{}{}", together.change.empty() ? "" : "; and ", t.candidate.change);
    together.ulpscope += fmt::format("{}{}", together.ulpscope.empty() ? "" : "; ", t.candidate.ulpscope);
  }
  if (!left.empty() || parts.size() < 2) return std::nullopt;
  together.apply = [parts](Experiment& e) {
    for (const auto& part : parts) part(e);
  };
  return try_one(together);
}

Tried Session::try_keeping(const Ground& ground) {
  const TryNodes attempt_nodes = [&](const std::vector<std::string>& nodes) -> std::optional<Trial> {
    if (!comes_back_ || over()) return std::nullopt;
    tell(fmt::format("keep {} in fp32", fmt::join(nodes, ", ")));
    return attempt([&](Experiment& e) { keep_in_fp32(e, nodes); }, true);
  };
  KeepFp32 kept;
  try {
    kept = search_keep_fp32(ground, attempt_nodes, [&] { return why_not_tried(); });
  } catch (const Error& error) {
    kept.why = fmt::format("it cannot be run: {}", error.what());
  }
  Tried tried;
  MendRecord& record = tried.record;
  record.kind = "keep_fp32";
  record.change = kept.nodes.empty() ? "keep nodes in fp32: none needs to be" : fmt::format("keep {} in fp32", fmt::join(kept.nodes, ", "));
  record.status = kept.status;
  if (!kept.nodes.empty())
    record.settings_json = json_text({{"ulpscope", keep_in_fp32_keys(experiment_, kept.nodes)},
                                      {"frameworks", "PyTorch: with torch.autocast(\"cuda\", enabled=False): around them, inputs .float()"}});
  json detail{{"cost", keep_cost}, {"targets", words_of(kept.targets)}, {"baseline", baseline_words()}, {"faults", words_of(faults())}, {"why", kept.why},
              {"runs", kept.runs}, {"nodes", kept.nodes}};
  if (kept.status == MendStatus::verified) {
    detail["minimal"] = kept.minimal;
    for (const auto& [node, outcome] : kept.without) detail["without"].push_back({{"node", node}, {"outcome", outcome}});
  }
  detail["remains"] = words_of(kept.judgement.remains);
  if (kept.status != MendStatus::not_tried) detail["when"] = utc_now();
  if (kept.trial) {
    record.how_run = how_run(*kept.trial, kept.runs);
    add_costs(*kept.trial, record);
  }
  record.detail_json = json_text(detail);
  tried.remains = kept.judgement.remains;
  tried.candidate = {.kind = record.kind, .change = record.change, .cost = keep_cost, .ulpscope = keep_in_fp32_keys(experiment_, kept.nodes), .targets = kept.targets};
  tried.candidate.apply = [nodes = kept.nodes](Experiment& e) { keep_in_fp32(e, nodes); };
  return tried;
}

std::vector<Tried> Session::try_all() {
  const engine::Mode& mode = engine::find_mode(experiment_.run.modes.front());
  const engine::StepPlan plan = engine::plan_step(runner_.device(), engine::build_model(experiment_.model, experiment_.train.batch, true), mode, experiment_.train);
  const Ground ground(experiment_, plan.graph, found(), patient_.around);
  const bool keep = mode.lower != Format::fp32 && !keep_targets(ground).empty();
  std::vector<Tried> tried;
  std::optional<Tried> kept;
  std::size_t place = 0;   // of the search in the list
  std::set<std::string> climbed;   // ladders of which one helped
  for (const Candidate& candidate : candidates(ground)) {
    if (longer_) return tried;
    if (climbed.contains(candidate.ladder)) continue;
    if (keep && !kept && candidate.cost > tried_before_search) kept = try_keeping(ground);
    tried.push_back(try_one(candidate));
    if (tried.back().verified() && !candidate.ladder.empty()) climbed.insert(candidate.ladder);
    if (candidate.cost <= keep_cost) place = tried.size();
  }
  if (keep && !kept && !longer_) kept = try_keeping(ground);
  if (kept) tried.insert(tried.begin() + static_cast<std::ptrdiff_t>(place), std::move(*kept));
  if (longer_) return tried;
  if (std::optional<Tried> all = try_together(tried)) tried.insert(tried.begin(), std::move(*all));
  return tried;
}

std::vector<MendRecord> Session::try_changes() {
  std::vector<Tried> tried = try_all();
  while (longer_) {
    tell(fmt::format("everything again, over {} steps instead of {}: a loss scale takes longer", *longer_, experiment_.train.steps));
    experiment_.train.steps = *longer_;
    longer_.reset();
    if (run_baseline() == Baseline::does_not) return {};
    tried = try_all();
  }
  std::vector<MendRecord> records;
  for (Tried& each : tried) {
    each.record.run = patient_.recorded.run.id;
    records.push_back(std::move(each.record));
  }
  return records;
}

}  // namespace ulpscope::profiler
