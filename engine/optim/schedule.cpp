#include "engine/optim/schedule.h"

#include <numbers>

namespace ulpscope::engine {

namespace {

/// What is left of the way from the end of warm-up to the end of the schedule: 1 … 0, and 0 ever after.
double remaining(const ScheduleConfig& schedule, std::int64_t applied) {
  if (applied >= schedule.steps) return 0.0;
  const std::int64_t length = schedule.steps - schedule.warmup;   // above 0: warmup <= applied < steps
  return static_cast<double>(schedule.steps - applied) / static_cast<double>(length);
}

/// (1 + cos(pi (1 - r))) / 2 = sin(pi r / 2)^2 for r in [0, 1]. By the Taylor series, whose remainder after x^21 is below
/// (pi/2)^23 / 23! = 1.3e-18 here, because the system's cos differs from one C library to the next.
double half_cosine(double r) {
  if (r >= 1.0) return 1.0;
  const double x = 0.5 * std::numbers::pi * r;
  double sum = 1.0;
  for (int n = 20; n >= 2; n -= 2) sum = 1.0 - x * x * sum / static_cast<double>(n * (n + 1));
  const double sine = x * sum;
  return sine * sine;
}

}  // namespace

double learning_rate(const ScheduleConfig& schedule, std::int64_t applied) {
  const double peak = schedule.learning_rate;
  const std::int64_t first = schedule.warmup_from_zero ? 0 : 1;
  if (applied < schedule.warmup) return peak * static_cast<double>(applied + first) / static_cast<double>(schedule.warmup);
  if (schedule.kind == ScheduleKind::constant) return peak;
  const double left = remaining(schedule, applied);
  const double share = schedule.kind == ScheduleKind::cosine ? half_cosine(left) : left;
  return peak * (schedule.final_fraction + (1.0 - schedule.final_fraction) * share);
}

}  // namespace ulpscope::engine
