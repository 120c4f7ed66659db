#include "reports/analysis/scaled_tensors.h"

#include <algorithm>
#include <set>

namespace ulpscope::reports {
namespace {

bool is_gradient_node(const PlanNode& node) { return node.record.phase == Phase::backward && !node.attributes.contains("recomputes"); }

/// The derivative of the scaled loss, or else of the loss.
const PlanNode* start_of(const PlanView& plan) {
  const PlanNode* first = nullptr;
  for (const PlanNode& node : plan.nodes()) {
    if (!is_gradient_node(node)) continue;
    if (node.record.operation == "scale_loss") return &node;
    if (first == nullptr) first = &node;
  }
  return first;
}

}  // namespace

std::vector<ScaledTensor> scaled_tensors(const PlanView& plan) {
  std::vector<ScaledTensor> list;
  std::set<TensorId> scaled;
  const PlanNode* start = start_of(plan);
  // A loss that is a sum has several operations that begin: they read the same 1, which no operation makes.
  if (start != nullptr && start->record.operation != "scale_loss")
    for (const auto& input : start->inputs) {
      const TensorRecord* record = input ? plan.tensor(*input) : nullptr;
      if (record != nullptr && !record->node && record->shape.empty()) scaled.insert(*input);
    }
  for (const PlanNode& node : plan.nodes()) {
    if (!is_gradient_node(node)) continue;
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& input) { return input && scaled.contains(*input); });
    if (&node != start && !follows) continue;
    // Non-standard: unscaled where it is stored.
    if (node.attributes.value("early_unscale", false)) continue;
    for (const TensorId id : node.outputs) {
      if (!is_float(plan.format(id))) continue;
      scaled.insert(id);
      list.push_back({id, &node, plan.format(id)});
    }
  }
  return list;
}

std::string layer_name(const std::string& node, int depth) {
  std::size_t end = 0;
  for (int i = 0; i < depth; ++i) {
    end = node.find('.', i == 0 ? 0 : end + 1);
    if (end == std::string::npos) return node;
  }
  return node.substr(0, end);
}

int layer_depth(const std::vector<std::string>& nodes) {
  std::set<std::string> first;
  for (const std::string& node : nodes)
    if (node.find('.') != std::string::npos) first.insert(layer_name(node, 1));
  return first.size() == 1 ? 2 : 1;
}

int layer_depth(const PlanView& plan) {
  std::vector<std::string> names;
  for (const PlanNode& node : plan.nodes())
    if (node.record.phase != Phase::update) names.push_back(node.record.name);
  return layer_depth(names);
}

}  // namespace ulpscope::reports
