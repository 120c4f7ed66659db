#include "tests/bench/product_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "kernels/ops/params.h"

namespace ulpscope::bench {
namespace {

using engine::Operand;

/// The matrix in the last two dimensions of a view, transposed or not.
StepOperand matrix(const Operand& operand, bool transposed) {
  const Tensor& view = operand.view;
  const int rank = view.shape.rank;
  const auto stride = [&](int axis) { return view.stride[static_cast<std::size_t>(axis)]; };
  StepOperand m{operand.value, operand.offset, stride(rank - 2), stride(rank - 1), {0, 0}};
  if (transposed) std::swap(m.row_stride, m.column_stride);
  if (rank == 3) m.batch_stride = {0, stride(0)};
  if (rank == 4) m.batch_stride = {stride(0), stride(1)};
  return m;
}

/// Row-major scratch memory with lines of n numbers.
StepOperand scratch(std::int64_t n) { return {{}, 0, n, 1, {0, 0}}; }

StepOperand transposed(StepOperand m) {
  std::swap(m.row_stride, m.column_stride);
  return m;
}

std::array<std::int64_t, 2> batch_of(const Shape& shape) {
  if (shape.rank == 4) return {shape[0], shape[1]};
  return {1, shape.rank == 3 ? shape[0] : 1};
}

StepProduct product(std::array<std::int64_t, 2> batch, std::int64_t m, std::int64_t n, std::int64_t k,
                    const StepOperand& a, const StepOperand& b, const StepOperand& c) {
  const bool trans_a = a.column_stride != 1, trans_b = b.column_stride != 1;
  return {{m, n, k, trans_a, trans_b, batch[0] * batch[1]}, batch, a, b, c};
}

StepProducts matmul_products(const engine::LaunchPlan& launch) {
  MatmulParams params;
  std::memcpy(&params, launch.params.data(), std::min(sizeof params, launch.params.size()));
  const Shape &a = launch.in[0].view.shape, &c = launch.out[0].view.shape;
  return {product(batch_of(c), c[-2], c[-1], params.trans_a ? a[-2] : a[-1], matrix(launch.in[0], params.trans_a),
                  matrix(launch.in[1], params.trans_b), matrix(launch.out[0], false))};
}

/// Scores go to scratch memory: the probabilities that are kept, if any, are written by softmax.
StepProducts attention_products(const engine::LaunchPlan& launch) {
  const Shape& q = launch.in[0].view.shape;
  const std::int64_t time = q[2], depth = q[3];
  const StepOperand qs = matrix(launch.in[0], false), k = matrix(launch.in[1], true), v = matrix(launch.in[2], false);
  return {product(batch_of(q), time, time, depth, qs, k, scratch(time)),
          product(batch_of(q), time, depth, time, scratch(time), v, matrix(launch.out[0], false))};
}

StepProducts attention_backward_products(const engine::LaunchPlan& launch) {
  const Shape& q = launch.in[0].view.shape;
  const std::int64_t time = q[2], depth = q[3];
  const auto batch = batch_of(q);
  const StepOperand qs = matrix(launch.in[0], false), k = matrix(launch.in[1], false), v = matrix(launch.in[2], true);
  const StepOperand probs = matrix(launch.in[3], true), dout = matrix(launch.in[4], false);
  return {product(batch, time, time, depth, dout, v, scratch(time)),
          product(batch, time, depth, time, scratch(time), k, matrix(launch.out[0], false)),
          product(batch, time, depth, time, transposed(scratch(time)), qs, matrix(launch.out[1], false)),
          product(batch, time, depth, time, probs, dout, matrix(launch.out[2], false))};
}

}  // namespace

std::string to_string(const ProductShape& s) {
  return fmt::format("{}{}x{}x{} {}{}", s.batch > 1 ? fmt::format("{} of ", s.batch) : "", s.m, s.n, s.k,
                     s.trans_a ? 'T' : 'N', s.trans_b ? 'T' : 'N');
}

std::vector<StepProducts> products_of(const engine::StepPlan& plan) {
  std::vector<StepProducts> list;
  double found = 0.0, counted = 0.0;
  for (const engine::Node& node : plan.graph.nodes()) {
    if (!node.op->launches) continue;
    if (node.op->product) counted += engine::node_flops(plan.graph, node);
    for (const engine::LaunchPlan& launch : node.op->launches(plan.graph, node, {})) {
      StepProducts products;
      if (launch.kernel.starts_with("matmul"))
        products = matmul_products(launch);
      else if (launch.kernel.starts_with("attention_backward"))
        products = attention_backward_products(launch);
      else if (launch.kernel.starts_with("attention"))
        products = attention_products(launch);
      if (products.empty()) continue;
      for (const StepProduct& p : products) found += p.shape.flops();
      list.push_back(std::move(products));
    }
  }
  if (!(std::abs(found - counted) <= 0.03 * counted))
    throw Error(
        fmt::format("bench: the step's products have {:.4g} FLOPs, those listed {:.4g}: an operator is not known to "
                    "tests/bench/product_list.cpp",
                    counted, found));
  return list;
}

std::vector<ProductShape> step_shapes(const engine::StepPlan& plan) {
  std::set<ProductShape> seen;
  std::vector<ProductShape> shapes;
  for (const StepProducts& products : products_of(plan))
    for (const StepProduct& p : products)
      if (seen.insert(p.shape).second) shapes.push_back(p.shape);
  return shapes;
}

std::vector<ProductShape> other_shapes() {
  constexpr bool n = false, t = true;
  return {
      // odd
      {127, 129, 131, n, n},
      {255, 257, 63, n, t},
      {33, 65, 129, t, n},
      {511, 513, 101, n, n},
      {97, 193, 385, t, t},
      {1023, 33, 257, n, n},
      {301, 301, 301, n, t},
      {77, 1001, 55, t, n},
      // small
      {8, 8, 8, n, n},
      {16, 16, 16, n, t},
      {32, 32, 32, n, n},
      {48, 64, 32, t, n},
      {64, 64, 64, n, n},
      {24, 96, 40, t, t},
      // tall
      {4096, 16, 64, n, n},
      {8192, 8, 256, n, t},
      {2048, 64, 384, n, n},
      {16384, 32, 32, n, n},
      {4096, 48, 512, t, n},
      // wide
      {16, 4096, 64, n, n},
      {8, 8192, 256, n, t},
      {64, 2048, 384, n, n},
      {32, 4096, 512, t, n},
      // vectors
      {1, 1024, 1024, n, n},
      {1024, 1, 1024, n, t},
      // deep
      {64, 64, 8192, t, n},
      {32, 48, 16384, n, t},
      {128, 128, 4096, n, n},
      // square
      {512, 512, 512, n, n},
      {768, 768, 768, t, t},
  };
}

double step_flops(const engine::StepPlan& plan, const engine::GptConfig& model) {
  std::set<std::int32_t> weights;
  double elements = 0.0;
  for (const engine::Node& node : plan.graph.nodes()) {
    if (!node.op->product || node.phase != engine::Phase::forward) continue;
    for (const engine::ValueId input : node.inputs) {
      const engine::Value& value = plan.graph.value(plan.graph.memory_owner(input));
      const bool weight = value.role == engine::Role::parameter || value.role == engine::Role::weight_copy;
      if (weight && value.shape.rank == 2 && weights.insert(plan.graph.memory_owner(input).index).second)
        elements += static_cast<double>(value.shape.elements());
    }
  }
  return static_cast<double>(plan.tokens) *
         (6.0 * elements + 12.0 * static_cast<double>(model.layers * model.width * model.context));
}

}  // namespace ulpscope::bench
