// Parts of values: flatten and detach (views), the element at one position, and parts along the last dimension.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"

namespace ulpscope::engine {
namespace {

/// [N, …] → [N, everything else].
Operator flatten() {
  Operator op;
  op.name = "flatten";
  op.autocast = "flatten";
  op.any_kind = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    if (x.shape.rank < 1) refuse(graph, node, "takes [N, ...]");
    const std::int64_t rows = x.shape[0];
    return {{Shape{rows, rows == 0 ? 0 : x.shape.elements() / rows}, x.format}};
  };
  op.gradient = [](GradientContext& context) {
    context.set(0, context.emit("reshape", "dx", {context.output_gradient()}, {{"shape", as_list(context.input(0).shape)}}));
  };
  op.in_place = {0};
  return op;
}

/// The same value, through which no gradient flows.
Operator detach() {
  Operator op;
  op.name = "detach";
  op.autocast = "detach";
  op.any_kind = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.gradient = [](GradientContext&) {};
  op.in_place = {0};
  return op;
}

/// x [B, T, …] → x[:, index, …].
Operator select() {
  Operator op;
  op.name = "select";
  op.autocast = "select";
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    const std::int64_t index = node.attributes.integer("index");
    if (x.shape.rank < 2 || index < 0 || index >= x.shape[1]) refuse(graph, node, "takes [B, T, ...] and an index in [0, T)");
    Shape shape = x.shape;
    for (int i = 1; i + 1 < shape.rank; ++i) shape[i] = shape[i + 1];
    --shape.rank;
    return {{shape, x.format}};
  };
  op.gradient = [](GradientContext& context) {   // dy where the position is the chosen one, else 0
    Graph& graph = context.graph();
    const std::int64_t index = context.node().attributes.integer("index");
    const ValueId dy = context.output_gradient();
    const std::string& node = context.node().name;
    std::vector<std::int64_t> spread = as_list(context.input(0).shape), positions(spread.size() - 1, 1);
    Initial chosen{Initial::Kind::values, 0.0, std::vector<float>(static_cast<std::size_t>(spread[1]), 0.0f)};
    chosen.list[static_cast<std::size_t>(index)] = 1.0f;
    positions[0] = spread[1];
    spread[1] = 1;
    const ValueId condition = graph.add_constant(graph.free_name(node + ".position"), Shape(positions), chosen, Format::i32);
    const ValueId zero = graph.add_constant(graph.free_name(node + ".zero"), Shape{}, {}, graph.value(dy).format);
    const ValueId rows = context.emit("reshape", "dx.rows", {dy}, {{"shape", spread}});
    context.set(0, context.emit("where", "dx", {condition, rows, zero}));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    const Tensor x = whole(graph, node.inputs[0]).view;
    LaunchPlan plan = simple_launch("copy", graph, node);
    Operand& in = plan.in[0];
    in.view.shape = graph.value(node.outputs[0]).shape;
    in.offset = node.attributes.integer("index") * x.stride[1];
    for (std::size_t i = 1; i + 1 < static_cast<std::size_t>(x.shape.rank); ++i) in.view.stride[i] = x.stride[i + 1];
    return {plan};
  };
  return op;
}

/// A part of a value along its last dimension.
Operand part_of(const Graph& graph, ValueId value, std::int64_t begin, std::int64_t size) {
  Operand operand = whole(graph, value);
  operand.view.shape[-1] = size;
  operand.offset = begin;
  return operand;
}

/// x [.., C] → parts [.., size] of the attribute "sizes", which add up to C.
Operator split() {
  Operator op;
  op.name = "split";
  op.autocast = "split";
  op.differentiable_outputs = any_number;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& x = input_of(graph, node, 0);
    std::int64_t sum = 0;
    std::vector<ValueType> types;
    for (const std::int64_t size : node.attributes.integers("sizes")) {
      if (size < 1 || x.shape.rank < 1) refuse(graph, node, "sizes must be at least 1");
      Shape shape = x.shape;
      shape[-1] = size;
      sum += size;
      types.push_back({shape, x.format});
    }
    if (types.empty() || sum != x.shape[-1]) refuse(graph, node, "sizes must add up to the last dimension");
    return types;
  };
  op.gradient = [](GradientContext& context) {
    std::vector<ValueId> parts;
    for (int i = 0; i < static_cast<int>(context.node().outputs.size()); ++i) {
      if (!context.output_gradient(i)) refuse(context.graph(), context.node(), "every part of a split must lead to the loss");
      parts.push_back(context.output_gradient(i));
    }
    context.set(0, context.emit("cat", "dx", std::move(parts)));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) {
    std::vector<LaunchPlan> plans;
    std::int64_t begin = 0;
    for (const ValueId out : node.outputs) {
      LaunchPlan plan;
      plan.kernel = "copy";
      plan.in = {part_of(graph, node.inputs[0], begin, graph.value(out).shape[-1])};
      plan.out = {whole(graph, out)};
      begin += graph.value(out).shape[-1];
      plans.push_back(std::move(plan));
    }
    return plans;
  };
  return op;
}

/// Values that differ in their last dimension alone, one behind the other along it.
Operator cat() {
  Operator op;
  op.name = "cat";
  op.autocast = "cat";
  op.max_inputs = any_number;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    Shape shape = input_of(graph, node, 0).shape;
    const Format format = input_of(graph, node, 0).format;
    if (shape.rank < 1) refuse(graph, node, "takes values [.., C]");
    shape[-1] = 0;
    for (const ValueId v : node.inputs) {
      Shape other = graph.value(v).shape;
      const std::int64_t size = other.rank < 1 ? 0 : other[-1];
      if (other.rank > 0) other[-1] = shape[-1];
      if (!(other == shape) || graph.value(v).format != format) refuse(graph, node, "values must be alike but for the last dimension");
      shape[-1] += size;
    }
    return {{shape, format}};
  };
  op.gradient = [](GradientContext& context) {
    std::vector<std::int64_t> sizes;
    const auto count = static_cast<int>(context.node().inputs.size());
    for (int i = 0; i < count; ++i) sizes.push_back(context.input(i).shape[-1]);
    const NodeId split = context.emit_node("split", "dx", {context.output_gradient()}, {{"sizes", sizes}});
    const std::vector<ValueId> d = context.graph().node(split).outputs;
    for (int i = 0; i < count; ++i)
      if (context.wanted(i)) context.set(i, d[static_cast<std::size_t>(i)]);
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) {
    std::vector<LaunchPlan> plans;
    std::int64_t begin = 0;
    for (const ValueId in : node.inputs) {
      LaunchPlan plan;
      plan.kernel = "copy";
      plan.in = {whole(graph, in)};
      plan.out = {part_of(graph, node.outputs[0], begin, graph.value(in).shape[-1])};
      begin += graph.value(in).shape[-1];
      plans.push_back(std::move(plan));
    }
    return plans;
  };
  return op;
}

}  // namespace

void add_slices(OperatorTable& table) {
  table.add(flatten());
  table.add(detach());
  table.add(select());
  table.add(split());
  table.add(cat());
}

}  // namespace ulpscope::engine
