// Table look-up by index, and the scatter-add that is its gradient.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"

namespace ulpscope::engine {
namespace {

std::vector<LaunchPlan> launch(const Graph& graph, const Node& node, const LaunchOptions&) {
  return {simple_launch(node.op->name, graph, node)};
}

}  // namespace

void add_embedding(OperatorTable& table) {
  Operator forward;
  forward.name = "embedding";
  forward.autocast = "embedding";
  forward.min_inputs = forward.max_inputs = 2;
  forward.index_inputs = 0b10;
  forward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value &rows = input_of(graph, node, 0), &index = input_of(graph, node, 1);
    if (rows.shape.rank != 2) refuse(graph, node, "takes a table [V, C] and i32 indices");
    Shape shape = index.shape;
    if (shape.rank == max_rank) refuse(graph, node, "too many dimensions");
    shape.dim[static_cast<std::size_t>(shape.rank++)] = rows.shape[1];
    return {{shape, rows.format}};
  };
  forward.gradient = [](GradientContext& context) {
    const std::vector<ValueId> in = context.node().inputs;
    if (context.wanted(0))
      context.set(0, context.emit("embedding_backward", "dtable", {context.output_gradient(), in[1]},
                                  {{"rows", context.input(0).shape[0]}}));
  };
  forward.bytes = [](const Graph& graph, const Node& node) {   // of the table, the rows that are looked up
    const Value &out = graph.value(node.outputs[0]), &rows = input_of(graph, node, 0), &index = input_of(graph, node, 1);
    return static_cast<double>(out.shape.elements() * (storage_bytes(rows.format) + storage_bytes(out.format)) +
                               index.shape.elements() * storage_bytes(index.format));
  };
  forward.launches = launch;

  Operator backward;
  backward.name = "embedding_backward";
  backward.min_inputs = backward.max_inputs = 2;
  backward.index_inputs = 0b10;
  backward.infer = [](const Graph& graph, const Node& node) -> std::vector<ValueType> {
    const Value& dy = input_of(graph, node, 0);
    return {{Shape{node.attributes.integer("rows"), dy.shape[-1]}, dy.format}};
  };
  backward.flops = per_input_element(1);
  backward.keeps_sum = true;
  backward.launches = launch;
  table.add(std::move(forward));
  table.add(std::move(backward));
}

}  // namespace ulpscope::engine
