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

TEST(PredictionScale, WhatNothingBoundsBelowHasNoLeastScale) {
  // 2^120 fits fp16 from 2^-105 on: 121 halvings of 2^16.
  PredictionInput input = fp16({gradients("g", 110, 120)});
  ModePrediction p = predict(input);
  EXPECT_FALSE(p.window.lowest);
  EXPECT_EQ(p.first_skips, 121);
  EXPECT_EQ(p.forecast, Forecast::needs_scale) << "a scale below 1 is no search that ends well";
  EXPECT_THAT(p.verdict, HasSubstr("gradients need a scale up to 2^-105: "));
  EXPECT_THAT(p.verdict, HasSubstr("121 steps are skipped"));
  input.steps = 24;
  p = predict(input);
  EXPECT_EQ(p.forecast, Forecast::overflow);
  EXPECT_EQ(p.foreseen.front().gravity, Gravity::fatal);
  EXPECT_THAT(p.verdict, HasSubstr("and 24 steps are planned: none is applied"));
}

TEST(PredictionScale, ASearchLongerThanTheRunIsNotSafe) {
  PredictionInput input = fp16({gradients("g", 0, 3)});
  input.steps = 4;
  EXPECT_EQ(predict(input).forecast, Forecast::needs_scale);
  input.steps = 5;
  const ModePrediction p = predict(input);
  EXPECT_EQ(p.forecast, Forecast::safe);
  EXPECT_THAT(p.verdict, HasSubstr("safe in range: "));
}

TEST(PredictionScale, AShareCloseToTheBarIsMarkedWithTheTensor) {
  const auto at = [](int low) {
    PredictionInput one = fp16({gradients("g", low, -10, 1)}, scaling::FixedScaling{1.0f});
    one.ranges.front().histogram.counts.back() = 150;
    one.ranges.front().node = "layer.a";
    one.ranges.front().tensor = "layer.a.dx";
    return predict(one);
  };
  const ModePrediction close = at(-27);  // 2 of 167
  EXPECT_EQ(close.forecast, Forecast::needs_scale);
  EXPECT_THAT(close.verdict, HasSubstr("gradients may need a scale in ["));
  EXPECT_THAT(close.verdict, HasSubstr("most of them in layer.a.dx (close to the bar of 1 %"));
  const ModePrediction far = at(-40);  // 15 of 180
  EXPECT_THAT(far.verdict, HasSubstr("gradients need a scale in ["));
  EXPECT_EQ(far.verdict.find("close to the bar"), std::string::npos);
}

TEST(PredictionVerdict, FatalWithoutAnOverflowIsFatal) {
  PredictionInput input = fp16({});
  input.checks.push_back({.kind = "epsilon_vanished", .gravity = Gravity::fatal, .node = "w.update", .what = "eps is zero"});
  EXPECT_EQ(name(predict(input).forecast), "fatal");
  EXPECT_EQ(predict(input).no_window, "no gradient is stored narrow");
  input.without_counterpart = 2;
  EXPECT_EQ(predict(input).no_window, "unknown: no gradient that is stored narrow has a range in the step in fp32");
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

StoredRange too_large(const std::string& tensor) {
  StoredRange r = gradients(tensor, 10, 17);
  r.backward = false;
  return r;
}

TEST(PredictionFollowed, WhatBecomesOfAnInfinityDecides) {
  PredictionInput input = fp16({too_large("swallowed"), too_large("masked"), too_large("fits"), too_large("other")});
  EXPECT_TRUE(is_to_be_followed(input, predict(input)));
  EXPECT_EQ(predict(input).forecast, Forecast::overflow);
  input.followed = Followed{};
  input.followed->tensors["swallowed"] = {.gravity = Gravity::contained, .what = "; t makes the same of it"};
  input.followed->tensors["masked"] = {.gravity = Gravity::note, .masked = true};
  input.followed->tensors["other"] = {.gravity = Gravity::damage};
  const ModePrediction p = predict(input);
  EXPECT_EQ(p.forecast, Forecast::damage) << p.verdict;
  ASSERT_EQ(p.foreseen.size(), 3u) << "of masks nothing is said";
  EXPECT_EQ(p.foreseen[0].tensor, "other");
  EXPECT_EQ(p.foreseen[1].tensor, "swallowed");
  EXPECT_THAT(p.foreseen[1].what, HasSubstr("; t makes the same of it"));
  EXPECT_EQ(p.foreseen[2].tensor, "fits");
  EXPECT_FALSE(p.foreseen[2].overflow);
  EXPECT_THAT(p.foreseen[2].what, HasSubstr("in the same step made in fp16 it is finite"));
}

TEST(PredictionFollowed, AFaultThatNoRangeShowsIsTold) {
  PredictionInput input = fp16({});
  EXPECT_FALSE(is_to_be_followed(input, predict(input)));
  input.may_cancel = true;
  EXPECT_TRUE(is_to_be_followed(input, predict(input)));
  input.followed = Followed{};
  EXPECT_EQ(predict(input).forecast, Forecast::safe);
  Cause cause;
  cause.kind = Kind::zero_divisor;
  cause.node = cause.tensor = "l";
  cause.what = "l divides by zero";
  input.followed->faults.push_back({cause, 4});
  const ModePrediction p = predict(input);
  ASSERT_EQ(p.foreseen.size(), 1u);
  EXPECT_EQ(p.foreseen[0].kind, "zero_divisor");
  EXPECT_EQ(p.foreseen[0].order, 4);
  EXPECT_THAT(p.verdict, HasSubstr("at l: the same step was made in fp16: l divides by zero"));
}

}  // namespace
}  // namespace ulpscope::reports
