// Ranges held against formats: windows of the loss scale, first skips, verdicts.
#include "reports/analysis/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ulpscope::reports {
namespace {

using ::testing::HasSubstr;

/// `count` elements in each binade from 2^low to 2^high.
StoredRange gradients(const std::string& tensor, int low, int high, std::uint64_t count = 1) {
  StoredRange r;
  r.tensor = r.node = tensor;
  r.operation = "linear";
  r.backward = true;
  r.greatest = std::ldexp(1.0, high);
  r.histogram.first = low;
  r.histogram.counts.assign(static_cast<std::size_t>(high - low + 1), count);
  r.elements = static_cast<std::int64_t>(count) * (high - low + 1);
  return r;
}

PredictionInput fp16(std::vector<StoredRange> ranges, scaling::Policy policy = scaling::PytorchScaler{}) {
  PredictionInput input;
  input.mode = "fp16";
  input.scaled = true;
  input.policy = policy;
  input.ranges = std::move(ranges);
  return input;
}

TEST(PredictionWindow, LowestKeepsAllButTheShareHighestOverflowsNothing) {
  // 200 binades' worth of elements: 1 % of them are the two lowest binades.
  const ModePrediction p = predict(fp16({gradients("g", -199, 0)}));
  EXPECT_EQ(p.window.highest, 15) << "1.0 at 2^16 is 65536";
  EXPECT_EQ(p.window.lowest, 172) << "2^-197 comes to 2^-25";
  EXPECT_EQ(p.window.full, 185) << "2^-199 comes to 2^-14";
  EXPECT_FALSE(p.window.exists());
  EXPECT_EQ(p.forecast, Forecast::no_scale);
}

TEST(PredictionWindow, OneScaleForTwoTensors) {
  const ModePrediction p = predict(fp16({gradients("large", -2, 4), gradients("small", -30, -20)}));
  EXPECT_EQ(p.window.highest, 11);
  EXPECT_EQ(p.window.highest_tensor, "large");
  EXPECT_EQ(p.window.lowest, 5);
  EXPECT_EQ(p.window.lowest_tensor, "small");
  EXPECT_EQ(p.forecast, Forecast::safe);
  EXPECT_EQ(p.first_skips, 5) << "from 2^16 to 2^11";
  EXPECT_THAT(p.verdict, HasSubstr("[2^5, 2^11]"));
}

TEST(PredictionWindow, NoneForBothWhereOneOverflowsBeforeTheOtherIsKept) {
  const ModePrediction p = predict(fp16({gradients("large", 8, 10), gradients("small", -60, -50, 10)}));
  EXPECT_EQ(p.forecast, Forecast::no_scale);
  EXPECT_THAT(p.verdict, HasSubstr("small needs at least"));
  EXPECT_THAT(p.verdict, HasSubstr("large at most 2^5"));
}

TEST(PredictionScale, AFixedOneThatOverflowsIsFatalAndADynamicOneFindsItsWay) {
  const ModePrediction fixed = predict(fp16({gradients("g", 0, 3)}, scaling::FixedScaling{65536.0f}));
  EXPECT_EQ(fixed.forecast, Forecast::overflow);
  EXPECT_FALSE(fixed.first_skips);
  const ModePrediction dynamic = predict(fp16({gradients("g", 0, 3)}));
  EXPECT_EQ(dynamic.first_skips, 4);
  EXPECT_EQ(dynamic.settled_scale, 4096.0);
  EXPECT_EQ(dynamic.forecast, Forecast::safe);
}

TEST(PredictionScale, WithoutOneSmallGradientsAreLost) {
  PredictionInput input = fp16({gradients("g", -30, -21)});
  input.scaled = false;
  const ModePrediction p = predict(input);
  EXPECT_EQ(p.forecast, Forecast::needs_scale);
  EXPECT_DOUBLE_EQ(p.flushed.value(), 0.5);
  EXPECT_FALSE(p.start_scale);
  EXPECT_THAT(p.verdict, HasSubstr("gradients need a scale in [2^5, "));
}

TEST(PredictionForward, TheFirstOverflowThatTheLossReadsIsNamed) {
  StoredRange unread, read, later;
  unread.tensor = unread.node = "unread";
  unread.feeds_loss = false;
  read.tensor = read.node = "read";
  later.tensor = later.node = "later";
  unread.greatest = 1e6;
  read.greatest = 65520.0;
  later.greatest = 1e9;
  unread.order = 1, read.order = 2, later.order = 3;
  const ModePrediction p = predict(fp16({unread, read, later}));
  EXPECT_EQ(p.forecast, Forecast::overflow);
  EXPECT_THAT(p.verdict, HasSubstr("will overflow at read"));
  ASSERT_EQ(p.foreseen.size(), 3u);
  EXPECT_EQ(p.foreseen[2].gravity, Gravity::contained);
  read.greatest = 65519.99;  // rounds to 65504
  EXPECT_EQ(predict(fp16({read})).forecast, Forecast::safe);
}

TEST(PredictionAdvice, Fp16IsFinerWhereBothRangesSuffice) {
  ModePrediction half, brain;
  half.mode = "fp16";
  brain.mode = "bf16";
  EXPECT_THAT(advice({half, brain}), HasSubstr("fp16 has steps 8 times as fine"));
  half.forecast = Forecast::overflow;
  EXPECT_THAT(advice({half, brain}), HasSubstr("bf16 has the range of fp32"));
  brain.forecast = Forecast::overflow;
  brain.foreseen.push_back(
      {.kind = "mask_sum", .gravity = Gravity::fatal, .what = "the mask", .overflow = true, .constant = true});
  EXPECT_THAT(advice({half, brain}), HasSubstr("bf16 does not help: a constant overflows there, too"));
  EXPECT_EQ(advice({half}), "");
}

}  // namespace
}  // namespace ulpscope::reports
