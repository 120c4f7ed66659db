// Run files with kernels that a test or the bench makes up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/run_file/writer.h"
#include "tests/reports/made_up_runs.h"

namespace ulpscope::reports {

/// Four steps of 10 ms of fp16 on a GPU; steps 2 and 3 were traced: products, a softmax and a backward product on stream 7, a copy of no
/// known node on stream 9. Step 2's kernels begin at 25 ms, step 3's at 20 ms, before the end of the step in front of it. Step 4 is skipped.
/// counted: steps that are marked as those whose nodes were counted.
void writeTraced(const std::string& path, RunStatus status = RunStatus::finished, const std::vector<std::int64_t>& counted = {});

struct ManyKernels {
  std::int64_t kernels = 1'000'000;
  std::int64_t steps = 200;      ///< as many with kernels
  std::int64_t together = 1;     ///< kernels that begin at the same time
  std::int64_t otherModes = 0;   ///< runs beside it, without kernels
  std::int64_t otherSteps = 0;   ///< of each run, without kernels, after the traced ones
};
/// Run 1: kernels of three nodes on two streams, evenly over the steps. Queue and commits are as wide as they have to be: none is dropped.
void writeManyKernels(const std::string& path, const ManyKernels& many);

}  // namespace ulpscope::reports
