// A planned graph made executable: kernels resolved, addresses fixed, nothing allocated while it runs.
#pragma once

#include <cstdint>
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

  /// Outputs of these nodes are counted while they are rounded, and what narrow sums lose inside them; a null function: nobody
  /// looks, but for ranges. The bits stay the same. Allocates, unless the function is null; where there is no memory for it, throws,
  /// and nobody looks.
  void observe(const std::function<bool(const Node&)>& which);
  /// Of these values, as long as they are not observed, the ranges are counted; a null function: of none. Takes the place of what
  /// was observed. Allocates.
  void observe_ranges(const std::function<bool(const Node&, ValueId)>& which);
  /// Calls `work` whenever this node has run; the node is launched alone.
  void after(NodeId node, std::function<void(const Execution&)> work);
  /// Device memory held to observe with.
  std::int64_t observation_bytes() const { return static_cast<std::int64_t>(observation_.bytes() + range_memory_.bytes()); }

 private:
  /// What is counted of a step: made once, put on and taken off without allocating.
  struct Look {
    struct Output {
      NodeId node;
      ValueId value;
      std::unique_ptr<RoundingCounts> counts;
    };
    std::vector<Output> outputs;                         ///< in the order in which they are announced
    std::vector<std::vector<RoundingCounts*>> counts;    ///< of them, by launch, by output; empty: of none
    std::unique_ptr<RoundingCounts> inner;               ///< null: no narrow sum is observed
  };
  /// A node, or a group of them, in the order of execution.
  struct Step {
    NodeId lead;                                         ///< announced, and timed for all
    Phase phase;
    std::vector<NodeId> nodes;
    std::vector<std::unique_ptr<Call>> calls;            ///< of a node alone
    std::unique_ptr<FusedCall> fused;                    ///< of a group
    std::vector<std::function<void(const Execution&)>> after;
    Look ranges, closer;
    const Look* look = nullptr;                          ///< null: nobody looks

    bool launches() const { return !calls.empty() || fused != nullptr; }
    void run() const;
    void put_on(const Look& chosen, void* memory);
  };
  enum class Counted : std::uint8_t { nothing, range, everything };
  using Wanted = std::function<Counted(const Node&, ValueId)>;

  void run_observed(const Step& step, Topics& topics, const Execution& execution);
  Look look_at(const Step& step, const Wanted& wanted) const;
  std::size_t bytes_of(Look Step::*look) const;
  void make_room(Buffer& buffer, std::size_t bytes);
  void put_on_ranges();

  Device& device_;
  const Graph& graph_;
  std::vector<Step> steps_;
  std::function<bool(const Node&, ValueId)> in_range_;   ///< null: no ranges
  /// For whatever product is counted at the moment, closely or its range alone.
  Buffer observation_, range_memory_;
};

}  // namespace ulpscope::engine
