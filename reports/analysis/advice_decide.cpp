// The decision: what is refused, who wins, and whether the evidence carries it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/analysis/advice_rank.h"
#include "reports/analysis/advice_words.h"

namespace ulpscope::reports {
namespace {

using advice_parts::Candidates;
using advice_parts::gain_words;
using advice_parts::leader;
using advice_parts::may_not_fit;
using advice_parts::or_else;
using advice_parts::proven;
using advice_parts::Ranking;
using advice_parts::ranking_of;
using advice_parts::timed;

bool is_fp16(const ModeEvidence& e) { return e.mode.starts_with("fp16"); }

void set_speeds(std::vector<ModeAdvice>& modes) {
  const auto fp32 = std::find_if(modes.begin(), modes.end(), [](const ModeAdvice& m) { return m.evidence.mode == "fp32"; });
  if (fp32 == modes.end()) return;
  for (ModeAdvice& m : modes) {
    // A measured time and a projected one are not held against each other.
    const bool measured = fp32->evidence.measured.value && m.evidence.measured.value;
    m.speed = advice_parts::ratio_of_times(fp32->evidence, m.evidence, measured ? &ModeEvidence::measured : &ModeEvidence::projected);
    if (&m == &*fp32 && m.speed.value) m.speed.low = m.speed.high = 1.0;
  }
}

/// fp16 where vectors in it are fast and there are no matrix units (P100): a run on that part can show a gain, nothing else can.
bool shown_by_measurement(const ModeAdvice& m, const Gpu& gpu) {
  return m.there.support == Support::emulated && is_fp16(m.evidence) && gpu.fma_of(Rate::fp16_vector) && m.speed.provenance == Provenance::measured && m.speed.low &&
         *m.speed.low >= least_speed_up;
}

void refuse_on_device(ModeAdvice& m, const Gpu& gpu) {
  const ModeEvidence& e = m.evidence;
  const auto no = [&](std::string why) { m.refused.push_back(std::move(why)); };
  switch (m.there.support) {
    case Support::emulated:
      if (!shown_by_measurement(m, gpu)) no(fmt::format("emulated on {}: {}", gpu.name, m.there.why));
      break;
    case Support::absent: no(fmt::format("absent on {}: {}", gpu.name, m.there.why)); break;
    case Support::unknown: no(fmt::format("not known on {}: {}", gpu.name, m.there.why)); break;
    case Support::no_effect: no(fmt::format("no effect: {}", m.there.why)); break;
    case Support::no_gain: no(fmt::format("no gain: {}", m.there.why)); break;
    case Support::native: break;
  }
  if (e.mode.ends_with("+tf32")) {
    const ModeSupport tf32 = how_it_runs(gpu, "tf32");
    if (tf32.support != Support::native) no(fmt::format("tf32 beside it: {}; {} is the same without it", tf32.why, e.mode.substr(0, e.mode.find('+'))));
  }
  if (e.fits == Fits::no) no(fmt::format("does not fit: it needs {} at least, {} has {}", advice_parts::gb(e.memory.low.value_or(0.0)), gpu.name, advice_parts::gb(gpu.greatest_memory_bytes())));
}

std::string foreseen_or_found(const Trouble& finding, const char* what) {
  return fmt::format("{} {}: {}", what, finding.provenance == Provenance::projected ? "foreseen" : "found", or_else(finding.words, "no more is known"));
}

void refuse_by_numerics(ModeAdvice& m) {
  const ModeEvidence& e = m.evidence;
  if (!e.diverged.empty()) m.refused.push_back(e.diverged);
  if (e.verdict == Verdict::worse) m.refused.push_back(fmt::format("worse than fp32 beyond seed noise{}", e.verdict_words.empty() ? "" : ": " + e.verdict_words));
  const bool bare = is_fp16(e) && e.scaling_known && !e.scaled && e.flushed.known == Known::found;
  if (bare) m.refused.push_back(fmt::format("no loss scaler, and gradients {} flushed: {}", e.flushed.provenance == Provenance::projected ? "will be" : "are", or_else(e.flushed.words, "they become zero")));
  // These are refused too, but for a loss that was shown to be inside seed noise all the same.
  std::vector<std::string>& place = e.mode != "fp32" && proven(e) ? m.against : m.refused;
  if (e.overflow.known == Known::found && e.diverged.empty()) place.push_back(foreseen_or_found(e.overflow, "overflow"));
  if (e.no_scale.known == Known::found) place.push_back(fmt::format("no one loss scale suits its backward pass{}", e.no_scale.words.empty() ? "" : ": " + e.no_scale.words));
  if (!bare && e.flushed.known == Known::found) place.push_back(foreseen_or_found(e.flushed, "flushed gradients"));
  if (e.lost.known == Known::found) place.push_back(foreseen_or_found(e.lost, "lost updates"));
  if (e.other.known == Known::found) place.push_back(foreseen_or_found(e.other, "damage"));
}

void weigh(ModeAdvice& m, bool on_device) {
  const ModeEvidence& e = m.evidence;
  if (on_device && e.fits == Fits::maybe) m.against.emplace_back("it may not fit: its need lies within the uncertainty of what the device has");
  if (on_device && e.fits == Fits::unknown && may_not_fit(e)) m.against.emplace_back("its memory is not known: it may not fit");
  if (!e.non_standard.empty()) m.against.push_back(fmt::format("its run was non-standard: {}", fmt::join(e.non_standard, ", ")));
  if (e.mode == "fp32") return;
  if (!e.trained) m.against.push_back(e.unfinished.empty() ? std::string("not trained: its loss is not known") : e.unfinished);
  else if (e.verdict == Verdict::undecided) m.against.push_back(fmt::format("loss against fp32 undecided: {}", or_else(e.verdict_words, "too few seeds")));
  else if (proven(e)) m.in_favour.push_back(advice_parts::loss_words(e));
  if (on_device && m.speed.value) m.in_favour.push_back(gain_words(m));
}

std::string doubtful_fit(const ModeEvidence& e) { return e.fits == Fits::maybe ? "it may not fit" : "whether it fits is not known"; }

/// Why the lead of a mode other than fp32 is not certain; and what would make it so. Empty: it is.
struct Doubt {
  std::string why{}, decided_by{};
  bool none() const { return why.empty(); }
};
Doubt doubt(const ModeAdvice& m, const ModeAdvice* fp32) {
  const ModeEvidence& e = m.evidence;
  if (!e.trained) return {e.unfinished.empty() ? "it was not trained: its loss is not known" : e.unfinished, e.unfinished.empty() ? advice_parts::seeds_words(e.mode) : "ulpscope run FILE --resume: its run to the end"};
  if (fp32 == nullptr) return {"there is no fp32 run to hold its loss against", advice_parts::seeds_words("fp32")};
  if (!proven(e)) return {fmt::format("its loss against fp32 is undecided ({})", or_else(e.verdict_words, "too few seeds")), e.pairs < least_pairs ? advice_parts::seeds_words("") : "more seeds, or more steps: the difference is within reach of the noise, and not inside it"};
  if (!e.non_standard.empty()) return {"its run was non-standard", "a run without the non-standard knobs"};
  if (!m.against.empty() && (e.overflow.known == Known::found || e.flushed.known == Known::found || e.lost.known == Known::found || e.other.known == Known::found || e.no_scale.known == Known::found))
    return {fmt::format("its loss is inside seed noise, and yet {}", m.against.front()), "a longer run, or a change that takes the fault away (ulpscope mend)"};
  if (is_fp16(e) && !e.scaled && e.flushed.known == Known::unknown)
    return {fmt::format("{}, and whether gradients are flushed was not observed", e.scaling_known ? "it has no loss scaler" : "whether it has a loss scaler is not on record"), "observed steps (observe.every), or a loss scaler"};
  if (may_not_fit(e)) return {doubtful_fit(e), e.fits == Fits::maybe ? "a smaller batch, or a run on the device" : "its plan (ulpscope plan), or a run on the device"};
  // No gain has to be shown over what is not possible, or may not be.
  if (!fp32->refused.empty() || may_not_fit(fp32->evidence)) return {};
  if (!m.speed.value && e.measured.value) return {"what it gains is not known: fp32 was not measured there", "a run of fp32 measured on the device"};
  if (!m.speed.value) return {fmt::format("its time is not known{}", e.no_time.empty() ? "" : ": " + e.no_time), "a run measured on the device"};
  if (*m.speed.low < least_speed_up) return {fmt::format("its gain is not certain: {}", gain_words(m)), "a run measured on the device"};
  return {};
}

void add_change(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void none_left(DeviceAdvice& advice, const ModeAdvice* fp32) {
  advice.outcome = AdviceOutcome::none;
  const bool all_too_large = std::all_of(advice.modes.begin(), advice.modes.end(), [](const ModeAdvice& m) { return m.evidence.fits == Fits::no; });
  if (all_too_large) advice.reason = "no mode fits";
  else if (fp32 != nullptr && fp32->evidence.fits != Fits::no) advice.reason = fmt::format("every mode is refused, fp32 too ({}): that is no matter of precision", fp32->refused.front());
  else advice.reason = fp32 == nullptr ? "every mode that was weighed is refused, and fp32 was not" : "every mode is refused";
  if (fp32 == nullptr) add_change(advice.would_change, advice_parts::seeds_words("fp32"));
}

/// Of those that were not measured where others were, the one that is projected to gain most, and above 5 %; null: none.
const ModeAdvice* projected_gain(const Candidates& candidates) {
  const ModeAdvice* most = nullptr;
  for (const ModeAdvice* m : candidates)
    if (!m->evidence.measured.value && m->speed.value.value_or(0.0) >= least_speed_up && (most == nullptr || *m->speed.value > *most->speed.value)) most = m;
  return most;
}

void fp32_leads(DeviceAdvice& advice, const Candidates& candidates, const ModeAdvice& fp32) {
  std::vector<std::string> untimed;
  bool launches = false, possible = false;
  for (const ModeAdvice* m : candidates) {
    if (m == &fp32) continue;
    if (!m->speed.value) untimed.push_back(m->evidence.mode);
    possible |= m->speed.high.value_or(0.0) >= least_speed_up;
    launches |= m->evidence.launch_share.value_or(0.0) > launch_bound_share;
  }
  const ModeAdvice* open = projected_gain(candidates);
  if (advice.modes.size() == 1) {
    advice.reason = "fp32 alone was run: there is nothing to choose from";
    add_change(advice.would_change, advice_parts::seeds_words("the other modes"));
  } else if (!fp32.evidence.trained) {
    advice.reason = or_else(fp32.evidence.unfinished, "fp32 was not trained");
    add_change(advice.would_change, advice_parts::seeds_words(""));
  } else if (!untimed.empty()) {
    advice.reason = fmt::format("what {} would gain is not known", fmt::join(untimed, ", "));
    add_change(advice.would_change, "a run measured on the device");
  } else if (open != nullptr) {
    advice.reason = fmt::format("no mode that was measured gains 5 %, but {} was not measured: {}", open->evidence.mode, gain_words(*open));
    add_change(advice.would_change, fmt::format("a run of {} measured on the device", open->evidence.mode));
  } else if (may_not_fit(fp32.evidence)) {
    const bool planned = fp32.evidence.fits == Fits::maybe;
    advice.reason = fmt::format("{}, and no other mode gains 5 %", planned ? "fp32 may not fit" : "whether fp32 fits is not known");
    add_change(advice.would_change, planned ? "a smaller batch, or a run on the device" : "a plan of fp32 (ulpscope plan), or a run on the device");
  } else {
    advice.outcome = AdviceOutcome::recommended;
    const char* what = possible ? "no other mode is shown to gain 5 %" : "no other mode gains 5 %";
    advice.reason = candidates.size() == 1 ? "every other mode is refused" : fmt::format("{}{}", what, launches ? ": the step waits for launches" : "");
  }
}

std::string won_by(const ModeAdvice& m, const ModeAdvice* fp32) {
  if (fp32 != nullptr && !fp32->refused.empty()) return fmt::format("fp32 is refused ({}), and it has {}", fp32->refused.front(), advice_parts::loss_words(m.evidence));
  if (fp32 != nullptr && may_not_fit(fp32->evidence) && m.speed.low.value_or(0.0) < least_speed_up)
    return fmt::format("it fits, and {}; {}", fp32->evidence.fits == Fits::maybe ? "fp32 may not" : "whether fp32 does is not known", advice_parts::loss_words(m.evidence));
  return fmt::format("{}; {}", gain_words(m), advice_parts::loss_words(m.evidence));
}

/// Those of which gain and loss are known.
Candidates certain(Candidates candidates, const ModeAdvice* fp32) {
  std::erase_if(candidates, [&](const ModeAdvice* m) { return m->evidence.mode == "fp32" || !doubt(*m, fp32).none(); });
  return candidates;
}

/// Measured times of some and projected ones of others rank nothing.
Doubt unranked(const Candidates& candidates) {
  if (ranking_of(candidates).by != nullptr) return {};
  std::vector<std::string> measured, projected;
  for (const ModeAdvice* m : candidates)
    if (timed(*m)) (m->evidence.measured.value ? measured : projected).push_back(m->evidence.mode);
  return {fmt::format("times of one kind are not known of all: {} measured, {} projected alone", fmt::join(measured, ", "), fmt::join(projected, ", ")), fmt::format("a run of {} measured on the device", fmt::join(projected, ", "))};
}

void set_runner_up(DeviceAdvice& advice, const Candidates& candidates, const ModeAdvice& first, const Ranking& ranking) {
  Ranking others = ranking;
  std::erase(others.among, &first);
  if (others.among.empty()) {
    others = {candidates, ranking.by};
    std::erase(others.among, &first);
  }
  const ModeAdvice* second = leader(others);
  if (second == nullptr) return;
  advice.runner_up = second->evidence.mode;
  if (ranking.by != nullptr) advice.margin = advice_parts::ratio_of_times(second->evidence, first.evidence, ranking.by);
}

void name_the_unranked(DeviceAdvice& advice, const Candidates& candidates, const Ranking& ranking, const ModeAdvice& first) {
  for (const ModeAdvice* m : candidates) {
    if (m == &first) continue;
    if (!timed(*m)) add_change(advice.would_change, fmt::format("{}, whose time is not known: a run measured on the device", m->evidence.mode));
    else if (ranking.by == &ModeEvidence::measured && !m->evidence.measured.value && m->speed.value.value_or(0.0) > first.speed.value.value_or(0.0))
      add_change(advice.would_change, fmt::format("{} measured there: it may be faster ({}), and what is measured goes before what is projected", m->evidence.mode, gain_words(*m)));
  }
}

void decide(DeviceAdvice& advice, const Candidates& candidates, const ModeAdvice* fp32) {
  Ranking ranking = ranking_of(candidates);
  const ModeAdvice* first = leader(ranking);
  if (first == nullptr) return none_left(advice, fp32);
  if (first->evidence.mode == "fp32") {
    fp32_leads(advice, candidates, *first);
  } else {
    Doubt why = doubt(*first, fp32);
    const Ranking known = ranking_of(why.none() ? Candidates{} : certain(candidates, fp32));
    if (why.none()) why = unranked(candidates);
    if (why.none()) {
      advice.outcome = AdviceOutcome::recommended;
      advice.reason = won_by(*first, fp32);
    } else if (const ModeAdvice* next = leader(known); next != nullptr && known.by != nullptr) {
      add_change(advice.would_change, fmt::format("{}{}: {}; {}", first->evidence.mode, first->speed.value ? fmt::format(" may be faster ({})", gain_words(*first)) : " may be faster", why.why, why.decided_by));
      advice.outcome = AdviceOutcome::recommended;
      advice.reason = won_by(*next, fp32);
      first = next;
      ranking.by = known.by;
    } else {
      advice.reason = fmt::format("it leans to {}, but {}", first->evidence.mode, why.why);
      add_change(advice.would_change, why.decided_by);
    }
    name_the_unranked(advice, candidates, ranking, *first);
  }
  advice.winner = first->evidence.mode;
  set_runner_up(advice, candidates, *first, ranking);
}

const ModeAdvice* find_fp32(const std::vector<ModeAdvice>& modes) {
  const auto found = std::find_if(modes.begin(), modes.end(), [](const ModeAdvice& m) { return m.evidence.mode == "fp32"; });
  return found == modes.end() ? nullptr : &*found;
}

Candidates not_refused(const std::vector<ModeAdvice>& modes) {
  Candidates candidates;
  for (const ModeAdvice& m : modes)
    if (m.refused.empty()) candidates.push_back(&m);
  return candidates;
}

}  // namespace

std::string_view name(Known value) {
  constexpr std::string_view names[] = {"unknown", "clean", "found"};
  return names[static_cast<std::size_t>(value)];
}

std::string_view name(AdviceOutcome outcome) {
  constexpr std::string_view names[] = {"recommended", "undecided", "none"};
  return names[static_cast<std::size_t>(outcome)];
}

DeviceAdvice advise_on(const Gpu& gpu, const std::vector<ModeEvidence>& modes) {
  DeviceAdvice advice{.asked = gpu.name, .device = gpu.name};
  for (const ModeEvidence& evidence : modes) advice.modes.push_back({.evidence = evidence, .there = how_it_runs(gpu, evidence.mode)});
  set_speeds(advice.modes);
  for (ModeAdvice& m : advice.modes) {
    refuse_on_device(m, gpu);
    refuse_by_numerics(m);
    weigh(m, true);
  }
  decide(advice, not_refused(advice.modes), find_fp32(advice.modes));
  advice_parts::add_costs(advice);
  advice_parts::add_changes(advice, gpu);
  advice_parts::add_said(advice);
  if (!advice.winner.empty()) advice.settings = framework_settings(advice.winner);
  return advice;
}

DeviceAdvice advise_numerics(const std::vector<ModeEvidence>& modes) {
  DeviceAdvice advice;
  for (const ModeEvidence& evidence : modes) advice.modes.push_back({.evidence = evidence});
  for (ModeAdvice& m : advice.modes) {
    refuse_by_numerics(m);
    weigh(m, false);
  }
  std::vector<std::string> left, open;
  for (const ModeAdvice* m : not_refused(advice.modes)) (proven(m->evidence) ? left : open).push_back(m->evidence.mode);
  advice.reason = "no GPU is named, and other machines' times say nothing of one";
  if (!left.empty()) advice.reason += fmt::format("; by their numerics {} can be used", fmt::join(left, ", "));
  if (!open.empty()) advice.reason += fmt::format("; open: {}", fmt::join(open, ", "));
  if (left.empty() && open.empty()) {
    advice.outcome = AdviceOutcome::none;
    const ModeAdvice* fp32 = find_fp32(advice.modes);
    none_left(advice, fp32);
  }
  advice_parts::add_numeric_changes(advice);
  advice_parts::add_said(advice);
  return advice;
}

}  // namespace ulpscope::reports
