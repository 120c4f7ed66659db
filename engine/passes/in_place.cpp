#include "engine/passes/in_place.h"

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"

namespace ulpscope::engine {

void check_overwrites(const Graph& graph) {
  // The content of a memory changes with every node that overwrites it; a value is readable while its content is there.
  const auto values = static_cast<std::size_t>(graph.value_count());
  std::vector<int> content(values, 0);      // by value: which content of its memory it is
  std::vector<int> present(values, 0);      // by owner: the content that is there
  std::vector<NodeId> writer(values);       // by owner: who wrote it, if an operator in place
  const auto index = [](ValueId v) { return static_cast<std::size_t>(v.index); };
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    for (const ValueId v : node.inputs) {
      const std::size_t owner = index(graph.memory_owner(v));
      if (content[index(v)] != present[owner])
        throw Error(fmt::format("node '{}' reads '{}' after node '{}' overwrote it", node.name, graph.value(v).name,
                                graph.node(writer[owner]).name));
    }
    for (const ValueId v : node.outputs) {
      const ValueId source = graph.value(v).same_memory_as;
      if (!source) continue;
      const std::size_t owner = index(graph.memory_owner(v));
      if (node.op->overwrites()) {
        ++present[owner];
        writer[owner] = NodeId{n};
      }
      content[index(v)] = node.op->overwrites() ? present[owner] : content[index(source)];
    }
  }
}

}  // namespace ulpscope::engine
