// What a tool such as Nsight Systems is told of a run: ranges for run, phase, step, pass and node, one inside the other, with the
// step as payload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/topics.h"
#include "profiler/trace/nvtx.h"

namespace ulpscope::profiler {

/// A range as long as this lives; nothing without a tool.
class NvtxRange {
 public:
  NvtxRange(nvtx::Category category, const std::string& name);
  NvtxRange(nvtx::Category category, const std::string& name, std::int64_t payload);
  ~NvtxRange();
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  bool open_;
};

/// Steps, passes and nodes of a trainer. Without a tool it listens to nothing. All must outlive it.
class NvtxRanges {
 public:
  NvtxRanges(engine::Topics& topics, const engine::Graph& graph);
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

 private:
  void begin_step(std::int64_t iteration);
  void begin_node(const engine::NodeEvent& event);
  void end_node();
  void end_pass();
  void end_step();

  const engine::Graph& graph_;
  std::vector<nvtx::Name> nodes_;   ///< by node
  std::vector<nvtx::Name> passes_;  ///< by phase
  nvtx::Name step_ = nullptr;
  std::int64_t iteration_ = 0;
  bool in_step_ = false, in_node_ = false;
  int pass_ = -1;                   ///< phase that is open
  std::int32_t micro_batch_ = 0, attempt_ = 0;
  engine::Subscription on_step_begin_, on_step_end_, on_node_begin_, on_node_end_;
};

}  // namespace ulpscope::profiler
