// Bounds of the loss scale against the rounding itself.
#include "reports/analysis/scale_bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

TEST(ScaleBounds, ArePowersAtWhichRoundingChangesItsMind) {
  for (const Format format : {Format::fp16, Format::bf16})
    for (const double significand : {1.0, 1.0 + 0x1p-20, 1.5, 2.0 - 0x1p-8, 2.0 - 0x1p-9, 2.0 - 0x1p-11, 2.0 - 0x1p-12, 2.0 - 0x1p-20})
      for (int e = -60; e <= 60; e += 7) {
        const double x = std::ldexp(significand, e);
        const auto rounded = [&](int k) { return rounded_to(std::ldexp(x, k), format); };
        const int most = greatest_finite_power(x, format), kept = least_kept_power(x, format), normal = least_normal_power(x, format);
        EXPECT_TRUE(std::isfinite(rounded(most))) << x << name(format);
        EXPECT_TRUE(std::isinf(rounded(most + 1))) << x << name(format);
        EXPECT_NE(rounded(kept), 0.0) << x << name(format);
        EXPECT_EQ(rounded(kept - 1), 0.0) << x << name(format);
        EXPECT_GE(std::ldexp(x, normal), info(format).min_normal);
        EXPECT_LT(std::ldexp(x, normal - 1), info(format).min_normal);
      }
  EXPECT_EQ(greatest_finite_power(info(Format::fp32).max_finite, Format::fp32), 0) << "fp32's greatest number fits";
}

TEST(ScaleBounds, TheLongestSumThatFits) {
  EXPECT_EQ(longest_that_fits(1.5, Format::fp16), 43679.0);
  EXPECT_EQ(longest_that_fits(1.0, Format::fp16), 65519.0);
  EXPECT_EQ(longest_that_fits(7.0, Format::fp16), 9359.0);  // 65513; 9360 are 65520
}

TEST(ScaleBounds, HalfAnUlpHasASide) {
  EXPECT_EQ(half_ulp_towards(1.0, 0.1, Format::bf16), 0x1p-9);
  EXPECT_EQ(half_ulp_towards(1.0, -0.1, Format::bf16), 0x1p-8);
  EXPECT_EQ(half_ulp_towards(-1.0, 0.1, Format::bf16), 0x1p-8);
  EXPECT_EQ(half_ulp_towards(-1.0, -0.1, Format::bf16), 0x1p-9);
  EXPECT_EQ(half_ulp_towards(0.0, 0.1, Format::fp16), 0x1p-25);
}

/// 100 gradients in each of 20 binades from 2^-30, counted at a scale of 2^10.
TEST(ScaleBounds, TheLeastScaleKeepsAllButAShare) {
  const ExponentHistogram histogram{.first = -20, .counts = std::vector<std::uint64_t>(20, 100)};
  const std::vector<ScaledRange> ranges{{Format::fp16, 1024.0, 0.75, &histogram}};
  EXPECT_EQ(least_scale(ranges, 0.0, -126), 5);
  EXPECT_EQ(least_scale(ranges, 0.1, -126), 3);
  EXPECT_EQ(least_scale(ranges, 1.0, -126), std::nullopt);
  EXPECT_EQ(least_scale(ranges, 0.0, 5), std::nullopt);
  EXPECT_EQ(greatest_scale(ranges.front()), 26);  // 0.75 x 2^16 = 49152
  EXPECT_DOUBLE_EQ(flushed_share(ranges, 1.0), 0.25);
}

/// Gradients that all are 2^-21, as a mean over 2^21 elements makes them: at a scale of 2^-4 each lies halfway between 0 and the least number of fp16.
TEST(ScaleBounds, WhatLiesAtTheEdgeIsLost) {
  const ExponentHistogram histogram{.first = -21, .counts = {2097152}};
  const std::vector<ScaledRange> ranges{{Format::fp16, 1.0, 0x1p-21, &histogram}};
  EXPECT_EQ(flushed_share(ranges, 0x1p-4), 1.0);
  EXPECT_EQ(flushed_share(ranges, 0x1p-3), 0.0);
  EXPECT_EQ(least_scale(ranges, 0.01, -126), -3);
  EXPECT_EQ(least_scale(ranges, 0.01, -126), least_kept_power(0x1p-21, Format::fp16)) << "as the cause has it";
}

/// Three of four are 2^-20, one is 1: at a scale of 2^-5 the small ones lie halfway between 0 and the least number of fp16, which rounds to 0.
TEST(ScaleBounds, WhatLiesAtTheEdgeIsLostBesideLargerOnesToo) {
  ExponentHistogram histogram{.first = -20, .counts = std::vector<std::uint64_t>(21, 0)};
  histogram.counts.front() = 3;
  histogram.counts.back() = 1;
  std::vector<ScaledRange> ranges{{Format::fp16, 1.0, 1.0, &histogram, 0x1p-20}};
  EXPECT_EQ(flushed_share(ranges, 0x1p-5), 0.75);
  EXPECT_EQ(flushed_share(ranges, 0x1p-4), 0.0);
  EXPECT_EQ(least_scale(ranges, 0.01, -126), -4);
  ranges[0].least = 0x1.8p-20;   // beyond half a step
  EXPECT_EQ(flushed_share(ranges, 0x1p-5), 0.0);
}

}  // namespace
}  // namespace ulpscope::reports
