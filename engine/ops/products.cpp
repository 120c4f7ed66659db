// Matrix products: linear (with a bias added to the fp32 sum) and the general batched product of its gradients.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

void set_params(LaunchPlan& plan, const Graph& graph, const Node& node, bool trans_a, bool trans_b) {
  MatmulParams params;
  params.trans_a = trans_a;
  params.trans_b = trans_b;
  params.multiply = graph.value(node.outputs[0]).format == Format::fp64 ? Format::fp64 : node.multiply;
  plan.set_params(params);
}

/// x [.., K], w [N, K], b [N] (optional) → [.., N].
Operator linear() {
  Operator op;
  op.name = "linear";
  op.autocast = "linear";
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.product = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &x = input_of(graph, node, 0), &w = input_of(graph, node, 1);
    if (x.shape.rank < 1 || w.shape.rank != 2 || x.shape[-1] != w.shape[1])
      refuse(graph, node, "the last dimension of x must equal the second of the weight");
    if (node.inputs.size() > 2 && !(input_of(graph, node, 2).shape == Shape{w.shape[0]}))
      refuse(graph, node, "the bias must have as many elements as the weight has rows");
    Shape shape = x.shape;
    shape[-1] = w.shape[0];
    return {{shape, promote(x.format, w.format)}};
  };
  op.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    const ValueId dy = context.output_gradient();
    if (context.wanted(1))
      context.set(1, context.emit("matmul", "dweight", {dy, in[0]}, {{"trans_a", true}, {"flatten", true}}));
    if (in.size() > 2 && context.wanted(2))
      context.set(2, context.emit("sum_to", "dbias", {dy}, {{"shape", std::vector<std::int64_t>{context.input(2).shape[0]}}}));
    if (context.wanted(0)) context.set(0, context.emit("matmul", "dx", {dy, in[1]}, {{"flatten", true}}));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    const Shape &out = graph.value(node.outputs[0]).shape, &w = input_of(graph, node, 1).shape;
    return static_cast<double>(out.elements()) * (2.0 * static_cast<double>(w[1]) + (node.inputs.size() > 2 ? 1.0 : 0.0));
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan;
    plan.kernel = "matmul";
    plan.in = {reshaped(graph, node.inputs[0], as_rows(input_of(graph, node, 0).shape)), whole(graph, node.inputs[1])};
    if (node.inputs.size() > 2) plan.in.push_back(whole(graph, node.inputs[2]));
    plan.out = {reshaped(graph, node.outputs[0], as_rows(graph.value(node.outputs[0]).shape))};
    set_params(plan, graph, node, false, true);
    return {plan};
  };
  return op;
}

struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  Shape batch;
};

/// Attributes trans_a, trans_b; flatten: the operands' leading dimensions are one (rows of a matrix).
ProductShape product_shape(const Graph& graph, const Node& node, Shape a, Shape b) {
  const bool flatten = node.attributes.flag_or("flatten", false);
  const bool trans_a = node.attributes.flag_or("trans_a", false), trans_b = node.attributes.flag_or("trans_b", false);
  if (flatten) {
    a = as_rows(a);
    b = as_rows(b);
  }
  if (a.rank < 2 || b.rank != a.rank || a.rank > 4) refuse(graph, node, "takes two matrices, or batches of them with at most two batch dimensions");
  ProductShape p;
  p.m = trans_a ? a[-1] : a[-2];
  p.k = trans_a ? a[-2] : a[-1];
  p.n = trans_b ? b[-2] : b[-1];
  if ((trans_b ? b[-1] : b[-2]) != p.k) refuse(graph, node, "inner dimensions differ");
  for (int i = 0; i < a.rank - 2; ++i) {
    if (a[i] != b[i]) refuse(graph, node, "batch dimensions differ");
    p.batch.dim[static_cast<std::size_t>(p.batch.rank++)] = a[i];
  }
  return p;
}

Operator matmul() {
  Operator op;
  op.name = "matmul";
  op.autocast = "matmul";
  op.min_inputs = op.max_inputs = 2;
  op.product = true;
  op.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &a = input_of(graph, node, 0), &b = input_of(graph, node, 1);
    const ProductShape p = product_shape(graph, node, a.shape, b.shape);
    Shape shape = p.batch;
    if (node.attributes.flag_or("flatten", false) && !node.attributes.flag_or("trans_a", false)) {
      shape = a.shape;   // rows keep their leading dimensions
      shape[-1] = p.n;
    } else {
      shape.dim[static_cast<std::size_t>(shape.rank++)] = p.m;
      shape.dim[static_cast<std::size_t>(shape.rank++)] = p.n;
    }
    return {{shape, promote(a.format, b.format)}};
  };
  op.gradient = [](GradientContext& context) {
    const bool ta = context.node().attributes.flag_or("trans_a", false), tb = context.node().attributes.flag_or("trans_b", false);
    const ValueId a = context.node().inputs[0], b = context.node().inputs[1], dy = context.output_gradient();
    const auto product = [&](const char* suffix, ValueId x, ValueId y, bool tx, bool ty) {
      return context.emit("matmul", suffix, {x, y}, {{"trans_a", tx}, {"trans_b", ty}});
    };
    if (context.wanted(0)) context.set(0, ta ? product("da", b, dy, tb, true) : product("da", dy, b, false, !tb));
    if (context.wanted(1)) context.set(1, tb ? product("db", dy, a, true, ta) : product("db", a, dy, !ta, false));
  };
  op.flops = [](const Graph& graph, const Node& node) {
    const ProductShape p = product_shape(graph, node, input_of(graph, node, 0).shape, input_of(graph, node, 1).shape);
    return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
           static_cast<double>(p.batch.elements());
  };
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("matmul", graph, node);
    if (node.attributes.flag_or("flatten", false)) {
      for (Operand& operand : plan.in) operand = reshaped(graph, operand.value, as_rows(operand.view.shape));
      for (Operand& operand : plan.out) operand = reshaped(graph, operand.value, as_rows(operand.view.shape));
    }
    set_params(plan, graph, node, node.attributes.flag_or("trans_a", false), node.attributes.flag_or("trans_b", false));
    return {plan};
  };
  return op;
}

}  // namespace

void add_products(OperatorTable& table) {
  table.add(linear());
  table.add(matmul());
}

}  // namespace ulpscope::engine
