#include "profiler/predict/rehearsal.h"

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/probes/in_fp32.h"

namespace ulpscope::profiler {
namespace {

using engine::Graph;
using engine::Node;
using engine::Role;
using engine::Value;
using engine::ValueId;

/// Looks for it in the ranges of a step.
class Search {
 public:
  Search(const Graph& graph, const Rehearsal& rehearsal) : graph_(graph), rehearsal_(rehearsal) {}

  std::optional<NotFinite> run() const {
    for (const Role role : {Role::parameter, Role::buffer, Role::input})
      for (const ValueId id : graph_.with_role(role))
        if (!graph_.value(id).producer && bad(id) > 0 && !(role == Role::input && masks(id, depth))) return of_source(id);
    for (std::int32_t n = 0; n < graph_.node_count(); ++n)
      if (const Node& node = graph_.node(engine::NodeId{n}); makes_it(node)) return of_node(node, n);
    return std::nullopt;
  }

 private:
  static constexpr int depth = 8;

  const RoundingCounts* range(ValueId id) const {
    const auto found = rehearsal_.ranges.find(graph_.value(id).name);
    return found == rehearsal_.ranges.end() ? nullptr : &found->second;
  }

  /// Its -inf stand for what is masked.
  bool masks(ValueId id, int steps) const {
    const RoundingCounts* c = range(id);
    if (c == nullptr || c->negative_infinity == 0 || c->nan + c->positive_infinity + c->overflowed > 0) return false;
    const Value& value = graph_.value(id);
    if (!value.producer) return value.role == Role::constant || value.role == Role::input;
    const Node& node = graph_.node(value.producer);
    const std::string& op = node.op->name;
    if (op == "causal_mask" || op == "masked_fill" || op == "where") return true;
    if (steps == 0 || (op != "add" && op != "cast" && op != "scale" && op != "reshape")) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return masks(v, steps - 1); });
  }

  /// Elements that are not finite and stand for nothing.
  std::int64_t bad(ValueId id) const {
    const RoundingCounts* c = range(id);
    if (c == nullptr) return 0;
    return c->nan + c->positive_infinity + c->overflowed + (masks(id, depth) ? 0 : c->negative_infinity);
  }

  bool makes_it(const Node& node) const {
    if (node.phase == engine::Phase::update || node.op->name == "global_norm") return false;
    const auto is_bad = [this](ValueId id) { return bad(id) > 0; };
    return std::any_of(node.outputs.begin(), node.outputs.end(), is_bad) && std::none_of(node.inputs.begin(), node.inputs.end(), is_bad);
  }

  NotFinite of_source(ValueId id) const {
    NotFinite found;
    found.tensor = graph_.value(id).name;
    found.role = name(graph_.value(id).role);
    found.order = -1;
    found.elements = range(id)->elements;
    found.not_finite = bad(id);
    return found;
  }

  NotFinite of_node(const Node& node, std::int64_t order) const {
    NotFinite found;
    found.node = node.name;
    found.operation = node.op->name;
    found.phase = name(node.phase);
    found.order = order;
    for (const ValueId out : node.outputs) {
      if (bad(out) == 0) continue;
      found.tensor = graph_.value(out).name;
      found.elements = range(out)->elements;
      found.not_finite = bad(out);
      break;
    }
    for (const ValueId in : node.inputs)
      if (const RoundingCounts* c = range(in)) found.greatest_input = std::max(found.greatest_input, c->greatest_magnitude);
    return found;
  }

  const Graph& graph_;
  const Rehearsal& rehearsal_;
};

}  // namespace

Rehearsal rehearse_in_fp32(Device& device, const engine::Dataset& dataset, const engine::TrainerSetup& setup,
                           const std::set<std::string>& wanted, const std::set<std::string>& wanted_of_every,
                           const std::function<bool()>& stop) {
  Rehearsal rehearsal;
  engine::Topics topics;
  engine::Trainer trainer(device, dataset, in_fp32(setup, device), topics);
  const engine::Graph& graph = trainer.plan().graph;
  // Indices are not counted, and not announced: the batch is there once anything is.
  bool indices_read = false;
  const auto read_indices = [&] {
    for (const std::string& name : wanted)
      if (graph.contains(name) && graph.value(graph.find(name)).format == Format::i32 && !graph.value(graph.find(name)).producer)
        rehearsal.values[name] = trainer.read(name);
    indices_read = true;
  };
  const auto listening = topics.tensor.subscribe([&](const engine::TensorEvent& event) {
    if (stop && stop()) throw Interrupted();   // the trainer goes with it
    if (event.inner || !event.value) return;
    if (!indices_read) read_indices();
    const engine::Value& value = graph.value(event.value);
    merge_counts(rehearsal.ranges[value.name], *event.counts);
    const bool source = value.role == engine::Role::constant || value.role == engine::Role::input;
    if (event.micro_batch == 0 && (source || wanted.contains(value.name)))
      rehearsal.values[value.name] = trainer.read(value.name);
    if (wanted_of_every.contains(value.name)) rehearsal.every[value.name].push_back(trainer.read(value.name));
  });
  rehearsal.result = trainer.rehearse([](const engine::Node&) { return true; });
  if (!std::isfinite(rehearsal.result.loss) || !rehearsal.result.finite) rehearsal.first_not_finite = Search(graph, rehearsal).run();
  // Unscaled gradients wait in memory for the update.
  for (const engine::Node& node : graph.nodes()) {
    if (node.phase != engine::Phase::update || (node.op->name != "adamw" && node.op->name != "sgd")) continue;
    const std::string& parameter = graph.value(node.inputs.at(2)).name;
    rehearsal.weights[parameter] = trainer.read(parameter);
    rehearsal.gradients[parameter] = trainer.read(graph.value(node.inputs.at(0)).name);
  }
  return rehearsal;
}

}  // namespace ulpscope::profiler
