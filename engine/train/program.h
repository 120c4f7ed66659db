// A planned graph made executable: kernels resolved, addresses fixed, nothing allocated while it runs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/operator.h"
#include "engine/passes/calls.h"
#include "engine/passes/memory_plan.h"
#include "engine/topics.h"
#include "kernels/device.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine {

class Program {
 public:
  /// address: device memory of a value (of its owner, for views). The device and the graph must outlive the program.
  Program(Device& device, const Graph& graph, const MemoryPlan& plan, void* arena,
          const std::function<void*(ValueId)>& address, StepState* state, const LaunchOptions& options);

  /// Runs the nodes of a phase in order, announcing them; of nodes that run as one launch the lead alone.
  void run(Phase phase, Topics& topics, const Execution& execution);

  /// Outputs of these nodes are counted while they are rounded. The bits stay the same.
  void observe(const std::function<bool(const Node&)>& which);
  /// Calls `work` whenever this node has run; the node is launched alone.
  void after(NodeId node, std::function<void(const Execution&)> work);
  /// Device memory held to observe with.
  std::int64_t observation_bytes() const;

 private:
  /// A node, or a group of them, in the order of execution.
  struct Step {
    NodeId lead;                                         ///< announced, and timed for all
    Phase phase;
    std::vector<NodeId> nodes;
    std::vector<std::unique_ptr<Call>> calls;            ///< of a node alone
    std::unique_ptr<FusedCall> fused;                    ///< of a group
    std::vector<std::function<void(const Execution&)>> after;
    /// By node, by output; all empty: not observed.
    std::vector<std::vector<std::unique_ptr<RoundingCounts>>> counts;

    bool launches() const { return !calls.empty() || fused != nullptr; }
    void run() const;
  };

  void run_observed(Step& step, Topics& topics, const Execution& execution);
  void observe(Step& step, const std::function<bool(const Node&)>& which);

  Device& device_;
  const Graph& graph_;
  std::vector<Step> steps_;
};

}  // namespace ulpscope::engine
