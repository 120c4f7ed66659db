// Buffers in the transaction that a step is: their commit.
#pragma once

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// For every buffer that a node overwrites: a twin that holds its value at the last commit, and a node of the update phase
/// that copies the buffer there, or, if the step is not committed, back.
void add_buffer_commits(Graph& graph);

/// The twin of a buffer: "bn.running_mean.committed"; none if it has none.
ValueId committed_twin(const Graph& graph, ValueId buffer);

}  // namespace ulpscope::engine
