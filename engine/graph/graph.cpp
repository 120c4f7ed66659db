#include "engine/graph/graph.h"

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {

const char* name(Role role) {
  switch (role) {
    case Role::activation: return "activation";
    case Role::input: return "input";
    case Role::constant: return "constant";
    case Role::parameter: return "parameter";
    case Role::weight_copy: return "weight copy";
    case Role::cast: return "cast";
    case Role::gradient: return "gradient";
    case Role::parameter_gradient: return "parameter gradient";
    case Role::optimizer_state: return "optimizer state";
    case Role::buffer: return "buffer";
    case Role::committed_buffer: return "committed buffer";
    case Role::accumulator: return "accumulator";
  }
  return "?";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::unscale: return "unscale";
    case Phase::update: return "update";
  }
  return "?";
}

namespace {

/// More than any machine holds: sums of bytes stay far below 2^63.
constexpr std::int64_t most_elements = std::int64_t{1} << 50;

void refuse_countless(const Value& value) {
  std::int64_t elements = 1;
  for (int i = 0; i < value.shape.rank; ++i) {
    if (value.shape[i] == 0) return;
    if (value.shape[i] > most_elements / elements)
      throw UsageError(fmt::format("'{}': the shape {} has more elements than any machine holds", value.name, to_string(value.shape)));
    elements *= value.shape[i];
  }
}

}  // namespace

ValueId Graph::add_value(Value value) {
  refuse_countless(value);
  const ValueId id{static_cast<std::int32_t>(values_.size())};
  if (!by_name_.emplace(value.name, id).second)
    throw UsageError(fmt::format("a value named '{}' is there already: the {} needs another name", value.name, name(value.role)));
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_input(std::string name, const Shape& shape, Format format) {
  return add_value({std::move(name), shape, format, Role::input, {}, {}, {}});
}
ValueId Graph::add_parameter(std::string name, const Shape& shape, Initial initial, Format format) {
  return add_value({std::move(name), shape, format, Role::parameter, {}, {}, std::move(initial)});
}
ValueId Graph::add_constant(std::string name, const Shape& shape, Initial initial, Format format) {
  return add_value({std::move(name), shape, format, Role::constant, {}, {}, std::move(initial)});
}
ValueId Graph::add_optimizer_state(std::string name, const Shape& shape, Format format) {
  return add_value({std::move(name), shape, format, Role::optimizer_state, {}, {}, {}});
}
ValueId Graph::add_buffer(std::string name, const Shape& shape, Initial initial, Format format) {
  return add_value({std::move(name), shape, format, Role::buffer, {}, {}, std::move(initial)});
}
ValueId Graph::add_persistent(std::string name, const Shape& shape, Format format, Role role) {
  return add_value({std::move(name), shape, format, role, {}, {}, {}});
}
ValueId Graph::add_source(const Value& value) {
  return add_value({value.name, value.shape, value.format, value.role, {}, {}, value.initial});
}

namespace {

std::string output_name(const std::string& node, std::size_t i) { return i == 0 ? node : fmt::format("{}:{}", node, i); }

}  // namespace

std::string Graph::free_name(const std::string& name, std::size_t outputs) const {
  const auto is_free = [&](const std::string& n) {
    for (std::size_t i = 0; i < outputs; ++i)
      if (by_name_.contains(output_name(n, i))) return false;
    return true;
  };
  if (is_free(name)) return name;
  for (int i = 2;; ++i)
    if (std::string numbered = fmt::format("{}.{}", name, i); is_free(numbered)) return numbered;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<std::int32_t>(nodes_.size())};
  std::vector<ValueType> types = infer_types(*this, node);
  if (node.store)
    for (std::size_t i = 0; i < types.size() && static_cast<int>(i) < node.op->differentiable_outputs; ++i) types[i].format = *node.store;
  node.name = free_name(node.name, types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    Value value;
    value.name = output_name(node.name, i);
    value.shape = types[i].shape;
    value.format = types[i].format;
    value.role = node.phase == Phase::backward && node.op->output_role == Role::activation ? Role::gradient
                                                                                           : node.op->output_role;
    value.producer = id;
    const int shared = node.op->in_place_all          ? static_cast<int>(i)
                       : i < node.op->in_place.size() ? node.op->in_place[i]
                                                      : -1;
    if (shared >= 0) {
      value.same_memory_as = node.inputs.at(static_cast<std::size_t>(shared));
      value.role = values_.at(static_cast<std::size_t>(value.same_memory_as.index)).role;
    }
    node.outputs.push_back(add_value(std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return id;
}

NodeId Graph::add_node(std::string_view op, std::string name, std::vector<ValueId> inputs, Attributes attributes) {
  Node node;
  node.op = &operators().find_for_model(op);
  node.name = std::move(name);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return add_node(std::move(node));
}

ValueId Graph::apply(std::string_view op, std::string name, std::vector<ValueId> inputs, Attributes attributes) {
  return node(add_node(op, std::move(name), std::move(inputs), std::move(attributes))).outputs.front();
}

ValueId Graph::find(std::string_view name) const {
  if (const auto it = by_name_.find(std::string(name)); it != by_name_.end()) return it->second;
  std::vector<std::string> names;
  for (const Value& v : values_) names.push_back(v.name);
  throw Error(fmt::format("no value is named '{}'; the nearest is '{}'", name, nearest(name, names)));
}

std::vector<ValueId> Graph::with_role(Role role) const {
  std::vector<ValueId> found;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].role == role && !values_[i].same_memory_as) found.push_back(ValueId{static_cast<std::int32_t>(i)});
  return found;
}

ValueId Graph::memory_owner(ValueId id) const {
  while (value(id).same_memory_as) id = value(id).same_memory_as;
  return id;
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    std::vector<std::string> in, out;
    for (const ValueId v : node.inputs) in.push_back(fmt::format("{} {}", graph.value(v).name, name(graph.value(v).format)));
    for (const ValueId v : node.outputs)
      out.push_back(fmt::format("{}{}", name(graph.value(v).format), to_string(graph.value(v).shape)));
    text += fmt::format("{}: {}({}) -> {}", node.name, node.op->name, fmt::join(in, ", "), fmt::join(out, ", "));
    if (node.multiply == Format::tf32) text += " multiply=tf32";
    if (!node.attributes.all().empty()) text += fmt::format(" {{{}}}", to_string(node.attributes));
    text += '\n';
  }
  return text;
}

}  // namespace ulpscope::engine
