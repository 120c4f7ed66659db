// Faults that a user's trial was told wrong answers of: recorded and diagnosed, held against a calculation by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "profiler/predict/predict.h"
#include "tests/profiler/support/diagnosed.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Gravity;
using reports::Kind;
using reports::Outcome;
using reports::RunDiagnosis;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A batch of ±size has an unbiased variance of 4/3 size². The running one, kept in fp16, from 1 on with a momentum of 0.1.
class RunningVariance : public DiagnosisTrial {
 protected:
  RunDiagnosis of(double size, int steps, int every, const std::string& mode = "fp16_pure") {
    return all(fmt::format("\"{}\"", mode), fmt::format("steps = {}, lr = 0.0", steps),
               fmt::format("{{name = \"x\", op = \"constant\", init = [[{0}], [-{0}], [{0}], [-{0}]]}}, {{name = \"w\", op = \"parameter\", shape = [1], init = 1.0}},\n"
                           "{{name = \"h\", op = \"mul\", inputs = [\"x\", \"w\"]}}, {{name = \"b\", op = \"parameter\", shape = [1], init = 0.5}}, {{name = \"mean\", op = \"buffer\", shape = [1]}},\n"
                           "{{name = \"var\", op = \"buffer\", shape = [1], init = 1.0}}, {{name = \"bn\", op = \"batch_norm\", inputs = [\"h\", \"w\", \"b\", \"mean\", \"var\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"bn\"}}",
                           size),
               fmt::format("observe = {{every = {}}}", every))
        .at(0);
  }
};

/// 213333 a batch: 21334 (as fp16 21328), 40528 (40544), 57823 (57824), and 0.9 x 57824 + 21333.3 = 73374.9.
TEST_F(RunningVariance, ItsOverflowComesBeforeTheInfiniteBufferThatFollows) {
  const RunDiagnosis d = of(400.0, 8, 1);
  ASSERT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_THAT(d.verdict, HasSubstr("damaged (activation_too_large)")) << d.verdict;
  const Cause& first = d.causes.at(0);
  EXPECT_EQ(first.kind, Kind::activation_too_large);
  EXPECT_EQ(first.node, "var.ema");
  EXPECT_EQ(first.step, 3);
  EXPECT_NEAR(value(first, "greatest_magnitude"), 0.9 * 57824 + 0.1 * 640000.0 / 3, 0.1) << first.what;
  EXPECT_THAT(first.what, AllOf(HasSubstr("= 1.12 x the fp16 limit"), HasSubstr("the running average var"), HasSubstr("exactly the bias")));
  EXPECT_EQ(first.remedies.front().mend, "master_weights") << "no operation could be kept in fp32";
  const Cause& second = d.causes.at(1);
  EXPECT_EQ(second.kind, Kind::buffers_poisoned);
  EXPECT_EQ(second.step, 4);
  EXPECT_THAT(second.what, AllOf(HasSubstr("It follows from what var.ema did in step 4"), HasSubstr("an infinity in a running average never leaves")));
}

TEST_F(RunningVariance, IsHealthyWhereItSettlesBelowTheLimit) {
  const RunDiagnosis d = of(200.0, 8, 1);   // 53333
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_EQ(find(d, Kind::activation_too_large, "var.ema"), nullptr);
  EXPECT_EQ(of(400.0, 8, 1, "fp16").outcome, Outcome::healthy) << "buffers are fp32 there";
}

TEST_F(RunningVariance, IsToldWhereTheStepItselfWasNotObserved) {
  const RunDiagnosis d = of(400.0, 8, 6);   // steps 1 and 7
  const Cause& first = d.causes.at(0);
  EXPECT_EQ(first.node, "var.ema") << d.verdict;
  EXPECT_NEAR(value(first, "batch_value"), 640000.0 / 3, 0.1);
  EXPECT_THAT(first.what, AllOf(HasSubstr("= 3.256 x the fp16 limit"), HasSubstr("in a step before that, which was not observed")));
  EXPECT_EQ(d.causes.at(1).kind, Kind::buffers_poisoned);
}

/// (213333 - 65520) / (213333 - 21334) = 0.9^2.48: three steps after the first.
TEST_F(RunningVariance, IsForeseenFromTheLastStepThatWasObserved) {
  const RunDiagnosis d = of(400.0, 3, 100);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  const Cause* const c = find(d, Kind::activation_too_large, "var.ema");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->gravity, Gravity::note);
  EXPECT_EQ(value(*c, "leaves_at"), 3.0) << c->what;
  EXPECT_THAT(c->what, AllOf(HasSubstr("from about step 4 on"), Not(HasSubstr("which the run has passed"))));
}

/// 301 and fifteen times 300: 2401 is 2400 in fp16, so that the mean is 300, not 300.0625, and the variance 1/16, not 15/256.
TEST_F(DiagnosisTrial, AMeanInsideALayerNormThatLosesItsLastBits) {
  for (const auto& [format, bad] : {std::pair{"fp16", true}, std::pair{"fp32", false}}) {
    const RunDiagnosis d = all("\"fp16\"", "steps = 2, lr = 0.0, scaler = {init = 256}",
                               "{name = \"x\", op = \"constant\", shape = [1, 16], init = {first = [301.0], rest = 300.0}}, {name = \"g\", op = \"parameter\", shape = [16], init = 1.0},\n"
                               "{name = \"b\", op = \"parameter\", shape = [16]}, {name = \"norm\", op = \"layer_norm\", inputs = [\"x\", \"g\", \"b\"]}, {name = \"loss\", op = \"mean\", inputs = \"norm\"}",
                               fmt::format("observe = {{every = 1}}\noverride = [{{nodes = \"norm\", accumulate = \"{}\"}}]", format))
                               .at(0);
    const Cause* const c = find(d, Kind::sum_stuck, "norm");
    ASSERT_EQ(c != nullptr, bad) << d.verdict;
    EXPECT_EQ(d.outcome, bad ? Outcome::damaged : Outcome::healthy) << d.verdict;
    if (c == nullptr) continue;
    const double right = 1.0 / std::sqrt(15.0 / 256.0 + 1e-5), made = 1.0 / std::sqrt(1.0 / 16.0 + 1e-5);
    EXPECT_NEAR(value(*c, "row_error"), std::hypot((made - right) * std::sqrt(15.0 / 256.0), made / 16.0), 1e-5) << c->what;
    EXPECT_EQ(value(*c, "mean"), 300.0);
    EXPECT_EQ(value(*c, "swallowed"), 0.0);
    EXPECT_EQ(c->steps_seen, 2);
    EXPECT_THAT(c->what, AllOf(HasSubstr("off by 0.25"), HasSubstr("300.0625 would be right: 0.2499")));
    EXPECT_EQ(c->remedies.front().mend, "sum_fp32");
  }
}

/// 600 ones, one after the other in bf16: 256 + 1 is 256. The mean square is 256/600, the result too large by the root of 600/256.
TEST_F(DiagnosisTrial, ASumOfSquaresInsideAnRmsNormThatStandsStill) {
  const RunDiagnosis d = all("\"bf16\"", "steps = 1, lr = 0.0",
                             "{name = \"x\", op = \"constant\", shape = [2, 600], init = 1.0}, {name = \"g\", op = \"parameter\", shape = [600], init = 1.0},\n"
                             "{name = \"norm\", op = \"rms_norm\", inputs = [\"x\", \"g\"], epsilon = 0.0}, {name = \"loss\", op = \"mean\", inputs = \"norm\"}",
                             "override = [{nodes = \"norm\", accumulate = \"lower\", order = \"serial\"}]")
                             .at(0);
  const Cause* const c = find(d, Kind::sum_stuck, "norm");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->gravity, Gravity::damage);
  EXPECT_NEAR(value(*c, "row_error"), std::sqrt(600.0 / 256.0) - 1.0, 1e-6) << c->what;
  EXPECT_EQ(value(*c, "swallowed"), 2.0 * (600 - 256));
}

/// Scores of 1 to 4 (they spread by the root of 5/4) and a mask of -10000, where bf16 has -9984 and steps of 64, fp32 of 2^-10: a row that is masked
/// throughout has no scores left. At -1e9 it has none in fp32 either; a row that keeps a score needs none of the others.
TEST_F(DiagnosisTrial, AMaskThatSwallowsTheScoresOfARow) {
  const auto masked = [&](const char* mode, const char* mask, const char* second) {
    return all(fmt::format("\"{}\"", mode), "steps = 2, lr = 0.0, scaler = {init = 256}",
               fmt::format("{{name = \"s\", op = \"parameter\", init = [[1, 2, 3, 4], [1, 2, 3, 4]]}}, {{name = \"m\", op = \"constant\", init = [[0, 0, {0}, {0}], [{1}, {0}, {0}, {0}]]}},\n"
                           "{{name = \"sum\", op = \"add\", inputs = [\"s\", \"m\"]}}, {{name = \"p\", op = \"softmax\", inputs = \"sum\"}}, {{name = \"v\", op = \"constant\", init = [1, 2, 3, 4]}},\n"
                           "{{name = \"o\", op = \"mul\", inputs = [\"p\", \"v\"]}}, {{name = \"loss\", op = \"sum\", inputs = \"o\"}}", mask, second),
               "observe = {every = 1}")
        .at(0);
  };
  for (const auto& [mode, stored, step] : {std::tuple{"bf16_pure", 9984.0, 64.0}, std::tuple{"fp16_pure", 10000.0, 8.0}}) {
    const RunDiagnosis d = masked(mode, "-10000.0", "-10000.0");
    const Cause* const c = find(d, Kind::mask_sum, "sum");
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
    EXPECT_EQ(value(*c, "mask"), -stored);
    EXPECT_EQ(value(*c, "step"), step);
    EXPECT_NEAR(value(*c, "spread"), std::sqrt(1.25), 1e-6);
    EXPECT_EQ(value(*c, "rows_masked"), 1.0);
    EXPECT_THAT(c->what, HasSubstr("1 of 2 rows is masked throughout")) << c->what;
    EXPECT_EQ(c->steps_seen, 2);
  }
  EXPECT_EQ(find(masked("bf16_pure", "-10000.0", "0"), Kind::mask_sum, "sum"), nullptr);
  EXPECT_EQ(find(masked("bf16_pure", "-1e9", "-1e9"), Kind::mask_sum, "sum"), nullptr);
  EXPECT_EQ(find(masked("fp32", "-10000.0", "-10000.0"), Kind::mask_sum, "sum"), nullptr);
}

/// 300 x 240 = 72000 is cut to 65504, whose gradient is 0. In the first steps the loss scale makes all gradients infinite besides, and
/// that of u, 65504 / 4, from 8 on: 14 halvings down to 4.
TEST_F(DiagnosisTrial, AnOverflowBeforeAClampReachesNothing) {
  const RunDiagnosis d = all("\"fp16\"", "steps = 18, lr = 0.0, clip = 0.0, scaler = {init = 65536}",
                             "{name = \"x\", op = \"constant\", shape = [4], init = [300.0, 300.0, 1.0, 1.0]}, {name = \"a\", op = \"parameter\", shape = [4], init = 240.0},\n"
                             "{name = \"big\", op = \"mul\", inputs = [\"x\", \"a\"]}, {name = \"u\", op = \"parameter\", shape = [4], init = 1e-4},\n"
                             "{name = \"small\", op = \"mul\", inputs = [\"big\", \"u\"]}, {name = \"loss\", op = \"mean\", inputs = \"small\"}",
                             "observe = {every = 1}\nrewrite = [{kind = \"clamp\", nodes = \"big\", limit = 65504.0}]\noverride = [{nodes = \"*\", output = \"fp16\", compute = \"fp16\"}]")
                             .at(0);
  const Cause* const c = find(d, Kind::activation_too_large, "big");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_GT(d.skipped, 0) << "gradients are infinite in the first steps";
  EXPECT_EQ(c->gravity, Gravity::contained);
  EXPECT_EQ(c->reaches, "no further than big") << fmt::format("{}", c->chain.size());
  EXPECT_EQ(value(*c, "greatest_magnitude"), 72000.0);
  EXPECT_EQ(d.outcome, Outcome::harmless);
  EXPECT_THAT(d.verdict, HasSubstr("what leaves its format in big reaches neither the loss nor a gradient nor a weight"));
}

/// (2w)² / 2 with w from 1 on and a rate of 0.6: w becomes 1 - 0.6 x 4 = -1.4 times what it was, the loss 1.96 times.
class Overshoot : public DiagnosisTrial {
 protected:
  std::vector<RunDiagnosis> of(const std::string& modes) {
    return all(modes, "steps = 12, lr = 0.6, schedule = \"constant\", clip = 0.0, scaler = {init = 64}",
               "{name = \"w\", op = \"parameter\", shape = [1, 1], init = 1.0}, {name = \"x\", op = \"constant\", shape = [1, 1], init = 2.0}, {name = \"t\", op = \"input\", shape = [1, 1], values = 0.0},\n"
               "{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}, {name = \"e\", op = \"mse_loss\", inputs = [\"y\", \"t\"]}, {name = \"loss\", op = \"scale\", inputs = \"e\", factor = 0.5}",
               "observe = {every = 1}");
  }
};

TEST_F(Overshoot, IsSharedWithFp32) {
  for (const RunDiagnosis& d : of("\"fp32\", \"fp16\", \"bf16\"")) {
    const Cause* const c = find(d, Kind::divergence, "");
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(c->gravity, Gravity::note);
    EXPECT_EQ(find(d, Kind::unknown, ""), nullptr);
    EXPECT_EQ(value(*c, "learning_rate"), static_cast<double>(0.6f)) << c->what;
    EXPECT_THAT(d.verdict, AllOf(HasSubstr("diverged: the loss ran away (divergence); part of precision in it: none"), Not(HasSubstr("damage"))));
    EXPECT_THAT(d.verdict, HasSubstr(d.run.mode == "fp32" ? "the run is fp32" : "fp32 in this file does the same"));
  }
}

TEST_F(Overshoot, IsNoDamageOfPrecisionWhereNoFp32RunTells) {
  const RunDiagnosis d = of("\"bf16\"").at(0);
  const Cause* const c = find(d, Kind::divergence, "");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, HasSubstr("nothing of precision was seen that makes it, and an fp32 run in the same file would tell"));
  EXPECT_THAT(d.verdict, HasSubstr("part of precision in it: none was seen; an fp32 run in the same file would tell"));
  EXPECT_EQ(c->remedies.front().mend, "lr");
}

}  // namespace
}  // namespace ulpscope::profiler
