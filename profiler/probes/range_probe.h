// How far the backward pass reaches, in every step: a row of the table "range".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/topics.h"
#include "kernels/ops/rounding_counts.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// Rows are made of memory that is used again once they are written: as long as the writer keeps up, a step allocates nothing.
class RangeProbe {
 public:
  /// The graph is that of the plan that is recorded, loss the unscaled one. All must outlive the probe.
  RangeProbe(engine::Topics& topics, const engine::Graph& graph, engine::ValueId loss, Sink sink, Faults& faults, reports::RunId run);

  /// Goes on where another probe stopped, for what record() says.
  void resume(std::int64_t steps) { steps_ = steps; }
  std::int64_t steps() const { return steps_; }
  /// What was recorded, into the run file.
  void record() const;

 private:
  using Row = std::shared_ptr<std::vector<reports::TensorRange>>;
  static constexpr std::size_t prepared_rows = 64;

  void see(const engine::TensorEvent& event);
  void end(std::int64_t step);
  /// One that nobody else holds.
  Row& free_row();

  Sink sink_;
  Faults& faults_;
  reports::RunId run_;
  std::vector<std::int32_t> place_;             ///< by value: in now_, or -1
  std::vector<reports::TensorRange> now_;       ///< of the step under way
  std::vector<Row> rows_;                       ///< the one that was handed on first comes next
  std::size_t next_ = 0;
  std::int64_t seen_ = 0, steps_ = 0;
  engine::Subscription on_begin_, on_tensor_, on_end_;
};

}  // namespace ulpscope::profiler
