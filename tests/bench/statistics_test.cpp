// The interval and the verdict, against closed forms and against a simulation with a known median.
#include "tests/bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "kernels/math/random.h"

namespace ulpscope::bench {
namespace {

TEST(BenchStatistics, MedianOfOddAndEvenNumbersOfValues) {
  EXPECT_EQ(estimate({5, 1, 4, 2, 3, 9, 7}).median, 4.0);
  EXPECT_EQ(estimate({5, 1, 4, 2, 3, 9}).median, 3.5);
}

// Binomial(n, 1/2) by hand: n = 7: 1 - 2/128; n = 9, second values: 1 - 2 (1 + 9)/512; n = 12, third: 1 - 2 (1 + 12 +
// 66)/4096.
TEST(BenchStatistics, IntervalTakesTheNarrowestPairThatCovers) {
  const Estimate seven = estimate({1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(seven.low, 1.0);
  EXPECT_EQ(seven.high, 7.0);
  EXPECT_NEAR(seven.coverage, 1.0 - 2.0 / 128.0, 1e-15);
  // The second values of eight would miss with 2 (1 + 8)/256 = 0.07.
  const Estimate eight = estimate({8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(eight.low, 1.0);
  EXPECT_EQ(eight.high, 8.0);
  const Estimate nine = estimate({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(nine.low, 2.0);
  EXPECT_EQ(nine.high, 8.0);
  EXPECT_NEAR(nine.coverage, 1.0 - 20.0 / 512.0, 1e-15);
  const Estimate twelve = estimate({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(twelve.low, 3.0);
  EXPECT_EQ(twelve.high, 10.0);
  EXPECT_NEAR(twelve.coverage, 1.0 - 158.0 / 4096.0, 1e-15);
}

// 4000 samples of nine values: the share of intervals that miss the median is binomial with mean 20/512 = 0.0391 and
// standard deviation 0.0031; four of those on each side.
TEST(BenchStatistics, IntervalMissesTheMedianAsOftenAsItSays) {
  constexpr int samples = 4000;
  const std::uint64_t key = math::random_key(1, 2);
  int missed = 0;
  for (int s = 0; s < samples; ++s) {
    std::vector<double> values;
    for (int i = 0; i < 9; ++i) {
      const double u = math::random_uniform(key, static_cast<std::uint64_t>(s * 9 + i), 0, 0);
      values.push_back(-std::log1p(-u));  // exponential: median ln 2, far from symmetric
    }
    const Estimate e = estimate(values);
    missed += e.low > std::log(2.0) || e.high < std::log(2.0) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(missed) / samples, 20.0 / 512.0, 4 * 0.0031);
}

TEST(BenchStatistics, ACountedFigureIsAPoint) {
  const Estimate e = estimate(std::vector<double>(7, 0.62));
  EXPECT_EQ(e.low, 0.62);
  EXPECT_EQ(e.high, 0.62);
  EXPECT_EQ(e.coverage, 1.0);
}

TEST(BenchStatistics, TooFewValuesAndValuesThatAreNoNumbersAreRefused) {
  EXPECT_THROW(estimate({1, 2, 3, 4, 5}), Error);
  EXPECT_THROW(estimate({1, 2, 3, 4, 5, std::numeric_limits<double>::quiet_NaN(), 7}), Error);
  EXPECT_THROW(geometric_mean({}), Error);
  EXPECT_THROW(geometric_mean({1.0, 0.0}), Error);
}

TEST(BenchStatistics, GeometricMean) { EXPECT_NEAR(geometric_mean({0.5, 1.0, 4.0}), std::cbrt(2.0), 1e-15); }

TEST(BenchStatistics, VerdictNeedsTheWholeInterval) {
  const Bar at_most{true, 1.05, 1.00};
  EXPECT_EQ(judge({1.02, 1.00, 1.05, 0.96}, at_most), Verdict::ok);
  EXPECT_EQ(judge({1.06, 1.04, 1.08, 0.96}, at_most), Verdict::undecided);
  EXPECT_EQ(judge({1.08, 1.06, 1.09, 0.96}, at_most), Verdict::beyond);
  const Bar at_least{false, 0.60, 0.80};
  EXPECT_EQ(judge({0.70, 0.60, 0.75, 0.96}, at_least), Verdict::ok);
  EXPECT_EQ(judge({0.58, 0.55, 0.61, 0.96}, at_least), Verdict::undecided);
  EXPECT_EQ(judge({0.50, 0.45, 0.59, 0.96}, at_least), Verdict::beyond);
  EXPECT_TRUE(reaches_aim({0.81, 0.7, 0.9, 0.96}, at_least));
  EXPECT_FALSE(reaches_aim({1.01, 0.9, 1.1, 0.96}, at_most));
}

}  // namespace
}  // namespace ulpscope::bench
