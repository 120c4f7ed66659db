// The timing phase: how long a step takes when nothing is recorded but the clock around it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "profiler/experiment/runner.h"

namespace ulpscope::profiler {

/// Committed steps of each mode before its clock counts: caches, page faults, the clock of the processor.
inline constexpr std::int64_t warm_up_steps = 3;
/// Steps in a row that may be skipped (a loss scaler looks for its scale) before a mode is given up. From the greatest
/// scale there is, 2^127, halving finds any that fp32 has.
inline constexpr std::int64_t most_skipped = 300;
/// Steps of a mode that are timed in a row where the device works beside the host (Trainer::run_ahead), before it is the next mode's turn.
inline constexpr std::int64_t steps_in_a_row = 5;

/// A mode to be timed, and what its trainer needs.
struct TimedMode {
  RunInfo run;
  engine::TrainerSetup setup;
  std::int64_t memory_bytes = 0;  ///< of its trainer, as measured in training
};

struct TimingJob {
  Device& device;
  const engine::Dataset& dataset;
  std::vector<TimedMode> modes;
  std::int64_t steps = 10;      ///< timed steps of each mode
  std::int64_t free_bytes = 0;  ///< memory the trainers may use together
  std::function<void()> warm{};  ///< told when all of a group are, before the first step that counts
};

/// Makes fresh trainers and steps through the modes in rotation, one step of each in turn (steps_in_a_row on a GPU), so that whatever
/// slows the machine down slows all modes alike. If the trainers do not fit into free_bytes together, the modes are timed one
/// after the other and the run file says so. Only committed steps are samples: a step that overflows does other work.
/// Samples, warm-up marked, are kept in memory and pushed at the end. Returns false if it was stopped.
bool time_modes(const TimingJob& job, const Sink& sink, Watcher& watcher, Faults& faults,
                const std::function<bool()>& stop);

}  // namespace ulpscope::profiler
