// Moments, betas and updates that leave their formats, norms for clipping, masks that are written over scores, overflows that nothing reads: what is
// foreseen, and what a run of the same file then shows. Numbers are worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/profiler/support/foreseen.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Foreseen;
using reports::Gravity;
using reports::Outcome;
using ::testing::HasSubstr;
using ::testing::Not;

bool offers(const Cause& cause, const std::string& mend) {
  return std::any_of(cause.remedies.begin(), cause.remedies.end(), [&](const reports::Remedy& r) { return r.mend == mend; });
}

using ForeseenOptimizer = ForeseenGraph;

// (1 - 0.99) g^2 is 0 in fp16 for |g| <= 1.726e-3, and every operation is rounded: epsilon, 17 x 2^-24, is what is left. 1e-5 is 168 x 2^-24, a tenth of
// it 17: 170 / 17 = 10 learning rates; 2e-5 is 336, a tenth of it 34: 20. A gradient of 0 has nothing to lose.
TEST_F(ForeseenOptimizer, SecondMomentsThatVanishBeforeTheyDivide) {
  const std::string train = "lr = 1e-3, beta2 = 0.99, clip = 0.0, epsilon = ";
  const Told bad = slopes("fp16_pure", "[0.00001, -0.00002, 0.002, 0.03125, 0.0]", train + "1e-6");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("second_moment_below_range", "w.update");
  EXPECT_EQ(value(f, "v_flushed"), 2.0);
  EXPECT_THAT(f.what, HasSubstr("2 of 4 weights that have a gradient"));
  EXPECT_NEAR(value(f, "update_least"), 10.0, 1e-3);
  EXPECT_NEAR(value(f, "update"), 20.0, 1e-3);
  const Cause c = bad.cause("second_moment_below_range", "w.update");
  EXPECT_EQ(value(c, "v_flushed"), 2.0);
  EXPECT_EQ(value(c, "epsilon"), 17.0 * 0x1p-24);
  EXPECT_NEAR(value(c, "update_least"), 10.0, 1e-3);
  EXPECT_NEAR(value(c, "update"), std::sqrt(0x1p-25 / 0.01) / (17.0 * 0x1p-24), 0.1) << "which weights they are is not recorded: no more than a bound";
  EXPECT_THAT(c.what, HasSubstr("between 10 and 1704 times the learning rate in step 1"));
  EXPECT_EQ(c.steps_seen, 3);
  EXPECT_TRUE(offers(c, "moments_fp32"));
  EXPECT_TRUE(offers(c, "bf16"));
  slopes("fp16_pure", "[0.03125, 0.0]", train + "1e-6").expect_both("safe", Outcome::healthy);
}

// In the mixed mode the update divides by the moment before it is rounded: sqrt((1 - 0.999^3) / 0.001) = 1.7312 learning rates in step 3.
TEST_F(ForeseenOptimizer, SecondMomentsThatVanishAfterTheyDivide) {
  const std::string train = "lr = 1e-3, beta2 = 0.999, epsilon = 1e-8, clip = 0.0, scaler = {init = 64}";
  const Told bad = slopes("fp16", "[1e-3, 0.5]", train + ", moment_format = \"fp16\"");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("second_moment_below_range", "w.update");
  EXPECT_NEAR(value(f, "update"), 1.73118, 1e-5);
  const Cause c = bad.cause("second_moment_below_range", "w.update");
  EXPECT_NEAR(value(c, "update"), 1.73118, 1e-5);
  EXPECT_THAT(c.what, HasSubstr("what is lost is its memory"));
  EXPECT_THAT(c.what, HasSubstr("1.731 in step 3, 31.62 in the end"));
  EXPECT_THAT(c.what, Not(HasSubstr("epsilon 1e-08 alone"))) << "it does not divide";
  EXPECT_FALSE(offers(c, "master_weights")) << "the run has them";
  slopes("fp16", "[1e-3, 0.5]", train).expect_both("safe", Outcome::healthy);
}

// 0.1 x 900^2 = 81000 in the first step; 800^2 x (1 - 0.81) = 121600 in the second; 200^2 = 40000 never leaves fp16.
TEST_F(ForeseenOptimizer, SecondMomentsThatOverflow) {
  const std::string train = "lr = 1e-3, beta2 = 0.9, epsilon = 1e-4, clip = 0.0";
  for (const auto& [x, step, moment] : {std::tuple{"[900, 1]", 1.0, 81000.0}, std::tuple{"[800, 1]", 2.0, 121600.0}}) {
    const Told bad = slopes("fp16_pure", x, train);
    bad.expect_both("damage", Outcome::damaged);
    const Foreseen f = bad.foreseen("update_overflowed", "w.update");
    EXPECT_EQ(value(f, "applied_step"), step);
    EXPECT_NEAR(value(f, "second_moment"), moment, 1e-6 * moment);
    const Cause c = bad.cause("update_overflowed", "w.update");
    EXPECT_EQ(c.gravity, Gravity::damage);
    EXPECT_EQ(c.step, static_cast<std::int64_t>(step) - 1);
    EXPECT_EQ(value(c, "not_finite"), 1.0);
    EXPECT_NEAR(value(c, "greatest_magnitude"), moment, 1e-6 * moment);
    EXPECT_THAT(c.what, HasSubstr("the second moment in w.update:2"));
    EXPECT_THAT(c.what, HasSubstr("these weights stand still"));
    EXPECT_EQ(c.remedies.front().mend, "moments_fp32");
    EXPECT_FALSE(offers(c, "update_rounding"));
    EXPECT_EQ(std::count_if(bad.after.causes.begin(), bad.after.causes.end(), [](const Cause& other) { return other.kind == reports::Kind::update_overflowed; }), 1)
        << "what the next steps read is no fault of its own";
  }
  slopes("fp16_pure", "[900, 1]", train + ", moment_format = \"fp32\"").expect_both("safe", Outcome::healthy);
  slopes("fp16_pure", "[200, 1]", train).expect_both("safe", Outcome::healthy);
}

// 0.25 - 1000 x 70 = -69999.75 is beyond fp16, whichever way it is rounded; bf16 holds it.
TEST_F(ForeseenOptimizer, UpdatesThatOverflowHoweverTheyAreRounded) {
  for (const char* rounding : {"nearest", "stochastic", "kahan"}) {
    const std::string train = fmt::format("lr = 1000.0, optimizer = \"sgd\", momentum = 0.0, clip = 0.0, update_rounding = \"{}\"", rounding);
    const Told bad = slopes("fp16_pure", "[70, 1]", train);
    bad.expect_both("overflow", Outcome::fatal);
    EXPECT_EQ(value(bad.foreseen("update_overflowed", "w.update"), "greatest_weight"), 69999.75) << rounding;
    const Cause c = bad.cause("update_overflowed", "w.update");
    EXPECT_EQ(value(c, "greatest_magnitude"), 69999.75) << rounding << c.what;
    EXPECT_FALSE(offers(c, "master_weights")) << "their copy in fp16 would not fit either";
    EXPECT_FALSE(offers(c, "update_rounding"));
    ASSERT_TRUE(offers(c, "bf16"));
    EXPECT_EQ(std::find_if(c.remedies.begin(), c.remedies.end(), [](const reports::Remedy& r) { return r.mend == "bf16"; })->ulpscope, "run.modes=bf16_pure");
    EXPECT_EQ(slopes("bf16_pure", "[70, 1]", train).after.outcome, Outcome::healthy) << rounding;
  }
}

// bf16 ends at 2^-8 below 1: 0.9985 is 1 there.
TEST_F(ForeseenOptimizer, BothBetasThatAreOne) {
  const Told bad = slopes("fp16", "[1, 2]", "lr = 1e-3, beta1 = 0.9985, beta2 = 0.9985, clip = 0.0, scalar_format = \"bf16\", scaler = {init = 256}");
  EXPECT_EQ(bad.all("beta_vanished").size(), 2u);
  const Cause c = bad.cause("beta_vanished", "w.update");
  EXPECT_EQ(value(c, "beta1"), 1.0);
  EXPECT_EQ(value(c, "beta2"), 1.0);
  EXPECT_THAT(c.what, HasSubstr("beta1 0.9985 is 1 in bf16"));
  EXPECT_THAT(c.what, HasSubstr("beta2 0.9985 is 1 in bf16"));
}

// 1 + 1 + ... in bf16, one after the other: the sum stands at 256, the norm at 16 where sqrt(1000) = 31.623 is right; below the bound neither matters.
TEST_F(ForeseenOptimizer, ANormForClippingThatSwallows) {
  const std::string nodes = "{name = \"w\", op = \"parameter\", shape = [1000], init = 1.0}, {name = \"loss\", op = \"sum\", inputs = \"w\"}";
  const auto with = [&](const char* clip) {
    return of("fp16", nodes, fmt::format("lr = 0.1, optimizer = \"sgd\", momentum = 0.0, norm_accumulate = \"bf16\", clip = {}", clip), "override = [{nodes = \"global_norm\", order = \"serial\"}]");
  };
  const Told bad = with("1.0");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("sum_stuck", "global_norm");
  EXPECT_EQ(value(f, "norm"), 16.0);
  EXPECT_NEAR(value(f, "expected"), 31.6228, 1e-4);
  EXPECT_EQ(value(f, "swallowed"), 744.0);
  const Cause c = bad.cause("sum_stuck", "global_norm");
  EXPECT_EQ(value(c, "swallowed"), 744.0);
  EXPECT_NEAR(value(c, "expected"), 31.6228, 1e-3);
  EXPECT_THAT(c.what, HasSubstr("come to 16 on average, 31.62278 would be right"));
  const Told fine = with("100.0");
  EXPECT_EQ(fine.foreseen("sum_stuck", "global_norm").gravity, Gravity::note);
  EXPECT_EQ(fine.cause("sum_stuck", "global_norm").gravity, Gravity::note);
}

// 1.5e-4 squared is 2.25e-8, below 2^-25: of 400 squares nothing is left, and the norm, 0.003, is 0.
TEST_F(ForeseenOptimizer, ANormForClippingThatVanishes) {
  const std::string nodes = "{name = \"w\", op = \"parameter\", shape = [400], init = 1.0}, {name = \"s\", op = \"sum\", inputs = \"w\"},\n"
                            "{name = \"loss\", op = \"scale\", inputs = \"s\", factor = 1.5e-4}";
  const std::string train = "lr = 0.1, optimizer = \"sgd\", momentum = 0.0, norm_accumulate = \"fp16\", clip = ";
  const Told bad = of("fp16", nodes, train + "1e-3");
  bad.expect_both("damage", Outcome::damaged);
  const Foreseen f = bad.foreseen("gradient_below_range", "global_norm");
  EXPECT_EQ(value(f, "flushed"), 400.0);
  EXPECT_EQ(value(f, "norm"), 0.0);
  EXPECT_NEAR(value(f, "expected"), 0.003, 1e-6);
  EXPECT_EQ(value(bad.cause("gradient_below_range", "global_norm"), "flushed"), 400.0);
  EXPECT_EQ(of("fp16", nodes, train + "1.0").foreseen("gradient_below_range", "global_norm").gravity, Gravity::note);
}

constexpr const char* still = "optimizer = \"sgd\", momentum = 0.0, lr = 0.0, clip = 0.0, scaler = {init = 256}";

// Two squares of 1.8e19 are 6.48e38: each fits fp32 (3.24e38), their sum does not.
TEST_F(ForeseenOptimizer, ASumOfSquaresThatIsInfiniteInFp32) {
  const auto nodes = [](const char* last) {
    return fmt::format("{{name = \"x\", op = \"input\", values = [[1.8e19, 1, 1, 1], [1, 2, 3, 4], {}]}}, {{name = \"w\", op = \"parameter\", init = 1.0}},\n"
                       "{{name = \"h\", op = \"mul\", inputs = [\"x\", \"w\"]}}, {{name = \"g\", op = \"parameter\", shape = [4], init = 1.0}},\n"
                       "{{name = \"n\", op = \"rms_norm\", inputs = [\"h\", \"g\"], epsilon = 1e-5}}, {{name = \"loss\", op = \"mean\", inputs = \"n\"}}",
                       last);
  };
  const Told bad = of("bf16", nodes("[1.8e19, 1.8e19, 0, 0]"), still);
  bad.expect_both("damage", Outcome::damaged);
  EXPECT_EQ(value(bad.foreseen("norm_overflowed", "n"), "rows"), 1.0);
  EXPECT_EQ(value(bad.cause("norm_overflowed", "n"), "zero_rows"), 1.0);
  of("bf16", nodes("[1.2e19, 1.2e19, 0, 0]"), still).expect_both("safe", Outcome::healthy);
}

std::string masked(const char* mask) {
  return fmt::format("{{name = \"x\", op = \"input\", values = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}}, {{name = \"w\", op = \"parameter\", init = 1.0}},\n"
                     "{{name = \"k\", op = \"constant\", format = \"i32\", shape = [3, 3], init = [1, 1, 1, 0, 1, 0, 0, 0, 0]}},\n"
                     "{{name = \"l\", op = \"constant\", format = \"i32\", shape = [3, 3], init = [0, 1, 1, 0, 1, 0, 0, 0, 0]}},\n"
                     "{{name = \"c\", op = \"constant\", init = [[0, -6e4, -6e4], [0, 0, -6e4], [0, 0, 0]]}},\n"
                     "{{name = \"h\", op = \"mul\", inputs = [\"x\", \"w\"]}}, {{name = \"m\", {}}},\n"
                     "{{name = \"s\", op = \"softmax\", inputs = \"m\"}}, {{name = \"g\", op = \"constant\", init = [[1, 2, 3], [1, 2, 3], [3, 2, 1]]}},\n"
                     "{{name = \"sg\", op = \"mul\", inputs = [\"s\", \"g\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"sg\"}}",
                     mask);
}

TEST_F(ForeseenOptimizer, MasksThatAreWrittenOverScores) {
  const char* const lower = "override = [{nodes = \"m\", compute = \"lower\"}]";
  for (const char* live : {"op = \"masked_fill\", inputs = [\"h\", \"l\"], value = -1e9", "op = \"causal_mask\", inputs = [\"h\"], value = -1e9"}) {
    const Told told = of("fp16", masked(live), still, lower);
    told.expect_both("safe", Outcome::healthy);
    for (const Foreseen& f : told.before.foreseen) EXPECT_FALSE(f.overflow) << live << f.what;
    EXPECT_NE(told.before.room_tensor, "m") << "what is masked has no room to lose";
  }
  const Told dead = of("fp16", masked("op = \"masked_fill\", inputs = [\"h\", \"k\"], value = -1e5"), still, lower);
  dead.expect_both("overflow", Outcome::fatal);
  const Foreseen f = dead.foreseen("mask_constant_out_of_range", "m");
  EXPECT_EQ(value(f, "rows_without_score"), 1.0);
  EXPECT_EQ(value(f, "not_finite"), 4.0);
  EXPECT_EQ(f.gravity, Gravity::fatal);
  EXPECT_TRUE(dead.all("activation_too_large").empty());
  EXPECT_EQ(value(dead.cause("mask_constant_out_of_range", "m"), "rows_without_score"), 1.0);
}

// -6e4 fits, with log2(65520 / 60000) bits to spare; a mask that is added, and ends at the limit, has as little.
TEST_F(ForeseenOptimizer, RoomAboveMasks) {
  const char* const lower = "override = [{nodes = \"m\", compute = \"lower\"}]";
  const Told filled = of("fp16", masked("op = \"masked_fill\", inputs = [\"h\", \"k\"], value = -6e4"), still, lower);
  EXPECT_EQ(filled.before.room_tensor, "m");
  EXPECT_NEAR(filled.before.room_forward.value_or(NAN), std::log2(65520.0 / 60000.0), 1e-6);
  const Told added = of("fp16", masked("op = \"add\", inputs = [\"h\", \"c\"]"), still, lower);
  EXPECT_EQ(added.before.room_tensor, "m");
  EXPECT_NEAR(added.before.room_forward.value_or(NAN), std::log2(65520.0 / 59998.0), 1e-6) << "of the fill's size, less a score of 2";
}

// 6 x 200 x 54.61 = 65532 rounds to inf; tanh makes 1 of either. The relu hands on what it is given.
TEST_F(ForeseenOptimizer, AnOverflowThatSaturates) {
  const auto nodes = [](const char* end) {
    return fmt::format("{{name = \"x\", op = \"input\", shape = [1, 2, 4], values = 200.0}},\n"
                       "{{name = \"c.weight\", op = \"parameter\", shape = [2, 2, 3], init = [54.61, 54.61, 54.61, 54.61, 54.61, 54.61, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]}},\n"
                       "{{name = \"c\", op = \"conv1d\", inputs = [\"x\", \"c.weight\"]}}, {{name = \"r\", op = \"relu\", inputs = \"c\"}},\n"
                       "{{name = \"t\", {}}}, {{name = \"loss\", op = \"mean\", inputs = \"t\"}}",
                       end);
  };
  const Told fine = of("fp16", nodes("op = \"tanh\", inputs = \"r\""), still);
  fine.expect_both("safe", Outcome::harmless);
  ASSERT_EQ(fine.all("activation_too_large").size(), 1u);
  const Foreseen f = fine.foreseen("activation_too_large", "c");
  EXPECT_EQ(f.gravity, Gravity::contained);
  EXPECT_THAT(f.what, HasSubstr("t (tanh) makes the same of it as of the value itself"));
  EXPECT_EQ(fine.cause("activation_too_large", "c").gravity, Gravity::contained);
  of("fp16", nodes("op = \"clamp\", inputs = \"r\", min = -8.0, max = 8.0"), still).expect_both("safe", Outcome::harmless);
  const Told bad = of("fp16", nodes("op = \"scale\", inputs = \"r\", factor = 1e-3"), still);
  bad.expect_both("overflow", Outcome::fatal);
  EXPECT_EQ(bad.foreseen("activation_too_large", "c").gravity, Gravity::fatal);
  EXPECT_EQ(bad.all("activation_too_large").size(), 1u) << "the relu behind it is no fault of its own";
}

}  // namespace
}  // namespace ulpscope::profiler
