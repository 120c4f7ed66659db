#include "kernels/math/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

const float infinite = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float denormal = 0x1p-149f;

// Distance to the reference in units of the last place of fp32 at the reference.
double ulps(float got, double reference) {
  const double magnitude = std::fabs(reference);
  const double place = magnitude < 0x1p-126 ? 0x1p-149 : std::ldexp(1.0, std::ilogb(magnitude) - 23);
  return std::fabs(static_cast<double>(got) - reference) / place;
}

// Walks over the bit patterns of both signs with a stride (a prime: all endings of the significand come up), and around
// the given points one by one.
template <class Function, class Reference>
void expect_within(double bound, float from, float to, std::initializer_list<float> points, Function function,
                   Reference reference) {
  double worst = 0.0;
  float at = 0.0f;
  const auto look = [&](float x) {
    if (!(x >= from && x <= to)) return;
    const double error = ulps(function(x), reference(static_cast<double>(x)));
    if (!(error <= worst)) {
      worst = error;
      at = x;
    }
  };
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 509)
    look(float_from_bits(static_cast<std::uint32_t>(bits)));
  for (const float point : points)
    for (std::uint32_t i = 0; i < 4000; ++i) {
      look(float_from_bits(float_bits(point) - 2000 + i));
      look(-float_from_bits(float_bits(point) - 2000 + i));
    }
  EXPECT_LE(worst, bound) << "at " << std::hexfloat << at;
  ::testing::Test::RecordProperty("worst_ulps", std::to_string(worst));
}

TEST(Elementary, Exp) {
  expect_within(
      1.0, -103.9f, 88.7228f, {0.34657f, 1.0f, 17.3287f, 87.3365f, 88.72f, 100.0f, 5.2f, 16.3f},
      [](float x) { return math::exp(x); }, [](double x) { return std::exp(x); });
}

TEST(Elementary, Log) {
  expect_within(
      0.9, denormal, std::numeric_limits<float>::max(), {1.0f, 0.70710678f, 1.41421356f, 0x1p-126f, 2.0f},
      [](float x) { return math::log(x); }, [](double x) { return std::log(x); });
}

TEST(Elementary, Tanh) {
  expect_within(
      1.5, -infinite, infinite, {0.625f, 0.65f, 9.01f, 10.0f, 1e-4f}, [](float x) { return math::tanh(x); },
      [](double x) { return std::tanh(x); });
}

TEST(Elementary, Erf) {
  expect_within(
      1.4, -infinite, infinite, {0.92f, 1.06f, 3.9f, 4.0f, 1e-4f}, [](float x) { return math::erf(x); },
      [](double x) { return std::erf(x); });
}

TEST(Elementary, SinAndCos) {
  // Around multiples of pi / 2 the result is small and the reduction must be exact; 0x1.6ac5b2p+5 and the like are the
  // fp32 numbers nearest to one.
  const auto points = {0.785398f, 1.570796f, 3.141593f, 45.553093f, 1e5f, 102943.7f, 4.2e8f, 16367173.0f};
  expect_within(
      0.51, -4.2e8f, 4.2e8f, points, [](float x) { return math::sin(x); }, [](double x) { return std::sin(x); });
  expect_within(
      0.51, -4.2e8f, 4.2e8f, points, [](float x) { return math::cos(x); }, [](double x) { return std::cos(x); });
}

TEST(Elementary, SinAndCosOfHugeNumbersStayInRange) {
  for (std::uint32_t bits = float_bits(4e8f); bits < 0x7f800000u; bits += 99991) {
    const float x = float_from_bits(bits);
    for (const float y : {math::sin(x), math::cos(x), math::sin(-x)}) ASSERT_LE(std::fabs(y), 1.0f) << x;
  }
}

TEST(Elementary, RootsAndPowers) {
  expect_within(
      0.5, 0.0f, std::numeric_limits<float>::max(), {}, [](float x) { return math::sqrt(x); },
      [](double x) { return std::sqrt(x); });
  expect_within(
      1.5, denormal, std::numeric_limits<float>::max(), {}, [](float x) { return math::rsqrt(x); },
      [](double x) { return 1.0 / std::sqrt(x); });
  EXPECT_EQ(math::power(3.0f, 0), 1.0f);
  EXPECT_EQ(math::power(3.0f, 5), 243.0f);
  EXPECT_EQ(math::power(-2.0f, 7), -128.0f);
  EXPECT_EQ(math::power(2.0, -10), 0x1p-10);
  EXPECT_EQ(math::power(2.0, std::numeric_limits<std::int64_t>::min()), 0.0);
  EXPECT_EQ(math::power(0.0f, -1), infinite);
  // Adam's bias correction: each factor of the repeated squaring adds at most one rounding, 2 log2(n) in all, doubled
  // with each squaring: n roundings.
  for (const std::int64_t n : {1, 2, 3, 10, 999, 1000, 12345})
    EXPECT_NEAR(math::power(0.999, n) / std::pow(0.999, static_cast<double>(n)), 1.0, static_cast<double>(n) * 0x1p-52);
}

TEST(Elementary, ExpSpecialValues) {
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(-0.0f), 1.0f);
  EXPECT_EQ(math::exp(infinite), infinite);
  EXPECT_EQ(float_bits(math::exp(-infinite)), 0u);
  EXPECT_TRUE(std::isnan(math::exp(nan)) && std::isnan(math::exp(-nan)));
  const float last = 0x1.62e42ep+6f;  // 88.722839, the last whose exponential is finite
  EXPECT_TRUE(std::isfinite(math::exp(last)));
  EXPECT_EQ(math::exp(std::nextafter(last, infinite)), infinite);
  EXPECT_EQ(math::exp(3e38f), infinite);
  EXPECT_EQ(math::exp(-103.97f), denormal);
  EXPECT_EQ(math::exp(-103.98f), 0.0f);
  EXPECT_EQ(math::exp(-3e38f), 0.0f);
  EXPECT_EQ(math::exp(denormal), 1.0f);
}

TEST(Elementary, LogSpecialValues) {
  EXPECT_EQ(float_bits(math::log(1.0f)), 0u);
  EXPECT_EQ(math::log(0.0f), -infinite);
  EXPECT_EQ(math::log(-0.0f), -infinite);
  EXPECT_EQ(math::log(infinite), infinite);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)) && std::isnan(math::log(-denormal)) && std::isnan(math::log(-infinite)));
  EXPECT_TRUE(std::isnan(math::log(nan)) && std::isnan(math::log(-nan)));
  EXPECT_EQ(math::log(denormal), -103.278929903431851f);
}

TEST(Elementary, OddFunctionsKeepSignsAndEnds) {
  const auto check = [](auto f) {
    EXPECT_EQ(float_bits(f(0.0f)), 0u);
    EXPECT_EQ(float_bits(f(-0.0f)), 0x80000000u);
    EXPECT_TRUE(std::isnan(f(nan)) && std::isnan(f(-nan)));
  };
  check([](float x) { return math::tanh(x); });
  check([](float x) { return math::erf(x); });
  check([](float x) { return math::sin(x); });
  EXPECT_EQ(math::tanh(infinite), 1.0f);
  EXPECT_EQ(math::tanh(-infinite), -1.0f);
  EXPECT_EQ(math::tanh(9.1f), 1.0f);
  EXPECT_EQ(math::tanh(denormal), denormal);
  EXPECT_EQ(math::erf(infinite), 1.0f);
  EXPECT_EQ(math::erf(-infinite), -1.0f);
  EXPECT_EQ(math::erf(-4.0f), -1.0f);
  EXPECT_EQ(math::sin(denormal), denormal);
  EXPECT_EQ(math::cos(0.0f), 1.0f);
  EXPECT_EQ(math::cos(-0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(math::sin(infinite)) && std::isnan(math::cos(-infinite)) && std::isnan(math::cos(nan)));
}

TEST(Elementary, DoubleOverloadsAreTheLibrarys) {
  for (const double x : {0.1, 0.7, 2.5}) {
    EXPECT_EQ(math::exp(x), std::exp(x));
    EXPECT_EQ(math::log(x), std::log(x));
    EXPECT_EQ(math::tanh(x), std::tanh(x));
    EXPECT_EQ(math::erf(x), std::erf(x));
    EXPECT_EQ(math::sin(x), std::sin(x));
    EXPECT_EQ(math::cos(x), std::cos(x));
    EXPECT_EQ(math::sqrt(x), std::sqrt(x));
    EXPECT_EQ(math::rsqrt(x), 1.0 / std::sqrt(x));
  }
}

}  // namespace
}  // namespace ulpscope
