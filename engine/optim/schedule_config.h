// How the learning rate changes.
#pragma once

#include <cstdint>

namespace ulpscope::engine {

enum class ScheduleKind : std::uint8_t { constant, cosine, linear };

/// Learning rate against applied steps.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 1e-3;      ///< after warm-up
  std::int64_t warmup = 0;          ///< applied steps of linear warm-up from 0
  double final_fraction = 0.1;      ///< cosine and linear end at learning_rate * final_fraction
  std::int64_t steps = 100;         ///< where they end
  bool warmup_from_zero = false;    ///< the first step has the rate 0, as in most training scripts, not 1 / warmup of the full one
};

}  // namespace ulpscope::engine
