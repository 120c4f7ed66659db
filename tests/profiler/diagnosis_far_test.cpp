// Runs whose every step is finite, and which are worth nothing all the same: variances that rounding takes away before a norm, held-out losses
// that are not finite. Numbers are worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/profiler/support/diagnosed.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Gravity;
using reports::Kind;
using reports::Outcome;
using reports::RunDiagnosis;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const rounded_sum = "override = [{nodes = \"h\", output = \"lower\"}]";

class VarianceLost : public DiagnosisTrial {
 protected:
  /// Rows of four, which a layer norm reads behind h = x + 0 (and what comes after it, which makes z of h).
  std::vector<RunDiagnosis> of(const std::string& modes, const std::string& rows, const std::string& more = rounded_sum,
                               const std::string& after = "{name = \"z\", op = \"reshape\", inputs = \"h\", shape = [2, 4]},") {
    return all(modes, "steps = 2, lr = 0.0, scaler = {init = 256}",
               fmt::format("{{name = \"x\", op = \"input\", shape = [2, 4], values = {}}}, {{name = \"c\", op = \"parameter\", shape = [4]}}, {{name = \"h\", op = \"add\", inputs = [\"x\", \"c\"]}},\n{}\n"
                           "{{name = \"g\", op = \"parameter\", shape = [4], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [4], init = 0.5}},\n"
                           "{{name = \"ln\", op = \"layer_norm\", inputs = [\"z\", \"g\", \"b\"]}}, {{name = \"y\", op = \"gelu\", inputs = \"ln\"}}, {{name = \"loss\", op = \"mean\", inputs = \"y\"}}",
                           rows, after),
               fmt::format("observe = {{every = 1{}}}\n{}", shadow_ ? ", shadow = true" : "", more));
  }
  bool shadow_ = false;
};

/// Two rows of mean - d, mean + d, in turn.
std::string around(double mean, double d) { return fmt::format("[[{0}, {1}, {0}, {1}], [{1}, {0}, {1}, {0}]]", mean - d, mean + d); }

// From 512 to 1024 the numbers of fp16 are 0.5 apart: 999.9 and 1000.1 both become 1000, and the norm divides nothing by the root of 1e-5.
TEST_F(VarianceLost, BesideALargeMean) {
  const RunDiagnosis d = of("\"fp16\"", around(1000.0, 0.1)).at(0);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_THAT(d.verdict, HasSubstr("damaged (variance_lost)"));
  const Cause* const c = find(d, Kind::variance_lost, "ln");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->gravity, Gravity::damage);
  EXPECT_EQ(c->tensor, "h");
  EXPECT_EQ(c->format, "fp16");
  EXPECT_EQ(c->steps_seen, 2);
  EXPECT_NEAR(value(*c, "mean"), 1000.0, 1e-4);
  EXPECT_NEAR(value(*c, "deviation"), 0.1, 1e-4);
  EXPECT_EQ(value(*c, "apart"), 0.5);
  EXPECT_NEAR(value(*c, "rounding"), 0.1, 1e-4);
  EXPECT_NEAR(value(*c, "share"), 1.0, 1e-3);
  EXPECT_THAT(c->what, AllOf(HasSubstr("in each of its 2 rows all values fall together"), HasSubstr("unless every row is the same number throughout")));
  EXPECT_EQ(c->remedies.front().ulpscope, "override = [{nodes = \"h\", output = \"fp32\"}]") << "an override makes it fp16";
  EXPECT_THAT(c->remedies.front().change, HasSubstr("bf16 is no help"));
  EXPECT_EQ(of("\"fp16\"", around(1000.0, 1.0)).at(0).outcome, Outcome::healthy) << "exact there";
  EXPECT_EQ(of("\"fp16\"", around(1000.0, 2.7)).at(0).outcome, Outcome::healthy) << "off by 0.2 of 2.7";
  EXPECT_EQ(of("\"fp16\"", around(1000.0, 0.1), "").at(0).outcome, Outcome::healthy) << "the sum is fp32's, and so is the norm";
  EXPECT_EQ(of("\"fp16\"", around(1000.1, 0.0)).at(0).outcome, Outcome::healthy) << "there is no variance";
  EXPECT_EQ(of("\"fp16\"", around(100.02, 0.0005)).at(0).outcome, Outcome::healthy) << "beside the epsilon it is nothing";
  EXPECT_EQ(of("\"fp16\"", around(0.0, 0.1)).at(0).outcome, Outcome::healthy);
}

// 1000.2 becomes 1000 and 1000.3 1000.5: of a row of both there is a variance left, and it is 25 times as large. Of one of 1000.1 and 1000.2 there is none.
TEST_F(VarianceLost, RowsOnBothSidesOfAMiddle) {
  const RunDiagnosis d = of("\"fp16\"", "[[1000.2, 1000.3, 1000.2, 1000.3], [1000.1, 1000.2, 1000.1, 1000.2]]").at(0);
  const Cause* const c = find(d, Kind::variance_lost, "ln");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, AllOf(HasSubstr("in at least 1 of 2 rows all values fall together"), Not(HasSubstr("unless"))));
}

// From 256 to 512 those of bf16 are 2 apart. What goes in is rounded when it comes in, and the norm is bf16's, too.
TEST_F(VarianceLost, InAPureMode) {
  const RunDiagnosis d = of("\"bf16_pure\"", around(300.0, 0.3), "").at(0);
  const Cause* const c = find(d, Kind::variance_lost, "ln");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(value(*c, "apart"), 2.0);
  EXPECT_NEAR(value(*c, "deviation"), 0.3, 1e-4);
  EXPECT_THAT(c->remedies.front().ulpscope, AllOf(HasSubstr("train.keep_fp32="), HasSubstr("ln")));
  EXPECT_EQ(of("\"fp16_pure\"", around(300.0, 0.5), "").at(0).outcome, Outcome::healthy);
}

// Times 4 everything is as it was, 4 times as large: the rounding is that of h.
TEST_F(VarianceLost, BehindAFactor) {
  const RunDiagnosis d = of("\"fp16\"", around(1000.0, 0.1), rounded_sum, "{name = \"z\", op = \"scale\", inputs = \"h\", factor = 4.0},").at(0);
  const Cause* const c = find(d, Kind::variance_lost, "ln");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->tensor, "h");
  EXPECT_NEAR(value(*c, "deviation"), 0.1, 1e-4);
  EXPECT_NEAR(value(*c, "rounding"), 0.1, 1e-4);
  // They become 1000 and 1000.5, 4000 and 4002.
  const std::string both = "[[1000.2, 1000.3, 1000.2, 1000.3], [1000.3, 1000.2, 1000.3, 1000.2]]";
  EXPECT_NE(find(of("\"fp16\"", both, rounded_sum, "{name = \"z\", op = \"scale\", inputs = \"h\", factor = 4.0},").at(0), Kind::variance_lost, "ln"), nullptr);
}

// Rows that are one number each have no variance in fp32 either, which its run or a shadow tells.
TEST_F(VarianceLost, RowsThatHaveNone) {
  const std::string rows = "[[1000.1, 1000.1, 1000.1, 1000.1], [1000.2, 1000.2, 1000.2, 1000.2]]";
  EXPECT_NE(find(of("\"fp16\"", rows).at(0), Kind::variance_lost, "ln"), nullptr) << "it is not known";
  EXPECT_EQ(find(of("\"fp32\", \"fp16\"", rows).at(1), Kind::variance_lost, "ln"), nullptr);
  shadow_ = true;
  EXPECT_EQ(find(of("\"fp16\"", rows).at(0), Kind::variance_lost, "ln"), nullptr);
}

// Rows around 1000 and 2000: all of them together differ by 500, of which nobody could say that rounding took it.
TEST_F(VarianceLost, RowsFarFromEachOther) {
  const std::string rows = "[[999.9, 1000.1, 999.9, 1000.1], [1999.9, 2000.1, 1999.9, 2000.1]]";
  EXPECT_EQ(find(of("\"fp16\"", rows).at(0), Kind::variance_lost, "ln"), nullptr) << "it is not known";
  for (const bool shadow : {true, false}) {
    shadow_ = shadow;
    const RunDiagnosis d = of(shadow ? "\"fp16\"" : "\"fp32\", \"fp16\"", rows).back();
    const Cause* const c = find(d, Kind::variance_lost, "ln");
    ASSERT_NE(c, nullptr) << shadow << d.verdict;
    EXPECT_NEAR(value(*c, "root"), 1.0 / std::sqrt(1e-5), 1e-2);
    EXPECT_THAT(c->what, AllOf(HasSubstr("its rows differ by more among each other than within"), HasSubstr(shadow ? "in its fp32 shadow 9.99" : "in the fp32 run 9.99")));
    const std::string wide = "[[990.0, 1010.0, 990.0, 1010.0], [1990.0, 2010.0, 1990.0, 2010.3]]";
    EXPECT_EQ(find(of(shadow ? "\"fp16\"" : "\"fp32\", \"fp16\"", wide).back(), Kind::variance_lost, "ln"), nullptr);
  }
}

// Near 1000 the numbers of bf16 are 4 apart: of one channel nothing is left, the other is exact. Without fp32 beside it nobody could say.
TEST_F(VarianceLost, OneChannelOfABatchNorm) {
  const auto of_channels = [&](const char* modes, const char* channel) {
    return all(modes, "steps = 1, lr = 0.0",
               fmt::format("{{name = \"x\", op = \"input\", values = [[[{0}], [1.0, -1.0]], [[{0}], [-1.0, 1.0]]]}}, {{name = \"c\", op = \"parameter\", shape = [1]}}, {{name = \"h\", op = \"add\", inputs = [\"x\", \"c\"]}},\n"
                           "{{name = \"g\", op = \"parameter\", shape = [2], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [2], init = 0.5}},\n"
                           "{{name = \"bn\", op = \"batch_norm\", inputs = [\"h\", \"g\", \"b\"]}}, {{name = \"y\", op = \"gelu\", inputs = \"bn\"}}, {{name = \"loss\", op = \"mean\", inputs = \"y\"}}",
                           channel),
               "observe = {every = 1}")
        .back();
  };
  const RunDiagnosis d = of_channels("\"fp32\", \"bf16_pure\"", "999.0, 1001.0");
  const Cause* const c = find(d, Kind::variance_lost, "bn");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, AllOf(HasSubstr("in at least 1 of 2 channels all values fall together"), HasSubstr("its channels differ by more among each other than within")));
  EXPECT_NEAR(value(*c, "root"), (1.0 / std::sqrt(1e-5) + 1.0) / 2.0, 0.1);
  EXPECT_EQ(find(of_channels("\"bf16_pure\"", "999.0, 1001.0"), Kind::variance_lost, "bn"), nullptr) << "it is not known";
  EXPECT_EQ(find(of_channels("\"fp32\", \"bf16_pure\"", "992.0, 1008.0"), Kind::variance_lost, "bn"), nullptr) << "exact there";
}

// x less its own mean, in parts: what is left of +-0.1 are zeros.
TEST_F(VarianceLost, OfANormThatIsComposed) {
  const auto of_parts = [&](double size, const char* mode) {
    return all(fmt::format("\"{}\"", mode), "steps = 2, lr = 0.0",
               fmt::format("{{name = \"x\", op = \"input\", shape = [2, 4], values = {}}}, {{name = \"c\", op = \"parameter\", shape = [1]}}, {{name = \"h\", op = \"add\", inputs = [\"x\", \"c\"]}},\n"
                           "{{name = \"m\", op = \"mean\", inputs = \"h\"}}, {{name = \"d\", op = \"sub\", inputs = [\"h\", \"m\"]}}, {{name = \"s\", op = \"mul\", inputs = [\"d\", \"d\"]}}, {{name = \"v\", op = \"mean\", inputs = \"s\"}},\n"
                           "{{name = \"k\", op = \"parameter\", init = 2.0}}, {{name = \"loss\", op = \"add\", inputs = [\"v\", \"k\"]}}",
                           around(1000.0, size)),
               "observe = {every = 1}")
        .at(0);
  };
  const RunDiagnosis d = of_parts(0.1, "fp16_pure");
  const Cause* const c = find(d, Kind::variance_lost, "d");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_NEAR(value(*c, "deviation"), 0.1, 1e-4);
  EXPECT_THAT(c->what, AllOf(HasSubstr("The difference from the mean is rounding's"), Not(HasSubstr("unless"))));
  EXPECT_THAT(c->remedies.front().ulpscope, HasSubstr("d"));
  EXPECT_EQ(find(of_parts(1.0, "fp16_pure"), Kind::variance_lost, "d"), nullptr) << "exact there";
  EXPECT_EQ(find(of_parts(0.1, "fp16"), Kind::variance_lost, "d"), nullptr) << "in fp32";
}

class HeldOut : public DiagnosisTrial {
 protected:
  /// x is 1 in the three steps, and `held_out` in the batches behind them; y = 200 x.
  std::vector<RunDiagnosis> of(const std::string& modes, double held_out, const std::string& train = "", const std::string& more = "observe = {every = 1}") {
    return all(modes, "steps = 3, lr = 0.0, evaluation_batches = 2, scaler = {init = 256}" + train, nodes(held_out), more);
  }
  static std::string nodes(double held_out) {
    return fmt::format("{{name = \"x\", op = \"input\", shape = [4, 1], steps = [1.0, 1.0, 1.0, {}]}}, {{name = \"w\", op = \"parameter\", shape = [1, 1], init = 200.0}},\n"
                       "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"y\"}}",
                       held_out);
  }
};

// 200 x 400 is 80000, which fp16 does not hold; 200 x 300 fits.
TEST_F(HeldOut, LargerThanTheTrainingData) {
  const RunDiagnosis d = of("\"fp16\"", 400.0).at(0);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_THAT(d.verdict, HasSubstr("damaged (held_out_not_finite): the training steps are finite"));
  const Cause* const c = find(d, Kind::held_out_not_finite, "");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->gravity, Gravity::damage);
  EXPECT_EQ(c->step, 2);
  EXPECT_TRUE(std::isinf(value(*c, "held_out")));
  EXPECT_EQ(value(*c, "training"), 200.0);
  EXPECT_EQ(value(*c, "nearest"), 200.0);
  EXPECT_THAT(c->what, AllOf(HasSubstr("the held-out loss is inf after step 3, where the training loss is 200"), HasSubstr("in the formats of fp16, as training does"), HasSubstr("y comes nearest to the limit: 200"), HasSubstr("There a number 327.6 times as large is infinite")));
  EXPECT_THAT(c->remedies, Contains(Field(&reports::Remedy::ulpscope, "train.evaluation_format=fp32")));
  EXPECT_THAT(c->remedies, Contains(Field(&reports::Remedy::ulpscope, HasSubstr("train.keep_fp32=y"))));
  EXPECT_EQ(of("\"fp16\"", 300.0).at(0).outcome, Outcome::healthy);
  EXPECT_EQ(of("\"bf16\"", 400.0).at(0).outcome, Outcome::healthy);
  EXPECT_EQ(of("\"fp16\"", 400.0, ", evaluation_format = \"fp32\"").at(0).outcome, Outcome::healthy) << "what the remedy says";
  EXPECT_NE(find(of("\"fp16_pure\"", 400.0).at(0), Kind::held_out_not_finite, ""), nullptr);
  EXPECT_EQ(find(of("\"fp16_pure\"", 400.0, ", evaluation_format = \"fp32\"").at(0), Kind::held_out_not_finite, ""), nullptr) << "weights are widened";
}

TEST_F(HeldOut, InMostOfTheEvaluations) {
  const RunDiagnosis d = of("\"fp16\"", 400.0, ", evaluate_every = 1").at(0);
  const Cause* const c = find(d, Kind::held_out_not_finite, "");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->step, 0);
  EXPECT_EQ(value(*c, "evaluations"), 3.0);
  EXPECT_THAT(c->what, HasSubstr("(3 of 3 evaluations)"));
}

TEST_F(HeldOut, BesideFp32) {
  const std::vector<RunDiagnosis> runs = of("\"fp32\", \"fp16\"", 400.0);
  EXPECT_EQ(runs.at(0).outcome, Outcome::healthy) << runs.at(0).verdict;
  EXPECT_EQ(value(*find(runs.at(1), Kind::held_out_not_finite, ""), "fp32_held_out"), 80000.0);
  const std::vector<RunDiagnosis> both = of("\"fp32\", \"fp16\"", 3e38);
  const Cause* const c = find(both.at(1), Kind::held_out_not_finite, "");
  ASSERT_NE(find(both.at(0), Kind::held_out_not_finite, ""), nullptr) << both.at(0).verdict;
  ASSERT_NE(c, nullptr);
  EXPECT_THAT(c->what, HasSubstr("in fp32 it is inf there, too: the mode's precision is not its cause"));
  EXPECT_EQ(c->remedies.size(), 1u) << "the data alone";
}

// The weight is 200 and x is 400 in training, too: 80000 fits bf16, and is infinite where evaluation is in fp16.
TEST_F(HeldOut, InANarrowerFormatThanTraining) {
  const auto run = [&](const char* format) {
    std::string same = nodes(400.0);
    same.replace(same.find("1.0, 1.0, 1.0"), 13, "400.0, 400.0, 400.0");
    return all("\"bf16\"", fmt::format("steps = 3, lr = 0.0, evaluation_format = \"{}\"", format), same, "observe = {every = 1}").at(0);
  };
  const RunDiagnosis d = run("fp16");
  const Cause* const c = find(d, Kind::held_out_not_finite, "y");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(c->format, "fp16");
  EXPECT_THAT(c->what, AllOf(HasSubstr("Evaluation computes everything in fp16 (train.evaluation_format)"), HasSubstr("y has 80000 = 1.221 x the fp16 limit"), HasSubstr("where it is kept in bf16")));
  EXPECT_EQ(c->remedies.front().ulpscope, "train.evaluation_format=mode");
  EXPECT_EQ(run("bf16").outcome, Outcome::healthy);
}

}  // namespace
}  // namespace ulpscope::profiler
