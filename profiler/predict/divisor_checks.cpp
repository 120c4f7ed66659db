// Divisors that become zero in the format in which the mode stores them: an epsilon, or what training makes of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "profiler/probes/tensor_probe.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::ValueId;

/// What a node does with an operand that may not be zero.
struct Division {
  std::size_t place = 0;  ///< of the operand
  const char* doing = "";
};

std::optional<Division> division(const Node& node) {
  const std::string& op = node.op->name;
  if (op == "div" || (op == "expand" && node.inputs.size() > 1)) return Division{1, "divides by it"};
  if (op == "log") return Division{0, "takes its logarithm"};
  if (op == "rsqrt" || op == "sqrt_backward") return Division{0, "divides by this root"};
  return std::nullopt;
}

/// Non-zero elements that are zero once rounded to `format`, and all non-zero ones. Counted by binades: what lies in the binade of the
/// threshold itself is taken to stay.
struct Lost {
  std::int64_t zero = 0, all = 0;
};
Lost lost_in(const RoundingCounts& range, Format format) {
  Lost lost;
  const auto histogram = tensor_stats(range).histogram;
  if (!histogram) return lost;
  const int least = std::ilogb(info(format).flush_threshold);
  for (std::size_t i = 0; i < histogram->counts.size(); ++i) {
    const auto count = static_cast<std::int64_t>(histogram->counts[i]);
    lost.all += count;
    if (histogram->first + static_cast<int>(i) < least) lost.zero += count;
  }
  return lost;
}

/// A sum in which everything of a term that training does not make, an epsilon, becomes zero; nothing else was to keep it from being 0.
bool lost_its_epsilon(const PlanFacts& facts, ValueId sum) {
  const engine::Value& value = facts.graph().value(sum);
  if (!value.producer || facts.graph().node(value.producer).op->name != "add") return false;
  const auto& terms = facts.graph().node(value.producer).inputs;
  return std::any_of(terms.begin(), terms.end(), [&](ValueId term) {
    const engine::Value& origin = facts.graph().value(facts.origin(term));
    const RoundingCounts* const range = facts.range(term);
    if (origin.producer || origin.role != engine::Role::constant || range == nullptr) return false;
    return range->greatest_magnitude > 0.0 && range->greatest_magnitude <= info(value.format).flush_threshold;
  });
}

/// A zero comes out of it, where it reads one.
bool passes_zero_on(const Node& node) {
  return node.op->name == "cast" || node.op->name == "reshape" || node.op->name == "flatten" || node.op->name == "detach" ||
         node.op->name == "sqrt";
}

/// Half an ulp of the coarsest 16-bit format that a number was rounded to on its way here, relative to it; 0: it was not.
double rounded_by(const PlanFacts& facts, ValueId v) {
  double most = 0.0;
  for (;;) {
    const engine::Value& value = facts.graph().value(v);
    if (is_16bit(value.format)) most = std::max(most, info(value.format).unit_roundoff);
    if (!value.producer || (facts.graph().node(value.producer).op->name != "cast" && facts.graph().node(value.producer).op->launches)) return most;
    v = facts.graph().node(value.producer).inputs.front();
  }
}

/// A sum or a difference of which nothing may be left once its terms, or it itself, are rounded.
bool may_become_zero(const PlanFacts& facts, const Node& node) {
  if (node.op->name != "add" && node.op->name != "sub") return false;
  const RoundingCounts* const result = facts.range(node.outputs.front());
  if (result == nullptr || result->least_magnitude == 0.0) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId term) {
    const RoundingCounts* const range = facts.range(term);
    return range != nullptr && result->least_magnitude <= 2.0 * rounded_by(facts, term) * range->greatest_magnitude;
  });
}

}  // namespace

bool may_cancel(const PlanFacts& facts) {
  const engine::Graph& graph = facts.graph();
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    const auto what = division(node);
    if (!what || node.phase == engine::Phase::unscale || node.phase == engine::Phase::update) return false;
    for (ValueId v = node.inputs.at(what->place); graph.value(v).producer;) {
      const Node& made_by = graph.node(graph.value(v).producer);
      if (may_become_zero(facts, made_by)) return true;
      if (!passes_zero_on(made_by) && made_by.op->name != "scale") return false;
      v = made_by.inputs.front();
    }
    return false;
  });
}

void check_divisors(const PlanFacts& facts, FoundFaults& found) {
  const engine::Graph& graph = facts.graph();
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    const auto what = division(node);
    if (!what || node.phase == engine::Phase::unscale || node.phase == engine::Phase::update) continue;
    for (ValueId v = node.inputs.at(what->place);;) {
      const engine::Value& value = graph.value(v);
      const RoundingCounts* const range = facts.range(v);
      const Lost lost = is_16bit(value.format) && range != nullptr ? lost_in(*range, value.format) : Lost{};
      if (lost.zero > 0) {
        const bool brought = !graph.value(facts.origin(v)).producer || lost_its_epsilon(facts, facts.origin(v));  // not made of other numbers: an epsilon
        const bool counts = node.phase != engine::Phase::forward || facts.feeds_loss(node.outputs.front());
        reports::Foreseen f =
            foreseen_at(facts, NodeId{n}, std::string(name(brought ? reports::Kind::epsilon_vanished : reports::Kind::activation_below_range)),
                        counts ? reports::Gravity::fatal : reports::Gravity::contained);
        f.overflow = true;
        f.constant = brought;
        f.tensor = value.name;
        f.format = name(value.format);
        f.what = fmt::format("{} of {} non-zero {} of {} become zero in {} (up to {} in magnitude in fp32), and {} {}: what comes of it is not finite",
                             lost.zero, lost.all, lost.all == 1 ? "element" : "elements", value.name, name(value.format),
                             reports::amount(range->greatest_magnitude), node.name, what->doing);
        f.facts.push_back(reports::fact("zeros", "become zero", static_cast<double>(lost.zero), fmt::format("{} of {}", lost.zero, lost.all),
                                        reports::Provenance::projected));
        found.push_back(std::move(f));
        break;
      }
      if (!value.producer || !passes_zero_on(graph.node(value.producer))) break;
      v = graph.node(value.producer).inputs.front();
    }
  }
}

}  // namespace ulpscope::profiler
