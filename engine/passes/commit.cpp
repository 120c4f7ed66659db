#include "engine/passes/commit.h"

#include "engine/graph/operator.h"

namespace ulpscope::engine {
namespace {

std::string twin_name(const Value& buffer) { return buffer.name + ".committed"; }

}  // namespace

void add_buffer_commits(Graph& graph) {
  for (const ValueId buffer : graph.with_role(Role::buffer)) {
    ValueId latest;
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
      const ValueId v{i};
      const Value& value = graph.value(v);
      if (value.producer && graph.node(value.producer).op->overwrites() && graph.memory_owner(v) == buffer) latest = v;
    }
    if (!latest) continue;
    const Value source = graph.value(buffer);
    Node commit;
    commit.op = &operators().find("commit_buffer");
    commit.name = source.name + ".commit";
    commit.inputs = {latest, graph.add_persistent(twin_name(source), source.shape, source.format, Role::committed_buffer)};
    commit.phase = Phase::update;
    commit.why = "kept with the weights, or put back if the step is not committed";
    graph.add_node(std::move(commit));
  }
}

ValueId committed_twin(const Graph& graph, ValueId buffer) {
  const Value& value = graph.value(buffer);
  if (value.role != Role::buffer || !graph.contains(twin_name(value))) return {};
  const ValueId twin = graph.find(twin_name(value));
  return graph.value(twin).role == Role::committed_buffer ? twin : ValueId{};
}

}  // namespace ulpscope::engine
