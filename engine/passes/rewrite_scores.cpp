// matmul(q, k) × f becomes matmul(q × f, k): the product itself, which is stored, is smaller by f.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/graph/operator.h"
#include "engine/passes/rewrite_copy.h"

namespace ulpscope::engine {
namespace {

/// Which input the node multiplies or divides by a single constant; nothing if it does not.
std::optional<std::size_t> factor_input(const Graph& graph, const Node& node) {
  if (node.op->name == "scale") return 0;
  if (node.op->name == "div" && single_constant(graph, node.inputs[1])) return 0;
  if (node.op->name != "mul") return std::nullopt;
  if (single_constant(graph, node.inputs[1])) return 0;
  if (single_constant(graph, node.inputs[0])) return 1;
  return std::nullopt;
}

/// The one node that multiplies the product by a constant, views in between.
const Node& factor_of(const Graph& graph, const Node& product, const Rewrite& rewrite) {
  ValueId value = product.outputs.front();
  for (;;) {
    const std::vector<Reader> readers = readers_of(graph, value);
    if (readers.empty()) refuse_rewrite(rewrite, product, "nothing multiplies it by a constant: there is no factor to move");
    if (readers.size() > 1) {
      std::vector<std::string> names;
      for (const Reader& r : readers) names.push_back(r.node->name);
      refuse_rewrite(rewrite, product, fmt::format("'{}' is read by {}: moving a factor would change what the others read", graph.value(value).name,
                                                   fmt::join(names, ", ")));
    }
    const Node& reader = *readers.front().node;
    if (only_moves(reader)) {
      value = reader.outputs.front();
      continue;
    }
    const auto data = factor_input(graph, reader);
    if (data && *data == readers.front().input) return reader;
    refuse_rewrite(rewrite, product, fmt::format("'{}' ({}) comes before any constant factor", reader.name, reader.op->name));
  }
}

}  // namespace

void scale_before_product(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work) {
  const Node factor = factor_of(graph, node, rewrite);
  const std::size_t data = *factor_input(graph, factor);
  const Shape& operand = graph.value(node.inputs.front()).shape;
  for (const ValueId v : factor.inputs)
    if (v != factor.inputs[data] && graph.value(v).shape.rank > operand.rank)
      refuse_rewrite(rewrite, node, fmt::format("the factor '{}' has more dimensions than its first operand", graph.value(v).name));
  work[node.name] = [factor, data](GraphCopy& copy, const Node& product) {
    std::vector<ValueId> scaled = copy.inputs(factor);   // of its inputs only the constant is there yet
    scaled[data] = copy.now(product.inputs.front());
    const ValueId first = copy.insert(factor.op->name, factor.name, scaled, factor.attributes);
    std::vector<ValueId> inputs = copy.inputs(product);
    inputs.front() = first;
    copy.add(product, std::move(inputs));
  };
  work[factor.name] = [data](GraphCopy& copy, const Node& moved) { copy.set(moved.outputs.front(), copy.now(moved.inputs[data])); };
}

}  // namespace ulpscope::engine
