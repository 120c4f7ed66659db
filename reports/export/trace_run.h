// One run as events of a trace. Part of report_perfetto.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "reports/analysis/report_memory.h"
#include "reports/analysis/report_runs.h"
#include "reports/export/trace_events.h"

namespace ulpscope::reports {

class RunTrace {
 public:
  /// memory: of its mode, where the run stands for it; else null.
  RunTrace(const ReportRun& run, int pid, const ModeMemory* memory, TraceEvents& trace);
  void write();
  std::int64_t kernels() const { return kernels_; }  ///< written

 private:
  struct Node {
    std::string name;       ///< JSON text
    std::string arguments;  ///< members
    Phase phase = Phase::forward;
    std::int64_t position = 0;
  };
  struct Timed {
    NodeId node{};
    std::int64_t nanoseconds = 0;
    Provenance provenance = Provenance::measured;
  };
  /// When nodes of a step ended, by their position.
  using Ends = std::map<std::int64_t, std::int64_t>;

  const Node& node(NodeId id);
  const std::string& kernel_name(const std::string& name);
  void thread(std::int64_t tid, const std::string& name);
  void read_timings();
  void write_mean_step();
  /// One after the other from `start`. Returns where the last one ends.
  std::int64_t write_nodes(const std::vector<Timed>& nodes, std::int64_t start, std::int64_t passes, std::int64_t tid, Ends& ends);
  void write_step(const StepRecord& step, const std::vector<const KernelRecord*>& kernels);
  std::int64_t write_kernels(const std::vector<const KernelRecord*>& kernels, std::int64_t shift, Ends& ends);
  void write_kernel(const KernelRecord& kernel, std::int64_t shift);
  void write_samples(std::int64_t step, std::int64_t start, std::int64_t end, const Ends& ends);
  void write_events(std::int64_t first, std::int64_t end);
  void write_curve(std::int64_t start, std::int64_t end, const Ends& ends);

  const ReportRun& run_;
  int pid_;
  const ModeMemory* memory_;
  TraceEvents& trace_;
  bool told_by_others_;  ///< an imported run: whether gradients were finite is not on record
  std::map<NodeId, Node> nodes_{};
  std::unordered_map<std::string, std::string> kernel_names_{};
  std::map<std::int64_t, bool> threads_{};
  std::map<std::int64_t, std::vector<Timed>> timed_{};  ///< by step
  std::vector<Timed> mean_{};
  std::int64_t mean_of_ = 0;
  std::set<std::int64_t> counted_{};     ///< steps whose nodes were counted: their time is no step's
  std::vector<MemoryRecord> samples_{};  ///< of steps, ascending
  std::size_t next_sample_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_{};  ///< of the steps of a page: step, end
  std::int64_t clock_ = 0;
  Number scale_{};
  bool curve_written_ = false;
  std::int64_t kernels_ = 0;
};

}  // namespace ulpscope::reports
