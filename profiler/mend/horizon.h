// How far trials go. Those of one fault are judged over the same steps: far enough for the fault to show again, for the search for a
// loss scale to be over, and for a scale that was lowered to come back, where the plan goes on that long.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/scaling/policies.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

/// Steps that are run after the one in which the last fault showed, and by which trials are made longer.
inline constexpr std::int64_t margin = 20;

/// What a dynamic loss scale did.
struct ScaleCourse {
  bool dynamic = false;
  std::int64_t leading = 0;  ///< steps that were skipped before the first that was applied
  bool falling = false;      ///< so far every step was skipped, and the next ones lower the scale further
  reports::Number last{};    ///< scale of the last step
};

/// failed: the run was ended by its scaler, or by a fault. Steps in order.
ScaleCourse scale_course(const std::vector<reports::StepRecord>& steps, bool failed);

/// What is asked of a trial.
struct Asked {
  std::int64_t first = 0;        ///< iteration that it begins with
  std::int64_t steps = 0;        ///< iteration that it ended before
  std::int64_t planned = 0;      ///< of the experiment, or as many as were recorded
  std::int64_t shown = 0;        ///< iteration in which the faults of the unchanged experiment were all seen
  std::int64_t leading = 0;      ///< steps that it skipped before its first applied one
};

/// Steps that a trial has to have run to say anything; no more than it did: it says something. May exceed the planned ones, for a search alone.
std::int64_t steps_needed(const ScaleCourse& scale, const Asked& asked);

/// Steps until its scale has grown once and what comes of that has shown; nothing: it cannot grow.
std::optional<std::int64_t> steps_to_growth(const scaling::Policy& policy, const ScaleCourse& scale, const Asked& asked);

/// Good steps before the scale grows; nothing: it never does.
std::optional<std::int64_t> growth_interval(const scaling::Policy& policy);

}  // namespace ulpscope::profiler
