#include "engine/passes/lowest_fill.h"

#include <algorithm>

#include "engine/graph/operator.h"
#include "kernels/formats/format.h"

namespace ulpscope::engine {
namespace {

/// Of every format that the value takes on before a softmax reads it.
double greatest_finite(const Graph& graph, ValueId value) {
  double greatest = info(graph.value(value).format).max_finite;
  for (const Node& reader : graph.nodes()) {
    if (reader.op->name == "softmax" || reader.outputs.empty()) continue;
    if (!is_float(graph.value(reader.outputs.front()).format)) continue;
    if (std::find(reader.inputs.begin(), reader.inputs.end(), value) != reader.inputs.end())
      greatest = std::min(greatest, greatest_finite(graph, reader.outputs.front()));
  }
  return greatest;
}

}  // namespace

void resolve_lowest_fills(Graph& graph) {
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    Node& node = graph.node(NodeId{n});
    if (node.attributes.contains(fills_lowest)) node.attributes.set("value", -greatest_finite(graph, node.outputs.front()));
  }
}

}  // namespace ulpscope::engine
