// Turns what the engine counts in observed steps into rows of tensor_stats.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "engine/graph/graph.h"
#include "engine/topics.h"
#include "kernels/ops/rounding_counts.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// The numbers of a row from what was counted. Unknown stays what was not counted: lost updates of anything but a weight.
reports::TensorStatsRecord tensor_stats(const RoundingCounts& counts);

/// Id of the tensor that stands for the sum inside a node: no value has it.
reports::TensorId inner_sum_id(const engine::Graph& graph, engine::NodeId node);

class TensorProbe {
 public:
  /// The graph is that of the plan that is recorded. All must outlive the probe.
  TensorProbe(engine::Topics& topics, const engine::Graph& graph, Sink sink, Faults& faults, reports::RunId run);

  /// Asked for shadow_error of every tensor, while its memory is as announced.
  void compare_with(std::function<reports::Number(const engine::TensorEvent&)> error) { error_ = std::move(error); }

  /// Goes on where another probe stopped, for what record() says.
  void resume(std::int64_t observed_steps, std::int64_t replays, std::int64_t rows) {
    observed_steps_ = observed_steps;
    replays_ = replays;
    rows_ = rows;
  }
  std::int64_t observed_steps() const { return observed_steps_; }
  std::int64_t replays() const { return replays_; }
  /// What was observed, into the run file.
  void record() const;

 private:
  void see(const engine::TensorEvent& event);

  const engine::Graph& graph_;
  Sink sink_;
  Faults& faults_;
  reports::RunId run_;
  std::function<reports::Number(const engine::TensorEvent&)> error_;
  std::int64_t observed_steps_ = 0, replays_ = 0, rows_ = 0;
  engine::Subscription on_tensor_, on_begin_, on_end_;
};

}  // namespace ulpscope::profiler
