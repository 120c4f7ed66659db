// The trace of one run: what the runner says of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/device.h"
#include "profiler/trace/kernel_counters.h"
#include "profiler/trace/kernel_trace.h"

namespace ulpscope::profiler {

class RunTrace {
 public:
  /// On a GPU through the CUPTI of this process, if there is one; on a CPU it does nothing. The run goes from step `first` to before
  /// `end`: some of them are traced, and the tensor pipes are counted in one behind them, which is recorded as it happens. All must outlive it.
  RunTrace(Device& device, engine::Topics& topics, Faults& faults, const Sink& sink, reports::RunId run, std::int64_t first, std::int64_t end);

  /// Then the clock of the host tells how long launching a node took, not how long it ran: node_timing is this trace's to fill.
  bool of_gpu() const { return gpu_; }
  /// Nothing is traced, though this is a GPU: then times of nodes come from events (node_events.h).
  bool refused() const { return gpu_ && (!trace_ || trace_->refused()); }
  /// A step is about to be run again under observation.
  void before_replay() {
    if (counters_) counters_->before_replay();
  }
  /// After the last step. Start times of kernels count from `run_begin`. ranges: every step counted them.
  void record(std::chrono::steady_clock::time_point run_begin, bool ranges);

 private:
  const Sink& sink_;
  const reports::RunId run_;
  bool gpu_ = false;
  std::string problem_;   ///< why there is no trace
  std::unique_ptr<KernelTrace> trace_;
  std::unique_ptr<KernelCounters> counters_;
};

/// Which steps of a run are traced: ten, from its fourth on; in short runs sooner, and fewer, so that one is left behind them.
TraceWindow trace_window(std::int64_t first, std::int64_t end);

}  // namespace ulpscope::profiler
