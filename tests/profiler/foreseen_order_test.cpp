// What adds up, cancels, or is done in the wrong order: momentum buffers, a difference that becomes 0, gradients that meet, gradients that are
// unscaled early, a schedule that counts skipped steps. What is foreseen, and what a run of the same file then shows. Numbers are worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/support/foreseen.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Foreseen;
using reports::Gravity;
using reports::Outcome;
using ::testing::HasSubstr;

using ForeseenOrder = ForeseenGraph;

const std::string sgd = "optimizer = \"sgd\", clip = 0.0, ";

// The buffer of equal gradients g is g, 1.9 g, 2.71 g in the first three steps.
TEST_F(ForeseenOrder, AMomentumBufferThatAddsUp) {
  const std::string train = sgd + "lr = 1e-9, momentum = 0.9, moment_format = \"fp16\", scaler = {fixed = 1}";
  const Told bad = slopes("fp16", "[2.5e4, 1.0]", train);   // 25000, 47500, 67750
  bad.expect_both("overflow", Outcome::fatal);
  const Foreseen f = bad.foreseen("update_overflowed", "w.update");
  EXPECT_EQ(value(f, "applied_step"), 3.0);
  EXPECT_NEAR(value(f, "first_moment"), 67750.0, 32.0);
  EXPECT_EQ(bad.cause("update_overflowed", "w.update").step, 2);
  slopes("fp16", "[2.3e4, 1.0]", train).expect_both("safe", Outcome::healthy);   // 23000, 43700, 62330
  const Told pure = slopes("fp16_pure", "[2.5e4, 1.0]", sgd + "lr = 1e-9, momentum = 0.9");
  EXPECT_EQ(value(pure.foreseen("update_overflowed", "w.update"), "applied_step"), 3.0);
  EXPECT_EQ(pure.after.outcome, Outcome::fatal);
  slopes("fp16", "[2.5e4, 1.0]", sgd + "lr = 1e-9, momentum = 0.9, scaler = {fixed = 1}").expect_both("safe", Outcome::healthy);   // kept in fp32
}

/// log(1 - sigmoid(x)) and log(1 - sigmoid(0.5)).
std::string logarithm(const char* x, const char* last) {
  return fmt::format("{{name = \"x\", op = \"input\", shape = [1, 2], values = [[{}, 0.5]]}}, {{name = \"w\", op = \"parameter\", init = [[1.0, 0.0], [0.0, 1.0]]}},\n"
                     "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}}, {{name = \"p\", op = \"sigmoid\", inputs = \"y\"}}, {{name = \"one\", op = \"constant\", shape = [1], init = 1.0}},\n"
                     "{{name = \"d\", op = \"sub\", inputs = [\"one\", \"p\"]}}, {}, {{name = \"loss\", op = \"mean\", inputs = \"l\"}}",
                     x, last);
}

// 1 - sigmoid(9) = 1.234e-4 is less than half of what lies between 1 and fp16's number before it, 2^-11; 1 - sigmoid(5) = 6.7e-3 is not.
TEST_F(ForeseenOrder, ADifferenceThatBecomesZero) {
  const std::string train = sgd + "lr = 0.0, momentum = 0.0, scaler = {init = 1}";
  for (const char* last : {"{name = \"l\", op = \"log\", inputs = \"d\"}", "{name = \"l\", op = \"div\", inputs = [\"one\", \"d\"]}"}) {
    const Told bad = of("fp16", logarithm("9.0", last), train);
    bad.expect_both("overflow", Outcome::fatal);
    const Foreseen f = bad.foreseen("zero_divisor", "l");
    EXPECT_EQ(f.gravity, Gravity::fatal);
    EXPECT_THAT(f.what, HasSubstr("the same step was made in fp16: l "));
    EXPECT_EQ(bad.cause("zero_divisor", "l").gravity, Gravity::fatal);
    of("fp16", logarithm("5.0", last), train).expect_both("safe", Outcome::healthy);
  }
  // bf16's numbers before 1 are 2^-8 apart: 1 - sigmoid(6.5) = 1.5e-3.
  EXPECT_EQ(of("bf16", logarithm("6.5", "{name = \"l\", op = \"log\", inputs = \"d\"}"), train).foreseen("zero_divisor", "l").gravity, Gravity::fatal);
}

std::string used(int times, const char* x) {
  std::string nodes = fmt::format("{{name = \"x\", op = \"input\", shape = [1, 2], values = [[{}, 0.5]]}}, {{name = \"w\", op = \"parameter\", shape = [2, 2], init = 1e-3}}", x), sum = "y0";
  for (int i = 0; i < times; ++i) nodes += fmt::format(",\n{{name = \"y{}\", op = \"linear\", inputs = [\"x\", \"w\"]}}", i);
  for (int i = 1; i < times; ++i) {
    nodes += fmt::format(", {{name = \"s{0}\", op = \"add\", inputs = [\"{1}\", \"y{0}\"]}}", i, sum);
    sum = fmt::format("s{}", i);
  }
  return nodes + fmt::format(", {{name = \"loss\", op = \"sum\", inputs = \"{}\"}}", sum);
}

// Each use has a gradient of x for a weight: 2 x 40000, or 3 x 25000. fp32 has no copy in 16 bits, and no sum of that name.
TEST_F(ForeseenOrder, GradientsOfAWeightThatIsUsedTwice) {
  const std::string train = sgd + "lr = 1e-9, momentum = 0.0, scaler = {fixed = 1}";
  const Told twice = of("fp16", used(2, "4e4"), train), thrice = of("fp16", used(3, "2.5e4"), train);
  twice.expect_both("overflow", Outcome::fatal);
  EXPECT_EQ(value(twice.foreseen("gradient_too_large_for_scale", "w.fp16.grad.sum"), "greatest_magnitude"), 80000.0);
  EXPECT_EQ(twice.cause("gradient_too_large_for_scale", "w.fp16.grad.sum").gravity, Gravity::fatal);
  EXPECT_EQ(twice.before.without_counterpart, 0);
  thrice.expect_both("overflow", Outcome::fatal);
  EXPECT_EQ(value(thrice.foreseen("gradient_too_large_for_scale", "w.fp16.grad.sum.2"), "greatest_magnitude"), 75000.0);
  of("fp16", used(2, "3e4"), train).expect_both("safe", Outcome::healthy);
  const Told searched = of("fp16", used(2, "10.0"), sgd + "lr = 1e-9, momentum = 0.0, scaler = {init = 8192}, steps = 5");
  EXPECT_EQ(searched.before.first_skips, 2) << "20 x 4096 = 81920; 20 x 2048 fits";
  EXPECT_EQ(searched.after.skipped, 2);
}

TEST_F(ForeseenOrder, AMicroBatchThatIsUnscaledEarly) {
  const std::string train = sgd + "lr = 1e-3, momentum = 0.0, micro_batches = 2, scaler = {init = 1024}";
  const Told bad = slopes("fp16", "[1.0, 0.5]", train + ", unscale = \"early\"");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("unscaled_early", "w.grad.accumulate");
  const Cause c = bad.cause("unscaled_early", "w.grad.accumulate");
  EXPECT_EQ(f.gravity, c.gravity);
  EXPECT_EQ(value(f, "ratio"), 1024.0);
  EXPECT_EQ(value(c, "ratio"), 1024.0);
  slopes("fp16", "[1.0, 0.5]", train).expect_both("safe", Outcome::healthy);
  slopes("bf16", "[1.0, 0.5]", train + ", unscale = \"early\"").expect_both("safe", Outcome::healthy);   // there is nothing to unscale by
}

// A gradient of 1 fits at 2^15: 3 of 5 steps are skipped from 2^18 on.
TEST_F(ForeseenOrder, AScheduleThatCountsSkippedSteps) {
  const std::string train = sgd + "lr = 1e-3, momentum = 0.0, warmup = 10, steps = 5, scaler = {init = 262144}";
  const Told bad = slopes("fp16", "[1.0, 0.5]", train + ", schedule_counts = \"iterations\"");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("schedule_ahead", "");
  const Cause c = bad.cause("schedule_ahead", "");
  EXPECT_EQ(f.gravity, c.gravity);
  EXPECT_EQ(value(f, "skipped"), 3.0);
  EXPECT_EQ(value(c, "skipped"), 3.0);
  EXPECT_NEAR(value(f, "first_lr"), 4e-4, 1e-9);
  EXPECT_NEAR(value(c, "first_lr"), 4e-4, 1e-9);
  const Told applied = slopes("fp16", "[1.0, 0.5]", train);
  applied.expect_both("safe", Outcome::healthy);
  EXPECT_TRUE(applied.all("schedule_ahead").empty());
  const Told fits = slopes("fp16", "[1.0, 0.5]", sgd + "lr = 1e-3, momentum = 0.0, warmup = 10, scaler = {init = 256}, schedule_counts = \"iterations\"");
  fits.expect_both("safe", Outcome::healthy);
  EXPECT_EQ(fits.foreseen("schedule_ahead", "").gravity, Gravity::note) << "none is skipped yet";
}

}  // namespace
}  // namespace ulpscope::profiler
