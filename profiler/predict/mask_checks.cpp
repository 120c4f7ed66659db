// Masks that are added to scores: constants that do not fit the format, and sums that leave it; rows that keep no
// finite score.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::Value;
using engine::ValueId;
using reports::amount;
using reports::counted;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Provenance;

/// Index into a tensor of `from` that is broadcast to `to`, of the element `at` of `to`.
std::size_t broadcast_index(const Shape& from, const Shape& to, std::int64_t at) {
  std::int64_t index = 0, stride = 1;
  for (int d = 1; d <= to.rank; ++d) {
    const std::int64_t position = at % to[-d];
    at /= to[-d];
    if (d > from.rank) continue;
    if (from[-d] > 1) index += position * stride;
    stride *= from[-d];
  }
  return static_cast<std::size_t>(index);
}

/// A number as the format stores it.
double stored(float x, Format format) {
  const double magnitude = std::fabs(static_cast<double>(x));
  if (magnitude >= reports::limit(format)) return x < 0 ? -INFINITY : INFINITY;
  return engine::in_scalar_format(static_cast<double>(x), format, engine::ScalarRounding::round);
}

/// An addition in 16 bits of scores and a constant, in front of a softmax.
struct MaskAdd {
  NodeId id;
  std::size_t mask = 1;  ///< which input
};

std::optional<MaskAdd> mask_add(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  if (node.op->name != "add" || node.phase != engine::Phase::forward ||
      !is_16bit(facts.graph().value(node.outputs.front()).format))
    return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i)
    if (facts.graph().value(facts.origin(node.inputs[i])).role == engine::Role::constant &&
        facts.reaches_softmax(node.outputs.front()))
      return MaskAdd{id, i};
  return std::nullopt;
}

struct Tally {
  std::int64_t mask_infinite = 0;  ///< elements of the constant that its format cannot hold
  std::int64_t mask_elements = 0;
  double mask_greatest = 0.0;
  std::int64_t sums_infinite = 0;  ///< of a finite mask and a finite score
  double sum_greatest = 0.0, sum_mask = 0.0;
  std::int64_t rows = 0, rows_without = 0;
};

Tally count(const Shape& shape, Format format, const std::vector<float>& mask, const Shape& mask_shape,
            const std::vector<float>& scores, const Shape& score_shape) {
  Tally t;
  for (const float m : mask) {
    const bool infinite = std::isinf(stored(m, format)) && std::isfinite(m);
    t.mask_infinite += infinite ? 1 : 0;
    if (infinite) t.mask_greatest = std::max(t.mask_greatest, std::fabs(static_cast<double>(m)));
  }
  t.mask_elements = static_cast<std::int64_t>(mask.size());
  const std::int64_t row = shape[-1];
  for (std::int64_t at = 0; at < shape.elements(); at += row) {
    bool alive = false;
    for (std::int64_t e = at; e < at + row; ++e) {
      const double m = stored(mask[broadcast_index(mask_shape, shape, e)], format),
                   s = stored(scores[broadcast_index(score_shape, shape, e)], format);
      const double sum = stored(static_cast<float>(m + s), format);
      alive = alive || sum > -INFINITY;
      if (!std::isinf(sum) || std::isinf(m) || std::isinf(s)) continue;
      ++t.sums_infinite;
      if (std::fabs(m + s) > t.sum_greatest) {
        t.sum_greatest = std::fabs(m + s);
        t.sum_mask = m;
      }
    }
    ++t.rows;
    t.rows_without += alive ? 0 : 1;
  }
  return t;
}

std::string rows_words(const Tally& t) {
  return t.rows_without > 0 ? fmt::format("rows with no finite score: {} of {}, and the softmax of those is NaN",
                                          t.rows_without, t.rows)
                            : "every row keeps a finite score, so the softmax is right";
}

void add_facts(const Tally& t, Foreseen& f) {
  f.overflow = f.constant = true;
  f.facts.push_back(fact("rows_without_score", "rows without a score", static_cast<double>(t.rows_without),
                         fmt::format("{} of {}", t.rows_without, t.rows), Provenance::projected));
}

}  // namespace

void check_masks(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const auto add = mask_add(facts, NodeId{n});
    if (!add) continue;
    const Node& node = facts.graph().node(add->id);
    const ValueId mask_id = node.inputs[add->mask], score_id = node.inputs[1 - add->mask];
    const std::vector<float>*mask = facts.numbers(mask_id), *scores = facts.numbers(score_id);
    if (mask == nullptr || scores == nullptr) continue;
    const Value& out = facts.graph().value(node.outputs.front());
    const Tally t = count(out.shape, out.format, *mask, facts.graph().value(mask_id).shape, *scores,
                          facts.graph().value(score_id).shape);
    explained.push_back(out.name);
    explained.push_back(facts.graph().value(mask_id).name);
    if (t.mask_infinite == 0 && t.sums_infinite == 0) continue;
    const Gravity gravity = t.rows_without == 0                      ? Gravity::contained
                            : facts.feeds_loss(node.outputs.front()) ? Gravity::fatal
                                                                     : Gravity::contained;
    if (t.mask_infinite > 0) {
      const NodeId cast = facts.graph().value(mask_id).producer;
      Foreseen f = foreseen_at(facts, cast ? cast : add->id,
                               std::string(name(reports::Kind::mask_constant_out_of_range)), gravity);
      f.tensor = facts.graph().value(mask_id).name;
      f.what = fmt::format("{} of {} numbers of the mask never fit: {}; {}", t.mask_infinite, t.mask_elements,
                           reports::held_against_limit(t.mask_greatest, out.format), rows_words(t));
      f.facts.push_back(
          fact("greatest_magnitude", "magnitude", t.mask_greatest, amount(t.mask_greatest), Provenance::computed));
      f.facts.push_back(fact("not_finite", "not finite", static_cast<double>(t.mask_infinite),
                             counted(t.mask_infinite, "element"), Provenance::computed));
      add_facts(t, f);
      found.push_back(std::move(f));
    }
    if (t.sums_infinite > 0) {
      Foreseen f = foreseen_at(facts, add->id, std::string(name(reports::Kind::mask_sum)), gravity);
      f.what = fmt::format("the mask {} and a score make {}: {} -inf; {}", amount(t.sum_mask),
                           reports::held_against_limit(t.sum_greatest, out.format),
                           counted(t.sums_infinite, "element") + (t.sums_infinite == 1 ? " becomes" : " become"),
                           rows_words(t));
      f.facts.push_back(
          fact("greatest_magnitude", "magnitude", t.sum_greatest, amount(t.sum_greatest), Provenance::projected));
      f.facts.push_back(fact("not_finite", "not finite", static_cast<double>(t.sums_infinite),
                             counted(t.sums_infinite, "element"), Provenance::projected));
      f.facts.push_back(fact("mask", "mask", t.sum_mask, amount(t.sum_mask), Provenance::computed));
      add_facts(t, f);
      found.push_back(std::move(f));
    }
  }
}

std::set<std::string> mask_scores(const engine::StepPlan& plan) {
  std::set<std::string> names;
  const auto origin = [&](ValueId v) {
    while (plan.graph.value(v).producer && plan.graph.node(plan.graph.value(v).producer).op->name == "cast")
      v = plan.graph.node(plan.graph.value(v).producer).inputs.front();
    return v;
  };
  for (const Node& node : plan.graph.nodes()) {
    if (node.op->name != "add" || node.phase != engine::Phase::forward) continue;
    const ValueId a = origin(node.inputs[0]), b = origin(node.inputs[1]);
    const bool constant_a = plan.graph.value(a).role == engine::Role::constant,
               constant_b = plan.graph.value(b).role == engine::Role::constant;
    if (constant_a || constant_b) names.insert(plan.graph.value(constant_a ? b : a).name);
  }
  return names;
}

}  // namespace ulpscope::profiler
