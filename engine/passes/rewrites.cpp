#include "engine/passes/rewrites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "engine/graph/operator.h"
#include "engine/passes/lowest_fill.h"
#include "engine/passes/pattern.h"
#include "engine/passes/rewrite_copy.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

struct KindInfo {
  const char* name;
  std::vector<std::string> operators;   ///< that a pattern is about; others that match are left alone
  void (*plan)(const Graph&, const Node&, const Rewrite&, Replacements&);
};

const KindInfo& info_of(Rewrite::Kind kind) {
  static const std::array<KindInfo, 4> kinds{{
      {"scale_before_product", {"matmul"}, scale_before_product},
      {"boolean_mask", {"add", "masked_fill", "causal_mask"}, boolean_mask},
      {"rescale", {"linear", "matmul", "conv1d", "conv2d", "add", "sub", "mul", "div", "scale", "sum", "mean"}, rescale},
      {"clamp", clamp_operators(), clamp},
  }};
  return kinds.at(static_cast<std::size_t>(kind));
}

bool is_about(const KindInfo& info, const Node& node) {
  return std::find(info.operators.begin(), info.operators.end(), node.op->name) != info.operators.end();
}

[[noreturn]] void refuse_pattern(const Graph& graph, const Rewrite& rewrite, const Node* meant) {
  const KindInfo& info = info_of(rewrite.kind);
  if (meant != nullptr)
    refuse_rewrite(rewrite, *meant, fmt::format("this is about {}", fmt::join(info.operators, ", ")));
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  throw UsageError(fmt::format("{}[[rewrite]] nodes = \"{}\" matches no node of the model; the nearest is '{}', `ulpscope plan` lists them all",
                               rewrite.where.empty() ? "" : rewrite.where + ": ", rewrite.nodes, nearest(rewrite.nodes, names)));
}

/// One rewrite; `map` from the ids of `graph`.
Graph rewrite_once(const Graph& graph, const Rewrite& rewrite, bool check, std::vector<ValueId>& map) {
  const KindInfo& info = info_of(rewrite.kind);
  Replacements work;
  const Node* other = nullptr;
  bool any = false;
  for (const Node& node : graph.nodes()) {
    if (!matches(rewrite.nodes, node.name)) continue;
    if (!is_about(info, node)) {
      if (other == nullptr) other = &node;
      continue;
    }
    any = true;
    info.plan(graph, node, rewrite, work);
  }
  if (!any && check) refuse_pattern(graph, rewrite, other);
  Graph copy = GraphCopy(graph).run(work, map);
  return without_unread_constants(copy, graph, map);
}

}  // namespace

const char* name(Rewrite::Kind kind) { return info_of(kind).name; }

const std::vector<std::string>& rewrite_names() {
  static const std::vector<std::string> names{name(Rewrite::Kind::scale_before_product), name(Rewrite::Kind::boolean_mask),
                                              name(Rewrite::Kind::rescale), name(Rewrite::Kind::clamp)};
  return names;
}

std::optional<Rewrite::Kind> parse_rewrite(std::string_view word) {
  for (const auto kind :
       {Rewrite::Kind::scale_before_product, Rewrite::Kind::boolean_mask, Rewrite::Kind::rescale, Rewrite::Kind::clamp})
    if (word == name(kind)) return kind;
  return std::nullopt;
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::isfinite(x) && x > 0.0 && std::frexp(x, &exponent) == 0.5;
}

Graph rewrite(const Graph& forward, const std::vector<Rewrite>& rewrites, bool check, std::vector<ValueId>* map) {
  std::vector<ValueId> all(static_cast<std::size_t>(forward.value_count()));
  for (std::int32_t i = 0; i < forward.value_count(); ++i) all[static_cast<std::size_t>(i)] = ValueId{i};
  Graph graph = forward;
  for (const Rewrite& each : rewrites) {
    std::vector<ValueId> step;
    graph = rewrite_once(graph, each, check, step);
    for (ValueId& v : all)
      if (v) v = step[static_cast<std::size_t>(v.index)];
  }
  resolve_lowest_fills(graph);
  if (map != nullptr) *map = std::move(all);
  return graph;
}

}  // namespace ulpscope::engine
