// Indices of a graph from the experiment file: neither the graph nor the kernels look whether a row or class exists, so it is found
// out before anything runs.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/models/builders.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

constexpr std::int64_t text_tokens = 256;

struct Limit {
  std::int64_t count = 0;                  ///< indices lie in [0, count)
  std::optional<std::int64_t> ignored;
};

/// What reads indices into something, by its second input.
std::optional<Limit> limit_of(const Graph& graph, const Node& node) {
  if (node.op->name == "embedding") return Limit{graph.value(node.inputs[0]).shape[0], {}};
  if (node.op->name == "cross_entropy") return Limit{graph.value(node.inputs[0]).shape[-1], node.attributes.integer_or("ignore_index", -100)};
  return std::nullopt;
}

const GraphNode* source_of(const GraphConfig& config, const Graph& graph, ValueId index) {
  const std::string& name = graph.value(graph.memory_owner(index)).name;
  for (const GraphNode& node : config.nodes)
    if (node.name == name && (node.op == "input" || node.op == "constant")) return &node;
  return nullptr;
}

[[noreturn]] void refuse_index(const GraphNode& source, const Node& reader, const Limit& limit, const std::string& what) {
  throw UsageError(fmt::format("{}node '{}': {}, but '{}' ({}) takes indices from 0 to {}", source.where.empty() ? "" : source.where + ": ",
                               source.name, what, reader.name, reader.op->name, limit.count - 1));
}

void check_numbers(const GraphNode& source, const Numbers& n, const Node& reader, const Limit& limit) {
  const auto check = [&](double v) {
    const bool ignored = limit.ignored && v == static_cast<double>(*limit.ignored);
    if (!ignored && !(v >= 0 && v < static_cast<double>(limit.count) && v == std::floor(v))) refuse_index(source, reader, limit, fmt::format("holds {}", v));
  };
  if (n.kind == Numbers::Kind::integers && n.high > static_cast<double>(limit.count))
    refuse_index(source, reader, limit, fmt::format("draws up to {}", n.high - 1));
  if (n.kind == Numbers::Kind::constant) check(n.low);
  for (const float v : n.list) check(static_cast<double>(v));
}

}  // namespace

void check_graph_indices(const GraphConfig& config, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::optional<Limit> limit = limit_of(graph, node);
    if (!limit) continue;
    const GraphNode* source = source_of(config, graph, node.inputs[1]);
    if (source == nullptr)
      throw UsageError(fmt::format("node '{}' ({}): its indices must come from an input or a constant, so that they can be checked", node.name, node.op->name));
    if (limit->count < 1) refuse_index(*source, node, *limit, "holds indices");
    if (source->op == "constant") check_numbers(*source, source->init.kind == Numbers::Kind::none ? Numbers{Numbers::Kind::constant, 0.0, 0.0, {}, {}} : source->init, node, *limit);
    for (const Numbers& n : source->values) check_numbers(*source, n, node, *limit);
  }
}

void check_text_indices(const GraphConfig& config, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::optional<Limit> limit = limit_of(graph, node);
    if (!limit || limit->count >= text_tokens) continue;
    const GraphNode* source = source_of(config, graph, node.inputs[1]);
    if (source != nullptr && source->op == "input") refuse_index(*source, node, *limit, "is filled with bytes, 0 to 255");
  }
}

}  // namespace ulpscope::engine
