// Adam's moments, and the buffer of sgd, in the format in which they are kept: too small for it, or too large, beside an epsilon that may be 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "profiler/predict/update_facts.h"
#include "reports/analysis/diagnosis/lost_moment.h"
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
using reports::Provenance;

/// Of all weights, in the first step.
struct Tally {
  std::int64_t all = 0, with_gradient = 0;
  std::int64_t zero_divisors = 0;
  std::int64_t lost = 0, large = 0;    ///< second moments that are not 0 and become it; of them those with a large update
  double least = 0.0, greatest = 0.0;  ///< updates of the lost, in learning rates
};

Tally tally(const PlanFacts& facts, const FirstAdam& adam, const reports::LostMoment& lost) {
  Tally t;
  each_weight(facts, [&](double, double g) {
    const AdamStep step = adam(g);
    ++t.all;
    t.with_gradient += g != 0.0 ? 1 : 0;
    t.zero_divisors += step.divides_by_zero ? 1 : 0;
    if (!step.v_flushed) return;
    const double update = std::fabs(step.update), size = lost.rounded_divides ? update : lost.lasting(g);
    t.least = t.lost == 0 ? update : std::min(t.least, update);
    t.greatest = std::max(t.greatest, update);
    t.large += size > reports::large_update ? 1 : 0;
    ++t.lost;
  });
  return t;
}

/// Nothing is added to a root that is 0.
void vanished_epsilon(const PlanFacts& facts, const Updates& u, const FirstAdam& adam, const reports::LostMoment& lost, const Tally& t, FoundFaults& found) {
  const double asked = facts.config().optimizer.epsilon;
  Foreseen f = foreseen_at(facts, u.nodes.front(), kind(reports::Kind::epsilon_vanished), t.zero_divisors > 0 ? Gravity::fatal : Gravity::note);
  f.format = name(u.each_operation ? u.moments : facts.config().optimizer.scalar_format);
  f.what = fmt::format("the optimizer, not the model: epsilon {} is 0 in {}", amount(asked), f.format);
  if (t.zero_divisors == 0)
    f.what += "; no second moment is 0 in the first step";
  else
    f.what += fmt::format(", and the second moment of {} is 0 (|g| <= {:.4g} with beta2 = {}): a division by zero", counted(t.zero_divisors, "weight"), lost.threshold(), amount(adam.beta2()));
  f.facts.push_back(fact("epsilon", "epsilon", adam.epsilon(), fmt::format("{}, asked for {}", amount(adam.epsilon()), amount(asked)), Provenance::computed));
  f.facts.push_back(fact("v_zero", "second moments 0", static_cast<double>(t.zero_divisors), fmt::format("{} of {}", t.zero_divisors, t.all), Provenance::projected));
  f.facts.push_back(fact("v_threshold", "smallest gradient that counts", lost.threshold(), fmt::format("{:.4g}", lost.threshold()), Provenance::computed));
  found.push_back(std::move(f));
}

void lost_moments(const PlanFacts& facts, const Updates& u, const reports::LostMoment& lost, const Tally& t, FoundFaults& found) {
  const std::int64_t steps = std::max<std::int64_t>(1, facts.config().steps);
  const bool many = static_cast<double>(t.large) >= reports::many_large_updates * static_cast<double>(std::max<std::int64_t>(1, t.with_gradient));
  Foreseen f = foreseen_at(facts, u.nodes.front(), kind(reports::Kind::second_moment_below_range), t.large > 0 && many ? Gravity::damage : Gravity::note);
  f.format = name(u.moments);
  f.what = fmt::format("the second moment of {} of {} that have a gradient is 0 in {} (|g| <= {:.4g} with beta2 = {}): {}", t.lost, counted(t.with_gradient, "weight"), f.format,
                       lost.threshold(), amount(lost.beta2), how_updates_come_out(lost, t.least, t.greatest, lost.rounded_divides ? 1 : steps));
  f.facts.push_back(fact("epsilon", "epsilon", lost.epsilon, fmt::format("{}, asked for {}", amount(lost.epsilon), amount(facts.config().optimizer.epsilon)), Provenance::computed));
  f.facts.push_back(fact("v_flushed", "second moments rounded to zero", static_cast<double>(t.lost), fmt::format("{} of {}", t.lost, t.with_gradient), Provenance::projected));
  f.facts.push_back(fact("v_threshold", "smallest gradient that counts", lost.threshold(), fmt::format("{:.4g}", lost.threshold()), Provenance::computed));
  if (lost.rounded_divides) {
    f.facts.push_back(fact("update_least", "update, at least, in learning rates", t.least, fmt::format("{:.4g}", t.least), Provenance::projected));
    f.facts.push_back(fact("update", "update, at most, in learning rates", t.greatest, fmt::format("{:.4g}", t.greatest), Provenance::projected));
  } else {
    f.facts.push_back(fact("update", "update, in learning rates", lost.grown(steps), fmt::format("{:.4g} in step {}, of equal gradients", lost.grown(steps), steps), Provenance::projected));
  }
  found.push_back(std::move(f));
}

/// Of one parameter.
struct Greatest {
  NodeId update{};
  double gradient = 0.0;
};

Greatest greatest_of(const PlanFacts& facts, const Updates& u) {
  Greatest g;
  for (const NodeId id : u.nodes)
    if (const std::vector<float>* gradients = gradients_of(facts, facts.graph().node(id)))
      for (const float x : *gradients)
        if (std::isfinite(x) && std::fabs(static_cast<double>(x)) > g.gradient) g = {id, std::fabs(static_cast<double>(x))};
  return g;
}

Foreseen overflowing_state(const PlanFacts& facts, const Updates& u, NodeId id, std::size_t output, Gravity gravity) {
  Foreseen f = foreseen_at(facts, id, kind(reports::Kind::update_overflowed), gravity);
  f.tensor = facts.graph().value(facts.graph().node(id).outputs.at(output)).name;
  f.format = name(u.moments);
  f.overflow = true;
  return f;
}

/// It is infinite from there on, and updates divide by its root: they are 0.
void second_moment(const PlanFacts& facts, const Updates& u, const FirstAdam& adam, const Greatest& greatest, FoundFaults& found) {
  const std::int64_t steps = std::max<std::int64_t>(1, facts.config().steps), in = adam.overflows_in(greatest.gradient, steps);
  if (in == 0) return;
  std::int64_t all = 0, infinite = 0;
  each_weight(facts, [&](double, double g) {
    ++all;
    infinite += adam(g).v_fits ? 0 : 1;
  });
  Foreseen f = overflowing_state(facts, u, greatest.update, 2, Gravity::damage);
  const double square = greatest.gradient * greatest.gradient * (1.0 - std::pow(adam.beta2(), static_cast<double>(in)));
  f.what = in == 1 ? fmt::format("the second moment of {} of {} is infinite in the first step: of the greatest gradient, {}, it is {}", infinite, counted(all, "weight"),
                                 amount(greatest.gradient), reports::held_against_limit(square, u.moments))
                   : fmt::format("the second moment comes to {} in the applied step {} of {} planned, were the greatest gradient, {}, always that of the first step", reports::held_against_limit(square, u.moments),
                                 in, steps, amount(greatest.gradient));
  f.what += fmt::format("; the update divides by its root and is 0 from {} on: that weight stands still, and stays finite", u.each_operation ? "there" : "the next step");
  f.facts.push_back(fact("second_moment", "second moment", square, reports::held_against_limit(square, u.moments), Provenance::projected));
  f.facts.push_back(fact("applied_step", "applied step", static_cast<double>(in), fmt::format("{} of {}", in, steps), Provenance::projected));
  found.push_back(std::move(f));
}

/// What goes into the weights.
void first_moment(const PlanFacts& facts, const Updates& u, double moment, const Greatest& greatest, FoundFaults& found) {
  if (!(moment >= reports::limit(u.moments))) return;
  Foreseen f = overflowing_state(facts, u, greatest.update, 1, Gravity::fatal);
  f.what = fmt::format("{} is {} in the first step, and the {} update is made of it", u.adamw ? "the first moment" : "the momentum buffer",
                       reports::held_against_limit(moment, u.moments), u.each_operation ? "same" : "next");
  f.facts.push_back(fact("first_moment", u.adamw ? "first moment" : "momentum", moment, reports::held_against_limit(moment, u.moments), Provenance::projected));
  found.push_back(std::move(f));
}

/// It adds up: of equal gradients it comes to 1 / (1 - momentum) of one.
void momentum_buffer(const PlanFacts& facts, const Updates& u, double gradient, const Greatest& greatest, FoundFaults& found) {
  const std::int64_t steps = std::max<std::int64_t>(1, facts.config().steps);
  const BufferBeyond beyond = buffer_overflows_in(facts, u, gradient, steps);
  if (beyond.step < 2) return first_moment(facts, u, gradient, greatest, found);
  Foreseen f = overflowing_state(facts, u, greatest.update, 1, Gravity::fatal);
  f.what = fmt::format("the momentum buffer comes to {} in the applied step {} of {} planned, were the greatest gradient, {}, always that of the first step; the {} update is made of it",
                       reports::held_against_limit(beyond.size, u.moments), beyond.step, steps, amount(gradient), u.each_operation ? "same" : "next");
  f.facts.push_back(fact("first_moment", "momentum", beyond.size, reports::held_against_limit(beyond.size, u.moments), Provenance::projected));
  f.facts.push_back(fact("applied_step", "applied step", static_cast<double>(beyond.step), fmt::format("{} of {}", beyond.step, steps), Provenance::projected));
  found.push_back(std::move(f));
}

}  // namespace

void check_moments(const PlanFacts& facts, FoundFaults& found) {
  const Updates u = updates_of(facts);
  if (!u.any()) return;
  const Greatest greatest = greatest_of(facts, u);
  const double clipped = greatest.gradient * static_cast<double>(facts.rehearsal().result.clip_coefficient);
  if (!u.adamw) {
    if (u.momentum && is_16bit(u.moments)) momentum_buffer(facts, u, clipped, greatest, found);
    return;
  }
  const FirstAdam adam(facts, u);
  if (adam.beta1() >= 1.0 || adam.beta2() >= 1.0) return;  // that is told of the beta
  const reports::LostMoment lost{u.moments, u.each_operation, adam.beta2(), adam.epsilon()};
  const Tally t = tally(facts, adam, lost);
  if (facts.config().optimizer.epsilon > 0.0 && adam.epsilon() == 0.0)
    vanished_epsilon(facts, u, adam, lost, t, found);
  else if (is_16bit(u.moments) && t.lost > 0)
    lost_moments(facts, u, lost, t, found);
  if (!is_16bit(u.moments) || !(greatest.gradient > 0.0)) return;
  second_moment(facts, u, adam, greatest, found);
  first_moment(facts, u, clipped * (1.0 - adam.beta1()), greatest, found);
}

}  // namespace ulpscope::profiler
