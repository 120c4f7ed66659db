// Silent zeros: squares and results below the range, a norm or a loss that is exactly 0, numbers divided by an infinity.
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisZerosTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  static const Cause* find(const RunDiagnosis& run, Kind kind) {
    const auto found =
        std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.kind == kind; });
    return found == run.causes.end() ? nullptr : &*found;
  }
  static std::string what(const RunDiagnosis& run, Kind kind) {
    const Cause* cause = find(run, kind);
    return cause == nullptr ? "(no such cause) " + run.verdict : cause->what;
  }
  static bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }
};

ForgedRun norm_model(const std::string& operation, const std::string& epsilon) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp16", {2, 4});
  run.node(operation, "norm", {"x"}, "fp16", Phase::forward, {2, 4},
           R"({"accumulate": "fp16", "epsilon": )" + epsilon + "}");
  run.inner_sum();
  run.node("mean", "loss", {"norm"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {2, 4});
  run.step(0.35, false, 1024.0);
  return run;
}

TEST_F(DiagnosisZerosTest, SquaresThatVanishInsideANorm) {
  for (const char* operation : {"rms_norm", "layer_norm"})
    for (const char* epsilon : {"1e-9", "1e-5"}) {
      ForgedRun run = norm_model(operation, epsilon);
      run.observe(0, {{"x", {.elements = 8, .greatest = 4.0, .least = 1e-4}},
                      {"norm", {.elements = 8}},
                      {"norm.sum", {.elements = 3, .greatest = 30.0, .flushed = 4, .error_greatest = 1.0}}});
      const RunDiagnosis d = of(run);
      const bool matters = std::string(epsilon) == "1e-9";
      EXPECT_EQ(d.outcome, matters ? Outcome::damaged : Outcome::healthy) << operation << " " << epsilon << d.verdict;
      const std::string text = what(d, Kind::activation_below_range);
      EXPECT_TRUE(says(text, "activation below range inside the norm: 50 % of the squares (4 of 8 that are not 0)")) << text;
      EXPECT_TRUE(says(text, matters ? "its result is too large" : "the epsilon 1e-05 outweighs it")) << text;
      EXPECT_EQ(find(d, Kind::activation_below_range)->node, "norm");
    }
}

// The reciprocal roots were not recorded: zeros everywhere from numbers whose squares fp32 does not hold.
TEST_F(DiagnosisZerosTest, ANormOfAllZeros) {
  for (const double greatest : {3e19, 1.0}) {
    ForgedRun run("bf16");
    run.source("x", TensorRole::input, "fp32", {2, 4});
    run.source("gain", TensorRole::master_weight, "fp32", {4});
    run.node("rms_norm", "norm", {"x", "gain"}, "fp32", Phase::forward, {2, 4}, R"({"epsilon": 1e-5})");
    run.node("mean", "loss", {"norm"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {2, 4});
    run.step(0.35);
    run.observe(0, {{"x", {.elements = 8, .greatest = greatest}}, {"norm", {.elements = 8, .greatest = 0.0, .zero = 8, .least = 0.0, .rms = 0.0}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(find(d, Kind::norm_overflowed) != nullptr, greatest > 1.0) << d.verdict;
    if (greatest > 1.0) {
      EXPECT_TRUE(says(what(d, Kind::norm_overflowed), "2 of 2 rows became exactly zero")) << what(d, Kind::norm_overflowed);
    }
  }
}

TEST_F(DiagnosisZerosTest, AFewSquaresBesideLargeOnesAreNothing) {
  ForgedRun run = norm_model("rms_norm", "0.0");
  run.observe(0, {{"x", {.elements = 8}},
                  {"norm", {.elements = 8}},
                  {"norm.sum", {.elements = 6, .flushed = 1, .error_greatest = 1e-7}}});
  EXPECT_EQ(of(run).outcome, Outcome::healthy);
}

TEST_F(DiagnosisZerosTest, SquaresOfGradientsThatVanishSwitchClippingOff) {
  for (const double gradient : {1.2e-4, 1e-6}) {   // of a norm of 1.2, and of 0.01
    ForgedRun run("bf16");
    run.small_model("bf16");
    run.node("global_norm", "narrow_norm", {"unscale_check"}, "fp32", Phase::update, {},
             R"({"max_norm": 1.0, "accumulate": "fp16"})");
    run.inner_sum();
    run.step();
    run.steps[0].gradient_norm = 0.0;
    run.observe(0, {{"unscale_check", {.elements = 100000000, .greatest = gradient, .rms = gradient}},
                    {"narrow_norm.sum", {.elements = 0, .flushed = 100000000, .error_greatest = 1.0}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, gradient > 1e-5 ? Outcome::damaged : Outcome::healthy) << d.verdict;
    EXPECT_TRUE(says(what(d, Kind::gradient_below_range), "100 % of the squares")) << what(d, Kind::gradient_below_range);
    EXPECT_EQ(find(d, Kind::no_gradient), nullptr) << "the norm of 0 is explained";
  }
}

TEST_F(DiagnosisZerosTest, ResultsThatVanish) {
  for (const double beside : {0.0, 1.0, 1e-9}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.source("other", TensorRole::input, "fp32");
    run.node("mul", "square", {"x", "x"}, "fp16");
    run.node("cast", "square.fp32", {"square"}, "fp32");
    if (beside > 0.0)
      run.node("add", "sum", {"square.fp32", "other"}, "fp32");
    else
      run.node("sqrt", "sum", {"square.fp32"}, "fp32");
    run.node("mean", "loss", {"sum"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(0.5, false, 1024.0);
    run.observe(0, {{"square", {.greatest = 1e-8, .flushed = 4, .least = 1e-8, .rms = 1e-8}},
                    {"square.fp32", {.greatest = 0.0, .zero = 4}},
                    {"other", {.greatest = beside, .rms = beside}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, beside == 1.0 ? Outcome::healthy : Outcome::damaged) << beside << d.verdict;
    EXPECT_TRUE(says(what(d, Kind::activation_below_range), "100 % of its results (4 of 4 that are not 0)"))
        << what(d, Kind::activation_below_range);
  }
}

TEST_F(DiagnosisZerosTest, ANormOfExactlyZeroInAStepThatWasNotObserved) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 8; ++i) run.step(0.6 - 0.01 * i, false, 1024.0);
  run.observe(0, {});
  EXPECT_EQ(of(run).outcome, Outcome::healthy);
  run.steps[5].gradient_norm = 0.0;
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  const Cause& cause = d.causes.at(0);
  EXPECT_EQ(cause.kind, Kind::no_gradient);
  EXPECT_EQ(cause.step, 5);
  EXPECT_TRUE(says(cause.what, "step 6 was not observed")) << cause.what;
  EXPECT_EQ(cause.remedies.at(0).ulpscope, "observe.every=1");
  run.steps[5].loss = 0.0;   // a perfect fit has no gradient
  EXPECT_EQ(find(of(run), Kind::no_gradient), nullptr);
}

TEST_F(DiagnosisZerosTest, UnitsThatAreOffAreTheModelsDoingOnlyIfFp32SaysSo) {
  for (const bool flushed : {false, true}) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 3; ++i) {
      run.step(0.6 - 0.01 * i, false, 1024.0);
      run.steps.back().gradient_norm = 0.0;
      const Counts zero{.greatest = 0.0, .zero = 4};
      if (flushed)
        run.observe(i, {{"y.cast", {.flushed = 4, .rms = 1.0}}});
      else
        run.observe(i, {{"loss.dx", zero}, {"y.cast", zero}});
    }
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, flushed ? Outcome::damaged : Outcome::healthy) << d.verdict;
    const std::string text = what(d, Kind::no_gradient);
    EXPECT_TRUE(says(text, flushed ? "zeros begin in y.cast" : "zeros begin in loss.dx")) << text;
    EXPECT_EQ(says(text, "whether that is the model's doing or the precision's is not known: an fp32 run beside it"), !flushed) << text;
    EXPECT_FALSE(says(text, "that is the model's doing, not")) << text;
  }
}

/// In every step, and not observed: nobody knows whose doing it is, unless fp32 has a gradient there.
TEST_F(DiagnosisZerosTest, ANormOfZeroInEveryStepIsTheModelsDoingOnlyIfFp32SaysNothingElse) {
  for (const std::string fp32_has : {"", "zero", "one"})
    for (const bool observed : {false, true}) {
      ForgedRun fp32("fp32", 1), run("fp16", 2);
      for (ForgedRun* r : {&fp32, &run}) {
        r->small_model(r == &run ? "fp16" : "fp32");
        for (int i = 0; i < 3; ++i) {
          r->step(0.6 - 0.01 * i, false, r == &run ? Number(1024.0) : Number());
          if (r == &run || fp32_has == "zero") r->steps.back().gradient_norm = 0.0;
          const Counts zero{.greatest = 0.0, .zero = 4};
          if (observed) r->observe(i, {{"loss.dx", zero}, {"y.cast", zero}});
        }
      }
      const std::vector<const ForgedRun*> runs = fp32_has.empty() ? std::vector<const ForgedRun*>{&run} : std::vector<const ForgedRun*>{&fp32, &run};
      const RunDiagnosis d = diagnose(forge(in("c.ulp"), runs), {.mode = "fp16"}).runs.at(0);
      const auto found = std::find_if(d.causes.begin(), d.causes.end(), [](const Cause& c) { return c.kind == Kind::no_gradient; });
      ASSERT_NE(found, d.causes.end()) << fp32_has << observed;
      EXPECT_EQ(found->gravity, fp32_has == "one" ? Gravity::damage : Gravity::note) << fp32_has << observed << found->what;
      EXPECT_EQ(says(found->what, "fp32's is not"), fp32_has == "one") << found->what;
      EXPECT_EQ(says(found->what, "or the precision's is not known"), fp32_has.empty()) << found->what;
      EXPECT_EQ(says(found->what, "that is the model's doing, not the precision's"), fp32_has == "zero") << found->what;
    }
}

TEST_F(DiagnosisZerosTest, AJumpOfTheLossThatComesBackOrThatWasSetIsNoDamage) {
  for (const std::string how : {"stays", "comes back", "was set"}) {
    ForgedRun run("bf16");
    run.small_model("bf16");
    if (how == "was set")
      run.run.attributes_json = R"({"train": {"tables": "\n[[inject]]\nstep = 3\nvalue = \"w\"\nindex = [5]\nnumber = 70000.0\n"}})";
    for (int i = 0; i < 8; ++i) run.step(i < 3 ? 0.5 - 0.01 * i : how == "comes back" && i > 5 ? 0.3 : 9.0 + 0.1 * i);
    run.observe(0, {});
    run.events.push_back({.run = run.run.id, .step = 7, .kind = event_kind::divergence, .value = 9.7});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::healthy) << how << d.verdict;
    EXPECT_EQ(d.verdict.starts_with("diverged: "), how == "stays") << d.verdict;
    const std::string text = what(d, Kind::divergence);
    EXPECT_EQ(says(text, "a learning rate that is too large"), how == "stays") << text;
    EXPECT_EQ(says(text, "sets w [5] to 70000.0 in step 4"), how == "was set") << text;
    EXPECT_EQ(says(text, "came back"), how == "comes back") << text;
  }
}

TEST_F(DiagnosisZerosTest, ATrainingThatDivergesUntilItOverflowsIsSaidToDiverge) {
  ForgedRun run("fp32");
  run.small_model("fp32");
  for (int i = 0; i < 8; ++i) run.step(i < 7 ? std::pow(10.0, 5 * i) : inf_number, false, {}, 5.0);
  run.observe(7, {{"y", {.elements = 4, .greatest = 2e19}}, {"loss", {.elements = 1, .positive_infinite = 1}}}, "replay");
  const RunDiagnosis d = of(run);
  EXPECT_TRUE(says(d.causes.at(0).what, "the training diverges, at a learning rate of 5")) << d.causes[0].what;
  EXPECT_TRUE(std::any_of(d.causes[0].remedies.begin(), d.causes[0].remedies.end(),
                          [](const Remedy& r) { return r.ulpscope == "train.lr=0.5"; }));
}

TEST_F(DiagnosisZerosTest, ANormOfZeroThatFp32HasTooIsNoDamage) {
  ForgedRun fp32("fp32", 1), run("fp16", 2);
  for (ForgedRun* r : {&fp32, &run}) {
    r->small_model(r == &run ? "fp16" : "fp32");
    for (int i = 0; i < 4; ++i) r->step(0.6 - 0.01 * i, false, r == &run ? Number(1024.0) : Number());
    r->steps[2].gradient_norm = 0.0;
    r->observe(0, {});
  }
  const Diagnosis d = diagnose(forge(in("b.ulp"), {&fp32, &run}), {.mode = "fp16"});
  EXPECT_EQ(d.runs.at(0).outcome, Outcome::healthy) << d.runs[0].verdict;
  EXPECT_TRUE(says(what(d.runs[0], Kind::no_gradient), "fp32's is, too"));
}

TEST_F(DiagnosisZerosTest, ALossOfExactlyZeroInAStepThatWasNotObserved) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 5; ++i) run.step(i == 3 ? 0.0 : 0.5 + 0.1 * i, false, 1024.0);
  run.observe(0, {});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_TRUE(says(what(d, Kind::exact_zero_loss), "step 4 was not observed")) << what(d, Kind::exact_zero_loss);
}

TEST_F(DiagnosisZerosTest, ALossThatStandsStill) {
  for (const double rate : {1e-2, 1e-9}) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 6; ++i) run.step(0.5, false, 1024.0, rate);
    for (StepRecord& step : run.steps) step.loss = 0.5;
    run.observe(0, {});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, rate > 1e-5 ? Outcome::damaged : Outcome::healthy) << d.verdict;
    EXPECT_TRUE(rate < 1e-5 || says(d.causes.at(0).what, "0.5 to the last bit in 6 steps")) << d.causes[0].what;
  }
}

TEST_F(DiagnosisZerosTest, WhatIsDividedByAnInfinityIsZero) {
  for (const std::string op : {"div", "rsqrt", "where"}) {
    const bool swallowed = op != "where";
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.node("sum", "total", {"x"}, "fp16", Phase::forward, {});
    run.node(op, "share", op == "rsqrt" ? std::vector<std::string>{"total"} : std::vector<std::string>{"x", "total"}, "fp16");
    run.node("mean", "loss", {"share"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(0.1, false, 1024.0);
    run.observe(0, {{"total", {.elements = 1, .greatest = 76800.0, .overflowed = 1}},
                    {"share", {.greatest = 0.0, .zero = swallowed ? 4 : 0}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, swallowed ? Outcome::damaged : Outcome::harmless) << d.verdict;
    EXPECT_EQ(d.causes.at(0).node, "total");
    EXPECT_TRUE(!swallowed || says(d.causes[0].reaches, "4 of the results of share as exact zeros")) << d.causes[0].reaches;
  }
}

TEST_F(DiagnosisZerosTest, AScaledLossThatNobodyReadsIsANote) {
  ForgedRun run("fp16");
  run.small_model();
  run.node("scale_loss", "scale_loss", {"loss"}, "fp16", Phase::forward, {});
  run.step(3.9, false, 65536.0);
  run.observe(0, {{"scale_loss", {.elements = 1, .greatest = 254976.0, .overflowed = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_TRUE(says(what(d, Kind::gradient_too_large_for_scale), "no gradient is computed from that number"));
}

TEST_F(DiagnosisZerosTest, ASumOfSquaresThatIsTooLongIsNotOneSquareThatIsTooLarge) {
  for (const double gradient : {25.0, 300.0}) {
    ForgedRun run("bf16");
    run.small_model("bf16");
    run.node("global_norm", "narrow_norm", {"unscale_check"}, "fp32", Phase::update, {},
             R"({"max_norm": 1.0, "accumulate": "fp16"})");
    run.inner_sum();
    run.step();
    run.observe(0, {{"unscale_check", {.elements = 2048, .greatest = gradient}},
                    {"narrow_norm", {.elements = 1, .positive_infinite = 1}},
                    {"narrow_norm.sum", {.elements = 2047, .greatest = 70000.0, .overflowed = 1}}});
    const std::string text = what(of(run), Kind::clip_overflowed);
    EXPECT_TRUE(says(text, gradient < 256 ? "the sum of 2048 squares leaves the range, each of which fits (greatest 625)"
                                          : "300^2 = 90000"))
        << text;
  }
}

TEST_F(DiagnosisZerosTest, TwoMaskFaultsAreToldApart) {
  ForgedRun run("fp16");
  run.source("scores", TensorRole::input, "fp16", {4, 2});
  run.source("mask", TensorRole::input, "fp32", {4, 2});
  run.node("cast", "mask.fp16", {"mask"}, "fp16", Phase::forward, {4, 2});
  run.node("add", "masked", {"scores", "mask.fp16"}, "fp16", Phase::forward, {4, 2});
  run.node("softmax", "p", {"masked"}, "fp32", Phase::forward, {4, 2});
  run.node("mean", "loss", {"p"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4, 2});
  run.step(nan_number, true, 1024.0);
  run.observe(0,
              {{"scores", {.elements = 8, .greatest = 20.0}},
               {"mask", {.elements = 8, .greatest = 1e9, .mean = -1e8}},
               {"mask.fp16", {.elements = 8, .greatest = 1e9, .mean = -1e8, .overflowed = 3}},
               {"masked", {.elements = 8, .greatest = 65524.0, .mean = -1e4, .negative_infinite = 3, .overflowed = 2}},
               {"p", {.elements = 8, .nan = 4}},
               {"loss", {.elements = 1, .nan = 1}}},
              "replay");
  const RunDiagnosis d = of(run);
  for (const Kind kind : {Kind::mask_constant_out_of_range, Kind::mask_sum})
    EXPECT_TRUE(says(what(d, kind), "rows with no finite score: 2 of 4 (1 of them by this, the rest by what else is told of)")) << what(d, kind);
}

// Of six weights two are infinite, which no update moves, three have a gradient of 0, and the update of one is lost.
TEST_F(DiagnosisZerosTest, AnUpdateIsLostOfAFiniteWeightWithAGradientAlone) {
  for (const bool gone : {true, false}) {
    ForgedRun run("fp16_pure");
    run.source("g", TensorRole::gradient, "fp16", {6});
    run.source("w", TensorRole::weight, "fp16", {6});
    run.source("norm", TensorRole::gradient, "fp32", {});
    run.node("sgd", "w.update", {"g", "norm", "w"}, "fp16", Phase::update, {6}, R"({"momentum": 0.0})", TensorRole::weight);
    run.step();
    run.observe(0, {{"g", {.elements = 6, .greatest = 1e-6, .flushed = 1, .zero = 2}},
                    {"w", {.elements = 6, .positive_infinite = 2}},
                    {"w.update", {.elements = 6, .positive_infinite = 2, .lost = gone ? 3 : 2}}});
    const RunDiagnosis d = of(run);
    ASSERT_EQ(find(d, Kind::update_lost) != nullptr, gone) << d.verdict;
    if (!gone) continue;
    EXPECT_TRUE(says(what(d, Kind::update_lost), "25 % of the updates (1 of 4) were rounded away in step 1: 0 of 4 weights in fp16 moved; of 3 the update is 0")) << what(d, Kind::update_lost);
  }
}

}  // namespace
}  // namespace ulpscope::reports
