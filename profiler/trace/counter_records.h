// What came of counting, in completeness; the counts themselves are in the rows of the table kernel (kernel_records.h).
#pragma once

#include "profiler/trace/kernel_counters.h"

namespace ulpscope::profiler {

/// A step in which counting was tried: its time is no step's.
void record_counted_step(const Sink& sink, reports::RunId run, const CountedStep& step);

/// After counters.finish(): what was refused, what counting cost, and what became of its ranges.
void record_counters(const Sink& sink, reports::RunId run, const KernelCounters& counters);

/// Nothing could be asked: why, in one line.
void record_no_counters(const Sink& sink, reports::RunId run, const std::string& why);

/// That kernel.tensor_pipe stays empty for it.
extern const char* const uncounted;

}  // namespace ulpscope::profiler
