#include "reports/analysis/advice_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ulpscope::reports::advice_parts {
namespace {

void add(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

const ModeAdvice* find(const std::vector<ModeAdvice>& modes, const std::string& name) {
  const auto found = std::find_if(modes.begin(), modes.end(), [&](const ModeAdvice& m) { return m.evidence.mode == name; });
  return found == modes.end() ? nullptr : &*found;
}

bool mixed(const std::string& mode) { return (mode.starts_with("fp16") || mode.starts_with("bf16")) && !mode.ends_with("_pure"); }

/// A share of fp32's memory.
constexpr double felt_memory = 0.01;

std::string count(double value) { return value < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g} million", value * 1e-6); }

/// Memory of the winner held against fp32's: the plans', as the context's share is no matter of the mode.
std::string memory_words(const ModeEvidence& mode, const ModeEvidence& fp32) {
  if (!mode.plan_bytes || !fp32.plan_bytes || *fp32.plan_bytes <= 0) return "";
  const double own = static_cast<double>(*mode.plan_bytes), whole = static_cast<double>(*fp32.plan_bytes), less = whole - own;
  const double share = less / whole;
  if (share < -felt_memory) return "";  // that is said, with the reason
  if (share <= felt_memory) return fmt::format("memory: {}, a plan of {}", less == 0.0 ? "the same as fp32" : "as fp32, within 1 %", gb(own));
  return fmt::format("memory: {} less than fp32 (a plan of {} against {}, {:.0f} % less{})", gb(less), gb(own), gb(whole), 100.0 * share,
                     mixed(mode.mode) && share < 0.45 ? "; not half: weights, gradients and optimizer state stay fp32" : "");
}

/// Case 49: where the copies of weights are more than what activations save, by what can be felt. Without the mode's name.
std::string more_memory(const ModeEvidence& mode, const ModeEvidence& fp32) {
  if (!mixed(mode.mode) || !mode.memory.value || !fp32.memory.value || *mode.memory.value <= (1.0 + felt_memory) * *fp32.memory.value) return "";
  std::string text = fmt::format("{} more memory than fp32, not less: 16-bit copies of the weights", gb(*mode.memory.value - *fp32.memory.value));
  text += mode.parameters ? fmt::format(" (2 bytes each of {} parameters, {})", count(static_cast<double>(*mode.parameters)), gb(2.0 * static_cast<double>(*mode.parameters))) : "";
  return text + " outweigh what activations save; a larger batch turns that round";
}

std::string skipped_words(const ModeEvidence& e) {
  std::string text = "a loss scaler";
  if (e.skipped.value && e.steps.value) text += fmt::format(": {:.0f} of {:.0f} steps were skipped [{}]", *e.skipped.value, *e.steps.value, name(e.skipped.provenance));
  return text;
}

std::string missing_modes(const std::vector<ModeAdvice>& modes, const Gpu& gpu) {
  std::vector<std::string> missing;
  for (const char* mode : {"tf32", "fp16", "bf16"})
    if (find(modes, mode) == nullptr && how_it_runs(gpu, mode).support == Support::native) missing.emplace_back(mode);
  if (missing.empty()) return "";
  return fmt::format("{} {} native there and not weighed: --modes {} plans {}, ulpscope run trains {}", fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are", fmt::join(missing, ","),
                     missing.size() == 1 ? "it" : "them", missing.size() == 1 ? "it" : "them");
}

/// What a mode that did not win lacks.
void add_mode_changes(std::vector<std::string>& list, const ModeAdvice& m) {
  const ModeEvidence& e = m.evidence;
  if (e.fits == Fits::no || e.fits == Fits::maybe) {
    if (e.largest_batch && *e.largest_batch > 0 && e.batch && *e.largest_batch < *e.batch) add(list, fmt::format("a batch of {} or less: {} fits for certain then", *e.largest_batch, e.mode));
    else if (e.largest_batch == 0) add(list, fmt::format("train.recompute (less memory, more work): not even a batch of 1 fits in {}", e.mode));
    else add(list, fmt::format("a smaller batch, or train.recompute: {} needs less memory then", e.mode));
  }
  if (!e.mend.empty()) add(list, fmt::format("{} with a change that was run and mends it: {}", e.mode, e.mend));
  else if (!e.from.empty() && (e.overflow.known == Known::found || !e.diverged.empty() || e.other.known == Known::found)) add(list, fmt::format("a change that mends {} (ulpscope mend tries them)", e.mode));
  if (e.mode.starts_with("fp16") && e.scaling_known && !e.scaled && e.flushed.known == Known::found) add(list, fmt::format("a loss scaler for {}", e.mode));
  if (e.lost.known == Known::found && e.mode.ends_with("_pure")) add(list, fmt::format("an fp32 master copy (mode {}), or stochastic rounding, for {}", e.mode.substr(0, 4), e.mode));
}

}  // namespace

std::string or_else(const std::string& words, const char* otherwise) { return words.empty() ? otherwise : words; }

std::string gb(double bytes) {
  const double size = std::fabs(bytes);
  return size < 0.9995e9 ? (size < 0.9995e6 ? fmt::format("{:.3g} kB", bytes * 1e-3) : fmt::format("{:.3g} MB", bytes * 1e-6)) : fmt::format("{:.3g} GB", bytes * 1e-9);
}

std::string gain_words(const ModeAdvice& m) {
  if (!m.speed.value) return "its time is not known";
  return fmt::format("{:.2f} x fp32's speed ({:.2f}…{:.2f}) [{}]", *m.speed.value, m.speed.low.value_or(*m.speed.value), m.speed.high.value_or(*m.speed.value), name(m.speed.provenance));
}

std::string loss_words(const ModeEvidence& e) {
  return fmt::format("loss {} fp32's seed noise{} [{}]", e.verdict == Verdict::better ? "better, beyond" : "inside", e.pairs > 0 ? fmt::format(", {} seeds", e.pairs) : "", name(Provenance::computed));
}

std::string seeds_words(const std::string& mode) {
  if (mode.empty()) return fmt::format("{0} seeds of each mode (ulpscope run … --seeds {0}): a verdict on the loss", least_pairs);
  if (mode == "fp32") return fmt::format("fp32 trained beside the others, {0} seeds of each (ulpscope run … --seeds {0})", least_pairs);
  return fmt::format("{} trained beside fp32, {} seeds of each (ulpscope run … --seeds {})", mode, least_pairs, least_pairs);
}

void add_costs(DeviceAdvice& advice) {
  const ModeAdvice* winner = find(advice.modes, advice.winner);
  const ModeAdvice* fp32 = find(advice.modes, "fp32");
  if (winner == nullptr) return;
  const ModeEvidence& e = winner->evidence;
  if (winner != fp32) {
    if (fp32 != nullptr)
      if (std::string words = memory_words(e, fp32->evidence); !words.empty()) advice.costs.push_back(std::move(words));
    if (e.scaled) advice.costs.push_back(skipped_words(e));
    if (e.mode.ends_with("_pure")) advice.costs.emplace_back("no fp32 master weights: small updates are lost where lr is small beside the weights");
    for (const std::string& words : winner->against) add(advice.costs, words);
    return;
  }
  // What is left on the table.
  for (const ModeAdvice& m : advice.modes)
    if (&m != winner && m.refused.empty())
      if (const std::string words = memory_words(m.evidence, e); words.find(" less ") != std::string::npos) advice.costs.push_back(fmt::format("{} would save {}", m.evidence.mode, words));
}

void add_changes(DeviceAdvice& advice, const Gpu& gpu) {
  for (const ModeAdvice& m : advice.modes) {
    const ModeEvidence& e = m.evidence;
    const bool there = m.there.support == Support::native;
    if (!there || e.mode == advice.winner) continue;
    add_mode_changes(advice.would_change, m);
    if (m.refused.empty() && e.mode != "fp32" && m.speed.value && *m.speed.low < least_speed_up && *m.speed.high >= least_speed_up && advice.winner == "fp32" &&
        m.speed.provenance == Provenance::projected)
      add(advice.would_change, fmt::format("a run measured on {}: {} may gain ({})", gpu.name, e.mode, gain_words(m)));
    if (m.refused.empty() && e.mode != "fp32" && e.launch_share.value_or(0.0) > launch_bound_share && m.speed.value.value_or(1.0) < least_speed_up)
      add(advice.would_change, "a larger batch: the step waits for launches");
    if (m.refused.empty() && e.trained && e.mode != "fp32" && e.verdict == Verdict::undecided && e.pairs < least_pairs && advice.winner != "fp32") add(advice.would_change, seeds_words(""));
  }
  if (const ModeAdvice* winner = find(advice.modes, advice.winner)) {
    add_mode_changes(advice.would_change, *winner);
    if (winner->speed.provenance == Provenance::projected && winner->evidence.mode != "fp32" && advice.outcome == AdviceOutcome::recommended)
      add(advice.would_change, fmt::format("a run measured on {}: the gain is projected", gpu.name));
  }
  if (const std::string words = missing_modes(advice.modes, gpu); !words.empty()) add(advice.would_change, words);
  if (gpu.fma_of(Rate::fp16_vector) && !gpu.fma_of(Rate::fp16)) add(advice.would_change, "fp16 measured on it: storage in 16 bits, and fast vectors, may help where memory limits");
}

void add_numeric_changes(DeviceAdvice& advice) {
  add(advice.would_change, "a GPU named with --gpu");
  bool few = false;
  for (const ModeAdvice& m : advice.modes) {
    few |= m.refused.empty() && m.evidence.mode != "fp32" && m.evidence.verdict == Verdict::undecided && m.evidence.pairs < least_pairs;
    add_mode_changes(advice.would_change, m);
  }
  if (few) add(advice.would_change, seeds_words(""));
  if (advice.modes.size() == 1) add(advice.would_change, seeds_words("the other modes"));
}

void add_said(DeviceAdvice& advice) {
  const ModeAdvice* fp32 = find(advice.modes, "fp32");
  std::map<std::string, std::vector<std::string>> larger;
  for (const ModeAdvice& m : advice.modes) {
    const ModeEvidence& e = m.evidence;
    if (e.weights_in_16_bits)
      add(advice.said, fmt::format("the weights came in 16 bits{}: their fp32 master is missing, and what was rounded away does not come back. A mixed mode makes a new one (+4 bytes a parameter{}), a pure mode has none",
                                   e.weights_words.empty() ? "" : " (" + e.weights_words + ")", e.parameters ? fmt::format(", {}", gb(4.0 * static_cast<double>(*e.parameters))) : ""));
    if (e.cast_share.value_or(0.0) > large_cast_share)
      add(advice.said, fmt::format("{}: casts hold {:.0f} % of the planned peak{}", e.mode, 100.0 * *e.cast_share, e.cast_words.empty() ? ": cast before what is broadcast is expanded" : "; " + e.cast_words));
    if (fp32 != nullptr && &m != fp32 && (advice.device.empty() || m.there.support == Support::native))
      if (std::string words = more_memory(e, fp32->evidence); !words.empty()) larger[words].push_back(e.mode);
    if (e.mode == "tf32" && m.there.support == Support::no_gain) add(advice.said, "tf32 is no gain there: " + m.there.why);
    if (e.mode == advice.winner && e.mode.starts_with("fp16") && e.scaling_known && !e.scaled) add(advice.said, fmt::format("{} was trained without a loss scaler; the settings for PyTorch below bring one", e.mode));
  }
  for (const auto& [words, modes] : larger) add(advice.said, fmt::format("{} need{} {}", fmt::join(modes, ", "), modes.size() == 1 ? "s" : "", words));
}

}  // namespace ulpscope::reports::advice_parts
