#include "reports/analysis/advice_rank.h"

#include <algorithm>
#include <array>

namespace ulpscope::reports::advice_parts {
namespace {

/// What needs least care first.
std::size_t care(const std::string& mode) {
  static const std::array<std::string, 9> order{"fp32", "tf32", "bf16", "fp16", "bf16+tf32", "fp16+tf32", "bf16_pure", "fp16_pure", "fp8"};
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), mode) - order.begin());
}

bool has(const ModeAdvice& m, TimeOf by) { return (m.evidence.*by).value.value_or(0.0) > 0.0; }

/// Speeds to rank by. What has no time counts as fp32 does, and last where fp32 is no candidate; without a common time each by what it gains
/// over fp32: that is to lean by, not to decide.
std::vector<double> speeds(const Ranking& ranking) {
  double unknown = 0.0;
  if (ranking.by != nullptr)
    for (const ModeAdvice* m : ranking.among)
      if (const Number& seconds = (m->evidence.*ranking.by).value; m->evidence.mode == "fp32") unknown = seconds ? 1.0 / *seconds : 0.0;
  std::vector<double> list;
  for (const ModeAdvice* m : ranking.among) {
    const Number seconds = ranking.by == nullptr ? std::nullopt : (m->evidence.*ranking.by).value;
    list.push_back(ranking.by == nullptr ? m->speed.value.value_or(1.0) : seconds ? 1.0 / *seconds : unknown);
  }
  return list;
}

}  // namespace

bool timed(const ModeAdvice& m) { return m.evidence.measured.value || m.evidence.projected.value; }

bool may_not_fit(const ModeEvidence& e) { return e.fits == Fits::maybe || (e.fits == Fits::unknown && !e.measured.value); }

bool proven(const ModeEvidence& e) { return e.trained && (e.mode == "fp32" || e.verdict == Verdict::inside || e.verdict == Verdict::better); }

Ranking ranking_of(const Candidates& candidates) {
  Ranking measured{.by = &ModeEvidence::measured};
  for (const ModeAdvice* m : candidates)
    if (has(*m, measured.by)) measured.among.push_back(m);
  if (measured.among.size() >= 2) return measured;
  for (const TimeOf of : {&ModeEvidence::measured, &ModeEvidence::projected})
    if (std::all_of(candidates.begin(), candidates.end(), [&](const ModeAdvice* m) { return !timed(*m) || has(*m, of); })) return {candidates, of};
  return {candidates, nullptr};
}

const ModeAdvice* leader(const Ranking& ranking) {
  const std::vector<double> speed = speeds(ranking);
  const double best = speed.empty() ? 0.0 : *std::max_element(speed.begin(), speed.end());
  const ModeAdvice* first = nullptr;
  const auto before = [](const ModeAdvice& a, const ModeAdvice& b) {
    const bool a_may = may_not_fit(a.evidence), b_may = may_not_fit(b.evidence);
    if (a_may != b_may) return b_may;
    if (proven(a.evidence) != proven(b.evidence)) return proven(a.evidence);
    if (a.against.size() != b.against.size()) return a.against.size() < b.against.size();
    return care(a.evidence.mode) < care(b.evidence.mode);
  };
  for (std::size_t i = 0; i < ranking.among.size(); ++i)
    if (speed[i] * least_speed_up >= best && (first == nullptr || before(*ranking.among[i], *first))) first = ranking.among[i];
  return first;
}

Figure ratio_of_times(const ModeEvidence& other, const ModeEvidence& mode, TimeOf by) {
  const Figure &above = other.*by, &below = mode.*by;
  if (!above.value || !below.value || *below.value <= 0.0) return {};
  const bool measured = by == &ModeEvidence::measured;
  if (!measured)
    if (const auto known = mode.beside.find(other.mode); known != mode.beside.end()) return known->second;
  Figure ratio{.value = *above.value / *below.value, .provenance = measured ? Provenance::measured : Provenance::projected};
  ratio.low = above.low.value_or(*above.value) / below.high.value_or(*below.value);
  ratio.high = above.high.value_or(*above.value) / below.low.value_or(*below.value);
  return ratio;
}

}  // namespace ulpscope::reports::advice_parts
