#include "profiler/mend/horizon.h"

#include <algorithm>
#include <cmath>

namespace ulpscope::profiler {
namespace {

/// Applied steps behind a search, and steps behind a growth: hysteresis lets two overflows pass before a scale falls, and a policy that
/// gives up does so at the third.
constexpr std::int64_t settle = 5;
/// No gradient that is finite in fp32's arithmetic of 16-bit values needs a scale as low: what overflows there is no matter of the scale.
constexpr double lowest_searched = 0x1p-24;
/// Steps within which a falling scale falls: all policies lower it at every overflow but the first ones.
constexpr std::size_t within = 4;

bool finite_loss(const reports::StepRecord& step) { return !step.loss || std::isfinite(*step.loss); }

}  // namespace

ScaleCourse scale_course(const std::vector<reports::StepRecord>& steps, bool failed) {
  ScaleCourse course{.dynamic = true};
  for (const reports::StepRecord& step : steps) {
    if (!step.skipped) break;
    ++course.leading;
  }
  if (steps.empty()) return course;
  course.last = steps.back().loss_scale;
  if (failed || course.leading < std::ssize(steps) || !finite_loss(steps.back()) || !course.last || !(*course.last > lowest_searched)) return course;
  const reports::Number before = steps.size() > within ? steps[steps.size() - 1 - within].loss_scale : std::nullopt;
  course.falling = !before || *course.last < *before;
  return course;
}

std::int64_t steps_needed(const ScaleCourse& scale, const Asked& asked) {
  if (!scale.dynamic) return 0;
  if (scale.falling) return asked.steps + margin;
  const bool never_applied = scale.leading >= asked.steps - asked.first;
  if (never_applied || scale.leading <= asked.leading) return 0;   // no scale helps; or its first applied step is no later than the faulty run's
  const std::int64_t after_search = asked.first + scale.leading + settle;
  const std::int64_t as_late = asked.first + scale.leading + std::max<std::int64_t>(0, asked.shown + 1 - asked.first - asked.leading);
  return std::max(after_search, std::min(as_late, asked.planned));
}

std::optional<std::int64_t> growth_interval(const scaling::Policy& policy) {
  return std::visit([](const auto& p) -> std::optional<std::int64_t> {
    if constexpr (requires { p.growth_interval; }) return p.growth_interval;
    return std::nullopt;
  }, policy);
}

std::optional<std::int64_t> steps_to_growth(const scaling::Policy& policy, const ScaleCourse& scale, const Asked& asked) {
  const std::optional<std::int64_t> interval = growth_interval(policy);
  if (!scale.dynamic || !interval || scale.falling || scale.leading >= asked.steps - asked.first) return std::nullopt;
  return asked.first + scale.leading + *interval + settle;
}

}  // namespace ulpscope::profiler
