#include "profiler/sweep/step_products.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>

#include "engine/graph/operator.h"
#include "kernels/ops/params.h"

namespace ulpscope::profiler {
namespace {

auto key(const SweptProduct& p) { return std::tie(p.batch, p.rows, p.columns, p.inner, p.trans_a, p.trans_b, p.a, p.b, p.result, p.bias, p.multiply); }

/// Products of one attention node: q [B, H, Tq, D], k [B, G, Tk, D], v [B, G, Tk, E].
struct Heads {
  const engine::Node& node;
  const engine::LaunchPlan& launch;
  Format multiply;
  std::int64_t batch, queries, keys, width, value_width;

  Heads(const engine::Node& n, const engine::LaunchPlan& l) : node(n), launch(l) {
    AttentionParams params;
    std::memcpy(&params, l.params.data(), std::min(sizeof params, l.params.size()));
    multiply = params.multiply;
    const Shape &q = l.in[0].view.shape, &k = l.in[1].view.shape, &v = l.in[2].view.shape;
    batch = q[0] * q[1];
    queries = q[2];
    keys = k[2];
    width = q[3];
    value_width = v[3];
  }
  Format in(std::size_t i) const { return launch.in[i].view.format; }
  Format out(std::size_t i) const { return launch.out[i].view.format; }
  SweptProduct product(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool trans_a, bool trans_b, Format a, Format b, Format result) const {
    SweptProduct p{.node = node.name, .operation = node.op->name};
    p.batch = batch;
    p.rows = rows;
    p.columns = columns;
    p.inner = inner;
    p.trans_a = trans_a;
    p.trans_b = trans_b;
    p.a = a;
    p.b = b;
    p.result = result;
    p.multiply = multiply;
    return p;
  }
};

std::vector<SweptProduct> forward(const Heads& h) {
  const Format scores = h.in(0), probs = h.launch.out.size() > 1 ? h.out(1) : scores;
  return {h.product(h.queries, h.keys, h.width, false, true, h.in(0), h.in(1), scores),
          h.product(h.queries, h.value_width, h.keys, false, false, probs, h.in(2), h.out(0))};
}

/// q, k, v, probs, do: the gradients of the probabilities, of q, k and v.
std::vector<SweptProduct> backward(const Heads& h) {
  const Format scores = h.in(0), probs = h.in(3), incoming = h.in(4);
  return {h.product(h.queries, h.keys, h.value_width, false, true, incoming, h.in(2), scores),
          h.product(h.queries, h.width, h.keys, false, false, scores, h.in(1), h.out(0)),
          h.product(h.keys, h.width, h.queries, true, false, scores, h.in(0), h.out(1)),
          h.product(h.keys, h.value_width, h.queries, true, false, probs, incoming, h.out(2))};
}

std::vector<SweptProduct> products_of(const engine::Node& node, const engine::LaunchPlan& launch) {
  const std::string_view kernel = launch.kernel;
  if (kernel == "matmul") return {product_of(node, launch)};
  if (kernel == "attention") return forward(Heads(node, launch));
  if (kernel == "attention_backward") return backward(Heads(node, launch));
  return {};
}

}  // namespace

double StepProduct::flops() const {
  return 2.0 * static_cast<double>(product.batch * product.rows) * static_cast<double>(product.columns * product.inner) * static_cast<double>(count);
}

StepProducts step_products(const engine::StepPlan& plan) {
  StepProducts step;
  for (const engine::Node& node : plan.graph.nodes()) {
    if (!node.op->launches) continue;
    bool listed = false;
    for (const engine::LaunchPlan& launch : node.op->launches(plan.graph, node, {}))
      for (const SweptProduct& product : products_of(node, launch)) {
        listed = true;
        auto place = std::find_if(step.products.begin(), step.products.end(), [&](const StepProduct& p) { return key(p.product) == key(product); });
        if (place == step.products.end()) place = step.products.insert(place, {product, 0});
        place->count += plan.micro_batches;
      }
    if (!listed && node.op->product) step.left_out += engine::node_flops(plan.graph, node) * static_cast<double>(plan.micro_batches);
  }
  for (const StepProduct& p : step.products) step.flops += p.flops();
  return step;
}

}  // namespace ulpscope::profiler
