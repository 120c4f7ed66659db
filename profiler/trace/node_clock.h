// Time by node on the CPU: two readings of the clock around every node, in a sample of the steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/topics.h"
#include "profiler/probes/faults.h"
#include "profiler/trace/node_sums.h"

namespace ulpscope::profiler {

/// Nodes are timed in one step of this many, so that the clock costs next to nothing.
inline constexpr std::int64_t clock_every = 10;

/// Listens to nodes only in the steps it samples; in the others nobody hears the engine's node topics. Allocates nothing
/// and calls nothing of the system while it listens.
class NodeClock {
 public:
  /// Samples step `first` and every `every`-th after it. All must outlive the clock.
  NodeClock(engine::Topics& topics, Faults& faults, std::int32_t nodes, std::int64_t first,
            std::int64_t every = clock_every);

  /// Calls and seconds of every node that ran, summed over the sampled steps.
  std::vector<reports::NodeTiming> timings(reports::RunId run, reports::Provenance provenance) const;
  std::int64_t sampled_steps() const { return sampled_steps_; }
  /// What the readings of the clock cost: as many readings, timed afterwards.
  double own_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void begin_step(std::int64_t iteration);
  void end_node(const engine::NodeEvent& event);
  void pause();

  Faults& faults_;
  std::int64_t first_, every_;
  NodeSums sums_;
  Clock::time_point begin_{};
  std::int64_t sampled_steps_ = 0;
  engine::Subscription on_step_begin_, on_step_end_, on_node_begin_, on_node_end_;
};

}  // namespace ulpscope::profiler
