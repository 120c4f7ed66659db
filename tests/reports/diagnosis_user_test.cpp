// Recordings that a user was told wrong answers of.
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisUserTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  static const Cause* find(const RunDiagnosis& run, Kind kind) {
    const auto found =
        std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.kind == kind; });
    return found == run.causes.end() ? nullptr : &*found;
  }
};

// Behind the first tensor that overflows magnitudes are unknown: more skips may be due than it alone needs.
TEST_F(DiagnosisUserTest, ARunInWhichNoStepWasAppliedIsNotHealthy) {
  ForgedRun run("fp16");
  run.small_model();
  run.node("mul", "deep", {"y.cast", "y"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  for (int i = 0; i < 4; ++i) run.step(1.0, true, 65536.0 / (1 << i));
  run.observe(0,
              {{"y.cast", {.greatest = 724.0 * 65536.0, .overflowed = 4}},
               {"deep", {.greatest = 0.0, .positive_infinite = 4}},
               {"unscale_check", {.positive_infinite = 4}}},
              "replay");
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::untrained) << d.verdict;
  EXPECT_NE(d.verdict.find("nothing was trained so far: 0 of 4 steps"), std::string::npos) << d.verdict;
  EXPECT_NE(d.reasons.at(0).find("at least 10 due"), std::string::npos) << d.reasons[0];
}

TEST_F(DiagnosisUserTest, ALostUpdateThatIsMadeUpForIsNoDamage) {
  for (const std::string rounding : {"kahan", "stochastic"}) {
    ForgedRun run("bf16_pure");
    run.source("w", TensorRole::weight, "bf16");
    run.source("g", TensorRole::gradient, "bf16");
    run.source("norm", TensorRole::activation, "fp32", {});
    run.node("sgd", "w.update", {"g", "norm", "w"}, "bf16", Phase::update, {4}, R"({"momentum": 0.0})",
             TensorRole::weight);
    run.run.attributes_json = R"({"train": {"update_rounding": ")" + rounding + R"("}})";
    run.step(1.0, false, {}, 6e-4);
    run.observe(0, {{"w.update", {.lost = 3}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
    ASSERT_NE(find(d, Kind::update_lost), nullptr);
    EXPECT_EQ(find(d, Kind::update_lost)->gravity, Gravity::note);
  }
}

// Rows of an embedding that were never seen: decay alone moves them.
TEST_F(DiagnosisUserTest, WhatHasNoGradientLosesDecayAlone) {
  ForgedRun run("bf16_pure");
  run.source("w", TensorRole::weight, "bf16");
  run.source("g", TensorRole::gradient, "bf16");
  run.source("norm", TensorRole::activation, "fp32", {});
  run.node("adamw", "w.update", {"g", "norm", "w"}, "bf16", Phase::update, {4}, R"({"weight_decay": 0.1})",
           TensorRole::weight);
  run.step(1.0, false, {}, 6e-4);
  run.observe(0, {{"g", {.zero = 3}}, {"w.update", {.lost = 3}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(find(d, Kind::update_lost), nullptr) << d.verdict;
  EXPECT_NE(find(d, Kind::weight_decay_lost), nullptr);
}

TEST_F(DiagnosisUserTest, ALogarithmOfWhatWasRoundedToZero) {
  for (const bool flushed : {true, false}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp32");
    run.node("exp", "e", {"x"}, "fp16");
    run.node("cast", "e.fp32", {"e"}, "fp32");
    run.node("log", "l", {"e.fp32"}, "fp32");
    run.node("sum", "loss", {"l"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(-inf_number, true, 65536.0);
    run.observe(0,
                {{"e", {.flushed = flushed ? 1 : 0, .zero = flushed ? 0 : 1, .least = 1.5e-8}},
                 {"e.fp32", {.zero = 1}},
                 {"l", {.negative_infinite = 1}},
                 {"loss", {.elements = 1, .negative_infinite = 1}}},
                "replay");
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::fatal);
    EXPECT_EQ(d.causes.at(0).kind, flushed ? Kind::activation_below_range : Kind::zero_divisor) << d.causes[0].what;
    EXPECT_EQ(d.causes[0].node, flushed ? "e" : "l");
  }
}

// Rows that are not alike: their means say nothing, and one addend of half an ulp is no damage.
TEST_F(DiagnosisUserTest, AFewSwallowedAddendsAreNoDamage) {
  ForgedRun run("bf16");
  run.source("x", TensorRole::input, "bf16", {2, 4});
  run.node("rms_norm", "norm", {"x"}, "bf16", Phase::forward, {2, 4}, R"({"accumulate": "bf16", "epsilon": 1e-5})");
  run.inner_sum("bf16");
  run.node("sum", "loss", {"norm"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {2, 4});
  run.step();
  run.observe(0, {{"x", {.elements = 8, .greatest = 300.0}},
                  {"norm", {.elements = 8}},
                  {"norm.sum", {.elements = 6, .greatest = 90122.0, .lost = 2}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  ASSERT_NE(find(d, Kind::sum_stuck), nullptr);
  EXPECT_EQ(find(d, Kind::sum_stuck)->gravity, Gravity::note);
}

TEST_F(DiagnosisUserTest, WhatTheExperimentFileInjectsIsNamed) {
  ForgedRun run("bf16");
  run.small_model("bf16");
  run.node("dropout", "z", {"y"}, "bf16");
  run.run.attributes_json =
      R"({"train": {"tables": "\n[[inject]]\nstep = 0\nvalue = \"y\"\nindex = [3]\nnumber = inf\n"}})";
  run.step(nan_number);
  run.observe(0, {{"z", {.positive_infinite = 1}}});
  const RunDiagnosis d = of(run);
  const Cause* cause = find(d, Kind::data_not_finite);
  ASSERT_NE(cause, nullptr) << d.verdict;
  EXPECT_NE(cause->what.find("the experiment file sets y [3] to inf in step 1"), std::string::npos) << cause->what;
}

TEST_F(DiagnosisUserTest, ARunThatWasCutShortIsSaidToBe) {
  ForgedRun run("fp16");
  run.small_model();
  run.run.status = RunStatus::interrupted;
  run.step(1.0, false, 65536.0);
  run.observe(0, {});
  const RunDiagnosis d = of(run);
  EXPECT_NE(d.verdict.find("interrupted before the 10 planned"), std::string::npos) << d.verdict;
}

/// g overflows in every step and is cut off; where the loss scale makes the gradient infinite besides, that is not g's doing.
class OverflowBeforeAClamp : public DiagnosisUserTest {
 protected:
  static ForgedRun model(const std::string& derivative) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.source("w", TensorRole::weight, "fp16");
    run.node("mul", "g", {"x", "w"}, "fp16");
    run.node("clamp", "g.clamp", {"g"}, "fp16", Phase::forward, {4}, R"({"min": -100.0, "max": 100.0})");
    run.node("mean", "loss", {"g.clamp"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
    run.node(derivative, "g.clamp.dx", {"g", "loss.dx"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
    run.node("unscale_check", "unscale_check", {"g.clamp.dx"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
    return run;
  }
  static std::map<std::string, Counts> observed(bool infinite) {
    std::map<std::string, Counts> special{{"g", {.greatest = 72000.0, .overflowed = 2}}};
    if (infinite) special["loss.dx"] = {.greatest = 131072.0, .overflowed = 4};
    if (infinite) special["g.clamp.dx"] = special["unscale_check"] = {.greatest = 0.0, .positive_infinite = 2};
    return special;
  }
};

TEST_F(OverflowBeforeAClamp, ItsItemAndTheVerdictSayThatItReachesNothing) {
  for (const std::string derivative : {"clamp_backward", "relu_backward"}) {
    ForgedRun run = model(derivative);
    for (int i = 0; i < 3; ++i) run.step(1.0, i == 0, 1024.0);
    for (int i = 0; i < 3; ++i) run.observe(i, observed(i == 0));
    const RunDiagnosis d = of(run);
    const Cause* const c = find(d, Kind::activation_too_large);
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(c->gravity, Gravity::contained);
    EXPECT_EQ(c->reaches, "no further than g");
    EXPECT_EQ(c->steps_seen, 3);
    EXPECT_EQ(d.outcome, Outcome::harmless) << d.verdict;
  }
}

/// Of a product's derivative nobody can say so: what reaches a gradient in one step is not contained, though it is in the others.
TEST_F(OverflowBeforeAClamp, WhatReachesSomethingInOneStepIsNotContained) {
  for (const int first : {0, 2}) {
    ForgedRun run = model("mul");
    for (int i = 0; i < 4; ++i) run.step(1.0, i == first, 1024.0);
    for (int i = 0; i < 4; ++i) run.observe(i, observed(i == first));
    const RunDiagnosis d = of(run);
    const Cause* const c = find(d, Kind::activation_too_large);
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(c->gravity, Gravity::normal) << c->reaches;
    EXPECT_EQ(c->reaches, "the gradients of weights");
    EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  }
}

/// The loss goes from 2 to 9 in the fifth step and stays there.
TEST_F(DiagnosisUserTest, ADivergenceIsHeldAgainstFp32) {
  const auto forged = [](const std::string& mode, double then, std::int64_t id) {
    ForgedRun run(mode, id);
    run.small_model(mode == "fp32" ? "fp32" : "fp16");
    for (int i = 0; i < 10; ++i) run.step(i < 4 ? 2.0 : then);
    run.observe(0, {});
    if (then > 4.0) run.events.push_back({.run = run.run.id, .step = 8, .kind = event_kind::divergence, .value = then});
    return run;
  };
  const ForgedRun fp16 = forged("fp16", 9.0, 1), alike = forged("fp32", 8.0, 2), calm = forged("fp32", 2.0, 2);
  const RunDiagnosis shared = diagnose(forge(in("a.ulp"), {&fp16, &alike})).runs.at(0);
  EXPECT_EQ(shared.causes.at(0).kind, Kind::divergence);
  EXPECT_EQ(shared.causes[0].gravity, Gravity::note);
  EXPECT_EQ(shared.verdict.find("diverged: the loss ran away (divergence); part of precision in it: none: fp32 in this file does the same"), 0u) << shared.verdict;
  const RunDiagnosis own = diagnose(forge(in("b.ulp"), {&fp16, &calm})).runs.at(0);
  EXPECT_EQ(own.outcome, Outcome::damaged) << own.verdict;
  EXPECT_EQ(own.causes.at(0).kind, Kind::unknown);
  EXPECT_NE(own.causes[0].what.find("fp32 in this file does not"), std::string::npos) << own.causes[0].what;
  const RunDiagnosis alone = of(fp16);
  EXPECT_EQ(alone.causes.at(0).kind, Kind::divergence);
  EXPECT_NE(alone.causes[0].what.find("in the 1 step that was observed nothing of precision was seen"), std::string::npos) << alone.causes[0].what;
}

TEST_F(DiagnosisUserTest, WeightsThatVanishInTheirCopy) {
  for (const double size : {1.5e-8, 1.0}) {
    ForgedRun run("fp16");
    run.small_model();
    run.step(1.0, false, 65536.0);
    run.observe(0, {{"w.fp16", {.greatest = size, .flushed = 3, .least = 1e-8, .rms = size}}});
    EXPECT_EQ(of(run).outcome, size < 1.0 ? Outcome::damaged : Outcome::healthy);
  }
}

}  // namespace
}  // namespace ulpscope::reports
