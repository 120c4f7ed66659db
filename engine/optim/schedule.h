// Learning rate against applied steps.
#pragma once

#include <cstdint>

#include "engine/optim/schedule_config.h"

namespace ulpscope::engine {

/// Learning rate of the step that will be the (applied + 1)-th committed one; computed in double by + - * / alone,
/// so that it is the same everywhere. Warm-up: learning_rate * (applied + 1) / warmup while applied < warmup; with
/// warmup_from_zero, learning_rate * applied / warmup. Then the chosen curve from learning_rate (at applied = warmup) to
/// learning_rate * final_fraction (at applied = steps), which it keeps: linear in applied, or half a period of a cosine.
/// A warm-up as long as the schedule leaves no curve: what follows it is the final value.
double learning_rate(const ScheduleConfig& schedule, std::int64_t applied);

}  // namespace ulpscope::engine
