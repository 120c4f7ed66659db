#include "profiler/sweep/swept_product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "kernels/ops/params.h"

namespace ulpscope::profiler {
namespace {

bool is_product(const engine::Node& node) { return node.op->name == "linear" || node.op->name == "matmul"; }

std::string some_products(const engine::Graph& graph) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (const engine::Node& node : graph.nodes())
    if (is_product(node) && node.phase == engine::Phase::forward) names.push_back(node.name);
  const bool more = names.size() > most;
  if (more) names.resize(most);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? " …" : "");
}

const engine::Node& find_node(const engine::Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const engine::Node& node : graph.nodes()) {
    if (node.name == name) return node;
    names.push_back(node.name);
  }
  throw UsageError(fmt::format("there is no node {}; did you mean {}? Matrix products are {}", name, nearest(name, names), some_products(graph)));
}

}  // namespace

std::int64_t SweptProduct::size(reports::SweepDimension dimension) const {
  return dimension == reports::SweepDimension::rows ? rows : dimension == reports::SweepDimension::columns ? columns : inner;
}

void SweptProduct::resize(reports::SweepDimension dimension, std::int64_t size) {
  (dimension == reports::SweepDimension::rows ? rows : dimension == reports::SweepDimension::columns ? columns : inner) = size;
}

std::string SweptProduct::compute_format() const { return name(a == Format::fp32 && b == Format::fp32 ? multiply : a == Format::fp32 ? b : a); }

std::string SweptProduct::formats() const { return fmt::format("{}, {} > {}", name(a), name(b), name(result)); }

SweptProduct find_product(const engine::StepPlan& plan, const std::string& node_name) {
  const engine::Node& node = find_node(plan.graph, node_name);
  if (!is_product(node))
    throw UsageError(fmt::format("{} is a {}, and a sweep takes matrix products: {}", node_name, node.op->name, some_products(plan.graph)));
  return product_of(node, engine::launch_plans(plan.graph, node, {}).at(0));
}

SweptProduct product_of(const engine::Node& node, const engine::LaunchPlan& launch) {
  MatmulParams params;
  std::memcpy(&params, launch.params.data(), sizeof params);
  const Tensor &a = launch.in.at(0).view, &b = launch.in.at(1).view, &result = launch.out.at(0).view;
  SweptProduct p{.node = node.name, .operation = node.op->name};
  p.trans_a = params.trans_a;
  p.trans_b = params.trans_b;
  p.multiply = params.multiply;
  p.rows = params.trans_a ? a.shape[-1] : a.shape[-2];
  p.inner = params.trans_a ? a.shape[-2] : a.shape[-1];
  p.columns = params.trans_b ? b.shape[-2] : b.shape[-1];
  for (int i = 0; i < a.shape.rank - 2; ++i) p.batch *= a.shape[i];
  p.a = a.format;
  p.b = b.format;
  p.result = result.format;
  if (launch.in.size() > 2) p.bias = launch.in[2].view.format;
  return p;
}

}  // namespace ulpscope::profiler
