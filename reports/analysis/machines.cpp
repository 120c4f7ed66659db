#include "reports/analysis/machines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/analysis/compare.h"
#include "reports/analysis/machine_likeness.h"
#include "reports/analysis/machine_modes.h"
#include "reports/analysis/statistics.h"
#include "reports/analysis/time_peaks.h"

namespace ulpscope::reports {
namespace {

using machine_parts::ModeOfMachine;
using machine_parts::Sources;

/// The modes of a setting, in the order of the comparison.
std::vector<const ModeResult*> modes_of(const Setting& setting, const std::vector<ModeResult>& modes) {
  std::vector<const ModeResult*> own;
  for (const ModeResult& mode : modes)
    if (mode.tag == setting.tag && !mode.runs.empty()) own.push_back(&mode);
  return own;
}

/// The plan of a mode; empty: it is not on record.
std::vector<NodeRecord> plan_of(const ModeResult& mode, const Sources& sources) {
  for (const RunResult& run : mode.runs)
    if (run.run.plan) return sources.reader(run.file).nodes(*run.run.plan);
  return {};
}

const ModeResult* find_mode(const std::vector<const ModeResult*>& modes, const std::string& name) {
  const auto found = std::find_if(modes.begin(), modes.end(), [&](const ModeResult* m) { return m->mode == name; });
  return found == modes.end() ? nullptr : *found;
}

/// c of the sums of the mode's products (order_of_sums.h).
Truncating truncating(const ModeResult& mode, const Machine& machine) {
  if (!mode.sums.empty()) return mode.sums == "v100" ? truncating_v100 : mode.sums == "hopper" || mode.sums == "blackwell" ? truncating_hopper : truncating_ampere;
  if (machine.device_kind == "cpu") return {};
  const auto peaks = device_peaks(mode.device);
  if (!peaks) return truncating_v100;  // the coarsest there is
  const int capability = peaks->gpu.capability;
  return capability < 70 ? Truncating{} : capability < 75 ? truncating_v100 : capability < 90 ? truncating_ampere : truncating_hopper;
}

/// Of the loss, by iteration; nothing where fewer than 3 seeds have it.
std::vector<Number> spread_between_seeds(const ModeResult& mode, const Sources& sources) {
  std::vector<Number> spread;
  if (std::ssize(mode.runs) < least_pairs) return spread;
  std::map<std::int64_t, std::vector<double>> losses;
  for (const RunResult& run : mode.runs)
    for (const StepRecord& step : sources.reader(run.file).steps(run.run.id))
      if (step.loss && std::isfinite(*step.loss) && step.step >= 0) losses[step.step].push_back(*step.loss);
  if (losses.empty()) return spread;
  spread.resize(static_cast<std::size_t>(std::min<std::int64_t>(losses.rbegin()->first, 10'000'000)) + 1);
  for (const auto& [step, values] : losses)
    if (std::ssize(values) >= least_pairs && step < std::ssize(spread)) spread[static_cast<std::size_t>(step)] = standard_deviation(values);
  return spread;
}

class Builder {
 public:
  Builder(const std::vector<const RunFileReader*>& readers, const std::vector<Setting>& settings, const std::vector<ModeResult>& modes)
      : sources_(readers), settings_(settings), modes_(modes) {}

  MachineComparison build() {
    choose_machines();
    add_modes();
    for (std::size_t i = 1; i < own_.size(); ++i)
      for (const ModeResult* a : own_.front())
        for (const ModeResult* b : own_[i])
          if (same_arithmetic(*a, *b, out_.machines[i])) add_bits(*a, *b, i);
    return std::move(out_);
  }

 private:
  void choose_machines();
  std::vector<std::string> against_first(const Setting& setting, const std::vector<const ModeResult*>& own);
  bool shares_a_mode(const std::vector<const ModeResult*>& own) const {
    return std::any_of(own.begin(), own.end(), [&](const ModeResult* mode) { return find_mode(own_.front(), mode->mode) != nullptr; });
  }
  const Setting& setting_of(const std::string& tag) const {
    return *std::find_if(settings_.begin(), settings_.end(), [&](const Setting& setting) { return setting.tag == tag; });
  }
  /// Whether a mode that the first machine has, too, scales its loss on either.
  bool scales_a_loss(const std::vector<const ModeResult*>& own) const {
    const auto scaled = [](const ModeResult& mode) { return mode.loss_scaling != "none"; };  // an empty one is not known
    return std::any_of(own.begin(), own.end(), [&](const ModeResult* mode) {
      const ModeResult* twin = find_mode(own_.front(), mode->mode);
      return twin != nullptr && (scaled(*mode) || scaled(*twin));
    });
  }
  void add_machine(const Setting& setting, std::vector<const ModeResult*> own);
  void add_modes();
  bool same_arithmetic(const ModeResult& first, const ModeResult& other, const Machine& machine) const;
  void add_bits(const ModeResult& first, const ModeResult& other, std::size_t machine);

  Sources sources_;
  const std::vector<Setting>& settings_;
  const std::vector<ModeResult>& modes_;
  MachineComparison out_;
  std::vector<std::vector<const ModeResult*>> own_;  ///< by machine
};

void Builder::add_machine(const Setting& setting, std::vector<const ModeResult*> own) {
  const RunRecord& run = own.front()->runs.front().run;
  Machine machine{.tag = setting.tag, .device = setting.device, .device_kind = run.device_kind, .files = setting.files};
  if (run.device_kind != "cpu")
    if (const auto peaks = device_peaks(run.device)) machine.gpu = peaks->gpu.name;
  out_.machines.push_back(std::move(machine));
  own_.push_back(std::move(own));
}

std::vector<std::string> Builder::against_first(const Setting& setting, const std::vector<const ModeResult*>& own) {
  const std::vector<const ModeResult*>& first = own_.front();
  const std::string& tag = out_.machines.front().tag;
  Alike alike = alike_runs(first.front()->runs.front().run, own.front()->runs.front().run, tag, scales_a_loss(own));
  for (const ModeResult* mode : own) {
    const ModeResult* twin = find_mode(first, mode->mode);
    if (twin == nullptr) continue;
    const std::vector<NodeRecord> a = plan_of(*twin, sources_), b = plan_of(*mode, sources_);
    if (a.empty() || b.empty()) {
      alike.unchecked.push_back(fmt::format("the plan of {}", mode->mode));
      continue;
    }
    if (std::string other = other_plan(a, b, mode->mode, tag); !other.empty() && alike.reasons.empty()) alike.reasons.push_back(std::move(other));
  }
  if (alike.reasons.empty() && !alike.unchecked.empty())
    out_.warnings.push_back(fmt::format("{} and {}: that these are alike cannot be checked, one of them does not say: {}", tag, setting.tag, fmt::join(alike.unchecked, ", ")));
  return alike.reasons;
}

void Builder::choose_machines() {
  for (const Setting& setting : settings_) {
    std::vector<const ModeResult*> own = modes_of(setting, modes_);
    if (own.empty() || !of_a_machine(own.front()->runs.front().run)) continue;
    if (out_.machines.empty()) {
      add_machine(setting, std::move(own));
      continue;
    }
    const Setting& first = setting_of(out_.machines.front().tag);
    if (!of_another_file(setting, first)) continue;
    std::vector<std::string> reasons = against_first(setting, own);
    if (reasons.empty() && setting.device == first.device) continue;  // nothing says that they are not alike, nor that they are: held apart by compare
    if (reasons.empty() && !shares_a_mode(own))
      out_.warnings.push_back(fmt::format("{} and {} have no mode in common: nothing can be set side by side", out_.machines.front().tag, setting.tag));
    else if (reasons.empty())
      add_machine(setting, std::move(own));
    else
      out_.refused.push_back({setting.tag, setting.device, setting.files, std::move(reasons)});
  }
}

bool Builder::same_arithmetic(const ModeResult& first, const ModeResult& other, const Machine& machine) const {
  if (first.mode == other.mode) return true;
  const auto base = [](const ModeResult& mode) { return mode.mode.substr(0, mode.mode.find('@')); };
  const bool one_emulates = first.sums.empty() != other.sums.empty();
  return base(first) == base(other) && one_emulates && (first.sums.empty() ? out_.machines.front() : machine).device_kind != "cpu";
}

void Builder::add_bits(const ModeResult& first, const ModeResult& other, std::size_t machine) {
  const Truncating a = truncating(first, out_.machines.front()), b = truncating(other, out_.machines[machine]);
  const OrderBound bound = order_bound(plan_of(first, sources_), {std::max(a.narrow, b.narrow), std::max(a.tf32, b.tf32)});
  const std::vector<Number> spread = spread_between_seeds(first, sources_);
  for (const RunResult& run : first.runs)
    for (const RunResult& twin : other.runs) {
      if (twin.run.seed != run.run.seed) continue;
      BitsAcross bits = judge_bits(run.run, sources_.reader(run.file).steps(run.run.id), sources_.reader(twin.file).steps(twin.run.id), bound, spread);
      bits.first = fmt::format("{} {}", out_.machines.front().tag, first.mode);
      bits.other = fmt::format("{} {}", out_.machines[machine].tag, other.mode);
      out_.bits.push_back(std::move(bits));
    }
}

void Builder::add_modes() {
  if (out_.machines.size() < 2) return;
  std::vector<std::string> names;
  for (const auto& own : own_)
    for (const ModeResult* mode : own)
      if (std::find(names.begin(), names.end(), mode->mode) == names.end()) names.push_back(mode->mode);
  for (const std::string& name : names) {
    std::vector<ModeOfMachine> at;
    std::vector<std::string> tags;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const ModeResult* mode = find_mode(own_[i], name);
      at.push_back({&out_.machines[i], mode, mode == nullptr ? nullptr : sources_.timed(*mode)});
      if (mode != nullptr) tags.push_back(out_.machines[i].tag);
    }
    if (tags.size() < 2)
      out_.warnings.push_back(fmt::format("{} ran on {} alone", name, tags.front()));
    else
      out_.modes.push_back(machine_parts::side_by_side(name, at));
  }
}

}  // namespace

bool of_another_file(const Setting& setting, const Setting& first) {
  return setting.device != first.device ||
         std::any_of(setting.files.begin(), setting.files.end(), [&](const std::string& file) { return std::find(first.files.begin(), first.files.end(), file) == first.files.end(); });
}

std::string text(const MachineRefusal& refusal, const std::string& first) {
  return fmt::format("{} ({}, {}) is not compared with {}: {}", refusal.tag, fmt::join(refusal.files, ", "), refusal.device, first, fmt::join(refusal.reasons, "; "));
}

MachineComparison compare_machines(const std::vector<const RunFileReader*>& readers, const std::vector<Setting>& settings, const std::vector<ModeResult>& modes) {
  return Builder(readers, settings, modes).build();
}

const std::vector<MachineFigureInfo>& machine_figures() {
  using M = const MachineFigures&;
  using F = const Figure&;
  using S = MachineStyle;
  static const std::vector<MachineFigureInfo> figures{
      {"step_seconds", "step", "s", S::seconds, "median and quartiles", [](M m) -> F { return m.step; }},
      {"step_ratio", "to first", "", S::ratio, "step by the first machine's", [](M m) -> F { return m.ratio; }},
      {"tokens_per_second", "tokens/s", "1/s", S::rate, "tokens of a step by its median time", [](M m) -> F { return m.tokens_per_second; }},
      {"step_by_peak", "step × peak", "TFLOP", S::amount, "what the machine could have computed in that time at the peak of the mode's products",
       [](M m) -> F { return m.by_peak; }},
      {"step_by_peak_ratio", "to first", "", S::ratio, "that by the first machine's", [](M m) -> F { return m.by_peak_ratio; }},
      {"step_by_bandwidth", "step × bandwidth", "GB", S::amount, "what it could have moved", [](M m) -> F { return m.by_bandwidth; }},
      {"step_by_bandwidth_ratio", "to first", "", S::ratio, "that by the first machine's", [](M m) -> F { return m.by_bandwidth_ratio; }},
      {"step_by_clock", "step × clock", "10^6 cycles", S::amount, "cycles of its clock", [](M m) -> F { return m.by_clock; }},
      {"step_by_clock_ratio", "to first", "", S::ratio, "those by the first machine's", [](M m) -> F { return m.by_clock_ratio; }},
      {"busy", "device busy", "", S::share, "share of the step with a kernel at work, in traced steps", [](M m) -> F { return m.busy; }},
      {"slowed", "clock held down", "", S::share, "share of the GPU's samples while it was timed", [](M m) -> F { return m.slowed; }},
      {"peak_bytes", "peak memory", "B", S::bytes, "the allocator's peak, without what was held to observe", [](M m) -> F { return m.peak_bytes; }},
      {"final_loss_difference", "final loss − first", "", S::difference, "mean over the seeds that both machines finished, with its 95 % interval",
       [](M m) -> F { return m.final_loss_difference; }},
  };
  return figures;
}

}  // namespace ulpscope::reports
