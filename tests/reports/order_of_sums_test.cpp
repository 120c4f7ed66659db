// What the order of sums explains: held against sums that are really added up in other orders, and judged on made-up losses.
#include "reports/analysis/order_of_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double nan_number = std::numeric_limits<double>::quiet_NaN();

NodeRecord product(std::int64_t addends, const std::string& compute, const std::string& stored, Phase phase = Phase::forward) {
  return {.operation = "linear",
          .name = "y",
          .phase = phase,
          .inputs = {{{8, addends}, compute, {}}, {{16, addends}, compute, {}}},
          .outputs = {{{8, 16}, stored, {}}},
          .compute_format = compute,
          .flops = 2 * 8 * 16 * addends};
}

/// Nearest number with `bits` bits of significand.
double rounded(double value, int bits) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - bits);
  return std::nearbyint(value / unit) * unit;
}

struct Measured {
  double fp32 = 0.0;    ///< RMS of the difference of two orders by the RMS of the result
  double stored = 0.0;  ///< the same after both were rounded to fp16
};

/// The same products of random numbers, once in ascending order and once in eight interleaved chains.
Measured two_orders(int addends, bool wide) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  double difference = 0.0, after = 0.0, size = 0.0;
  constexpr int results = 4000;
  for (int i = 0; i < results; ++i) {
    float one = 0.0f, chain[8] = {};
    for (int k = 0; k < addends; ++k) {
      const double a = normal(random), b = normal(random);
      const float term = wide ? static_cast<float>(a) * static_cast<float>(b) : static_cast<float>(rounded(a, 11) * rounded(b, 11));
      one += term;
      chain[k % 8] += term;
    }
    const float other = ((chain[0] + chain[1]) + (chain[2] + chain[3])) + ((chain[4] + chain[5]) + (chain[6] + chain[7]));
    difference += std::pow(one - other, 2);
    after += std::pow(rounded(one, 11) - rounded(other, 11), 2);
    size += std::pow(one, 2);
  }
  return {std::sqrt(difference / size), std::sqrt(after / size)};
}

TEST(OrderOfSums, TheBoundIsAboveWhatTwoOrdersDifferByAndNotFar) {
  for (const int addends : {64, 512}) {
    const Measured narrow = two_orders(addends, false), wide = two_orders(addends, true);
    const double of_narrow = order_bound({product(addends, "fp16", "fp32")}, {}).forward;
    const double of_wide = order_bound({product(addends, "fp32", "fp32")}, {}).forward;
    const double stored = order_bound({product(addends, "fp16", "fp16")}, {}).forward;
    EXPECT_GT(of_narrow, narrow.fp32) << addends;
    EXPECT_LT(of_narrow, 10.0 * narrow.fp32) << addends;
    EXPECT_GT(of_wide, wide.fp32) << addends;
    EXPECT_LT(of_wide, 12.0 * wide.fp32) << addends;
    EXPECT_GT(stored, narrow.stored) << addends;
    EXPECT_LT(stored, 10.0 * narrow.stored) << addends;
  }
}

/// A sum of equal products with a matrix unit of block B and F fraction bits, all of one sign: relative error.
double truncated(int addends, int block, int bits, double term) {
  double c = 0.0;
  for (int k = 0; k < addends; k += block) {
    int exponent = 0, of_c = 0;
    std::frexp(term, &exponent);
    std::frexp(c, &of_c);
    const double unit = std::ldexp(1.0, std::max(exponent, c == 0.0 ? exponent : of_c) - 1 - bits);
    double sum = std::floor(c / unit) * unit;
    for (int i = 0; i < block; ++i) sum += std::floor(term / unit) * unit;
    int of_sum = 0;
    std::frexp(sum, &of_sum);
    const double last = std::ldexp(1.0, of_sum - 24);
    c = std::floor(sum / last) * last;
  }
  return std::fabs(c / (addends * term) - 1.0);
}

TEST(OrderOfSums, SumsOfMatrixUnitsAreCutOff) {
  // docs/tensor_cores.md: 65536 × fp16(1/3): V100 -1.33e-3, Ampere -4.58e-4, Hopper -1.83e-4.
  const double third = 0.333251953125;
  EXPECT_NEAR(truncated(65536, 4, 23, third), 1.33e-3, 0.01e-3);
  EXPECT_NEAR(truncated(65536, 8, 24, third), 4.58e-4, 0.01e-4);
  EXPECT_NEAR(truncated(65536, 16, 25, third), 1.83e-4, 0.01e-4);
  // A block of tf32 has half as many products.
  const struct {
    const char* format;
    int block, bits;
    Truncating c;
  } units[] = {{"fp16", 4, 23, truncating_v100}, {"fp16", 8, 24, truncating_ampere}, {"fp16", 16, 25, truncating_hopper}, {"tf32", 4, 24, truncating_ampere}, {"tf32", 8, 25, truncating_hopper}};
  for (const auto& unit : units) {
    const double bound = order_bound({product(65536, unit.format, "fp32")}, unit.c).forward_cut;
    // Of each product: (B + 1) 2^-F + 2^-23, by B, in u; half of it.
    const double model = 0.5 * (std::ldexp(unit.block + 1.0, 24 - unit.bits) + 2.0) / unit.block * 0x1p-24 * 65536;
    EXPECT_NEAR(bound / model, 1.0, 0.08) << unit.format << ' ' << unit.block;
    double worst = 0.0;
    for (const double term : {third, 0.7001953125, 1.0009765625 * 1.0009765625, 0.9990234375}) worst = std::max(worst, truncated(65536, unit.block, unit.bits, term));
    EXPECT_GT(bound, worst) << unit.block;
    EXPECT_LT(bound, 10.0 * worst) << unit.block;
  }
  EXPECT_EQ(order_bound({product(4096, "fp32", "fp32")}, truncating_v100).forward_cut, 0.0) << "fp32 has no such unit";
}

TEST(OrderOfSums, ThePlanIsAddedUp) {
  const OrderBound one = order_bound({product(64, "bf16", "bf16")}, {});
  const OrderBound two = order_bound({product(64, "bf16", "bf16"), product(64, "bf16", "bf16"), product(256, "bf16", "fp32", Phase::backward)}, {});
  EXPECT_EQ(two.products, 3);
  EXPECT_EQ(two.longest, 256);
  EXPECT_DOUBLE_EQ(two.forward, std::sqrt(2.0) * one.forward);
  EXPECT_GT(two.step, two.forward);
  EXPECT_FALSE(order_bound({}, {}).known);
  NodeRecord unknown = product(64, "bf16", "bf16");
  unknown.flops.reset();
  EXPECT_FALSE(order_bound({unknown}, {}).known);
  NodeRecord relu = unknown;
  relu.operation = "relu";
  EXPECT_EQ(order_bound({relu, product(64, "bf16", "bf16")}, {}).products, 1);
}

TEST(OrderOfSums, Ulps) {
  EXPECT_EQ(ulps_between(1.0, 1.0 + 0x1p-23), 1.0);
  EXPECT_EQ(ulps_between(-3.0, -3.0), 0.0);
  EXPECT_EQ(ulps_between(4.0, 4.0 - 0x1p-22), 0.5);  // the spacing is that of the greater
  EXPECT_EQ(ulps_between(nan_number, nan_number), 0.0);
  EXPECT_TRUE(std::isinf(ulps_between(1.0, nan_number)));
  EXPECT_EQ(ulps_between(0.0, 0.0), 0.0);
}

class JudgedBits : public testing::Test {
 protected:
  JudgedBits() {
    run.optimizer = "sgd";
    for (int i = 0; i < 20; ++i)
      first.push_back({.step = i, .applied = i + 1, .loss = static_cast<float>(4.0 - 0.1 * i), .learning_rate = 0.1, .gradient_norm = 0.5});
    other = first;
  }
  BitsAcross judged(const std::vector<Number>& spread = {}) const { return judge_bits(run, first, other, order, spread); }
  void move(int step, double by) { other[static_cast<std::size_t>(step)].loss = *other[static_cast<std::size_t>(step)].loss + by; }

  RunRecord run{};
  std::vector<StepRecord> first, other;
  OrderBound order{.products = 1, .longest = 64, .forward = 1e-5, .step = 2e-5, .known = true};
};

TEST_F(JudgedBits, TheSame) {
  EXPECT_EQ(judged().verdict, BitsVerdict::same_bits);
  EXPECT_EQ(judged().text, "same bits in 20 steps");
}

// Step 1: 4 × 1e-5 × 4 = 1.6e-4. Step 3, after two updates: 4 × (3.8e-5 + 0.5 × 2 × 0.1 × 0.5 × 2e-5) = 1.56e-4.
TEST_F(JudgedBits, ExplainedUpToTheBoundAndNotBeyond) {
  move(0, 1.5e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  EXPECT_EQ(judged().differs_from, 0);
  EXPECT_NEAR(*judged().bound_ulps, 1.6e-4 / 0x1p-21, 2.0);
  move(0, 0.2e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().more_from, 0);
  EXPECT_THAT(judged().text, StartsWith("more than the order of sums explains: from step 1 ("));
  other = first;
  move(2, 1.5e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  move(2, 0.1e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().more_from, 2);
}

TEST_F(JudgedBits, WhatIsThereIsCarriedOnButDoesNotJump) {
  double by = 1e-4;
  for (int i = 0; i < 8; ++i, by *= 2.5) move(i, by);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  EXPECT_EQ(judged().greatest_at, 7);
  move(9, 5.0 * by);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().more_from, 9);
}

TEST_F(JudgedBits, NoFurtherThanSeeds) {
  double by = 1e-4;
  for (int i = 0; i < 8; ++i, by *= 2.5) move(i, by);  // the last by 0.061
  const std::vector<Number> spread(20, 0.01);           // 3 √2 × 0.01 = 0.042
  EXPECT_EQ(judged(spread).verdict, BitsVerdict::more);
  EXPECT_EQ(judged(spread).more_from, 7);
  EXPECT_EQ(judged(std::vector<Number>(20, 0.02)).verdict, BitsVerdict::explained);
}

TEST_F(JudgedBits, AdamTakesTheSizeOfTheRate) {
  run.optimizer = "adamw";
  // Step 2: 4 × (3.9e-5 + 0.5 × 0.1 × √4e-5) = 1.42e-3; after SGD's update 1.6e-4.
  move(1, 1.4e-3);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  move(1, 0.1e-3);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
}

TEST_F(JudgedBits, NotFiniteOnOneAloneIsMore) {
  other[4].loss = nan_number;
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().more_from, 4);
  EXPECT_THAT(judged().text, HasSubstr("one of them is not finite"));
  first[4].loss = nan_number;
  EXPECT_EQ(judged().verdict, BitsVerdict::same_bits);
}

TEST_F(JudgedBits, AStepThatOneAloneSkippedEndsIt) {
  other[5].skipped = true;
  move(7, 3.0);
  EXPECT_EQ(judged().verdict, BitsVerdict::same_bits);
  EXPECT_EQ(judged().other_skips, 5);
  EXPECT_THAT(judged().text, HasSubstr("one of them alone skipped step 6"));
}

// 4 × 2e-5 = 8e-5, over 64 tokens 1e-5.
TEST_F(JudgedBits, TheFirstGradientsNormIsTheSharpest) {
  move(0, 1e-6);
  other[0].gradient_norm = 0.5 * (1.0 + 7e-5);
  other[1].gradient_norm = 0.6;  // after an update nothing is said of it
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  EXPECT_NEAR(*judged().norm_change, 7e-5, 1e-9);
  other[0].gradient_norm = 0.5 * (1.0 + 9e-5);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().norm_at, 0);
  EXPECT_FALSE(judged().more_from) << "the losses are within what is explained";
  EXPECT_THAT(judged().text, StartsWith("more than the order of sums explains: the gradient's norm in step 1, with the same weights, differs by 9.0e-05, explained are 8.0e-05; other bits from step 1 ("));
  move(6, 0.5);
  EXPECT_EQ(judged().more_from, 6) << "a step keeps its own ulps";
  EXPECT_THAT(judged().text, AllOf(HasSubstr(": from step 7 (2.1e+06 ulps, explained are "), HasSubstr("; the gradient's norm in step 1, with"), HasSubstr("; other bits from step 1 (")));
  for (std::size_t i = 0; i < first.size(); ++i) other[i].loss = first[i].loss;
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().text, "more than the order of sums explains: the gradient's norm in step 1, with the same weights, differs by 9.0e-05, explained are 8.0e-05; the losses have the same bits in 20 steps");
  move(0, 1e-6);
  other[0].gradient_norm = 0.5 * (1.0 + 2e-5);
  for (StepRecord& step : first) step.tokens = 64;
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  order.step_cut = 1e-5;  // does not average
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  first[0].skipped = other[0].skipped = true;  // overflowed on both: the next is the first
  first[0].gradient_norm = other[0].gradient_norm = std::numeric_limits<double>::infinity();
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_NEAR(*judged().norm_change, 0.2, 1e-9);
  EXPECT_EQ(judged().norm_at, 1);
}

TEST_F(JudgedBits, AStepThatBothSkippedIsJudgedByTheNormsBefore) {
  first[2].gradient_norm = std::numeric_limits<double>::infinity();
  first[2].skipped = other[2].skipped = true;
  move(2, 1.5e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  move(2, 0.1e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
}

TEST_F(JudgedBits, AStepWithoutALossMovesTheWeightsAllTheSame) {
  // 9 updates of 4 × 0.5 × 0.1 × 0.5 × 2e-5 = 2e-6, and 4 × 3.1e-5: 1.42e-4; without those of the steps 1 to 9 1.24e-4.
  for (std::size_t i = 0; i < 9; ++i) (i % 2 == 0 ? first : other)[i].loss.reset();
  move(9, 1.4e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained);
  EXPECT_EQ(judged().steps, 11);
  move(9, 0.1e-4);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
}

TEST_F(JudgedBits, AfterALostStepNothingIsCalledMore) {
  move(9, 0.5);
  ASSERT_EQ(judged().verdict, BitsVerdict::more);
  const std::vector<StepRecord> whole = first, moved = other;
  other.erase(other.begin() + 4);  // on one side
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
  EXPECT_FALSE(judged().more_from);
  EXPECT_EQ(judged().steps, 19);
  first.erase(first.begin() + 4);  // on both
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
  first.erase(first.begin(), first.begin() + 4), other.erase(other.begin(), other.begin() + 4);  // at the beginning
  other[0].gradient_norm = 0.6;
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
  EXPECT_FALSE(judged().norm_change) << "the weights before it are not known to be the same";
  // What is more before the gap stays so.
  first = whole, other = moved;
  move(2, 0.5);
  other.erase(other.begin() + 4);
  EXPECT_EQ(judged().verdict, BitsVerdict::more);
  EXPECT_EQ(judged().more_from, 2);
}

TEST_F(JudgedBits, WhatIsNotKnownLeavesItUndecided) {
  for (StepRecord& step : first) step.learning_rate.reset();
  move(0, 1e-5);
  EXPECT_EQ(judged().verdict, BitsVerdict::explained) << "the first step needs no rate";
  move(3, 1e-5);
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
  order.known = false;
  other = first;
  EXPECT_EQ(judged().verdict, BitsVerdict::same_bits);
  move(0, 1e-5);
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
  EXPECT_THAT(judged().text, HasSubstr("not known in every step"));
  first.clear();
  EXPECT_EQ(judged().verdict, BitsVerdict::undecided);
}

}  // namespace
}  // namespace ulpscope::reports
