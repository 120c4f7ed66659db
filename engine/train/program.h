// A planned graph made executable: kernels resolved, addresses fixed, nothing allocated while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/operator.h"
#include "engine/passes/memory_plan.h"
#include "engine/topics.h"
#include "kernels/device.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine {

class Program {
 public:
  /// address: device memory of a value (of its owner, for views). The graph must outlive the program.
  Program(Device& device, const Graph& graph, const MemoryPlan& plan, void* arena,
          const std::function<void*(ValueId)>& address, StepState* state, const LaunchOptions& options);

  /// Runs the nodes of a phase in order, announcing them.
  void run(Phase phase, Topics& topics, const Execution& execution);

  /// Outputs of these nodes are counted while they are rounded. The bits stay the same.
  void observe(const std::function<bool(const Node&)>& which);

 private:
  struct Call {
    const Kernel* kernel = nullptr;
    std::vector<Tensor> in, out;
    std::vector<std::byte> params;
    std::vector<RoundingCounts*> counts;   ///< by output; empty: not observed
    Launch launch;
  };
  struct Step {
    NodeId node;
    Phase phase;
    std::vector<Call> calls;
    std::vector<std::unique_ptr<RoundingCounts>> counts;   ///< by output of the node; empty: not observed
  };

  void run_observed(Step& step, Topics& topics, const Execution& execution);

  const Graph& graph_;
  std::vector<Step> steps_;
};

}  // namespace ulpscope::engine
