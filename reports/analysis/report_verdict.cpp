#include "reports/analysis/report_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/analysis/time.h"

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

/// Its training came to harm: no number of seeds would clear it.
bool sick(const ModeStanding& standing) {
  return standing.outcome == Outcome::fatal || standing.outcome == Outcome::damaged || standing.outcome == Outcome::untrained;
}

ModeStanding standing_of(std::size_t index, const ModeResult& mode, const std::vector<ReportRun>& runs, const std::vector<Diagnosis>& diagnoses) {
  ModeStanding standing{.mode = index};
  bool first = true;
  for (const ReportRun& run : runs) {
    if (run.mode_index != index) continue;
    standing.label = run.mode_label;
    const RunDiagnosis* diagnosis = diagnosis_of(run, diagnoses);
    if (diagnosis == nullptr || (!first && gravity(diagnosis->outcome) <= gravity(standing.outcome))) continue;
    standing.outcome = diagnosis->outcome;
    standing.health = diagnosis->verdict;
    first = false;
  }
  if (!mode.sums.empty()) {
    standing.against = "its sums are emulated: a study, not a choice";
  } else if (!mode.non_standard.empty()) {
    standing.against = fmt::format("it was run with non-standard settings: {}", fmt::join(mode.non_standard, ", "));
  } else if (sick(standing)) {
    standing.against = standing.health;
  } else if (mode.judgement.verdict == Verdict::worse || mode.judgement.verdict == Verdict::undecided) {
    standing.against = fmt::format("{}: {}", name(mode.judgement.verdict), mode.judgement.reason);
  }
  standing.possible = standing.against.empty();
  return standing;
}

/// fp32's step ÷ the mode's, where both were measured.
Number measured_speed(const ModeResult& mode) {
  const Figure& speed = mode.speed;
  return !mode.emulated && speed.provenance != Provenance::emulated ? speed.value : std::nullopt;
}

void add_costs(const ModeResult& mode, VerdictSection& section) {
  if (const Number speed = measured_speed(mode))
    section.costs.push_back(fmt::format("time: {:.3g} × fp32's speed [{}]", *speed, name(mode.speed.provenance)));
  else
    section.costs.emplace_back("time: unknown; this device carries the mode out in software, or the step was not timed");
  if (mode.memory_ratio.value)
    section.costs.push_back(fmt::format("memory: {:.3g} × fp32's peak [{}]", *mode.memory_ratio.value, name(mode.memory_ratio.provenance)));
  if (mode.distance.value)
    section.costs.push_back(fmt::format("{}: {:+.3g} against fp32 [{}]", mode.metric, *mode.distance.value, name(mode.distance.provenance)));
  if (mode.skipped.value.value_or(0.0) > 0.0)
    section.costs.push_back(fmt::format("{:.0f} of {:.0f} steps were skipped [counted]", *mode.skipped.value,
                                        *mode.skipped.value + mode.applied.value.value_or(0.0)));
}

void add_caveats(const Comparison& comparison, const std::vector<ReportRun>& runs, VerdictSection& section) {
  std::set<std::string> emulated, non_standard, live, cut;
  for (const ReportRun& run : runs) {
    const ModeResult& mode = comparison.modes[run.mode_index];
    if (run.emulated) emulated.insert(run.mode_label);
    if (!mode.sums.empty()) non_standard.insert(fmt::format("{} has the sums of {}'s matrix units, emulated", run.mode_label, mode.sums));
    for (const std::string& knob : mode.non_standard) non_standard.insert(fmt::format("{}: non-standard: {}", run.mode_label, knob));
    if (run.live) live.insert(run.label);
    if (run.cut_off) cut.insert(run.label);
  }
  if (!emulated.empty())
    section.caveats.push_back(fmt::format("emulated: {} {} carried out in software on this device; times of {} say nothing of hardware. Losses, overflows and memory are {} own.",
                                          fmt::join(emulated, ", "), emulated.size() == 1 ? "was" : "were", emulated.size() == 1 ? "it" : "them",
                                          emulated.size() == 1 ? "its" : "their"));
  for (const std::string& words : non_standard) section.caveats.push_back(words);
  if (!live.empty()) section.caveats.push_back(fmt::format("still running when this was written: {}", fmt::join(live, "; ")));
  if (!cut.empty()) section.caveats.push_back(fmt::format("cut off, and its end is missing: {}", fmt::join(cut, "; ")));
}

std::string labels(const std::vector<const ModeStanding*>& modes) {
  std::vector<std::string> names;
  for (const ModeStanding* mode : modes) names.push_back(mode->label);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Of one setting: its modes beside fp32.
void decide(const Comparison& comparison, VerdictSection& section) {
  std::vector<const ModeStanding*> possible, unclear, refused;
  const ModeStanding* fp32 = nullptr;
  for (const ModeStanding& standing : section.modes) {
    const ModeResult& mode = comparison.modes[standing.mode];
    if (mode.judgement.verdict == Verdict::reference || mode.mode == "fp32") {
      if (fp32 == nullptr) fp32 = &standing;
    } else if (standing.possible) {
      possible.push_back(&standing);
    } else {
      (mode.judgement.verdict == Verdict::undecided && mode.sums.empty() && !sick(standing) ? unclear : refused).push_back(&standing);
    }
  }
  for (const ModeStanding* mode : possible) section.why.push_back(fmt::format("{}: {}: {}", mode->label, name(comparison.modes[mode->mode].judgement.verdict), comparison.modes[mode->mode].judgement.reason));
  for (const ModeStanding* mode : unclear) section.why.push_back(fmt::format("{}: {}", mode->label, mode->against));
  for (const ModeStanding* mode : refused) section.why.push_back(fmt::format("{}: {}", mode->label, mode->against));
  if (fp32 == nullptr) {
    section.sentence = "Undecided: there is no fp32 run to hold the others against.";
    section.would_change.emplace_back("runs of fp32 with the same seeds");
    return;
  }
  if (sick(*fp32)) {
    section.sentence = fmt::format("Undecided: fp32 itself does not come through, so nothing can be held against it: {}", fp32->health);
    section.would_change.emplace_back("settings that fp32 trains with: what is wrong in fp32 is no matter of a precision mode");
    return;
  }
  if (possible.empty() && unclear.empty() && refused.empty()) {
    section.sentence = "Undecided: only fp32 was run.";
    section.would_change.emplace_back("runs of tf32, fp16 and bf16 with the same seeds, three of each");
    return;
  }
  if (possible.empty()) {
    if (!unclear.empty()) {
      section.sentence = fmt::format("Undecided: the evidence carries no verdict on {}{}.", labels(unclear),
                                     refused.empty() ? "" : fmt::format("; {} {} out", labels(refused), refused.size() == 1 ? "is" : "are"));
      section.would_change.push_back(fmt::format("{} seeds or more of each mode and of fp32, so that the difference can be held against the noise between seeds", least_pairs));
      return;
    }
    section.mode = fp32->label;
    section.sentence = fmt::format("{}: no other mode that was run keeps its result.", fp32->label);
    section.would_change.emplace_back("a change that mends what is wrong with them: ulpscope mend tries it");
    return;
  }
  const ModeStanding* fastest = nullptr;
  for (const ModeStanding* mode : possible) {
    const Number speed = measured_speed(comparison.modes[mode->mode]);
    if (speed && (fastest == nullptr || *speed > *measured_speed(comparison.modes[fastest->mode]))) fastest = mode;
  }
  if (fastest == nullptr) {
    section.sentence = fmt::format("Undecided: {} keep{} fp32's result, and which mode is fastest is not known: no time was measured on hardware that has {}.",
                                   labels(possible), possible.size() == 1 ? "s" : "", possible.size() == 1 ? "it" : "them");
    section.would_change.emplace_back("the same experiment timed on the GPU it is meant for; ulpscope project says what its table entry promises");
    return;
  }
  const ModeResult& winner = comparison.modes[fastest->mode];
  const double speed = *measured_speed(winner);
  if (speed < worthwhile_speed_up) {
    section.mode = fp32->label;
    section.sentence = fmt::format("{}: {} keep{} its result, and none of them is worth it: the fastest is {:.3g} × as fast.", fp32->label, labels(possible),
                                   possible.size() == 1 ? "s" : "", speed);
    section.would_change.emplace_back("a larger batch, or a device that gains more: ulpscope time says what bounds the step here");
    return;
  }
  section.mode = fastest->label;
  section.sentence = fmt::format("{}: it keeps fp32's result and is {:.3g} × as fast.", fastest->label, speed);
  add_costs(winner, section);
  section.would_change.emplace_back("longer training or more seeds that show a difference in the loss beyond fp32's own noise");
  if (!unclear.empty()) section.would_change.push_back(fmt::format("a verdict on {}, which the evidence does not carry", labels(unclear)));
}

}  // namespace

VerdictSection verdict_section(const Comparison& comparison, const std::vector<ReportRun>& runs, const std::vector<Diagnosis>& diagnoses) {
  VerdictSection section;
  for (std::size_t i = 0; i < comparison.modes.size(); ++i) section.modes.push_back(standing_of(i, comparison.modes[i], runs, diagnoses));
  add_caveats(comparison, runs, section);
  if (comparison.settings.size() > 1) {
    section.sentence = "Undecided: the runs are of several experiments or devices, which are not held against each other.";
    section.would_change.emplace_back("a report of the files of one experiment on one device");
    for (const ModeStanding& mode : section.modes)
      section.why.push_back(fmt::format("{}: {}: {}", mode.label, name(comparison.modes[mode.mode].judgement.verdict), comparison.modes[mode.mode].judgement.reason));
    return section;
  }
  decide(comparison, section);
  return section;
}

}  // namespace ulpscope::reports
