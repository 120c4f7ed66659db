#include "engine/train/parameter_bytes.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/graph/operator.h"
#include "engine/train/trainer.h"

namespace ulpscope::engine {
namespace {

std::int64_t bytes_of(const Value& v) { return v.shape.elements() * storage_bytes(v.format); }

double with_role(const Graph& graph, Role role) {
  std::int64_t bytes = 0;
  for (const ValueId v : graph.with_role(role)) bytes += bytes_of(graph.value(v));
  return static_cast<double>(bytes);
}

/// Copies that live at the same time, where they are most: what casting again before each use leaves of them.
double live_copies(const StepPlan& plan) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(plan.graph.node_count()) + 1, 0);
  for (const ValueId v : plan.graph.with_role(Role::weight_copy)) {
    const Placement& p = plan.memory.values[static_cast<std::size_t>(v.index)];
    if (!p.stored) continue;
    change[static_cast<std::size_t>(std::max(p.first, 0))] += bytes_of(plan.graph.value(v));
    change[static_cast<std::size_t>(std::min(p.last, plan.graph.node_count() - 1) + 1)] -= bytes_of(plan.graph.value(v));
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  return static_cast<double>(*std::max_element(change.begin(), change.end()));
}

/// What the node that unscales them reads: all at once.
double gradients(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes())
    if (node.op->name == "unscale_check")
      for (const ValueId v : node.inputs) bytes += bytes_of(graph.value(v));
  return static_cast<double>(bytes);
}

}  // namespace

ParameterBytes parameter_bytes(const StepPlan& plan) {
  if (plan.parameters == 0) return {};
  const double n = static_cast<double>(plan.parameters);
  const double copies =
      plan.savings.weight_copies == WeightCopies::recast ? live_copies(plan) : with_role(plan.graph, Role::weight_copy);
  return {with_role(plan.graph, Role::parameter) / n, copies / n, gradients(plan.graph) / n,
          with_role(plan.graph, Role::optimizer_state) / n};
}

}  // namespace ulpscope::engine
