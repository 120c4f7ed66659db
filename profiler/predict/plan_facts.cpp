#include "profiler/predict/plan_facts.h"

#include <algorithm>

#include "engine/graph/operator.h"
#include "profiler/predict/gradient_sums.h"
#include "profiler/probes/tensor_probe.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Graph;
using engine::Node;
using engine::NodeId;
using engine::Phase;
using engine::Role;
using engine::Value;
using engine::ValueId;
using reports::StoredRange;

bool is_view(const Node& node) { return !node.op->launches && !node.inputs.empty(); }
bool passes_on(const Node& node) { return node.op->name == "cast" || node.op->name == "scale_loss" || is_view(node); }

/// Its result holds numbers of its input, and none that are larger.
bool hands_on(const Node& node) {
  const std::string& op = node.op->name;
  return op == "relu" || op == "select" || op == "split" || op.starts_with("max_pool");
}

std::vector<bool> ancestors(const engine::StepPlan& plan) {
  std::vector<bool> found(static_cast<std::size_t>(plan.graph.value_count()), false);
  std::vector<ValueId> open{plan.loss};
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (found[static_cast<std::size_t>(v.index)]) continue;
    found[static_cast<std::size_t>(v.index)] = true;
    if (const NodeId producer = plan.graph.value(v).producer)
      for (const ValueId input : plan.graph.node(producer).inputs) open.push_back(input);
  }
  return found;
}

bool is_gradient_node(const Node& node) { return node.phase == Phase::backward && !node.attributes.contains("recomputes"); }

/// What is computed from the gradient of the loss (times the scale, where there is one).
std::vector<bool> gradients(const Graph& graph) {
  std::vector<bool> found(static_cast<std::size_t>(graph.value_count()), false);
  const auto set = [&](ValueId v) { found[static_cast<std::size_t>(v.index)] = true; };
  const auto is = [&](ValueId v) { return static_cast<bool>(found[static_cast<std::size_t>(v.index)]); };
  const auto& nodes = graph.nodes();
  const auto scale = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return is_gradient_node(n) && n.op->name == "scale_loss"; });
  const auto start = scale != nodes.end() ? scale : std::find_if(nodes.begin(), nodes.end(), is_gradient_node);
  if (start == nodes.end()) return found;
  for (const ValueId v : start->outputs) set(v);
  if (scale == nodes.end())   // a loss that is a sum begins in several places, with the same 1
    for (const ValueId v : start->inputs)
      if (!graph.value(v).producer && graph.value(v).shape.elements() == 1) set(v);
  for (const Node& node : nodes)
    if (is_gradient_node(node) && std::any_of(node.inputs.begin(), node.inputs.end(), is))
      for (const ValueId v : node.outputs) set(v);
  return found;
}

StoredRange::Source source_of(const Value& origin) {
  if (origin.producer) return StoredRange::Source::computed;
  switch (origin.role) {
    case Role::parameter:
      return StoredRange::Source::weight;
    case Role::constant:
      return StoredRange::Source::constant;
    case Role::input:
      return StoredRange::Source::batch;
    default:
      return StoredRange::Source::computed;
  }
}

}  // namespace

PlanFacts::PlanFacts(const engine::StepPlan& plan, const engine::Mode& mode, const engine::TrainConfig& config,
                     const Rehearsal& rehearsal)
    : plan_(plan), mode_(mode), config_(config), rehearsal_(rehearsal), feeds_loss_(ancestors(plan)), gradients_(gradients(plan.graph)) {
  sums_ = gradient_sums(*this);
}

std::optional<std::string> PlanFacts::seen(ValueId value) const {
  for (ValueId v = value;;) {
    const Value& here = graph().value(v);
    if (rehearsal_.ranges.contains(here.name)) return here.name;
    if (!here.producer || !passes_on(graph().node(here.producer))) return std::nullopt;
    v = graph().node(here.producer).inputs.front();
  }
}

const RoundingCounts* PlanFacts::range(ValueId value) const {
  if (const auto name = seen(value)) return &rehearsal_.ranges.at(*name);
  const auto sum = sums_.find(value.index);
  return sum == sums_.end() ? nullptr : &sum->second;
}

const std::vector<float>* PlanFacts::numbers(ValueId value) const {
  const auto name = seen(value);
  if (!name) return nullptr;
  const auto found = rehearsal_.values.find(*name);
  return found == rehearsal_.values.end() ? nullptr : &found->second;
}

const std::vector<std::vector<float>>* PlanFacts::numbers_of_every(ValueId value) const {
  const auto name = seen(value);
  if (!name) return nullptr;
  const auto found = rehearsal_.every.find(*name);
  return found == rehearsal_.every.end() || std::ssize(found->second) != plan_.micro_batches ? nullptr : &found->second;
}

ValueId PlanFacts::origin(ValueId value) const {
  while (graph().value(value).producer) {
    const Node& node = graph().node(graph().value(value).producer);
    if (node.op->name != "cast" && !is_view(node)) break;
    value = node.inputs.front();
  }
  return value;
}

std::vector<NodeId> PlanFacts::readers(ValueId value) const {
  std::vector<NodeId> found;
  for (std::int32_t n = 0; n < graph().node_count(); ++n) {
    const auto& inputs = graph().node(NodeId{n}).inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) found.push_back(NodeId{n});
  }
  return found;
}

bool PlanFacts::is_term(ValueId value, int depth) const {
  for (const NodeId id : readers(value)) {
    const Node& node = graph().node(id);
    if (node.phase != Phase::forward) continue;
    if (node.op->name == "add" || node.op->name == "sub") return true;
    if (depth > 0 && (node.op->name == "cast" || is_view(node)) && is_term(node.outputs.front(), depth - 1)) return true;
  }
  return false;
}

bool PlanFacts::reaches_softmax(ValueId value, int depth) const {
  if (depth == 0) return false;
  for (const NodeId id : readers(value)) {
    const Node& node = graph().node(id);
    if (node.op->name == "softmax" || node.op->name == "log_softmax") return true;
    if ((node.op->name == "cast" || node.op->name == "add" || is_view(node)) &&
        reaches_softmax(node.outputs.front(), depth - 1))
      return true;
  }
  return false;
}

void add_origins(const Graph& graph, ValueId value, std::set<std::string>& names) {
  names.insert(graph.value(value).name);
  while (graph.value(value).producer && passes_on(graph.node(graph.value(value).producer))) {
    value = graph.node(graph.value(value).producer).inputs.front();
    names.insert(graph.value(value).name);
  }
}

reports::Foreseen foreseen_at(const PlanFacts& facts, NodeId id, std::string kind, reports::Gravity gravity) {
  const Node& node = facts.graph().node(id);
  reports::Foreseen f;
  f.kind = std::move(kind);
  f.gravity = gravity;
  f.node = node.name;
  f.operation = node.op->name;
  f.phase = node.phase == Phase::unscale ? "backward" : name(node.phase);
  f.order = id.index;
  if (!node.outputs.empty()) {
    f.tensor = facts.graph().value(node.outputs.front()).name;
    f.format = name(facts.graph().value(node.outputs.front()).format);
  }
  return f;
}

void add_ranges(const PlanFacts& facts, const std::vector<std::string>& explained, reports::PredictionInput& input) {
  const Graph& graph = facts.graph();
  const auto add = [&](ValueId v, const Node* node, std::int64_t order) {
    const Value& value = graph.value(v);
    if (!is_16bit(value.format)) return;
    const RoundingCounts* const range = facts.range(v);
    if (range == nullptr) {
      ++input.without_counterpart;
      return;
    }
    StoredRange r;
    r.tensor = value.name;
    if (node != nullptr) {
      r.node = node->name;
      r.operation = node->op->name;
      r.backward = facts.is_gradient(v) || node->op->name == "scale_loss";
      r.beside_loss = is_gradient_node(*node) && !r.backward;
    }
    r.format = value.format;
    r.feeds_loss = r.backward || r.beside_loss || facts.feeds_loss(v);
    r.source = source_of(graph.value(facts.origin(v)));
    r.order = order;
    r.added = facts.is_term(v);
    if (node != nullptr && hands_on(*node) && !r.backward) r.hands_on = graph.value(node->inputs.front()).name;
    r.explained = std::find(explained.begin(), explained.end(), value.name) != explained.end();
    const reports::TensorStatsRecord stats = tensor_stats(*range);
    r.elements = stats.elements;
    r.greatest = stats.greatest_magnitude.value_or(0.0);
    r.least = stats.least_magnitude.value_or(0.0);
    r.histogram = stats.histogram.value_or(reports::ExponentHistogram{});
    input.ranges.push_back(std::move(r));
  };
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId{i});
    const bool read = value.role == Role::parameter || value.role == Role::constant || value.role == Role::buffer ||
                      value.role == Role::input;
    if (!value.producer && read) add(ValueId{i}, nullptr, -1);
  }
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (!node.op->launches || node.phase == Phase::unscale || node.phase == Phase::update) continue;
    if (node.op->name == "scale_loss" && node.phase == Phase::forward) continue;  // the scaled loss: no gradient is computed from that number
    for (const ValueId v : node.outputs) add(v, &node, n);
  }
}

}  // namespace ulpscope::profiler
