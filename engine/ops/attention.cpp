// Attention as one operator of autocast's lower list: scores, mask and softmax inside in fp32, probabilities stored once.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/dropout_key.h"
#include "engine/ops/families.h"
#include "engine/ops/head_view.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

struct Sizes {
  std::int64_t batch, time, heads, depth;
};

Sizes sizes_of(const Graph& graph, const Node& node) {
  const Shape& packed = input_of(graph, node, 0).shape;
  const std::int64_t heads = node.attributes.integer("heads");
  if (packed.rank != 3 || heads < 1 || packed[2] % (3 * heads) != 0)
    refuse(graph, node, fmt::format("takes q, k and v packed as [B, T, 3 * {} heads * D]", heads));
  return {packed[0], packed[1], heads, packed[2] / (3 * heads)};
}

/// q, k or v (part 0, 1, 2) of a packed value, as [B, H, T, D].
Operand part_of(const Graph& graph, ValueId packed, const Sizes& s, std::int64_t part) {
  return head_view(graph, packed, Shape{s.batch, s.heads, s.time, s.depth}, 3, part);
}

/// A value [B, T, H*D] as [B, H, T, D].
Operand heads_of(const Graph& graph, ValueId value, const Sizes& s) {
  return head_view(graph, value, Shape{s.batch, s.heads, s.time, s.depth}, 1, 0);
}

AttentionParams params_of(const Graph& graph, const Node& node, const Sizes& s, const LaunchOptions& options) {
  AttentionParams params;
  params.scale = static_cast<float>(1.0 / math::sqrt(static_cast<double>(s.depth)));
  params.causal = node.attributes.flag_or("causal", true);
  params.multiply = input_of(graph, node, 0).format == Format::fp64 ? Format::fp64 : node.multiply;
  params.dropout = dropout_params(node, options);
  return params;
}

double products_flops(const Graph& graph, const Node& node, double products) {
  const Sizes s = sizes_of(graph, node);
  return products * 2.0 * static_cast<double>(s.batch * s.heads * s.time * s.time * s.depth);
}

Operator forward() {
  Operator op;
  op.name = "attention";
  op.autocast = "scaled_dot_product_attention";
  op.product = true;
  op.draws_random = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Sizes s = sizes_of(graph, node);
    node.attributes.flag_or("causal", true);
    check_dropout_rate(graph, node, node.attributes.number_or("rate", 0.0));
    const Format format = input_of(graph, node, 0).format;
    std::vector<ValueType> types{{Shape{s.batch, s.time, s.heads * s.depth}, format}};
    if (node.attributes.flag_or("keep_probabilities", true))
      types.push_back({Shape{s.batch, s.heads, s.time, s.time}, format});
    return types;
  };
  op.gradient = [](GradientContext& context) {
    const Node& node = context.node();
    if (node.outputs.size() < 2)
      refuse(context.graph(), node, "keep_probabilities=false leaves nothing to differentiate with");
    context.set(0, context.emit("attention_backward", "dqkv", {node.inputs[0], node.outputs[1], context.output_gradient()},
                                with_dropout_key(node)));
  };
  op.flops = [](const Graph& g, const Node& n) { return products_flops(g, n, 2.0); };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    const Sizes s = sizes_of(graph, node);
    LaunchPlan plan;
    plan.kernel = "attention";
    for (std::int64_t p = 0; p < 3; ++p) plan.in.push_back(part_of(graph, node.inputs[0], s, p));
    plan.out.push_back(heads_of(graph, node.outputs[0], s));
    if (node.outputs.size() > 1) plan.out.push_back(whole(graph, node.outputs[1]));
    plan.set_params(params_of(graph, node, s, options));
    return {plan};
  };
  return op;
}

Operator backward() {
  Operator op;
  op.name = "attention_backward";
  op.min_inputs = op.max_inputs = 3;
  op.product = true;
  op.draws_random = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    return {{input_of(graph, node, 0).shape, input_of(graph, node, 0).format}};
  };
  op.flops = [](const Graph& g, const Node& n) { return products_flops(g, n, 4.0); };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions& options) -> std::vector<LaunchPlan> {
    const Sizes s = sizes_of(graph, node);
    LaunchPlan plan;
    plan.kernel = "attention_backward";
    for (std::int64_t p = 0; p < 3; ++p) plan.in.push_back(part_of(graph, node.inputs[0], s, p));
    plan.in.push_back(whole(graph, node.inputs[1]));
    plan.in.push_back(heads_of(graph, node.inputs[2], s));
    for (std::int64_t p = 0; p < 3; ++p) plan.out.push_back(part_of(graph, node.outputs[0], s, p));
    plan.set_params(params_of(graph, node, s, options));
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
