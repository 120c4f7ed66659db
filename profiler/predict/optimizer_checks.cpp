// What the numbers of the optimizer come to in the formats of a mode.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "kernels/ops/narrow_sum.h"
#include "profiler/predict/checks.h"
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

std::string kind(reports::Kind k) { return std::string(name(k)); }

/// The updates of a plan: one node for each parameter, alike but for shape.
struct Updates {
  std::vector<NodeId> nodes;
  Format weights = Format::fp32;
  Format moments = Format::fp32;
  bool adamw = false;
  bool each_operation = false;

  bool any() const { return !nodes.empty(); }
};

Updates updates_of(const PlanFacts& facts) {
  Updates u;
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.op->name != "adamw" && node.op->name != "sgd") continue;
    if (!u.any()) {
      u.weights = facts.graph().value(node.inputs.at(2)).format;
      u.adamw = node.op->name == "adamw";
      u.moments = u.adamw ? facts.graph().value(node.inputs.at(4)).format : u.weights;
      u.each_operation = node.attributes.flag_or("each_operation", false);
    }
    u.nodes.push_back(NodeId{n});
  }
  return u;
}

double in_format(double x, Format format) {
  return format == Format::fp32 ? x : engine::in_scalar_format(x, format, engine::ScalarRounding::round);
}

/// Calls work(weight, gradient) for every number that is updated.
template <class Work>
void each_weight(const PlanFacts& facts, const Work& work) {
  for (const auto& [parameter, weights] : facts.rehearsal().weights) {
    const std::vector<float>& gradients = facts.rehearsal().gradients.at(parameter);
    for (std::size_t i = 0; i < weights.size() && i < gradients.size(); ++i)
      work(static_cast<double>(weights[i]), static_cast<double>(gradients[i]));
  }
}

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

/// What Adam divides by, in the formats of the mode.
struct Divisor {
  double beta2 = 0.0;
  double epsilon = 0.0;    ///< as it is kept
  double threshold = 0.0;  ///< gradients up to here have a second moment of 0 in the first step

  double of(double gradient) const { return (std::fabs(gradient) > threshold ? std::fabs(gradient) : 0.0) + epsilon; }
};

Divisor divisor_of(const PlanFacts& facts, const Updates& u) {
  const Node& node = facts.graph().node(u.nodes.front());
  Divisor d{.beta2 = node.attributes.number("beta2"), .epsilon = node.attributes.number("epsilon")};
  if (u.each_operation) d.epsilon = in_format(d.epsilon, u.weights);
  if (d.beta2 < 1.0) d.threshold = std::sqrt(info(u.moments).flush_threshold / (1.0 - d.beta2));
  return d;
}

/// Second moments that are 0 beside an epsilon that is.
void check_epsilon(const PlanFacts& facts, const Updates& u, FoundFaults& found) {
  const double asked = facts.config().optimizer.epsilon;
  const Divisor divisor = divisor_of(facts, u);
  const double beta2 = divisor.beta2, kept = divisor.epsilon, threshold = divisor.threshold;
  std::int64_t zeros = 0, lost = 0, all = 0;
  each_weight(facts, [&](double, double g) {
    ++all;
    const bool zero = std::fabs(g) <= threshold;
    zeros += zero ? 1 : 0;
    lost += zero && g != 0.0 ? 1 : 0;
  });
  const bool vanished = asked > 0.0 && kept == 0.0;
  if (!vanished && (!is_16bit(u.moments) || lost == 0)) return;
  const std::string format = name(vanished && !u.each_operation ? facts.config().optimizer.scalar_format : u.moments);
  const std::string below =
      fmt::format("the second moment of {} is 0 (|g| <= {} with beta2 = {})",
                  zeros == 1 ? "1 weight" : counted(zeros, "weight"), fmt::format("{:.4g}", threshold), amount(beta2));
  Foreseen f =
      foreseen_at(facts, u.nodes.front(),
                  vanished ? kind(reports::Kind::epsilon_vanished) : "second_moment_below_range", Gravity::note);
  f.format = format;
  if (vanished) {
    f.gravity = zeros > 0 ? Gravity::fatal : Gravity::note;
    f.what = fmt::format("the optimizer, not the model: epsilon {} is 0 in {}", amount(asked), format);
    f.what +=
        zeros > 0 ? fmt::format(", and {}: a division by zero", below) : "; no second moment is 0 in the first step";
  } else {
    f.gravity =
        static_cast<double>(lost) > most_lost_updates * static_cast<double>(all) ? Gravity::damage : Gravity::note;
    f.what = fmt::format("{} in {}: epsilon alone divides those updates", below, format);
  }
  f.facts.push_back(fact("epsilon", "epsilon", kept, fmt::format("{}, asked for {}", amount(kept), amount(asked)),
                         Provenance::computed));
  f.facts.push_back(fact("v_zero", "second moments 0", static_cast<double>(zeros), fmt::format("{} of {}", zeros, all),
                         Provenance::projected));
  f.facts.push_back(fact("v_threshold", "smallest gradient that counts", threshold, fmt::format("{:.4g}", threshold),
                         Provenance::computed));
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
  if (!is_16bit(u.weights) || optimizer.rounding != UpdateRounding::nearest || rate == 0.0) return;
  const double clip = static_cast<double>(facts.rehearsal().result.clip_coefficient);
  const Divisor divisor = u.adamw ? divisor_of(facts, u) : Divisor{};
  std::int64_t all = 0, lost = 0;
  Beyond beyond;
  double greatest = 0.0;
  std::vector<double> ratios;
  each_weight(facts, [&](double in_fp32, double g) {
    if (g == 0.0) return;
    const double w = reports::rounded_to(in_fp32, u.weights);
    const double clipped = reports::rounded_to(g * clip, u.weights);
    const double step = u.adamw ? rate * (clipped / divisor.of(clipped)) : rate * clipped;
    if (!std::isfinite(step)) return;  // of that check_epsilon speaks
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
  if (lost == 0) return;
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

/// The norm for clipping, as the mode sums it.
struct GradientNorm {
  float value = 0.0f;
  double greatest = 0.0;
  std::int64_t elements = 0;
};

GradientNorm norm_of(const PlanFacts& facts, const Node& node) {
  GradientNorm norm;
  std::vector<float> norms;
  for (const auto& of_parameter : facts.rehearsal().gradients) {
    const std::vector<float>& gradients = of_parameter.second;
    for (const float g : gradients) norm.greatest = std::max(norm.greatest, std::fabs(static_cast<double>(g)));
    norm.elements += std::ssize(gradients);
    const auto square = [&](std::int64_t i) { return gradients[static_cast<std::size_t>(i)] * gradients[static_cast<std::size_t>(i)]; };
    norms.push_back(rounded_to(node.arithmetic.accumulate, std::sqrt(narrow_sum(node.arithmetic, std::ssize(gradients), square))));
  }
  const auto square = [&](std::int64_t i) { return norms[static_cast<std::size_t>(i)] * norms[static_cast<std::size_t>(i)]; };
  norm.value = narrow_sum(node.arithmetic, std::ssize(norms), square);
  return norm;
}

void check_clipping(const PlanFacts& facts, FoundFaults& found) {
  const engine::OptimizerConfig& optimizer = facts.config().optimizer;
  if (optimizer.clip <= 0.0) return;
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.op->name != "global_norm") continue;
    if (optimizer.clip_before_unscale && engine::scales_loss(facts.mode(), facts.config())) {
      Foreseen f = foreseen_at(facts, NodeId{n}, kind(reports::Kind::clip_before_unscale), Gravity::damage);
      f.what =
          "clipping sees the gradients of the scaled loss: they are cut to the greatest norm divided by the loss scale";
      found.push_back(std::move(f));
    }
    const Format sums = node.arithmetic.accumulate;
    if (sums == Format::fp32) continue;
    const GradientNorm norm = norm_of(facts, node);
    if (std::isfinite(norm.value)) continue;
    const double greatest = norm.greatest;
    Foreseen f = foreseen_at(facts, NodeId{n}, kind(reports::Kind::clip_overflowed), Gravity::damage);
    f.format = name(sums);
    f.overflow = true;
    const std::string why = greatest * greatest >= reports::limit(sums)
                                ? reports::held_against_limit(greatest * greatest, sums)
                                : fmt::format("the sum of {}, each of which fits (the greatest is {}), leaves {}", counted(norm.elements, "square"),
                                              amount(greatest * greatest), name(sums));
    f.what = fmt::format("the gradients are finite (greatest {}), the norm for clipping is not: {}; the update becomes 0", amount(greatest), why);
    f.facts.push_back(
        fact("square", "greatest square", greatest * greatest, amount(greatest * greatest), Provenance::projected));
    found.push_back(std::move(f));
  }
}

}  // namespace

void check_optimizer(const PlanFacts& facts, FoundFaults& found) {
  const Updates u = updates_of(facts);
  if (!u.any()) return;
  if (u.adamw) {
    check_beta(facts, u, "beta1", facts.config().optimizer.beta1, found);
    check_beta(facts, u, "beta2", facts.config().optimizer.beta2, found);
    check_epsilon(facts, u, found);
  }
  check_updates(facts, u, found);
  check_decay(facts, u, found);
  check_clipping(facts, found);
}

}  // namespace ulpscope::profiler
