// Who looks at a step, and when. Looking changes no bit of it.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/graph/graph.h"
#include "engine/topics.h"

namespace ulpscope::engine {

/// In an observed step topics.tensor announces every float output of the nodes, what sums narrower than fp32 lose inside them,
/// and, before the first node, what the step reads: weights, constants, optimizer state, buffers, the batch.
struct Observation {
  std::function<bool(const Node&)> nodes;                ///< which; none: no step is observed
  std::function<bool(std::int64_t iteration)> steps;     ///< none: every step
  /// Asked after a step whose gradients or loss are not finite, before anything is committed: true runs it again, every node
  /// observed. The result is as it stands then; `skipped` and what follows from it are not known yet. None: never.
  std::function<bool(const StepResult&)> replay;
  bool sources = true;                                   ///< announce what the step reads, too
  /// In every step the ranges (RoundingCounts::range_only) of every float result of the backward pass, and of the loss, where they
  /// are not counted anyway. A step still allocates nothing for it.
  bool ranges = false;
};

}  // namespace ulpscope::engine
