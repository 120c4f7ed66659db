// What a GPU's own samples say.
#include "reports/analysis/gpu_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ulpscope::reports {
namespace {

TEST(GpuCondition, ReasonsAreNamed) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x44), "power cap, temperature (hardware)");
  EXPECT_EQ(throttle_words(0x4000), "bit 0x4000");
  EXPECT_FALSE(slowed_down(0));
  EXPECT_FALSE(slowed_down(0x3)) << "idle, and clocks that were set";
  EXPECT_TRUE(slowed_down(0x5));
  EXPECT_TRUE(slowed_down(0x4000)) << "a reason that is not known here is one";
  EXPECT_EQ(throttle_summary({0x4, 0x1, 0x44, 0x4}), "power cap (3), temperature (hardware) (1)");
}

TEST(GpuCondition, WhatWasNotSaidIsUnknownAndNever0) {
  std::vector<DeviceSample> samples(4);
  for (DeviceSample& s : samples) s.phase = "timing";
  samples[0].core_clock_mhz = 1980.0;
  samples[1].core_clock_mhz = 1500.0;
  samples[2].core_clock_mhz = 1900.0;
  GpuCondition c = gpu_condition(samples);
  EXPECT_EQ(c.phase, "timing");
  EXPECT_EQ(c.samples, 4);
  EXPECT_EQ(c.core_clock_mhz.value, 1900.0);
  EXPECT_EQ(c.core_clock_mhz.low, 1500.0);
  EXPECT_EQ(c.core_clock_mhz.high, 1980.0);
  EXPECT_EQ(c.core_clock_mhz.samples, 3);
  EXPECT_EQ(c.core_clock_mhz.provenance, Provenance::measured);
  EXPECT_FALSE(c.power_watts.known());
  EXPECT_EQ(c.power_watts.provenance, Provenance::unknown);
  EXPECT_FALSE(c.slowed.known());
  samples[0].throttle_reasons = 0x1;
  samples[1].throttle_reasons = 0x20;
  c = gpu_condition(samples);
  EXPECT_EQ(c.slowed.value, 0.5);
  EXPECT_EQ(c.slowed.samples, 2);
  EXPECT_EQ(c.why, "temperature (software) (1)");
}

}  // namespace
}  // namespace ulpscope::reports
