#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {

std::vector<ScaledTensor> scaled_tensors(const PlanView& plan) {
  std::vector<ScaledTensor> list;
  for (const PlanNode& node : plan.nodes())
    for (const TensorId id : node.outputs)
      if (plan.carries_scale(id)) list.push_back({id, &node, plan.format(id)});
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
