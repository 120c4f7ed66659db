// Time by node on a GPU whose kernels cannot be traced: events of the device around every node, in a sample of the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/topics.h"
#include "kernels/device.h"
#include "profiler/probes/faults.h"
#include "profiler/trace/node_sums.h"

namespace ulpscope::profiler {

/// Listens to nodes only in the steps it samples, and waits for the device at their end. What lies between two events holds what the GPU
/// waited for in between: small nodes look longer than their kernels are.
class NodeEvents {
 public:
  /// Samples step `first` and every `every`-th after it, of those at whose beginning `wanted` says so. All must outlive it.
  NodeEvents(Device& device, engine::Topics& topics, Faults& faults, std::int32_t nodes, std::int64_t first, std::int64_t every, std::function<bool()> wanted);

  /// Calls and seconds of every node that ran, summed over the sampled steps.
  std::vector<reports::NodeTiming> timings(reports::RunId run, reports::Provenance provenance) const;
  std::int64_t sampled_steps() const { return sampled_steps_; }

 private:
  struct Span {
    std::int32_t node = -1;
    std::unique_ptr<Event> begin, end;
  };
  void begin_step(std::int64_t iteration);
  void end_step();

  Device& device_;
  Faults& faults_;
  std::int64_t first_, every_;
  std::function<bool()> wanted_;
  NodeSums sums_;
  std::vector<Span> spans_;   ///< of the step under way
  bool sampling_ = false;
  std::int64_t sampled_steps_ = 0;
  engine::Subscription on_step_begin_, on_step_end_, on_node_begin_, on_node_end_;
};

}  // namespace ulpscope::profiler
