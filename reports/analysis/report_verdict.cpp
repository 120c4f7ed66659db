#include "reports/analysis/report_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/calibration.h"
#include "reports/analysis/time_peaks.h"

namespace ulpscope::reports {
namespace {

int gravity(Outcome outcome) {
  switch (outcome) {
    case Outcome::fatal: return 5;
    case Outcome::damaged: return 4;
    case Outcome::untrained: return 3;
    case Outcome::harmless: return 2;
    case Outcome::healthy: return 1;
    case Outcome::not_observed: return 0;
  }
  return 0;
}

ModeStanding standing_of(std::size_t index, const VerdictSources& sources) {
  ModeStanding standing{.mode = index};
  bool first = true;
  for (const ReportRun& run : sources.runs) {
    if (run.mode_index != index) continue;
    standing.label = run.mode_label;
    const RunDiagnosis* diagnosis = diagnosis_of(run, sources.diagnoses);
    if (diagnosis == nullptr || (!first && gravity(diagnosis->outcome) <= gravity(standing.outcome))) continue;
    standing.outcome = run.steps == 0 ? Outcome::not_observed : diagnosis->outcome;
    standing.health = diagnosis->verdict;
    first = false;
  }
  return standing;
}

void add(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "; ")); }

/// The answers for a setting: its own, else those for the same experiment elsewhere.
std::vector<const VerdictAnswer*> answers_for(const std::string& tag, const std::vector<Setting>& settings, const std::vector<VerdictAnswer>& answers) {
  const auto setting_of = [&](const std::string& of) { return std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return s.tag == of; }); };
  std::vector<const VerdictAnswer*> own, alike;
  const auto asked = setting_of(tag);
  for (const VerdictAnswer& answer : answers) {
    if (answer.tag == tag) own.push_back(&answer);
    const auto of = setting_of(answer.tag);
    if (asked != settings.end() && of != settings.end() && of->experiment == asked->experiment) alike.push_back(&answer);
  }
  return own.empty() ? alike : own;
}

/// What the answers say of a mode.
void add_answers(const ModeResult& mode, const std::vector<const VerdictAnswer*>& answers, ModeStanding& standing) {
  if (!mode.sums.empty()) {
    standing.against = "its sums are emulated: a study, not a choice";
    return;
  }
  bool weighed = false;
  for (const VerdictAnswer* answer : answers)
    for (const ModeAdvice& m : answer->advice.modes) {
      if (m.evidence.mode != mode.mode) continue;
      weighed = true;
      standing.possible = standing.possible || m.refused.empty();
      const std::string words = joined(m.refused.empty() ? m.against : m.refused);
      if (words.empty() || standing.against.find(words) != std::string::npos) continue;
      standing.against += standing.against.empty() ? words : "; " + words;
    }
  if (!weighed && !answers.empty()) standing.against = fmt::format("not weighed: it was not run where the answer{} from", answers.size() == 1 ? " is" : "s are");
}

void add_caveats(const VerdictSources& sources, VerdictSection& section) {
  std::set<std::string> emulated, non_standard, live, cut;
  for (const ReportRun& run : sources.runs) {
    const ModeResult& mode = sources.comparison.modes[run.mode_index];
    if (run.emulated) emulated.insert(run.mode_label);
    if (!mode.sums.empty()) non_standard.insert(fmt::format("{} has the sums of {}'s matrix units, emulated", run.mode_label, mode.sums));
    for (const std::string& knob : mode.non_standard) non_standard.insert(fmt::format("{}: non-standard: {}", run.mode_label, knob));
    if (run.live) live.insert(run.label);
    if (run.cut_off) cut.insert(run.label);
  }
  if (!emulated.empty())
    section.caveats.push_back(fmt::format("emulated: {} {} carried out in software on the device that ran {}; times of {} say nothing of hardware. Losses, overflows and memory are {} own.",
                                          fmt::join(emulated, ", "), emulated.size() == 1 ? "was" : "were", emulated.size() == 1 ? "it" : "them", emulated.size() == 1 ? "it" : "them",
                                          emulated.size() == 1 ? "its" : "their"));
  for (const VerdictAnswer& answer : section.answers) {
    std::vector<std::string> projected;
    for (const ModeAdvice& m : answer.advice.modes)
      if (!m.evidence.measured.value && m.evidence.projected.value) projected.push_back(m.evidence.mode);
    if (!projected.empty()) add(section.caveats, fmt::format("projected: no step of {} was measured on {}; {} on it {} projected from the plan", fmt::join(projected, ", "), answer.advice.device,
                                                             projected.size() == 1 ? "its time" : "their times", projected.size() == 1 ? "is" : "are"));
  }
  for (const std::string& words : non_standard) section.caveats.push_back(words);
  if (!live.empty()) section.caveats.push_back(fmt::format("still running when this was written: {}", fmt::join(live, "; ")));
  if (!cut.empty()) section.caveats.push_back(fmt::format("cut off, and its end is missing: {}", fmt::join(cut, "; ")));
}

std::string sentence_of(const VerdictAnswer& answer) {
  const DeviceAdvice& a = answer.advice;
  const std::string on = a.device.empty() ? "" : fmt::format(" on {}", a.device);
  const std::string before = answer.tag.empty() ? "" : answer.tag + ": ";
  switch (a.outcome) {
    case AdviceOutcome::recommended: return fmt::format("{}{}{}: {}.", before, a.winner, on, a.reason);
    case AdviceOutcome::none: return fmt::format("{}No mode{}: {}.", before, on, a.reason);
    case AdviceOutcome::undecided: break;
  }
  return fmt::format("{}Undecided{}: {}.", before, on, a.reason);
}

/// A line for each mode, the winner's first.
std::vector<std::string> why_of(const DeviceAdvice& a) {
  std::vector<std::string> winner, others, refused;
  for (const ModeAdvice& m : a.modes) {
    const std::string& mode = m.evidence.mode;
    if (!m.refused.empty()) {
      refused.push_back(fmt::format("{} is out: {}", mode, joined(m.refused)));
      continue;
    }
    std::vector<std::string> words = m.in_favour;
    words.insert(words.end(), m.against.begin(), m.against.end());
    if (words.empty() && mode != "fp32") words.emplace_back("nothing that was looked for speaks against it");
    if (!words.empty()) (mode == a.winner ? winner : others).push_back(fmt::format("{}: {}", mode, joined(words)));
  }
  for (const auto* list : {&others, &refused}) winner.insert(winner.end(), list->begin(), list->end());
  return winner;
}

/// What the mode that is recommended, or leant to, costs and saves.
std::vector<std::string> costs_of(const DeviceAdvice& a, const std::string& tag, const Comparison& comparison) {
  std::vector<std::string> costs;
  const auto winner = std::find_if(a.modes.begin(), a.modes.end(), [&](const ModeAdvice& m) { return m.evidence.mode == a.winner; });
  if (winner == a.modes.end()) return a.costs;
  const ModeEvidence& e = winner->evidence;
  if (e.mode != "fp32") {
    const Figure& speed = winner->speed;
    const bool range = speed.low && speed.high && *speed.low != *speed.high;
    costs.push_back(!speed.value ? "time: unknown" : fmt::format("time: {:.2f} × fp32's speed{} [{}]", *speed.value, range ? fmt::format(" ({:.2f} to {:.2f})", *speed.low, *speed.high) : "", name(speed.provenance)));
    if (e.distance.value) costs.push_back(fmt::format("loss: {:+.3g} against fp32's [{}]", *e.distance.value, name(e.distance.provenance)));
    const bool told = std::any_of(a.costs.begin(), a.costs.end(), [](const std::string& words) { return words.starts_with("memory:"); });
    for (const ModeResult& mode : comparison.modes)
      if (!told && mode.tag == tag && mode.mode == e.mode && mode.memory_ratio.value)
        costs.push_back(fmt::format("memory: {:.3g} × fp32's peak where it was run [{}]", *mode.memory_ratio.value, name(mode.memory_ratio.provenance)));
  }
  for (const std::string& words : a.costs) add(costs, words);
  return costs;
}

/// The files of a setting.
std::vector<const RunFileReader*> readers_of(const Setting& setting, const VerdictSources& sources) {
  std::vector<const RunFileReader*> list;
  for (const RunFileReader* reader : sources.readers)
    if (std::find(setting.files.begin(), setting.files.end(), reader->path()) != setting.files.end()) list.push_back(reader);
  return list;
}

using Gpus = std::vector<std::pair<std::string, Gpu>>;

/// The GPUs that runs of a setting were made on, as the table knows them.
Gpus gpus_of(const std::string& tag, const VerdictSources& sources, std::vector<std::string>& notes) {
  Gpus gpus;
  std::set<std::string> seen;
  for (const ReportRun& run : sources.runs) {
    if (run.tag != tag || run.run.device_kind != "cuda" || !seen.insert(run.run.device).second) continue;
    if (const auto peaks = device_peaks(run.run, run.reader->machines(), run.reader->device_samples())) gpus.emplace_back(run.run.device, peaks->gpu);
    else add(notes, fmt::format("{} is not in the table of GPUs: ulpscope hardware --add describes it, --gpu names another", run.run.device));
  }
  return gpus;
}

/// The plans of all files of a setting, a mode's once.
ProjectionInput plans_of(const std::vector<const RunFileReader*>& readers, const VerdictOptions& options) {
  ProjectionInput all;
  for (const RunFileReader* reader : readers) {
    ProjectionInput input{.file = reader->path()};
    try {
      if (options.plans) input = options.plans(*reader);
      else input.modes = planned_modes(*reader, {});
    } catch (const UsageError&) {  // no run of it has a plan: an imported log
      continue;
    }
    if (all.modes.empty()) {
      all = std::move(input);
      continue;
    }
    for (PlannedMode& mode : input.modes)
      if (std::none_of(all.modes.begin(), all.modes.end(), [&](const PlannedMode& known) { return known.mode == mode.mode; })) all.modes.push_back(std::move(mode));
  }
  return all;
}

void answer_for(const Setting& setting, const Gpus& gpus, const VerdictSources& sources, const VerdictOptions& options, VerdictSection& section) {
  const std::vector<const RunFileReader*> own = readers_of(setting, sources);
  if (own.empty()) return;
  const AdviceSources made{.comparison = &sources.comparison, .tag = setting.tag, .readers = sources.readers, .diagnoses = &sources.diagnoses, .times = &sources.times};
  AdviceInput input{.reader = own.front(), .made = &made};
  if (!gpus.empty()) {
    const ProjectionInput planned = plans_of(own, options);
    std::vector<MeasuredRun> measured;
    for (const RunFileReader* reader : sources.readers) {
      const bool here = std::find(own.begin(), own.end(), reader) != own.end();
      if (reader != own.front() && (here || !options.gpus.empty())) input.measured.push_back(reader);
      std::vector<std::string> left_out;  // that a CPU's runs are no use is not worth a line
      for (const TimeReport& time : sources.times)
        if (time.file == reader->path())
          for (MeasuredRun& run : measured_runs(*reader, time, left_out)) measured.push_back(std::move(run));
    }
    input.planned = planned.modes;
    input.projection = project(planned, gpus, measured);
  }
  Advice advice = advise(input);
  for (DeviceAdvice& device : advice.devices) {
    VerdictAnswer answer{.tag = setting.tag, .advice = std::move(device)};
    answer.sentence = sentence_of(answer);
    answer.why = why_of(answer.advice);
    answer.costs = costs_of(answer.advice, setting.tag, sources.comparison);
    answer.would_change = answer.advice.would_change;
    section.answers.push_back(std::move(answer));
  }
  for (std::string& words : advice.notes) add(section.notes, std::move(words));
}

/// A setting on a CPU has no answer of its own where the same experiment was run on a GPU that is known.
void answer_all(const VerdictSources& sources, const VerdictOptions& options, VerdictSection& section) {
  const std::vector<Setting>& settings = sources.comparison.settings;
  std::vector<Gpus> gpus;
  std::set<std::string> told;  // experiments
  for (const Setting& setting : settings) {
    gpus.push_back(options.gpus.empty() ? gpus_of(setting.tag, sources, section.notes) : options.gpus);
    if (options.gpus.empty() && !gpus.back().empty()) told.insert(setting.experiment);
  }
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if ((gpus[i].empty() || !options.gpus.empty()) && !told.insert(settings[i].experiment).second) continue;
    answer_for(settings[i], gpus[i], sources, options, section);
  }
}

}  // namespace

std::string whose(const VerdictAnswer& answer) {
  if (answer.advice.device.empty()) return answer.tag;
  return fmt::format("{}{}on {}", answer.tag, answer.tag.empty() ? "" : ", ", answer.advice.device);
}

std::vector<std::string> VerdictSection::all(std::vector<std::string> VerdictAnswer::*part) const {
  if (answers.size() == 1) return answers.front().*part;
  std::vector<std::string> list;
  for (const VerdictAnswer& answer : answers)
    for (const std::string& words : answer.*part) list.push_back(whose(answer).empty() ? words : fmt::format("{}: {}", whose(answer), words));
  return list;
}

VerdictSection verdict_section(const VerdictSources& sources, const VerdictOptions& options) {
  VerdictSection section;
  answer_all(sources, options, section);
  std::set<std::string> modes;
  for (const VerdictAnswer& answer : section.answers) {
    modes.insert(answer.advice.outcome == AdviceOutcome::recommended ? answer.advice.winner : "");
    section.sentence += (section.sentence.empty() ? "" : " ") + answer.sentence;
  }
  if (modes.size() == 1) section.mode = *modes.begin();
  for (std::size_t i = 0; i < sources.comparison.modes.size(); ++i) {
    section.modes.push_back(standing_of(i, sources));
    const ModeResult& mode = sources.comparison.modes[i];
    add_answers(mode, answers_for(mode.tag, sources.comparison.settings, section.answers), section.modes.back());
  }
  add_caveats(sources, section);
  return section;
}

}  // namespace ulpscope::reports
