// Runs as a trace in Chrome's JSON format, which opens in ui.perfetto.dev: a process for each mode and seed; threads for steps, passes,
// nodes and the kernels of each stream; counters for loss scale, loss and memory.
//
// Where things stand on the time line:
//  * Steps follow one another, each as long as its wall time on record. A step that was traced begins where its first kernel did, or at
//    the end of the step before if that is later; its kernels keep their distances. A step without a time is drawn as 1 ms and says so.
//  * Nodes of a traced step are the spans of their kernels, passes those of their nodes.
//  * Where nodes were timed by a clock and summed over steps, a mean step is drawn on threads of its own, in the order of the plan.
//  * Memory sampled inside a step stands at the end of its node where that is known, else by the node's place in the plan.
#pragma once

#include <ostream>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// Written as it is read, a page of kernels at a time: memory does not grow with the trace, but with the kernels of a single step. Kernels
/// of no step are left out, and their number is said in "otherData". Throws UsageError if there is no run, and what the reader throws.
void write_perfetto(const std::vector<const RunFileReader*>& readers, std::ostream& out);

}  // namespace ulpscope::reports
