// Views and permutations: reshape (no memory moves), and the heads of attention split and joined.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "engine/ops/head_view.h"

namespace ulpscope::engine {

Operand head_view(const Graph& graph, ValueId packed, const Shape& heads, std::int64_t parts, std::int64_t part) {
  const std::int64_t count = heads[1], time = heads[2], depth = heads[3];
  const std::int64_t row = parts * count * depth;
  Operand operand{packed, Tensor(nullptr, graph.value(packed).format, heads), part * count * depth};
  operand.view.stride = {time * row, depth, row, 1};
  return operand;
}

namespace {

Operator reshape() {
  Operator op;
  op.name = "reshape";
  op.autocast = "reshape";
  op.any_kind = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Shape shape = shape_attribute(node);
    const Value& x = input_of(graph, node, 0);
    if (shape.elements() != x.shape.elements()) refuse(graph, node, "cannot become " + to_string(shape));
    return {{shape, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("reshape", "dx", {context.output_gradient()}, {{"shape", as_list(context.input(0).shape)}}));
  };
  op.in_place = {0};
  return op;
}

/// x [B, T, parts*H*D] → parts values [B, H, T, D].
Operator split_heads() {
  Operator op;
  op.name = "split_heads";
  op.autocast = "reshape";
  op.differentiable_outputs = any_number;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    const std::int64_t heads = node.attributes.integer("heads"), parts = node.attributes.integer("parts");
    if (x.shape.rank != 3 || heads < 1 || parts < 1 || heads > x.shape[2] || parts > x.shape[2] / heads || x.shape[2] % (heads * parts) != 0)
      refuse(graph, node, fmt::format("the last of three dimensions must divide into {} parts of {} heads", parts, heads));
    const ValueType one{Shape{x.shape[0], heads, x.shape[1], x.shape[2] / (heads * parts)}, x.format};
    return std::vector<ValueType>(static_cast<std::size_t>(parts), one);
  };
  op.gradient = [](GradientContext& context) {
    std::vector<ValueId> gradients;
    for (int i = 0; i < static_cast<int>(context.node().outputs.size()); ++i) {
      if (!context.output_gradient(i))
        refuse(context.graph(), context.node(), "every part of a split must lead to the loss");
      gradients.push_back(context.output_gradient(i));
    }
    context.set(0, context.emit("join_heads", "dx", std::move(gradients)));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) {
    std::vector<LaunchPlan> plans;
    const auto parts = static_cast<std::int64_t>(node.outputs.size());
    for (std::int64_t p = 0; p < parts; ++p) {
      const ValueId out = node.outputs[static_cast<std::size_t>(p)];
      LaunchPlan plan;
      plan.kernel = "copy";
      plan.in = {head_view(graph, node.inputs[0], graph.value(out).shape, parts, p)};
      plan.out = {whole(graph, out)};
      plans.push_back(std::move(plan));
    }
    return plans;
  };
  return op;
}

/// parts values [B, H, T, D] → [B, T, parts*H*D].
Operator join_heads() {
  Operator op;
  op.name = "join_heads";
  op.autocast = "reshape";
  op.max_inputs = any_number;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    if (x.shape.rank != 4) refuse(graph, node, "takes values [B, H, T, D]");
    for (const ValueId v : node.inputs)
      if (!(graph.value(v).shape == x.shape) || graph.value(v).format != x.format)
        refuse(graph, node, "parts must be alike in shape and format");
    const auto parts = static_cast<std::int64_t>(node.inputs.size());
    return {{Shape{x.shape[0], x.shape[2], parts * x.shape[1] * x.shape[3]}, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    const auto parts = static_cast<std::int64_t>(context.node().inputs.size());
    const NodeId split = context.emit_node("split_heads", "dx", {context.output_gradient()},
                                           {{"heads", context.input(0).shape[1]}, {"parts", parts}});
    const std::vector<ValueId> d = context.graph().node(split).outputs;
    for (int i = 0; i < static_cast<int>(parts); ++i) context.set(i, d[static_cast<std::size_t>(i)]);
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) {
    std::vector<LaunchPlan> plans;
    const auto parts = static_cast<std::int64_t>(node.inputs.size());
    for (std::int64_t p = 0; p < parts; ++p) {
      const ValueId in = node.inputs[static_cast<std::size_t>(p)];
      LaunchPlan plan;
      plan.kernel = "copy";
      plan.in = {whole(graph, in)};
      plan.out = {head_view(graph, node.outputs[0], graph.value(in).shape, parts, p)};
      plans.push_back(std::move(plan));
    }
    return plans;
  };
  return op;
}

}  // namespace

void add_layout(OperatorTable& table) {
  table.add(reshape());
  table.add(split_heads());
  table.add(join_heads());
}

}  // namespace ulpscope::engine
