// Masks that are added to scores, or written over them: constants that do not fit the format, and sums that leave it; rows that keep no
// finite score. As long as every row keeps one, -inf is what a mask is for, and nothing is said.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

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

std::string rows_words(std::int64_t without, std::int64_t rows) {
  return fmt::format("rows with no finite score: {} of {}, and the softmax of those is NaN", without, rows);
}

void add_facts(std::int64_t without, std::int64_t rows, Foreseen& f) {
  f.overflow = f.constant = true;
  f.facts.push_back(fact("rows_without_score", "rows without a score", static_cast<double>(without), fmt::format("{} of {}", without, rows), Provenance::projected));
}

constexpr std::int64_t most_numbers = std::int64_t{1} << 22;  ///< of a result, that are kept to find out
constexpr int way_to_softmax = 8;

/// Writes a constant over scores that its format cannot hold: what it makes in 16 bits is -inf.
bool fills_beyond(const engine::Graph& graph, const Node& node) {
  if ((node.op->name != "masked_fill" && node.op->name != "causal_mask") || node.phase != engine::Phase::forward) return false;
  const Format format = graph.value(node.outputs.front()).format;
  const double value = node.attributes.number_or("value", -INFINITY);
  return is_16bit(format) && std::isfinite(value) && value <= -reports::limit(format);
}

/// Hands scores on towards a softmax, element by element.
bool hands_scores_on(const Node& node) {
  static const std::set<std::string> operations{"cast", "add", "sub", "scale", "mul", "div", "where", "masked_fill", "causal_mask"};
  return node.phase == engine::Phase::forward && node.outputs.size() == 1 && (operations.contains(node.op->name) || (!node.op->launches && !node.inputs.empty()));
}

/// The nodes from a fill to the softmax that reads it, the fill first; none: no softmax reads it.
std::vector<NodeId> towards_softmax(const engine::Graph& graph, NodeId fill) {
  std::vector<NodeId> way{fill};
  bool softmax = false;
  for (std::size_t i = 0; i < way.size() && i < way_to_softmax; ++i) {
    const ValueId out = graph.node(way[i]).outputs.front();
    for (std::int32_t n = way[i].index + 1; n < graph.node_count(); ++n) {
      const Node& node = graph.node(NodeId{n});
      if (node.phase != engine::Phase::forward || std::find(node.inputs.begin(), node.inputs.end(), out) == node.inputs.end()) continue;
      softmax = softmax || node.op->name == "softmax" || node.op->name == "log_softmax";
      if (hands_scores_on(node) && std::find(way.begin(), way.end(), NodeId{n}) == way.end()) way.push_back(NodeId{n});
    }
  }
  return softmax ? way : std::vector<NodeId>{};
}

/// Rows of a result as its format stores it.
struct Rows {
  std::int64_t all = 0, without = 0;  ///< of them without a finite score
  std::int64_t negative = 0, positive = 0;   ///< elements that become infinite
};

Rows rows_of(const Value& value, const std::vector<float>& numbers) {
  Rows rows;
  const std::int64_t length = std::max<std::int64_t>(1, value.shape[-1]);
  for (std::int64_t at = 0; at + length <= std::ssize(numbers); at += length) {
    bool alive = false;
    for (std::int64_t i = at; i < at + length; ++i) {
      const float x = numbers[static_cast<std::size_t>(i)];
      const double s = stored(x, value.format);
      alive = alive || std::isfinite(s);
      rows.negative += s == -INFINITY && std::isfinite(x) ? 1 : 0;
      rows.positive += s == INFINITY && std::isfinite(x) ? 1 : 0;
    }
    ++rows.all;
    rows.without += alive ? 0 : 1;
  }
  return rows;
}

/// The fill itself. rows: none: its numbers are too many to keep.
void fill_fault(const PlanFacts& facts, NodeId id, const std::optional<Rows>& rows, FoundFaults& found) {
  const Node& node = facts.graph().node(id);
  const Value& out = facts.graph().value(node.outputs.front());
  const double value = node.attributes.number("value");
  const bool fatal = rows && facts.feeds_loss(node.outputs.front());
  Foreseen f = foreseen_at(facts, id, std::string(name(reports::Kind::mask_constant_out_of_range)), fatal ? Gravity::fatal : rows ? Gravity::contained : Gravity::note);
  f.what = fmt::format("the mask constant {} never fits: {}; {}", amount(value), reports::held_against_limit(std::fabs(value), out.format),
                       rows ? rows_words(rows->without, rows->all) : "whether every row keeps a finite score is not known (too many numbers to keep), and a softmax over a row that does not is NaN");
  f.facts.push_back(fact("greatest_magnitude", "magnitude", std::fabs(value), amount(std::fabs(value)), Provenance::computed));
  if (rows) {
    f.facts.push_back(fact("not_finite", "not finite", static_cast<double>(rows->negative), counted(rows->negative, "element"), Provenance::projected));
    add_facts(rows->without, rows->all, f);
  }
  found.push_back(std::move(f));
}

/// What is written over scores, and what makes something of it on the way to the softmax.
void check_fills(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    if (!fills_beyond(facts.graph(), facts.graph().node(NodeId{n}))) continue;
    for (const NodeId id : towards_softmax(facts.graph(), NodeId{n})) {
      const Node& node = facts.graph().node(id);
      const Value& out = facts.graph().value(node.outputs.front());
      if (!is_16bit(out.format) || !node.op->launches) continue;
      const std::vector<float>* const numbers = facts.numbers(node.outputs.front());
      const std::optional<Rows> rows = numbers != nullptr ? std::optional(rows_of(out, *numbers)) : std::nullopt;
      const bool fill = fills_beyond(facts.graph(), node);
      if (rows && rows->positive > 0) continue;  // that is no mask's doing
      if (fill || (rows && rows->without == 0)) explained.push_back(out.name);
      const bool causal = node.op->name == "causal_mask" && out.shape.rank >= 2 && out.shape[-1] >= out.shape[-2];  // it leaves each row a score
      if (fill && id == NodeId{n} && (rows ? rows->without > 0 : !causal)) fill_fault(facts, id, rows, found);
    }
  }
}

}  // namespace

void check_masks(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained) {
  check_fills(facts, found, explained);
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
    if ((t.mask_infinite == 0 && t.sums_infinite == 0) || t.rows_without == 0) continue;
    const Gravity gravity = facts.feeds_loss(node.outputs.front()) ? Gravity::fatal : Gravity::contained;
    if (t.mask_infinite > 0) {
      const NodeId cast = facts.graph().value(mask_id).producer;
      Foreseen f = foreseen_at(facts, cast ? cast : add->id,
                               std::string(name(reports::Kind::mask_constant_out_of_range)), gravity);
      f.tensor = facts.graph().value(mask_id).name;
      f.what = fmt::format("{} of {} numbers of the mask never fit: {}; {}", t.mask_infinite, t.mask_elements,
                           reports::held_against_limit(t.mask_greatest, out.format), rows_words(t.rows_without, t.rows));
      f.facts.push_back(
          fact("greatest_magnitude", "magnitude", t.mask_greatest, amount(t.mask_greatest), Provenance::computed));
      f.facts.push_back(fact("not_finite", "not finite", static_cast<double>(t.mask_infinite),
                             counted(t.mask_infinite, "element"), Provenance::computed));
      add_facts(t.rows_without, t.rows, f);
      found.push_back(std::move(f));
    }
    if (t.sums_infinite > 0) {
      Foreseen f = foreseen_at(facts, add->id, std::string(name(reports::Kind::mask_sum)), gravity);
      f.what = fmt::format("the mask {} and a score make {}: {} -inf; {}", amount(t.sum_mask),
                           reports::held_against_limit(t.sum_greatest, out.format),
                           counted(t.sums_infinite, "element") + (t.sums_infinite == 1 ? " becomes" : " become"),
                           rows_words(t.rows_without, t.rows));
      f.facts.push_back(
          fact("greatest_magnitude", "magnitude", t.sum_greatest, amount(t.sum_greatest), Provenance::projected));
      f.facts.push_back(fact("not_finite", "not finite", static_cast<double>(t.sums_infinite),
                             counted(t.sums_infinite, "element"), Provenance::projected));
      f.facts.push_back(fact("mask", "mask", t.sum_mask, amount(t.sum_mask), Provenance::computed));
      add_facts(t.rows_without, t.rows, f);
      found.push_back(std::move(f));
    }
  }
}

std::set<std::string> mask_scores(const engine::StepPlan& plan) {
  std::set<std::string> names;
  for (std::int32_t n = 0; n < plan.graph.node_count(); ++n) {
    if (!fills_beyond(plan.graph, plan.graph.node(NodeId{n}))) continue;
    for (const NodeId id : towards_softmax(plan.graph, NodeId{n}))
      if (const Value& out = plan.graph.value(plan.graph.node(id).outputs.front()); is_16bit(out.format) && out.shape.elements() <= most_numbers)
        add_origins(plan.graph, plan.graph.node(id).outputs.front(), names);
  }
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
