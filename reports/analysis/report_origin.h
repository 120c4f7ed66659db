// Where a result comes from: machine, versions, configuration, what the recording lacks, and the command that made it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/gpu_condition.h"
#include "reports/analysis/missing_runs.h"
#include "reports/analysis/summary.h"

namespace ulpscope::reports {

struct FileOrigin {
  Summary summary{};                     ///< experiment, machines, runs, rows, completeness
  std::vector<MissingRuns> missing{};    ///< runs of the experiment that the file has not
  std::vector<GpuCondition> conditions{};  ///< of the GPU, by phase; empty: a CPU, or it was not asked
};

struct OriginSection {
  std::vector<FileOrigin> files{};
};

OriginSection origin_section(const std::vector<const RunFileReader*>& readers);

}  // namespace ulpscope::reports
