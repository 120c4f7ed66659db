// Which runs of an experiment its recording has not: they were never begun, or were taken out of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct MissingRuns {
  std::string mode{};
  std::int64_t planned = 0, missing = 0;   ///< seeds
  std::int64_t first_seed = 0;             ///< of those that are missing
};

/// By the experiment as it is on record ([run] modes, seeds, seed); nothing if that does not say. In the order of the modes.
std::vector<MissingRuns> missing_runs(const RunFileReader& reader);

}  // namespace ulpscope::reports
