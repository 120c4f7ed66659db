#include "reports/analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ulpscope::reports {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(Statistics, StudentQuantilesAsInTheTables) {
  // NIST/SEMATECH e-Handbook of Statistical Methods 1.3.6.7.2, three decimals.
  const struct {
    double degrees, p95, p975, p995;
  } table[] = {{1, 6.314, 12.706, 63.657}, {2, 2.920, 4.303, 9.925},  {3, 2.353, 3.182, 5.841},
               {4, 2.132, 2.776, 4.604},   {5, 2.015, 2.571, 4.032},  {9, 1.833, 2.262, 3.250},
               {10, 1.812, 2.228, 3.169},  {30, 1.697, 2.042, 2.750}, {100, 1.660, 1.984, 2.626}};
  for (const auto& row : table) {
    EXPECT_NEAR(student_t_quantile(0.95, row.degrees), row.p95, 5e-4);
    EXPECT_NEAR(student_t_quantile(0.975, row.degrees), row.p975, 5e-4);
    EXPECT_NEAR(student_t_quantile(0.995, row.degrees), row.p995, 5e-4);
  }
}

TEST(Statistics, StudentQuantilesInClosedForm) {
  for (const double p : {0.01, 0.2, 0.6, 0.9, 0.975, 0.9995}) {
    EXPECT_NEAR(student_t_quantile(p, 1) / std::tan(M_PI * (p - 0.5)), 1.0, 1e-10) << p;
    const double q = 2 * p - 1;  // two degrees: t = q·√(2 / (1 − q²))
    EXPECT_NEAR(student_t_quantile(p, 2), q * std::sqrt(2 / (1 - q * q)),
                1e-10 * std::fabs(q * std::sqrt(2 / (1 - q * q))) + 1e-15);
  }
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.959964, 1e-5);  // the normal distribution
  EXPECT_EQ(student_t_quantile(0.5, 7), 0.0);
  EXPECT_EQ(student_t_quantile(0.025, 7), -student_t_quantile(0.975, 7));
}

TEST(Statistics, CdfAndQuantileAreInverse) {
  for (const double degrees : {1.0, 2.0, 3.0, 8.0, 50.0})
    for (const double p : {0.001, 0.3, 0.7, 0.975, 0.9999})
      EXPECT_NEAR(student_t_cdf(student_t_quantile(p, degrees), degrees), p, 1e-13);
}

TEST(Statistics, IncompleteBetaInClosedForm) {
  for (double x = 0.0; x <= 1.0; x += 0.125) {
    EXPECT_NEAR(incomplete_beta(1, 1, x), x, 1e-13);
    EXPECT_NEAR(incomplete_beta(3, 1, x), x * x * x, 1e-13);
    EXPECT_NEAR(incomplete_beta(0.5, 0.5, x), 2 / M_PI * std::asin(std::sqrt(x)), 1e-13);
    EXPECT_NEAR(incomplete_beta(2.5, 7, x) + incomplete_beta(7, 2.5, 1 - x), 1.0, 1e-13);
  }
}

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> sample{7, 1, 3, 5};
  EXPECT_DOUBLE_EQ(*quantile(sample, 0.0), 1);
  EXPECT_DOUBLE_EQ(*quantile(sample, 0.25), 2.5);  // numpy.quantile([1,3,5,7], .25)
  EXPECT_DOUBLE_EQ(*median(sample), 4);
  EXPECT_DOUBLE_EQ(*quantile(sample, 1.0), 7);
  EXPECT_DOUBLE_EQ(*median({2}), 2);
  EXPECT_FALSE(median({}));
  EXPECT_TRUE(std::isnan(*median({1, nan_value, 2})));
  EXPECT_EQ(*quantile({1, inf, inf}, 0.75), inf);
  EXPECT_EQ(*quantile({1, 2, inf}, 0.25), 1.5);
}

TEST(Statistics, SpreadAndInterval) {
  const std::vector<double> sample{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(*mean(sample), 5);
  EXPECT_DOUBLE_EQ(*standard_deviation(sample), std::sqrt(32.0 / 7.0));
  const auto interval = mean_interval({1, 2, 3});  // 2 ± 4.302653 · 1/√3
  EXPECT_NEAR(interval->low, 2 - 2.484138, 1e-5);
  EXPECT_NEAR(interval->high, 2 + 2.484138, 1e-5);
  EXPECT_DOUBLE_EQ(mean_interval({3, 3, 3})->low, 3);
  EXPECT_FALSE(mean({}));
  EXPECT_FALSE(standard_deviation({1}));
  EXPECT_FALSE(mean_interval({1}));
  EXPECT_FALSE(mean_interval({1, inf, 2}));
  EXPECT_FALSE(mean_interval({1, nan_value, 2}));
}

}  // namespace
}  // namespace ulpscope::reports
