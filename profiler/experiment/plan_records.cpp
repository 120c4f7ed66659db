#include "profiler/experiment/plan_records.h"

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "profiler/experiment/json_text.h"
#include "profiler/probes/tensor_probe.h"

namespace ulpscope::profiler {
namespace {

using engine::Graph;
using engine::Node;
using engine::Role;
using engine::Value;
using engine::ValueId;

std::vector<std::int64_t> dimensions(const Shape& shape) { return {shape.dim.begin(), shape.dim.begin() + shape.rank}; }

reports::Signature signature(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return {dimensions(value.shape), name(value.format), static_cast<reports::TensorId>(id.index)};
}

reports::Phase report_phase(engine::Phase phase) {
  switch (phase) {
    case engine::Phase::forward:
      return reports::Phase::forward;
    case engine::Phase::backward:
      return reports::Phase::backward;
    case engine::Phase::unscale:  // part of the update to whoever reads a plan
    case engine::Phase::update:
      return reports::Phase::update;
  }
  return reports::Phase::forward;
}

/// Parameters are the master weights where a 16-bit copy of them is made.
reports::TensorRole report_role(const Value& value, bool has_copies) {
  switch (value.role) {
    case Role::input:
    case Role::constant:
      return reports::TensorRole::input;
    case Role::parameter:
      return has_copies ? reports::TensorRole::master_weight : reports::TensorRole::weight;
    case Role::weight_copy:
      return reports::TensorRole::weight;
    case Role::gradient:
    case Role::parameter_gradient:
    case Role::accumulator:
      return reports::TensorRole::gradient;
    case Role::optimizer_state:
      return reports::TensorRole::optimizer_state;
    case Role::buffer:
    case Role::committed_buffer:
      return reports::TensorRole::buffer;
    case Role::activation:
    case Role::cast:
      return reports::TensorRole::activation;
  }
  return reports::TensorRole::activation;
}

std::int64_t output_position(const Graph& graph, const Value& value, ValueId id) {
  if (!value.producer) return 0;
  const auto& outputs = graph.node(value.producer).outputs;
  return std::find(outputs.begin(), outputs.end(), id) - outputs.begin();
}

std::int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::int64_t bytes = 0;
  for (const ValueId id : values) bytes += graph.value(id).shape.elements() * storage_bytes(graph.value(id).format);
  return bytes;
}

reports::NodeRecord node_record(const engine::StepPlan& step, std::int32_t index, reports::PlanId plan) {
  const Graph& graph = step.graph;
  const Node& node = graph.node(engine::NodeId{index});
  reports::NodeRecord record;
  record.plan = plan;
  record.id = static_cast<reports::NodeId>(index);
  record.position = index;
  record.operation = node.op->name;
  record.name = node.name;
  record.phase = report_phase(node.phase);
  engine::Attributes attributes = node.attributes;
  const engine::FusionGroup* group = step.memory.fusion.group(engine::NodeId{index});
  if (group != nullptr) attributes.set("launched_with", graph.node(group->lead).name);
  if (!node.arithmetic.standard()) {
    attributes.set("accumulate", std::string(name(node.arithmetic.accumulate)));
    attributes.set("order", std::string(name(node.arithmetic.order)));
    attributes.set("scalar", std::string(name(node.arithmetic.scalar)));
  }
  if (node.arithmetic.unit != MatrixUnit::none) attributes.set("sums_as", std::string(name(node.arithmetic.unit)));
  if (node.store) attributes.set("rounds_to", std::string(name(*node.store)));
  record.attributes_json = attributes_json(attributes);
  record.materialised = node.outputs.empty() || step.memory.fusion.stored[static_cast<std::size_t>(node.outputs.front().index)];
  for (const ValueId id : node.inputs) record.inputs.push_back(signature(graph, id));
  for (const ValueId id : node.outputs) record.outputs.push_back(signature(graph, id));
  record.compute_format = compute_format(graph, node);
  record.format_reason = node.why;
  record.flops = static_cast<std::int64_t>(engine::node_flops(graph, node));
  const NodeTraffic traffic = node_traffic(graph, node);
  record.bytes_read = traffic.read;
  record.bytes_written = traffic.written;
  return record;
}

/// A sum that never leaves its node, in a format of its own.
reports::TensorRecord inner_sum(const Graph& graph, engine::NodeId node, reports::PlanId plan) {
  reports::TensorRecord tensor;
  tensor.plan = plan;
  tensor.id = inner_sum_id(graph, node);
  tensor.name = graph.node(node).name + ".sum";
  tensor.role = reports::TensorRole::internal;
  tensor.node = static_cast<reports::NodeId>(node.index);
  tensor.output = -1;
  tensor.format = name(graph.node(node).arithmetic.accumulate);
  tensor.materialised = false;
  return tensor;
}

}  // namespace

NodeTraffic node_traffic(const Graph& graph, const Node& node) {
  if (!node.op->launches) return {};
  return {bytes_of(graph, node.inputs), bytes_of(graph, node.outputs)};
}

std::string compute_format(const Graph& graph, const Node& node) {
  if (!node.op->product || node.inputs.empty()) return name(Format::fp32);
  const Format operand = graph.value(node.inputs.front()).format;
  return name(operand == Format::fp32 ? node.multiply : operand);
}

std::string attributes_json(const engine::Attributes& attributes) {
  if (attributes.all().empty()) return "";
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, value] : attributes.all()) {
    std::visit([&all, &name = key](const auto& v) { all[name] = v; }, value);
    // JSON has no numbers for these, and null would say that nothing is there.
    if (const double* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number))
      all[key] = std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf";
  }
  return json_text(all);
}

void record_plan(const engine::StepPlan& plan, reports::PlanId id, const Sink& sink) {
  const Graph& graph = plan.graph;
  for (std::int32_t i = 0; i < graph.node_count(); ++i) sink(node_record(plan, i, id));
  const bool has_copies = !graph.with_role(Role::weight_copy).empty();
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId{i});
    reports::TensorRecord tensor;
    tensor.plan = id;
    tensor.id = static_cast<reports::TensorId>(i);
    tensor.name = value.name;
    tensor.role = report_role(value, has_copies);
    if (value.producer) tensor.node = static_cast<reports::NodeId>(value.producer.index);
    tensor.output = output_position(graph, value, ValueId{i});
    tensor.shape = dimensions(value.shape);
    tensor.format = name(value.format);
    tensor.materialised = plan.memory.fusion.stored[static_cast<std::size_t>(i)];
    sink(tensor);
  }
  for (std::int32_t i = 0; i < graph.node_count(); ++i)
    if (engine::has_narrow_sum(graph.node(engine::NodeId{i}))) sink(inner_sum(graph, engine::NodeId{i}, id));
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(engine::NodeId{i});
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const ValueId id_of_value = node.inputs[input];
      const Value& value = graph.value(id_of_value);
      if (!value.producer) continue;
      reports::EdgeRecord edge;
      edge.plan = id;
      edge.from = static_cast<reports::NodeId>(value.producer.index);
      edge.from_output = output_position(graph, value, id_of_value);
      edge.to = static_cast<reports::NodeId>(i);
      edge.to_input = static_cast<std::int64_t>(input);
      edge.tensor = static_cast<reports::TensorId>(id_of_value.index);
      sink(edge);
    }
  }
}

}  // namespace ulpscope::profiler
