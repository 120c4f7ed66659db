// Learning rates against closed forms.
#include "engine/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace ulpscope::engine {
namespace {

// A few roundings in double.
constexpr double tolerance = 8 * 0x1p-53;

#define EXPECT_RATE(actual, expected) EXPECT_NEAR((actual) / (expected), 1.0, tolerance)

TEST(schedule, constant_stays) {
  const ScheduleConfig schedule{.kind = ScheduleKind::constant, .learning_rate = 3e-4, .warmup = 0, .steps = 10};
  for (const std::int64_t applied : {0, 5, 9, 10, 1000}) EXPECT_EQ(learning_rate(schedule, applied), 3e-4);
}

TEST(schedule, warm_up_rises_to_the_learning_rate_in_every_kind) {
  for (const ScheduleKind kind : {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::linear}) {
    const ScheduleConfig schedule{.kind = kind, .learning_rate = 0.8, .warmup = 4, .final_fraction = 0.1, .steps = 100};
    EXPECT_EQ(learning_rate(schedule, 0), 0.2);
    EXPECT_EQ(learning_rate(schedule, 1), 0.4);
    EXPECT_RATE(learning_rate(schedule, 2), 0.6);
    EXPECT_EQ(learning_rate(schedule, 3), 0.8);
    EXPECT_RATE(learning_rate(schedule, 4), 0.8);   // the curve begins
  }
}

TEST(schedule, linear_matches_its_closed_form) {
  const ScheduleConfig schedule{.kind = ScheduleKind::linear, .learning_rate = 1e-3, .warmup = 10, .final_fraction = 0.2, .steps = 90};
  for (std::int64_t applied = 10; applied < 90; ++applied)
    EXPECT_RATE(learning_rate(schedule, applied), 1e-3 - (1e-3 - 2e-4) * static_cast<double>(applied - 10) / 80.0);
  EXPECT_RATE(learning_rate(schedule, 50), 6e-4);   // half way
}

TEST(schedule, cosine_matches_its_closed_form) {
  for (const double last : {0.0, 0.1, 1.0}) {
    const ScheduleConfig schedule{.kind = ScheduleKind::cosine, .learning_rate = 1e-3, .warmup = 7, .final_fraction = last, .steps = 107};
    for (std::int64_t applied = 7; applied < 107; ++applied) {
      const double share = static_cast<double>(applied - 7) / 100.0;
      const double expected = 1e-3 * (last + (1.0 - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * share)));
      // The reference's 1 + cos cancels near the end: an absolute tolerance.
      EXPECT_NEAR(learning_rate(schedule, applied), expected, 1e-3 * tolerance) << applied << ", ends at " << last;
    }
    EXPECT_EQ(learning_rate(schedule, 7), 1e-3 * (last + (1.0 - last)));
  }
}

TEST(schedule, past_its_end_it_keeps_the_final_value) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::linear}) {
    const ScheduleConfig schedule{.kind = kind, .learning_rate = 1e-3, .warmup = 10, .final_fraction = 0.25, .steps = 50};
    EXPECT_GT(learning_rate(schedule, 49), 0.25e-3);
    for (const std::int64_t applied : {50, 51, 1000000}) EXPECT_EQ(learning_rate(schedule, applied), 0.25e-3);
  }
}

TEST(schedule, a_warm_up_as_long_as_the_schedule_ends_at_the_final_value) {
  for (const std::int64_t steps : {5, 8}) {
    const ScheduleConfig schedule{.kind = ScheduleKind::cosine, .learning_rate = 1.0, .warmup = 8, .final_fraction = 0.5, .steps = steps};
    EXPECT_EQ(learning_rate(schedule, 6), 0.875);
    EXPECT_EQ(learning_rate(schedule, 7), 1.0);
    EXPECT_EQ(learning_rate(schedule, 8), 0.5);
  }
}

}  // namespace
}  // namespace ulpscope::engine
