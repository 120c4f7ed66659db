// What a recording missed and what watching cost: the observer reports on itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// What watching one run, or all of them, came to.
struct WatchingCost {
  double run_seconds = 0.0;       ///< wall time of the steps, evaluations included
  double recorder_seconds = 0.0;  ///< spent in the recorder
  double clock_seconds = 0.0;     ///< spent in the clock by node: readings times what a reading costs
  std::int64_t steps = 0;
  std::int64_t clocked_steps = 0;  ///< steps in which nodes were timed
  std::int64_t first_step = 0;     ///< of a run that was gone on with: all of this is from there on

  WatchingCost& operator+=(const WatchingCost& other);
};

/// Pushes the records of a run: faults if there were any; as notes, what recorder and node clock cost.
void record_completeness(const Sink& sink, reports::RunId run, const Faults& faults, const WatchingCost& cost);

/// Pushes what watching cost over all runs of the file. writer_seconds: processor time of the thread that writes.
void record_watching(const Sink& sink, const WatchingCost& all, double writer_seconds);

/// A remark about a run, or about the whole file.
void record_note(const Sink& sink, std::optional<reports::RunId> run, const std::string& subject,
                 const std::string& text);

}  // namespace ulpscope::profiler
