// Attainable shares fitted to measured runs on GPUs. A run on a CPU, of a mode that its device emulates, with emulated sums or with times
// that cannot be true is never used.
//
//  * A launch that takes about as long as any launch does (less than 2 × the floor) says nothing of a share: it is no sample.
//  * The floor of a run is the median time of a kernel of those launches whose work could not fill the least assumed launch cost (3 µs)
//    even at the lowest assumed shares. Fewer than 3 of them: the launch cost that the step says, else the assumed 5 µs.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/launches.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct TimeReport;

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
  std::vector<Sample> samples{};  ///< one for each launch that was timed, and took its time for its work
  std::int64_t near_floor = 0;    ///< launches that are no sample, as they take little more than any launch
  /// Seconds that a launch takes at least: with them, max(measured kernel time, launch) over all launches adds up to the step. Where the
  /// kernels fill the step, or not all were timed, the floor, if it was measured; else unknown.
  Number launch_seconds{};
};

/// Below this multiple of the floor a time is the launch's.
inline constexpr double floor_multiple = 2.0;

/// Of each mode of a file the one run that its time report shows. left_out: why a run, or a part of it, is not among them, in words. Of a
/// run with products that are faster than the hardware these are left out, and its step.
std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, std::vector<std::string>& left_out);
/// The same from the file's time report.
std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, const TimeReport& times, std::vector<std::string>& left_out);

/// Launches of a kind that a share is fitted to, at least.
inline constexpr std::int64_t least_samples = 3;

/// The assumed shares of this GPU, those replaced by the median (and quartiles) of the samples that have enough: of runs on the same GPU
/// where they have enough, else on any. The launch cost is the median of the runs' with the assumed range in proportion to it, or from
/// least_samples runs on their quartiles.
Attainable fitted(const Gpu& gpu, const std::vector<const MeasuredRun*>& runs);

}  // namespace ulpscope::reports
