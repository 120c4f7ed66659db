#include "engine/passes/loss_scale.h"

#include "engine/graph/operator.h"

namespace ulpscope::engine {

ValueId scale_loss(Graph& graph, ValueId loss) {
  Node node;
  node.op = &operators().find("scale_loss");
  node.name = "scale_loss";
  node.inputs = {loss};
  node.why = "the loss is scaled in its own format";
  return graph.node(graph.add_node(std::move(node))).outputs.front();
}

}  // namespace ulpscope::engine
