// Attention as one operator of autocast's lower list: scores, mask and softmax inside in fp32, probabilities stored once.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/dropout_key.h"
#include "engine/ops/families.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

/// Inputs: q, k and v packed as one value [B, T, (heads + 2 kv_heads) D], or three values [B, T, heads D] and twice
/// [B, T, kv_heads D]; behind them, with the attribute key_mask, the keys that may be seen (i32 [B, T], 0: none sees it).
struct Layout {
  std::int64_t batch = 0, time = 0, heads = 0, groups = 0, depth = 0;
  bool packed = true;
  bool masked = false;
  int values = 1;   ///< inputs that hold q, k, v
};

Layout layout_of(const Graph& graph, const Node& node, bool masked) {
  Layout l;
  l.masked = masked;
  l.heads = node.attributes.integer("heads");
  l.groups = node.attributes.integer_or("kv_heads", l.heads);
  l.packed = node.attributes.flag_or("packed", node.inputs.size() <= (l.masked ? 2u : 1u));
  l.values = l.packed ? 1 : 3;
  if (l.heads < 1 || l.groups < 1 || l.heads % l.groups != 0) refuse(graph, node, "kv_heads must divide heads");
  const Shape& q = input_of(graph, node, 0).shape;
  if (q.rank == 3 && l.heads > q[2]) refuse(graph, node, fmt::format("{} heads of at least one number each are more than q's {}", l.heads, q[2]));
  const std::int64_t parts = l.packed ? l.heads + 2 * l.groups : l.heads;
  if (q.rank != 3 || q[2] % parts != 0)
    refuse(graph, node, l.packed ? fmt::format("takes q, k and v packed as [B, T, {} * D]: {} heads of q, {} each of k and v", parts, l.heads, l.groups)
                                 : fmt::format("takes q as [B, T, {} heads * D]", l.heads));
  l.batch = q[0];
  l.time = q[1];
  l.depth = q[2] / parts;
  for (int i = 1; i < l.values; ++i)
    if (!(input_of(graph, node, i).shape == Shape{l.batch, l.time, l.groups * l.depth}) ||
        input_of(graph, node, i).format != input_of(graph, node, 0).format)
      refuse(graph, node, fmt::format("k and v must be [B, T, {} heads * {}] in q's format", l.groups, l.depth));
  return l;
}

/// q, k or v (part 0, 1, 2) as [B, heads, T, D]: a strided view. values: as many as Layout::values.
Operand part_of(const Graph& graph, const std::vector<ValueId>& values, const Layout& l, int part) {
  const std::int64_t heads = part == 0 ? l.heads : l.groups;
  const std::int64_t row = l.packed ? (l.heads + 2 * l.groups) * l.depth : heads * l.depth;
  const ValueId value = values[l.packed ? 0 : static_cast<std::size_t>(part)];
  const std::int64_t before = !l.packed || part == 0 ? 0 : l.heads + (part - 1) * l.groups;
  Operand operand{value, Tensor(nullptr, graph.value(value).format, Shape{l.batch, heads, l.time, l.depth}), before * l.depth};
  operand.view.stride = {l.time * row, l.depth, row, 1};
  return operand;
}

/// A value [B, T, H*D] as [B, H, T, D].
Operand heads_of(const Graph& graph, ValueId value, const Layout& l) {
  Layout plain = l;
  plain.packed = false;
  return part_of(graph, {value}, plain, 0);
}

AttentionParams params_of(const Graph& graph, const Node& node, const Layout& l, const LaunchOptions& options) {
  AttentionParams params;
  params.scale = static_cast<float>(1.0 / math::sqrt(static_cast<double>(l.depth)));
  params.causal = node.attributes.flag_or("causal", true);
  params.multiply = input_of(graph, node, 0).format == Format::fp64 ? Format::fp64 : node.multiply;
  params.dropout = dropout_params(node, options);
  return params;
}

double products_flops(const Layout& l, double products) {
  return products * 2.0 * static_cast<double>(l.batch * l.heads * l.time * l.time * l.depth);
}

Layout forward_layout(const Graph& graph, const Node& node) {
  const Layout l = layout_of(graph, node, node.attributes.flag_or("key_mask", false));
  const std::size_t wanted = static_cast<std::size_t>(l.values) + (l.masked ? 1 : 0);
  if (node.inputs.size() != wanted) refuse(graph, node, "takes q, k and v in one value or in three, and with key_mask the mask behind them");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& v = graph.value(node.inputs[i]);
    const bool mask = l.masked && i + 1 == node.inputs.size();
    if (is_float(v.format) == mask) refuse(graph, node, fmt::format("input {} must hold {}", i, mask ? "an i32 mask" : "numbers, not indices"));
    if (mask && !(v.shape == Shape{l.batch, l.time})) refuse(graph, node, "the key mask must be [B, T]");
  }
  return l;
}

Operator forward() {
  Operator op;
  op.name = "attention";
  op.autocast = "scaled_dot_product_attention";
  op.max_inputs = 4;
  op.any_kind = true;
  op.product = true;
  op.draws_random = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Layout l = forward_layout(graph, node);
    node.attributes.flag_or("causal", true);
    check_dropout_rate(graph, node, node.attributes.number_or("rate", 0.0));
    const Format format = input_of(graph, node, 0).format;
    std::vector<ValueType> types{{Shape{l.batch, l.time, l.heads * l.depth}, format}};
    if (node.attributes.flag_or("keep_probabilities", true))
      types.push_back({Shape{l.batch, l.heads, l.time, l.time}, format});
    return types;
  };
  op.gradient = [](GradientContext& context) {
    const Node& node = context.node();
    if (node.outputs.size() < 2)
      refuse(context.graph(), node, "keep_probabilities=false leaves nothing to differentiate with");
    const Layout l = forward_layout(context.graph(), node);
    std::vector<ValueId> in(node.inputs.begin(), node.inputs.begin() + l.values);
    in.push_back(node.outputs[1]);
    in.push_back(context.output_gradient());
    Attributes attributes = with_dropout_key(node);
    attributes.set("packed", l.packed);
    const NodeId backward = context.emit_node("attention_backward", l.packed ? "dqkv" : "dq", std::move(in), std::move(attributes));
    const std::vector<ValueId> d = context.graph().node(backward).outputs;
    for (int i = 0; i < l.values; ++i)
      if (context.wanted(i)) context.set(i, d[static_cast<std::size_t>(i)]);
  };
  op.flops = [](const Graph& g, const Node& n) { return products_flops(forward_layout(g, n), 2.0); };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    const Layout l = forward_layout(graph, node);
    LaunchPlan plan;
    plan.kernel = "attention";
    for (int p = 0; p < 3; ++p) plan.in.push_back(part_of(graph, node.inputs, l, p));
    if (l.masked) plan.in.push_back(whole(graph, node.inputs.back()));
    plan.out.push_back(heads_of(graph, node.outputs[0], l));
    if (node.outputs.size() > 1) plan.out.push_back(whole(graph, node.outputs[1]));
    plan.set_params(params_of(graph, node, l, options));
    return {plan};
  };
  return op;
}

/// q, k, v as in the forward pass, probabilities, gradient of the result → gradients like q, k, v. Hidden keys have
/// probability 0 and with it no gradient: the mask is not needed again.
Operator backward() {
  Operator op;
  op.name = "attention_backward";
  op.min_inputs = 3;
  op.max_inputs = 5;
  op.product = true;
  op.draws_random = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Layout l = layout_of(graph, node, false);
    if (node.inputs.size() != static_cast<std::size_t>(l.values) + 2) refuse(graph, node, "takes q, k, v, probabilities and the gradient");
    std::vector<ValueType> types;
    for (int i = 0; i < l.values; ++i) types.push_back({input_of(graph, node, i).shape, input_of(graph, node, i).format});
    return types;
  };
  op.flops = [](const Graph& g, const Node& n) { return products_flops(layout_of(g, n, false), 4.0); };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    const Layout l = layout_of(graph, node, false);
    const auto values = static_cast<std::size_t>(l.values);
    LaunchPlan plan;
    plan.kernel = "attention_backward";
    for (int p = 0; p < 3; ++p) plan.in.push_back(part_of(graph, node.inputs, l, p));
    plan.in.push_back(whole(graph, node.inputs[values]));
    plan.in.push_back(heads_of(graph, node.inputs[values + 1], l));
    for (int p = 0; p < 3; ++p) plan.out.push_back(part_of(graph, node.outputs, l, p));
    plan.set_params(params_of(graph, node, l, options));
    return {plan};
  };
  return op;
}

}  // namespace

void add_attention(OperatorTable& table) {
  table.add(forward());
  table.add(backward());
}

}  // namespace ulpscope::engine
