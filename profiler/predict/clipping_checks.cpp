// The norm that clipping holds against its bound, as the mode sums it: too large for the format of its sums, too small, or with bits lost on the way.
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

constexpr double much_missing = 0.01;  ///< of a sum, as the diagnosis has it (gradient_below_range, sum_stuck)

struct GradientNorm {
  double value = 0.0;    ///< as the mode sums it
  double exact = 0.0;
  double greatest = 0.0, least = 0.0;   ///< gradients that are not 0
  std::int64_t elements = 0;
  std::int64_t flushed = 0, squares = 0;      ///< rounded to zero; that are not 0
  std::int64_t lost = 0, additions = 0;       ///< that changed nothing
  double missing = 0.0;                       ///< the greatest share of a sum that flushed squares would have made

  double off() const { return exact > 0.0 ? 1.0 - value / exact : 0.0; }
};

void add(GradientNorm& norm, const CountedSum& sum, std::int64_t n) {
  norm.flushed += sum.flushed;
  norm.squares += n - sum.zero;
  norm.lost += sum.lost;
  norm.additions += sum.additions;
  norm.missing = std::max(norm.missing, share_missing(sum));
}

GradientNorm norm_of(const PlanFacts& facts, const Node& node) {
  GradientNorm norm;
  const Format in = facts.graph().value(node.inputs.front()).format;
  std::vector<float> norms;
  double squares = 0.0;
  for (const auto& of_parameter : facts.rehearsal().gradients) {
    const std::vector<float>& gradients = of_parameter.second;
    const auto gradient = [&](std::int64_t i) { return rounded_to(in, gradients[static_cast<std::size_t>(i)]); };
    for (std::int64_t i = 0; i < std::ssize(gradients); ++i) {
      const double g = std::fabs(static_cast<double>(gradient(i)));
      norm.greatest = std::max(norm.greatest, g);
      if (g > 0.0 && (norm.least == 0.0 || g < norm.least)) norm.least = g;
      squares += g * g;
    }
    norm.elements += std::ssize(gradients);
    const CountedSum sum = narrow_sum_as<CountedSum>(node.arithmetic, std::ssize(gradients), [&](std::int64_t i) { return gradient(i) * gradient(i); });
    add(norm, sum, std::ssize(gradients));
    norms.push_back(rounded_to(node.arithmetic.accumulate, std::sqrt(sum.value)));
  }
  const CountedSum sum = narrow_sum_as<CountedSum>(node.arithmetic, std::ssize(norms), [&](std::int64_t i) {
    return norms[static_cast<std::size_t>(i)] * norms[static_cast<std::size_t>(i)];
  });
  add(norm, sum, std::ssize(norms));
  norm.value = std::sqrt(static_cast<double>(sum.value));
  norm.exact = std::sqrt(squares);
  return norm;
}

void overflowed(const PlanFacts& facts, NodeId id, const GradientNorm& norm, FoundFaults& found) {
  const Format sums = facts.graph().node(id).arithmetic.accumulate;
  const double greatest = norm.greatest;
  Foreseen f = foreseen_at(facts, id, kind(reports::Kind::clip_overflowed), Gravity::damage);
  f.format = name(sums);
  f.overflow = true;
  const std::string why = greatest * greatest >= reports::limit(sums)
                              ? reports::held_against_limit(greatest * greatest, sums)
                              : fmt::format("the sum of {}, each of which fits (the greatest is {}), leaves {}", counted(norm.elements, "square"),
                                            amount(greatest * greatest), name(sums));
  f.what = fmt::format("the gradients are finite (greatest {}), the norm for clipping is not: {}; the update becomes 0", amount(greatest), why);
  f.facts.push_back(fact("square", "greatest square", greatest * greatest, amount(greatest * greatest), Provenance::projected));
  found.push_back(std::move(f));
}

/// Where neither norm is above what is clipped, only a number is wrong.
Gravity gravity_of(const GradientNorm& norm, double clip) { return std::max(norm.value, norm.exact) > clip ? Gravity::damage : Gravity::note; }

std::string both_norms(const GradientNorm& norm, double clip) {
  return fmt::format("the norm comes to {} where {} would be right{}", amount(norm.value), amount(norm.exact),
                     gravity_of(norm, clip) == Gravity::damage ? fmt::format(", and gradients are clipped to {} by it", amount(clip)) : ", and neither is clipped");
}

void add_norms(const GradientNorm& norm, Foreseen& f) {
  f.facts.push_back(fact("norm", "norm", norm.value, amount(norm.value), Provenance::projected));
  f.facts.push_back(fact("expected", "norm without rounding", norm.exact, amount(norm.exact), Provenance::projected));
  f.facts.push_back(fact("off", "missing", norm.off(), percent(norm.off()), Provenance::projected));
}

void flushed(const PlanFacts& facts, NodeId id, const GradientNorm& norm, double clip, FoundFaults& found) {
  const Format sums = facts.graph().node(id).arithmetic.accumulate;
  Foreseen f = foreseen_at(facts, id, kind(reports::Kind::gradient_below_range), gravity_of(norm, clip));
  f.format = name(sums);
  f.what = fmt::format("the norm for clipping: {} of the squares ({} of {} that are not 0) are rounded to zero in {} (at or below {}); {}",
                       percent(static_cast<double>(norm.flushed) / static_cast<double>(std::max<std::int64_t>(1, norm.squares))), norm.flushed, norm.squares, name(sums),
                       amount(info(sums).flush_threshold), both_norms(norm, clip));
  f.facts.push_back(fact("flushed", "squares rounded to zero", static_cast<double>(norm.flushed), fmt::format("{} of {}", norm.flushed, norm.squares), Provenance::projected));
  f.facts.push_back(fact("least_input", "least gradient", norm.least, fmt::format("{}, squared {}", amount(norm.least), amount(norm.least * norm.least)), Provenance::projected));
  add_norms(norm, f);
  found.push_back(std::move(f));
}

void swallowed(const PlanFacts& facts, NodeId id, const GradientNorm& norm, double clip, FoundFaults& found) {
  const Format sums = facts.graph().node(id).arithmetic.accumulate;
  Foreseen f = foreseen_at(facts, id, kind(reports::Kind::sum_stuck), gravity_of(norm, clip));
  f.format = name(sums);
  f.what = fmt::format("the norm for clipping: {} of {} additions change nothing in {}; {}", norm.lost, norm.additions, name(sums), both_norms(norm, clip));
  f.facts.push_back(fact("swallowed", "additions that change nothing", static_cast<double>(norm.lost), fmt::format("{} of {}", norm.lost, norm.additions), Provenance::projected));
  add_norms(norm, f);
  found.push_back(std::move(f));
}

}  // namespace

void check_clipping(const PlanFacts& facts, FoundFaults& found) {
  const engine::OptimizerConfig& optimizer = facts.config().optimizer;
  if (optimizer.clip <= 0.0) return;
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.op->name != "global_norm" || node.inputs.empty()) continue;
    if (optimizer.clip_before_unscale && engine::scales_loss(facts.mode(), facts.config())) {
      Foreseen f = foreseen_at(facts, NodeId{n}, kind(reports::Kind::clip_before_unscale), Gravity::damage);
      f.what = "clipping sees the gradients of the scaled loss: they are cut to the greatest norm divided by the loss scale";
      found.push_back(std::move(f));
    }
    if (node.arithmetic.accumulate == Format::fp32) continue;
    const GradientNorm norm = norm_of(facts, node);
    if (!std::isfinite(norm.value))
      overflowed(facts, NodeId{n}, norm, found);
    else if (norm.missing >= much_missing)
      flushed(facts, NodeId{n}, norm, optimizer.clip, found);
    else if (norm.lost > 0 && std::fabs(norm.off()) >= much_missing)
      swallowed(facts, NodeId{n}, norm, optimizer.clip, found);
  }
}

}  // namespace ulpscope::profiler
