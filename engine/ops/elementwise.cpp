// Binary element-wise operators with broadcasting, scaling, and the sum that undoes a broadcast.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

std::vector<ValueType> infer_binary(const Graph& graph, const Node& node) {
  const Value &a = input_of(graph, node, 0), &b = input_of(graph, node, 1);
  return {{broadcast(a.shape, b.shape, node), promote(a.format, b.format)}};
}

std::vector<LaunchPlan> launch_binary(const Graph& graph, const Node& node, const LaunchOptions&) {
  LaunchPlan plan;
  plan.kernel = node.op->name;
  const Shape& shape = graph.value(node.outputs[0]).shape;
  for (const ValueId v : node.inputs) plan.in.push_back(broadcast_to(graph, v, shape));
  plan.out.push_back(whole(graph, node.outputs[0]));
  return {plan};
}

Operator binary(const char* name, const char* autocast, std::function<void(GradientContext&)> gradient) {
  Operator op;
  op.name = name;
  op.autocast = autocast;
  op.min_inputs = op.max_inputs = 2;
  op.infer = infer_binary;
  op.gradient = std::move(gradient);
  op.flops = per_output_element(1);
  op.launches = launch_binary;
  return op;
}

void gradient_of_add(GradientContext& context) {
  for (int i = 0; i < 2; ++i)
    if (context.wanted(i)) context.set(i, context.output_gradient());
}

void gradient_of_sub(GradientContext& context) {
  if (context.wanted(0)) context.set(0, context.output_gradient());
  if (context.wanted(1)) context.set(1, context.emit("scale", "db", {context.output_gradient()}, {{"factor", -1.0}}));
}

void gradient_of_mul(GradientContext& context) {
  const std::vector<ValueId> in = context.node().inputs;
  if (context.wanted(0)) context.set(0, context.emit("mul", "da", {context.output_gradient(), in[1]}));
  if (context.wanted(1)) context.set(1, context.emit("mul", "db", {context.output_gradient(), in[0]}));
}

void gradient_of_div(GradientContext& context) {
  const std::vector<ValueId> in = context.node().inputs;
  const ValueId quotient = context.node().outputs[0];
  if (context.wanted(0)) context.set(0, context.emit("div", "da", {context.output_gradient(), in[1]}));
  if (context.wanted(1)) {   // d(a/b)/db = -(a/b)/b
    const ValueId ratio = context.emit("div", "db.ratio", {quotient, in[1]});
    const ValueId product = context.emit("mul", "db.product", {context.output_gradient(), ratio});
    context.set(1, context.emit("scale", "db", {product}, {{"factor", -1.0}}));
  }
}

Operator scale() {
  Operator op;
  op.name = "scale";
  op.autocast = "mul";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    node.attributes.number("factor");
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext& context) {
    const double factor = context.node().attributes.number("factor");
    context.set(0, context.emit("scale", "dx", {context.output_gradient()}, {{"factor", factor}}));
  };
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("scale", graph, node);
    plan.set_params(ScaleParams{node.attributes.number("factor")});
    return {plan};
  };
  return op;
}

/// The kernel that sums `from` to `to`, and both as it sees them.
struct SumTo {
  const char* kernel;
  Shape from, to;
};

SumTo sum_to_plan(const Graph& graph, const Node& node, const Shape& from, const Shape& to) {
  const std::int64_t columns = to.elements();
  if (columns == 1) return {"sum_all", from, Shape{}};
  int lead = 0;   // the target, without leading ones, equals the last dimensions of the source
  while (lead < to.rank && to[lead] == 1) ++lead;
  bool trailing_dims = columns > 0 && to.rank - lead <= from.rank;
  for (int i = 1; trailing_dims && i <= to.rank - lead; ++i) trailing_dims = to[-i] == from[-i];
  if (trailing_dims) return {"sum_leading", Shape{from.elements() / columns, columns}, Shape{columns}};
  if (columns > 0 && from.elements() > 0 && to.rank == from.rank && to[-1] == 1 && columns == from.elements() / from[-1])
    return {"sum_trailing", as_rows(from), Shape{columns}};
  refuse(graph, node, fmt::format("cannot sum {} to {}: only leading dimensions, the last one, or all", to_string(from),
                                  to_string(to)));
}

/// Sums the gradient of a broadcast operand back to its shape: over leading dimensions, over the last one, or over all.
Operator sum_to() {
  Operator op;
  op.name = "sum_to";
  op.autocast = "sum";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Shape shape = shape_attribute(node);
    sum_to_plan(graph, node, input_of(graph, node, 0).shape, shape);
    return {{shape, input_of(graph, node, 0).format}};
  };
  op.flops = per_input_element(1);
  op.keeps_sum = true;
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const SumTo sum = sum_to_plan(graph, node, input_of(graph, node, 0).shape, graph.value(node.outputs[0]).shape);
    LaunchPlan plan;
    plan.kernel = sum.kernel;
    plan.in = {reshaped(graph, node.inputs[0], sum.from)};
    plan.out = {reshaped(graph, node.outputs[0], sum.to)};
    return {plan};
  };
  return op;
}

}  // namespace

void add_elementwise(OperatorTable& table) {
  table.add(binary("add", "add", gradient_of_add));
  table.add(binary("sub", "sub", gradient_of_sub));
  table.add(binary("mul", "mul", gradient_of_mul));
  table.add(binary("div", "div", gradient_of_div));
  table.add(scale());
  table.add(sum_to());
}

}  // namespace ulpscope::engine
