#include "profiler/mend/scale_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/error.h"
#include "reports/analysis/scale_replay.h"

namespace ulpscope::profiler {
namespace {

constexpr int most_halvings = 40;

void lower(ScaleLimits& limits, double highest, const std::string& why) {
  if (limits.highest && *limits.highest <= highest) return;
  limits.highest = highest;
  limits.highest_why = why;
}

/// Of the scales below the highest, the greatest at which no recorded range overflows.
void hold_against_ranges(const reports::RunFileReader& file, const reports::RunDiagnosis& run, ScaleLimits& limits) {
  if (!limits.highest || !(*limits.highest > 0.0) || file.ranges(run.run.id, {.first = 0, .end = INT64_MAX, .limit = 1}).empty()) return;
  reports::ScaleReplayOptions options;
  options.mode = run.run.mode;
  options.seed = run.run.seed;
  double scale = std::exp2(std::floor(std::log2(std::min(*limits.highest, 0x1p100))));
  for (int i = 0; i < most_halvings && scale >= 0x1p-100; ++i, scale /= 2)
    options.policies.push_back({fmt::format("fixed:{}", scale), scaling::FixedScaling{static_cast<float>(scale)}});
  try {
    const reports::ScaleReplay replay = reports::replay_scales(file, options);
    if (replay.runs.empty()) return;
    for (const reports::PolicyReplay& policy : replay.runs.front().policies) {
      const auto bad = std::find_if(policy.history.begin(), policy.history.end(), [](const reports::ReplayedStep& s) { return s.overflow; });
      if (policy.skips == 0 || bad == policy.history.end()) break;
      const auto too_high = static_cast<double>(bad->scale);
      lower(limits, too_high / 2, fmt::format("the recorded ranges of step {} overflow at {}", bad->step + 1, too_high));
    }
  } catch (const UsageError&) {   // no ranges that can be replayed: the run judges
  }
}

}  // namespace

ScaleLimits joined(ScaleLimits limits, const std::optional<reports::LossScaleWindow>& window) {
  if (!window) return limits;
  if (window->model.lowest && (!limits.lowest || *window->model.lowest > *limits.lowest)) limits.lowest = window->model.lowest;
  if (window->model.highest) lower(limits, *window->model.highest, fmt::format("{} overflows above it", window->model.highest_tensor));
  return limits;
}

ScaleLimits scale_limits(const reports::RunFileReader& file, const reports::RunDiagnosis& run) {
  ScaleLimits limits = joined({}, run.window);
  for (const reports::StepRecord& step : file.steps(run.run.id)) {
    const bool overflowed = !step.finite && step.loss && std::isfinite(*step.loss) && step.loss_scale && *step.loss_scale > 0.0;
    if (overflowed) lower(limits, *step.loss_scale / 2, fmt::format("step {} overflowed at {}", step.step + 1, *step.loss_scale));
  }
  hold_against_ranges(file, run, limits);
  return limits;
}

}  // namespace ulpscope::profiler
