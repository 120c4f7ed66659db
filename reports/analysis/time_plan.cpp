// Nodes that are launched together, and what a launch reads and writes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/formats/format.h"
#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

/// The lead's name, or "" for a node that is launched alone.
std::string launched_with(const NodeRecord& node) {
  if (node.attributes_json.empty()) return "";
  const auto attributes = nlohmann::json::parse(node.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("launched_with")) return "";
  const auto& lead = attributes["launched_with"];
  return lead.is_string() ? lead.get<std::string>() : "";
}

Count times(const Count& a, const Count& b) {
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

Count plus(const Count& a, const Count& b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

}  // namespace

Count tensor_bytes(const std::vector<std::int64_t>& shape, const std::string& format) {
  const auto known = parse_format(format);
  if (!known) return std::nullopt;
  Count bytes = storage_bytes(*known);
  for (const std::int64_t d : shape) bytes = times(bytes, d);
  return bytes;
}

Plan read_plan(const RunFileReader& reader, const RunRecord& run) {
  if (!run.plan) return {};
  return plan_of(reader.nodes(*run.plan), reader.tensors(*run.plan), reader.edges(*run.plan));
}

Plan plan_of(std::vector<NodeRecord> nodes, std::vector<TensorRecord> tensors, const std::vector<EdgeRecord>& edges) {
  Plan plan;
  plan.nodes = std::move(nodes);
  plan.tensors = std::move(tensors);
  std::sort(plan.nodes.begin(), plan.nodes.end(), [](const NodeRecord& a, const NodeRecord& b) { return a.position < b.position; });
  std::map<std::string, NodeId> by_name;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    plan.index[plan.nodes[i].id] = i;
    by_name[plan.nodes[i].name] = plan.nodes[i].id;
  }
  for (const NodeRecord& node : plan.nodes) {
    const auto lead = by_name.find(launched_with(node));
    plan.lead_of[node.id] = lead == by_name.end() ? node.id : lead->second;
    plan.launches[plan.lead_of[node.id]].push_back(plan.index[node.id]);
  }
  for (const TensorRecord& tensor : plan.tensors)
    if (tensor.node) plan.outputs[{*tensor.node, tensor.output}] = tensor;
  for (const EdgeRecord& edge : edges) plan.feeds[{edge.to, edge.to_input}] = edge;
  return plan;
}

bool Plan::view(NodeId lead) const {
  const NodeRecord& first = node(lead);
  return launches.at(lead).size() == 1 && first.bytes_read == 0 && first.bytes_written == 0;
}

Count Plan::flops(NodeId lead) const {
  Count sum = 0;
  for (const std::size_t i : launches.at(lead)) sum = plus(sum, nodes[i].flops);
  return sum;
}

Count Plan::bytes(NodeId lead) const {
  const std::vector<std::size_t>& members = launches.at(lead);
  if (members.size() == 1) return plus(node(lead).bytes_read, node(lead).bytes_written);
  Count sum = 0;
  std::set<TensorId> read;
  for (const std::size_t i : members) {
    const NodeRecord& n = nodes[i];
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const auto feed = feeds.find({n.id, static_cast<std::int64_t>(k)});
      const auto from = feed == feeds.end() ? lead_of.end() : lead_of.find(feed->second.from);  // of a damaged file, no node
      if (from != lead_of.end() && from->second == lead) continue;  // made within
      if (n.inputs[k].tensor && !read.insert(*n.inputs[k].tensor).second) continue;
      sum = plus(sum, tensor_bytes(n.inputs[k].shape, n.inputs[k].format));
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const auto made = outputs.find({n.id, static_cast<std::int64_t>(k)});
      if (made != outputs.end() && !made->second.materialised) continue;  // stays in registers
      sum = plus(sum, tensor_bytes(n.outputs[k].shape, n.outputs[k].format));
    }
  }
  return sum;
}

bool narrower(const std::string& format) { return format == "tf32" || format == "fp16" || format == "bf16" || format.starts_with("fp8") || format.starts_with("e4m3") || format.starts_with("e5m2"); }

}  // namespace ulpscope::reports::time_parts
