// Counts what a step reads and no node computes: weights, constants, optimizer state, buffers, the batch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/topics.h"
#include "kernels/device.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine {

class SourceProbe {
 public:
  /// address: device memory of a value. Device and graph must outlive it.
  SourceProbe(Device& device, const Graph& graph, const std::function<void*(ValueId)>& address);

  /// Announces every float source; of later micro-batches than the first the batch alone.
  void publish(Topics& topics, const Execution& execution);

 private:
  struct Source {
    ValueId value;
    Tensor tensor;
    bool batch = false;
  };
  Device& device_;
  std::vector<Source> sources_;
  RoundingCounts counts_;
};

}  // namespace ulpscope::engine
