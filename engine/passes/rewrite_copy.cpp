#include "engine/passes/rewrite_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/graph/operator.h"
#include "kernels/error.h"

namespace ulpscope::engine {

std::vector<Reader> readers_of(const Graph& graph, ValueId value) {
  std::vector<Reader> readers;
  for (const Node& node : graph.nodes())
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == value) readers.push_back({&node, i});
  return readers;
}

bool only_moves(const Node& node) {
  const std::string& op = node.op->name;
  return op == "reshape" || op == "flatten" || op == "split_heads" || op == "join_heads";
}

std::optional<double> single_constant(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  if (v.producer || v.role != Role::constant || v.shape.elements() != 1) return std::nullopt;
  switch (v.initial.kind) {
    case Initial::Kind::zeros: return 0.0;
    case Initial::Kind::ones: return 1.0;
    case Initial::Kind::constant: return v.initial.scale;
    case Initial::Kind::values: return static_cast<double>(v.initial.list.front());
    case Initial::Kind::normal:
    case Initial::Kind::uniform: return std::nullopt;
  }
  return std::nullopt;
}

void refuse_rewrite(const Rewrite& rewrite, const Node& node, const std::string& reason) {
  throw UsageError(fmt::format("{}[[rewrite]] {}: '{}' ({}): {}", rewrite.where.empty() ? "" : rewrite.where + ": ", name(rewrite.kind),
                               node.name, node.op->name, reason));
}

std::vector<ValueId> GraphCopy::inputs(const Node& node) const {
  std::vector<ValueId> inputs;
  for (const ValueId v : node.inputs) inputs.push_back(now(v));
  return inputs;
}

NodeId GraphCopy::add(const Node& node, std::vector<ValueId> inputs) {
  Node copy = node;
  copy.inputs = std::move(inputs);
  copy.outputs.clear();
  const NodeId id = to_.add_node(std::move(copy));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) set(node.outputs[i], to_.node(id).outputs[i]);
  return id;
}

ValueId GraphCopy::insert(std::string_view op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes) {
  return to_.apply(op, name, std::move(inputs), std::move(attributes));
}

Graph GraphCopy::run(const std::map<std::string, Work>& replace, std::vector<ValueId>& map) {
  for (std::int32_t i = 0; i < from_.value_count(); ++i)
    if (const Value& v = from_.value(ValueId{i}); !v.producer) set(ValueId{i}, to_.add_source(v));
  for (const Node& node : from_.nodes()) {
    const auto work = replace.find(node.name);
    if (work == replace.end())
      add(node, inputs(node));
    else
      work->second(*this, node);
  }
  map = map_;
  return std::move(to_);
}

Graph without_unread_constants(const Graph& graph, const Graph& before, std::vector<ValueId>& map) {
  const auto superfluous = [&](const Value& v, ValueId id) {
    return v.role == Role::constant && !v.producer && before.contains(v.name) && readers_of(graph, id).empty() &&
           !readers_of(before, before.find(v.name)).empty();
  };
  Graph to;
  std::vector<ValueId> now(static_cast<std::size_t>(graph.value_count()));
  for (std::int32_t i = 0; i < graph.value_count(); ++i)
    if (const Value& v = graph.value(ValueId{i}); !v.producer && !superfluous(v, ValueId{i})) now[static_cast<std::size_t>(i)] = to.add_source(v);
  for (const Node& old : graph.nodes()) {
    Node node = old;
    node.outputs.clear();
    for (ValueId& v : node.inputs) v = now[static_cast<std::size_t>(v.index)];
    const NodeId id = to.add_node(std::move(node));
    for (std::size_t i = 0; i < old.outputs.size(); ++i) now[static_cast<std::size_t>(old.outputs[i].index)] = to.node(id).outputs[i];
  }
  for (ValueId& v : map)
    if (v) v = now[static_cast<std::size_t>(v.index)];
  return to;
}

}  // namespace ulpscope::engine
