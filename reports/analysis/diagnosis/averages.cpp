#include "reports/analysis/diagnosis/averages.h"

namespace ulpscope::reports {
namespace {

constexpr int way_up = 4;  ///< operations of an average, one on top of the other

}  // namespace

std::optional<TensorId> averaged(const PlanView& plan, TensorId tensor) {
  TensorId at = plan.uncast(tensor);
  bool divided = false;
  for (int i = 0; i < way_up; ++i) {
    const PlanNode* node = plan.producer(at);
    if (node == nullptr || node->inputs.empty() || !node->inputs.front()) return std::nullopt;
    const std::string& op = node->record.operation;
    at = plan.uncast(*node->inputs.front());
    if (op == "mean" || op.starts_with("avg_pool") || (op == "sum" && divided)) return at;
    if (op != "scale" && op != "div") return std::nullopt;
    divided = true;
  }
  return std::nullopt;
}

}  // namespace ulpscope::reports
