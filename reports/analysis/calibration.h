// Attainable shares fitted to measured runs on GPUs. A run on a CPU, or of a mode that its device emulates, is never used.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/launches.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// What a measured run says.
struct MeasuredRun {
  std::string file{};
  RunRecord run{};
  Gpu gpu{};                      ///< as the table knows its device
  time_parts::Plan plan{};
  Number step_seconds{};          ///< median of the timing phase, else of the applied steps
  struct Sample {
    WorkClass work = WorkClass::memory;
    WorkSize size = WorkSize::small;
    double share = 0.0;           ///< seconds at the peaks ÷ measured; what the clock cannot resolve makes it exceed 1
  };
  std::vector<Sample> samples{};  ///< one for each launch that was timed
  /// Seconds that a launch takes at least: with them, max(measured kernel time, launch) over all launches adds up to the step. Unknown
  /// where the kernels fill the step, or not all were timed.
  Number launch_seconds{};
};

/// Of each mode of a file the one run that its time report shows. left_out: why a run is not among them, in words.
std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, std::vector<std::string>& left_out);

/// Launches of a kind that a share is fitted to, at least.
inline constexpr std::int64_t least_samples = 3;

/// The assumed shares of this GPU, those replaced by the median (and quartiles) of the samples that have enough: of runs on the same GPU
/// where they have enough, else on any.
Attainable fitted(const Gpu& gpu, const std::vector<const MeasuredRun*>& runs);

}  // namespace ulpscope::reports
