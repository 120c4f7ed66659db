// What a run file says of an experiment that is gone on with: which runs are done, where the others go on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/trainer_state.h"
#include "profiler/experiment/runner.h"
#include "profiler/probes/recorder.h"
#include "profiler/probes/replay_policy.h"
#include "reports/run_file/rewind.h"

namespace ulpscope::profiler {

/// What the notes at the run's end count, of the steps that are kept.
struct PastCounts {
  std::int64_t observed = 0, replays = 0, rows = 0, shadow = 0;
  std::int64_t ranges = 0;
  std::int64_t checkpoints = 0;   ///< these two as the note said that the last end left; a kill leaves none
  double checkpoint_seconds = 0.0;
};

struct PastRun {
  reports::RunRecord record;
  std::optional<engine::TrainerState> state;   ///< of its last checkpoint; none: it begins again
  DivergenceWatch watch;                       ///< as after the steps that are kept
  ReplayPolicy replays;                        ///< likewise
  PastCounts counts;                           ///< likewise
  std::int64_t peak_bytes = 0;                 ///< of a run that ended

  /// Nothing is left to do: it finished, or training itself came to an end. One that broke off (no memory, say) has its
  /// checkpoint still, and goes on.
  bool ended = false;
};

struct Past {
  std::map<reports::RunId, PastRun> runs;      ///< those that were begun
  reports::Rewind rewind;                      ///< what the run file has to lose first
  std::vector<std::string> remarks;            ///< "fp16, seed 0: goes on at step 121"
  std::vector<std::string> differences;        ///< of this machine and program from the recording, if they were accepted
  reports::MachineId machine{1};               ///< what runs from now on run on
};

/// The experiment that a run file holds. Throws UsageError: not a run file, being written, cut off before it was recorded.
Experiment recorded_experiment(const std::string& run_file);

/// Reads the past of `runner`'s experiment: while the writer that is to go on with it holds the file (WriterOptions::rewind), or two
/// could go on from the same past. Throws UsageError in one line: everything has ended, another experiment or other data,
/// a machine or program whose bits may differ (unless accepted), a damaged checkpoint.
Past read_past(const std::string& run_file, const Runner& runner, bool accept_different_bits);

}  // namespace ulpscope::profiler
