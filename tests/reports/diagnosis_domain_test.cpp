// Roots and logarithms of numbers that have none, zeros that an infinity further up became, and what is offered to change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/remedy.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DiagnosisDomainTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  static double value(const Cause& cause, const std::string& key) {
    for (const Fact& f : cause.facts)
      if (f.key == key) return f.value.value_or(NAN);
    return NAN;
  }
  static const Remedy* remedy(const Cause& cause, const std::string& mend) {
    const auto found = std::find_if(cause.remedies.begin(), cause.remedies.end(), [&](const Remedy& r) { return r.mend == mend; });
    return found == cause.remedies.end() ? nullptr : &*found;
  }
  /// From the last node of the forward pass to a loss and a backward pass.
  static void finish(ForgedRun& run, const std::string& last) {
    run.node("sum", "loss", {last}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.node("unscale_check", "unscale_check", {"loss.dx"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
  }
};

/// E[x^2] - E[x]^2 of numbers near 100 in fp16: half an ulp of 10000 is 4.
TEST_F(DiagnosisDomainTest, ARootOfAVarianceThatRoundingMadeNegative) {
  for (const char* format : {"fp16", "fp32"}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, format, {4, 8});
    run.node("mul", "square", {"x", "x"}, format, Phase::forward, {4, 8});
    run.node("mean", "mean_square", {"square"}, format);
    run.node("mean", "mean", {"x"}, format);
    run.node("mul", "square_mean", {"mean", "mean"}, format);
    run.node("sub", "var", {"mean_square", "square_mean"}, format);
    run.node("sqrt", "std", {"var"}, format);
    finish(run, "std");
    run.step(nan_number, true, 65536.0);
    run.observe(0, {{"mean_square", {.greatest = 10040.0}}, {"square_mean", {.greatest = 10048.0}}, {"var", {.greatest = 8.0, .mean = -4.0}},
                    {"std", {.nan = 3}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const RunDiagnosis d = of(run);
    const Cause& c = d.causes.at(0);
    EXPECT_EQ(c.kind, Kind::outside_domain) << c.what;
    EXPECT_EQ(c.gravity, Gravity::fatal);
    EXPECT_EQ(c.node, "std");
    EXPECT_EQ(value(c, "negative"), 3.0);
    EXPECT_THAT(c.what, HasSubstr("3 of 4 elements are NaN, from numbers that are finite: 3 of what it reads are negative, and there is no root of those"));
    EXPECT_THAT(c.what, HasSubstr("var is a variance computed as E[x^2] - E[x]^2"));
    EXPECT_THAT(c.what, HasSubstr("its operands reach 10040 and 10048 in magnitude, the difference 8"));
    EXPECT_EQ(value(c, "cancellation"), std::string(format) == "fp16" ? 4.0 : 0x1p-11) << "half an ulp between 8192 and 16384";
    ASSERT_NE(remedy(c, "variance"), nullptr);
    EXPECT_THAT(remedy(c, "variance")->settings, HasSubstr("torch.var"));
    EXPECT_EQ(remedy(c, "variance")->status, cannot_be_tried);
    EXPECT_EQ(remedy(c, "keep_fp32") != nullptr, std::string(format) == "fp16") << "fp32 is as wide as it gets";
    if (const Remedy* wide = remedy(c, "keep_fp32")) {
      EXPECT_EQ(wide->ulpscope, "train.keep_fp32=mean,square,square_mean,mean_square,var");
      EXPECT_EQ(wide->status, not_tried);
    }
  }
}

/// What is no variance, is 0 because all numbers are, or was rounded by nothing in the step, is not said to cancel; a variance of what a layer made is one.
TEST_F(DiagnosisDomainTest, OnlyAVarianceIsCalledOne) {
  struct Case {
    const char* average;
    bool layer;
    bool variance;
  };
  for (const Case& c : {Case{"mean", false, true}, Case{"mean", true, true}, Case{"sum", false, false}, Case{"linear", false, false}}) {
    ForgedRun run("fp32");
    run.source("in", TensorRole::input, "fp32", {4, 8});
    if (c.layer) run.node("linear", "x", {"in"}, "fp32", Phase::forward, {4, 8});
    const std::string x = c.layer ? "x" : "in";
    run.node("mul", "square", {x, x}, "fp32", Phase::forward, {4, 8});
    run.node(c.average, "of_squares", {"square"}, "fp32");
    run.node(c.average, "of_x", {x}, "fp32");
    run.node("mul", "square_of", {"of_x", "of_x"}, "fp32");
    run.node("sub", "var", {"of_squares", "square_of"}, "fp32");
    run.node("sqrt", "std", {"var"}, "fp32");
    finish(run, "std");
    run.step(nan_number);
    run.observe(0, {{"of_squares", {.greatest = 100.0}}, {"square_of", {.greatest = 6400.0}}, {"var", {.greatest = 6300.0, .mean = -6300.0}}, {"std", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const Cause cause = of(run).causes.at(0);
    EXPECT_EQ(cause.kind, Kind::outside_domain) << c.average;
    EXPECT_EQ(cause.what.find("is a variance") != std::string::npos, c.variance) << c.average << c.layer << ": " << cause.what;
    EXPECT_EQ(std::isnan(value(cause, "cancellation")), !c.variance) << c.average << ": " << cause.what;
  }
}

TEST_F(DiagnosisDomainTest, AVarianceOfNothingButZerosWasNotLostInRounding) {
  for (const double size : {0.0, 100.0}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16", {4, 8});
    run.node("mul", "square", {"x", "x"}, "fp16", Phase::forward, {4, 8});
    run.node("mean", "mean_square", {"square"}, "fp16");
    run.node("mean", "mean", {"x"}, "fp16");
    run.node("mul", "square_mean", {"mean", "mean"}, "fp16");
    run.node("sub", "var", {"mean_square", "square_mean"}, "fp16");
    run.node("sqrt", "std", {"var"}, "fp16");
    run.node("div", "q", {"mean", "std"}, "fp16");
    finish(run, "q");
    run.step(nan_number, true, 65536.0);
    run.observe(0, {{"mean_square", {.greatest = size, .zero = size > 0.0 ? 0 : 4}}, {"square_mean", {.greatest = size, .zero = size > 0.0 ? 0 : 4}}, {"var", {.greatest = 0.0, .zero = 4}},
                    {"std", {.greatest = 0.0, .zero = 4}}, {"q", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const Cause c = of(run).causes.at(0);
    EXPECT_EQ(c.kind, Kind::zero_divisor) << c.what;
    EXPECT_EQ(std::isnan(value(c, "cancellation")), size == 0.0) << c.what;
    EXPECT_THAT(c.what, HasSubstr("0 is left where the numbers are equal, or differ by less than rounding"));
  }
}

/// The numerator has nothing to do with a divisor that comes in as 0.
TEST_F(DiagnosisDomainTest, AZeroThatComesInIsNotBlamedOnAnInfinityElsewhere) {
  for (const bool divides : {true, false}) {
    ForgedRun run("fp16_pure");
    run.source("x", TensorRole::input, "fp16");
    run.source("count", TensorRole::input, "fp16");
    run.node("mul", "square", {"x", "x"}, "fp16");
    run.node("div", "share", {"x", "square"}, "fp16");
    run.node("div", "q", divides ? std::vector<std::string>{"x", "share"} : std::vector<std::string>{"share", "count"}, "fp16");
    finish(run, "q");
    run.step(nan_number, true);
    run.observe(0, {{"square", {.greatest = 9e4, .overflowed = 1}}, {"share", {.zero = 1}}, {"count", {.zero = 1}}, {"q", {.nan = 1}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const RunDiagnosis d = of(run);
    const bool told = std::any_of(d.causes.begin(), d.causes.end(), [](const Cause& c) { return c.node == "q" && c.kind == Kind::zero_divisor; });
    EXPECT_EQ(told, !divides) << d.verdict;
  }
}

/// A difference far above rounding, and numbers that come in: no cancellation is made up.
TEST_F(DiagnosisDomainTest, ALogarithmOfWhatComesInNegative) {
  for (const bool difference : {true, false}) {
    ForgedRun run("bf16");
    run.source("x", TensorRole::input, "bf16");
    run.source("t", TensorRole::input, "bf16");
    if (difference) run.node("sub", "gap", {"x", "t"}, "bf16");
    run.node("log", "l", {difference ? "gap" : "x"}, "bf16");
    finish(run, "l");
    run.step(nan_number);
    run.observe(0, {{"x", {.greatest = 3.0}}, {"gap", {.greatest = 2.0}}, {"l", {.nan = 1}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const Cause c = of(run).causes.at(0);
    EXPECT_EQ(c.kind, Kind::outside_domain);
    EXPECT_THAT(c.what, HasSubstr("1 of what it reads is negative, and there is no logarithm of those"));
    EXPECT_THAT(c.what, HasSubstr(difference ? "gap (sub) makes them: its operands reach 3 and 1 in magnitude, the difference 2" : "x comes in so"));
    EXPECT_THAT(c.what, Not(HasSubstr("cancel")));
    EXPECT_TRUE(std::isnan(value(c, "cancellation")));
    ASSERT_NE(remedy(c, "epsilon"), nullptr);
    EXPECT_EQ(remedy(c, "keep_fp32"), nullptr) << "no format makes them positive";
  }
}

TEST_F(DiagnosisDomainTest, AZeroBeforeALogarithmHasRemedies) {
  for (const bool flushed : {true, false}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.node("softmax", "p", {"x"}, "fp16");
    run.node("log", "l", {"p"}, "fp16");
    finish(run, "l");
    run.step(-inf_number, true, 65536.0);
    run.observe(0, {{"p", {.flushed = flushed ? 1 : 0, .zero = flushed ? 0 : 1, .least = 1.5e-8}}, {"l", {.negative_infinite = 1}},
                    {"loss", {.elements = 1, .negative_infinite = 1}}}, "replay");
    const Cause c = of(run).causes.at(0);
    EXPECT_EQ(c.kind, flushed ? Kind::activation_below_range : Kind::zero_divisor) << c.what;
    EXPECT_EQ(c.node, flushed ? "p" : "l") << "where the value vanished";
    ASSERT_NE(remedy(c, "log_softmax"), nullptr);
    EXPECT_THAT(remedy(c, "log_softmax")->settings, HasSubstr("torch.log_softmax"));
    ASSERT_NE(remedy(c, "epsilon"), nullptr);
    EXPECT_THAT(remedy(c, "epsilon")->settings, HasSubstr("torch.log(x.clamp(min=eps))"));
    EXPECT_EQ(remedy(c, "epsilon")->status, not_tried);
    ASSERT_NE(remedy(c, "keep_fp32"), nullptr);
    EXPECT_EQ(remedy(c, "bf16") != nullptr, flushed) << "a wider range helps what left it";
  }
}

TEST_F(DiagnosisDomainTest, ADivisionByZeroHasRemedies) {
  ForgedRun run("fp32");
  run.source("x", TensorRole::input, "fp32");
  run.source("y", TensorRole::input, "fp32");
  run.node("div", "q", {"x", "y"}, "fp32");
  finish(run, "q");
  run.step(inf_number);
  run.observe(0, {{"y", {.zero = 2}}, {"q", {.positive_infinite = 2}}, {"loss", {.elements = 1, .positive_infinite = 1}}}, "replay");
  const Cause c = of(run).causes.at(0);
  EXPECT_EQ(c.kind, Kind::zero_divisor);
  ASSERT_NE(remedy(c, "epsilon"), nullptr);
  EXPECT_THAT(remedy(c, "epsilon")->settings, HasSubstr("layer_norm_eps"));
  EXPECT_EQ(remedy(c, "keep_fp32"), nullptr) << "it is in fp32";
}

/// x / inf is 0, and the slope of the root of that is infinite: the fault is the infinity, not the root.
TEST_F(DiagnosisDomainTest, AnInfinityThatBecameAZeroIsToldBeforeWhatMeetsTheZero) {
  ForgedRun run("fp16_pure");
  run.source("x", TensorRole::input, "fp16");
  run.node("mul", "square", {"x", "x"}, "fp16");
  run.node("div", "share", {"x", "square"}, "fp16");
  run.node("sqrt", "root", {"share"}, "fp16");
  run.node("mean", "loss", {"root"}, "fp16", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  run.node("sqrt_backward", "root.dx", {"root", "loss.dx"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  run.node("unscale_check", "unscale_check", {"root.dx"}, "fp16", Phase::update, {4}, "", TensorRole::gradient);
  run.step(0.5, true);
  run.step(0.5, true);
  run.step(0.5, true);
  for (int i = 0; i < 3; ++i)
    run.observe(i, {{"square", {.greatest = 9e4, .overflowed = 1}}, {"share", {.zero = 1}}, {"root", {.zero = 1}}, {"root.dx", {.positive_infinite = 1}},
                    {"unscale_check", {.positive_infinite = 1}}}, "replay");
  const RunDiagnosis d = of(run);
  const Cause& c = d.causes.at(0);
  EXPECT_EQ(c.node, "square") << d.verdict;
  EXPECT_EQ(c.kind, Kind::activation_too_large);
  EXPECT_EQ(c.gravity, Gravity::fatal) << "what comes of it is";
  EXPECT_THAT(c.what, HasSubstr("share makes finite numbers of what is not finite, and root.dx (sqrt_backward, backward) fails on them"));
  EXPECT_THAT(c.reaches, HasSubstr("the gradients of weights"));
  EXPECT_EQ(c.steps_seen, 3);
  for (const Cause& other : d.causes) EXPECT_NE(other.node, "root.dx") << "told once: " << other.what;
}

TEST_F(DiagnosisDomainTest, AnEndWithoutACauseOffersALowerLearningRateAndClaimsNothing) {
  for (const int good : {0, 3}) {
    ForgedRun run("bf16");
    run.small_model("bf16");
    for (int i = 0; i < good; ++i) run.step(1.0, false, {}, 0.25);
    for (int i = 0; i < 3; ++i) run.step(nan_number, false, {}, 0.25);
    const Cause c = of(run).causes.at(0);
    ASSERT_EQ(c.kind, Kind::unknown);
    ASSERT_EQ(remedy(c, "lr") != nullptr, good > 0) << "no step came before it";
    if (good == 0) continue;
    EXPECT_EQ(remedy(c, "lr")->ulpscope, "train.lr=0.025");
    EXPECT_EQ(remedy(c, "lr")->status, not_tried);
    EXPECT_THAT(c.what, Not(HasSubstr("learning rate"))) << "it is not the cause as far as anybody knows";
  }
}

/// What the search for the scale skipped is another matter: steps were applied after it, and the end begins after those.
TEST_F(DiagnosisDomainTest, SkipsThatTheRunEndsInBeginAfterItsAppliedSteps) {
  for (const int good : {0, 3}) {
    ForgedRun run("fp16");
    run.small_model();
    double scale = 65536.0;
    for (int i = 0; i < 5 + good; ++i) {
      const bool skipped = i < 2 || i >= 2 + good;
      run.step(1.0, skipped, scale, 0.25);
      if (skipped) scale /= 2.0;
    }
    const Cause c = of(run).causes.at(0);
    ASSERT_EQ(c.kind, Kind::unknown) << c.what;
    EXPECT_THAT(c.what, HasSubstr(good == 0 ? "in the last 5 steps" : "in the last 3 steps"));
    EXPECT_EQ(c.step, good == 0 ? 0 : 5);
    ASSERT_EQ(remedy(c, "lr") != nullptr, good > 0) << "no step was applied before it";
    if (good > 0) {
      EXPECT_EQ(remedy(c, "lr")->ulpscope, "train.lr=0.025");
    }
  }
}

TEST_F(DiagnosisDomainTest, TheScaleItselfDoesNotFit) {
  ForgedRun run("fp16");
  run.source("one", TensorRole::input, "fp16", {});
  run.source("w", TensorRole::master_weight, "fp32");
  run.node("mean", "loss", {"w"}, "fp16", Phase::forward, {});
  run.node("scale_loss", "scale_loss.dloss", {"one"}, "fp16", Phase::backward, {}, "", TensorRole::gradient);
  run.node("expand", "loss.dx", {"scale_loss.dloss"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
  run.node("unscale_check", "unscale_check", {"loss.dx"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
  run.step(1.0, true, 131072.0);
  run.step(1.0, false, 65536.0 / 2.0);
  run.observe(0, {{"one", {.elements = 1, .greatest = 1.0}}, {"scale_loss.dloss", {.elements = 1, .greatest = 131072.0, .overflowed = 1}},
                  {"loss.dx", {.positive_infinite = 4}}, {"unscale_check", {.positive_infinite = 4}}}, "replay");
  const RunDiagnosis d = of(run);
  const auto found = std::find_if(d.causes.begin(), d.causes.end(), [](const Cause& c) { return c.kind == Kind::gradient_too_large_for_scale; });
  ASSERT_NE(found, d.causes.end()) << d.verdict;
  EXPECT_THAT(found->what, HasSubstr("the gradient of the scaled loss, which is the loss scale itself, 2^17 (131072): it does not fit fp16: 131072 = 2 x the fp16 limit"));
  EXPECT_EQ(value(*found, "unscaled_gradient"), 1.0);
}

TEST_F(DiagnosisDomainTest, SkipsOfWhichNoneIsKnownToBeDueAreNotAtLeastNone) {
  ForgedRun run("fp16");
  run.small_model();
  run.node("mul", "deep", {"y.cast", "y"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  for (int i = 0; i < 4; ++i) run.step(1.0, true, 65536.0 / (1 << i));
  run.observe(0, {{"y.cast", {.greatest = 0.5}}, {"deep", {.greatest = 0.0, .positive_infinite = 4}}, {"unscale_check", {.positive_infinite = 4}}}, "replay");
  const RunDiagnosis d = of(run);
  EXPECT_THAT(d.reasons.at(0), HasSubstr("4 steps skipped so far; how many were due is not known"));
  EXPECT_THAT(d.reasons.at(0) + d.verdict, Not(HasSubstr("at least 0")));
}

}  // namespace
}  // namespace ulpscope::reports
