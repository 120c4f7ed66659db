// A change of format. Its gradient is the cast back: the backward casts of autocast come out by themselves.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

Format target_of(const Graph& graph, const Node& node) {
  const std::optional<Format> to = parse_format(node.attributes.text("to"));
  if (!to || !is_float(*to)) refuse(graph, node, "cannot cast to '" + node.attributes.text("to") + "'");
  return *to;
}

}  // namespace

void add_cast(OperatorTable& table) {
  Operator op;
  op.name = "cast";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    if (!is_float(input_of(graph, node, 0).format)) refuse(graph, node, "casts numbers, not indices");
    return {{input_of(graph, node, 0).shape, target_of(graph, node)}};
  };
  op.gradient = [](GradientContext& context) { context.set(0, context.output_gradient()); };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    return {simple_launch("copy", graph, node)};
  };
  op.output_role = Role::cast;
  table.add(std::move(op));
}

}  // namespace ulpscope::engine
