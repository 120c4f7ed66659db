// What the numbers of the optimizer come to in the formats of a mode.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "profiler/predict/update_facts.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using reports::amount;
using reports::counted;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::percent;
using reports::Provenance;

constexpr double least_change_of_reach = 0.1;  ///< of a beta's, that is worth a word
constexpr double most_lost_updates = 0.5;      ///< share from which a run that loses them is called damaged

/// A beta in the format in which it is kept.
void check_beta(const PlanFacts& facts, const Updates& u, const char* which, double asked, FoundFaults& found) {
  const double kept = facts.graph().node(u.nodes.front()).attributes.number(which);
  if (kept == asked || asked == 0.0) return;
  if (kept < 1.0 && std::fabs((1.0 - kept) / (1.0 - asked) - 1.0) < least_change_of_reach) return;
  const std::string format = name(facts.config().optimizer.scalar_format);
  const bool gone = kept >= 1.0;
  Foreseen f =
      foreseen_at(facts, u.nodes.front(), kind(reports::Kind::beta_vanished), gone ? Gravity::fatal : Gravity::note);
  f.format = format;
  const bool second = std::string_view(which) == "beta2";
  f.what = gone ? fmt::format("{} {} is 1 in {}: {}", which, amount(asked), format,
                              second ? "the second moment stays 0, and 1 - beta2^t = 0 for all t: 0 / 0"
                                     : "the first moment stays 0, and 1 - beta1^t = 0 for all t: 0 / 0")
                : fmt::format("{} {} is kept as {} in {}: it reaches back {} steps, not {}", which, amount(asked),
                              amount(kept), format, amount(std::round(1.0 / (1.0 - kept))),
                              amount(std::round(1.0 / (1.0 - asked))));
  f.facts.push_back(
      fact(which, which, kept, fmt::format("{}, asked for {}", amount(kept), amount(asked)), Provenance::computed));
  found.push_back(std::move(f));
}

/// Weights that would not fit their format once they are updated.
struct Beyond {
  std::int64_t weights = 0, of = 0;
  double greatest = 0.0;  ///< magnitude after the update
};

Foreseen overflowing(const PlanFacts& facts, const Updates& u, const Beyond& beyond) {
  Foreseen f = foreseen_at(facts, u.nodes.front(), kind(reports::Kind::update_overflowed), Gravity::fatal);
  f.format = name(u.weights);
  f.overflow = true;
  const std::string held = reports::held_against_limit(beyond.greatest, u.weights);
  f.what = fmt::format("{} of {} will not fit {} once updated at the full rate, {}: {}", beyond.weights, counted(beyond.of, "weight"), name(u.weights),
                       amount(facts.config().schedule.learning_rate), held);
  f.facts.push_back(fact("greatest_weight", "greatest weight", beyond.greatest, held, Provenance::projected));
  return f;
}

/// The update of a weight in the first step at the full rate: Adam's is about the rate, whatever the gradient.
void check_updates(const PlanFacts& facts, const Updates& u, FoundFaults& found) {
  const engine::OptimizerConfig& optimizer = facts.config().optimizer;
  const double rate = facts.config().schedule.learning_rate;
  if (!is_16bit(u.weights) || rate == 0.0) return;
  const double clip = static_cast<double>(facts.rehearsal().result.clip_coefficient);
  const std::optional<FirstAdam> adam = u.adamw ? std::optional<FirstAdam>(std::in_place, facts, u) : std::nullopt;
  std::int64_t all = 0, lost = 0;
  Beyond beyond;
  double greatest = 0.0;
  std::vector<double> ratios;
  each_weight(facts, [&](double in_fp32, double g) {
    if (g == 0.0) return;
    const double w = reports::rounded_to(in_fp32, u.weights);
    const double clipped = reports::rounded_to(g * clip, u.weights);
    const double step = rate * (adam ? (*adam)(g).update : clipped);
    if (!std::isfinite(step) || step == 0.0) return;  // of that check_moments speaks
    const double half = reports::half_ulp_towards(w, step, u.weights);
    ++all;
    ratios.push_back(std::fabs(step) / half);
    beyond.weights += std::fabs(w - step) >= reports::limit(u.weights) ? 1 : 0;
    beyond.greatest = std::max(beyond.greatest, std::fabs(w - step));
    // Ties go to even: half an ulp moves a weight whose last digit is odd.
    if (reports::rounded_to(static_cast<double>(static_cast<float>(w) - static_cast<float>(step)), u.weights) != w) return;
    ++lost;
    greatest = std::max(greatest, half);
  });
  if (beyond.weights > 0) beyond.of = all, found.push_back(overflowing(facts, u, beyond));
  if (lost == 0 || optimizer.rounding != UpdateRounding::nearest) return;  // it lands on average, or in the compensation
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  const double share = static_cast<double>(lost) / static_cast<double>(all);
  Foreseen f = foreseen_at(facts, u.nodes.front(), kind(reports::Kind::update_lost),
                           share >= most_lost_updates ? Gravity::damage : Gravity::note);
  f.format = name(u.weights);
  f.what = fmt::format(
      "{} of the updates ({} of {}) are rounded away by their {} weight and change nothing: the rate {} against half an "
      "ulp of up to {}",
      percent(share), lost, all, name(u.weights), amount(rate), amount(greatest));
  f.facts.push_back(fact("lost_updates", "lost updates", static_cast<double>(lost), fmt::format("{} of {}", lost, all),
                         Provenance::projected));
  f.facts.push_back(
      fact("half_ulp_greatest", "half an ulp, greatest", greatest, amount(greatest), Provenance::computed));
  f.facts.push_back(
      fact("update_to_half_ulp", "update / half an ulp, median", *middle, amount(*middle), Provenance::projected));
  found.push_back(std::move(f));
}

/// w (1 - rate decay): rounded by itself, or where there is no gradient, so that nothing else moves the weight.
void check_decay(const PlanFacts& facts, const Updates& u, FoundFaults& found) {
  const double decay = facts.config().optimizer.weight_decay, rate = facts.config().schedule.learning_rate,
               share_of_weight = rate * decay;
  if (!u.adamw || !is_16bit(u.weights) || share_of_weight == 0.0) return;
  if (facts.config().optimizer.rounding != UpdateRounding::nearest) return;  // it lands on average, or in the compensation
  std::int64_t all = 0, lost = 0;
  each_weight(facts, [&](double in_fp32, double g) {
    const double w = reports::rounded_to(in_fp32, u.weights);
    if (w == 0.0) return;
    ++all;
    if (!u.each_operation && g != 0.0) return;
    const double decayed = w * static_cast<double>(static_cast<float>(1.0 - share_of_weight));
    lost += reports::rounded_to(static_cast<double>(static_cast<float>(decayed)), u.weights) == w ? 1 : 0;
  });
  if (lost == 0) return;
  const double share = static_cast<double>(lost) / static_cast<double>(all);
  Foreseen f = foreseen_at(facts, u.nodes.front(), kind(reports::Kind::weight_decay_lost),
                           share >= most_lost_updates ? Gravity::damage : Gravity::note);
  f.format = name(u.weights);
  f.what = fmt::format(
      "weight decay changes nothing in {} of the weights{}: rate x decay = {} of a weight, half an ulp in {} is {} to {} "
      "of it",
      percent(share), u.each_operation ? "" : ", which have no gradient", amount(share_of_weight), name(u.weights),
      amount(info(u.weights).unit_roundoff / 2), amount(info(u.weights).unit_roundoff));
  f.facts.push_back(
      fact("rate_times_decay", "rate x decay", share_of_weight, amount(share_of_weight), Provenance::computed));
  f.facts.push_back(fact("lost_decays", "lost", static_cast<double>(lost), fmt::format("{} of {}", lost, all),
                         Provenance::projected));
  found.push_back(std::move(f));
}

}  // namespace

void check_optimizer(const PlanFacts& facts, FoundFaults& found) {
  const Updates u = updates_of(facts);
  if (!u.any()) return;
  if (u.adamw) {
    check_beta(facts, u, "beta1", facts.config().optimizer.beta1, found);
    check_beta(facts, u, "beta2", facts.config().optimizer.beta2, found);
  }
  check_moments(facts, found);
  check_updates(facts, u, found);
  check_decay(facts, u, found);
  check_clipping(facts, found);
}

}  // namespace ulpscope::profiler
