// Runs a graph once on the CPU and reads any of its values: for tests of operators, passes and cases.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/memory_plan.h"
#include "engine/topics.h"
#include "engine/train/program.h"
#include "kernels/device.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine::testing {

class GraphRun {
 public:
  /// Every value keeps its memory to the end, so that all of them can be read.
  explicit GraphRun(Graph graph, std::uint64_t seed = 1, int threads = 1);

  StepState& state() { return *static_cast<StepState*>(persistent_.data()); }
  void set(const std::string& name, const std::vector<double>& values);
  std::vector<double> get(const std::string& name) const { return get(graph_.find(name)); }
  std::vector<double> get(ValueId value) const;
  /// Runs all phases. Counts of what rounding did are kept for every output.
  void run();
  void run_observed();
  const RoundingCounts& counts(const std::string& value_name) const { return counts_.at(value_name); }
  const Graph& graph() const { return graph_; }

 private:
  void* address(ValueId v) const;
  Graph graph_;
  std::unique_ptr<Device> device_;
  MemoryPlan plan_;
  Buffer persistent_, arena_;
  std::unique_ptr<Program> program_;
  Topics topics_;
  std::map<std::string, RoundingCounts> counts_;
};

/// A deterministic, uneven list of numbers in (-scale, scale).
std::vector<double> numbers(std::size_t n, double scale, std::uint64_t seed);

}  // namespace ulpscope::engine::testing
