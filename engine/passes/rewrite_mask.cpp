// scores + mask becomes a fill: what is masked gets the lowest finite number of the format that the scores have (not -inf: a row in
// which everything is masked keeps equal shares instead of NaN), and no score can push it over the edge.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/graph/operator.h"
#include "engine/passes/lowest_fill.h"
#include "engine/passes/rewrite_copy.h"

namespace ulpscope::engine {
namespace {

/// Until resolve_lowest_fills knows the formats.
constexpr double lowest = std::numeric_limits<float>::lowest();
/// A constant that is this low masks: exp(-1000) is 0 in fp32.
constexpr float masks_at = -1000.0f;

bool is_mask(float x) { return x <= masks_at; }

/// 1 where the constant masks; empty if it is no mask: some element is neither 0 nor at most -1000, or none masks.
std::vector<float> boolean_of(const Value& v) {
  if (v.producer || v.role != Role::constant || v.format == Format::i32) return {};
  const auto elements = static_cast<std::size_t>(v.shape.elements());
  std::vector<float> list(elements, 0.0f);
  if (v.initial.kind == Initial::Kind::constant && is_mask(static_cast<float>(v.initial.scale)))
    std::fill(list.begin(), list.end(), 1.0f);
  else if (v.initial.kind == Initial::Kind::values && v.initial.list.size() == elements)
    for (std::size_t i = 0; i < elements; ++i) {
      if (v.initial.list[i] != 0.0f && !is_mask(v.initial.list[i])) return {};
      list[i] = is_mask(v.initial.list[i]) ? 1.0f : 0.0f;
    }
  else
    return {};
  return std::find(list.begin(), list.end(), 1.0f) == list.end() ? std::vector<float>{} : list;
}

/// The constants that a mask is the sum of; empty if the value is no mask.
std::vector<ValueId> masks_of(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  if (!v.producer) return boolean_of(v).empty() ? std::vector<ValueId>{} : std::vector<ValueId>{value};
  const Node& node = graph.node(v.producer);
  if (node.op->name != "add") return {};
  std::vector<ValueId> all;
  for (const ValueId input : node.inputs) {
    const std::vector<ValueId> part = masks_of(graph, input);
    if (part.empty()) return {};
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Everything that reads the value is a softmax, or leads to one through views and other masks.
void must_lead_to_softmax(const Graph& graph, const Node& node, ValueId value, const Rewrite& rewrite) {
  const std::vector<Reader> readers = readers_of(graph, value);
  if (readers.empty()) refuse_rewrite(rewrite, node, fmt::format("no softmax reads '{}'", graph.value(value).name));
  for (const Reader& r : readers) {
    const std::string& op = r.node->op->name;
    if (op == "softmax") continue;
    const bool mask = op == "masked_fill" || op == "causal_mask" || (op == "add" && !masks_of(graph, r.node->inputs[1 - r.input]).empty());
    if (!only_moves(*r.node) && !mask && op != "cast")
      refuse_rewrite(rewrite, node, fmt::format("'{}' ({}) reads it, not a softmax alone: filled positions would count there", r.node->name, op));
    must_lead_to_softmax(graph, node, r.node->outputs.front(), rewrite);
  }
}

std::string why_no_mask(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  if (v.role == Role::input) return fmt::format("'{}' is a batch: which positions it masks is not known before it comes", v.name);
  return fmt::format("'{}' is no mask (a constant of zeros and of numbers that are at most {:g})", v.name, masks_at);
}

ValueId boolean_constant(GraphCopy& copy, ValueId mask) {
  const Value& v = copy.from().value(mask);
  const std::string name = v.name + ".boolean";
  if (copy.to().contains(name)) return copy.to().find(name);
  return copy.to().add_constant(name, v.shape, {Initial::Kind::values, 0.0, boolean_of(v)}, Format::i32);
}

/// An addition of scores and a mask.
void fill_instead(const Graph& graph, const Node& node, std::size_t mask_input, const Rewrite& rewrite, Replacements& work) {
  const ValueId scores = node.inputs[1 - mask_input];
  if (!(graph.value(scores).shape == graph.value(node.outputs.front()).shape))
    refuse_rewrite(rewrite, node, fmt::format("the mask is larger than '{}'", graph.value(scores).name));
  must_lead_to_softmax(graph, node, node.outputs.front(), rewrite);
  const std::vector<ValueId> masks = masks_of(graph, node.inputs[mask_input]);
  work[node.name] = [masks, mask_input](GraphCopy& copy, const Node& sum) {
    ValueId x = copy.now(sum.inputs[1 - mask_input]);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const bool last = i + 1 == masks.size();
      x = copy.insert("masked_fill", last ? sum.name : fmt::format("{}.{}.fill", sum.name, i), {x, boolean_constant(copy, masks[i])}, {{"value", lowest}, {fills_lowest, true}});
    }
    copy.set(sum.outputs.front(), x);
  };
}

/// Drops a sum of masks that nothing reads once its readers fill.
void drop(const Node& node, Replacements& work) {
  work[node.name] = [](GraphCopy&, const Node&) {};
}

}  // namespace

void boolean_mask(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work) {
  if (node.op->name != "add") {
    const double value = node.attributes.number_or("value", -std::numeric_limits<double>::infinity());
    if (value > masks_at) refuse_rewrite(rewrite, node, fmt::format("fills with {:g}: that masks nothing", value));
    must_lead_to_softmax(graph, node, node.outputs.front(), rewrite);
    work[node.name] = [](GraphCopy& copy, const Node& old) {
      Node now = old;
      now.attributes.set("value", lowest);
      now.attributes.set(fills_lowest, true);
      copy.add(now, copy.inputs(old));
    };
    return;
  }
  const bool first = !masks_of(graph, node.inputs[0]).empty(), second = !masks_of(graph, node.inputs[1]).empty();
  if (!first && !second) {
    // A constant is more likely meant to be the mask than a batch is, and that more than what is computed.
    const auto rank = [&](ValueId v) { return graph.value(v).producer ? 0 : graph.value(v).role == Role::constant ? 2 : 1; };
    refuse_rewrite(rewrite, node, why_no_mask(graph, node.inputs[rank(node.inputs[0]) >= rank(node.inputs[1]) ? 0 : 1]));
  }
  if (first != second) return fill_instead(graph, node, second ? 1 : 0, rewrite, work);
  const std::vector<Reader> readers = readers_of(graph, node.outputs.front());
  for (const Reader& r : readers) {
    const bool sum_of_masks = r.node->op->name == "add" && !masks_of(graph, r.node->outputs.front()).empty();
    if (sum_of_masks) boolean_mask(graph, *r.node, rewrite, work);
    else if (r.node->op->name == "add") fill_instead(graph, *r.node, r.input, rewrite, work);
    else refuse_rewrite(rewrite, node, fmt::format("'{}' ({}) reads this sum of masks, not an addition to scores", r.node->name, r.node->op->name));
  }
  if (readers.empty()) refuse_rewrite(rewrite, node, "nothing reads this sum of masks");
  drop(node, work);
}

}  // namespace ulpscope::engine
