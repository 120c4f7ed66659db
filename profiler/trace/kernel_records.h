// A trace in the run file: the tables kernel and node_timing, and in completeness what it missed, was refused and cost.
#pragma once

#include <chrono>

#include "profiler/probes/faults.h"
#include "profiler/trace/kernel_trace.h"

namespace ulpscope::profiler {

class KernelCounters;

/// After trace.finish(). Start times count from `run_begin`. Every refusal is one row; a run without a trace has nothing but them, and
/// says which columns are empty for it. counters: after finish(); null: none were read.
/// ranges: every step counted them.
void record_trace(const Sink& sink, reports::RunId run, const KernelTrace& trace, std::chrono::steady_clock::time_point run_begin,
                  const KernelCounters* counters = nullptr, bool ranges = false);

/// There was no CUPTI to ask: why, in one line.
void record_no_trace(const Sink& sink, reports::RunId run, const std::string& why, bool ranges = false);

}  // namespace ulpscope::profiler
