// What a diagnosis says of recordings whose fault is known, because the test made it up; and of their healthy twins.
#include "reports/analysis/diagnosis/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/error.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  static const Cause* find(const RunDiagnosis& run, Kind kind) {
    const auto found =
        std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.kind == kind; });
    return found == run.causes.end() ? nullptr : &*found;
  }
  static double value(const Cause& cause, const std::string& key) {
    for (const Fact& fact : cause.facts)
      if (fact.key == key) return fact.value.value_or(nan_number);
    return nan_number;
  }
};

constexpr double limit = 65520.0;

TEST_F(DiagnosisTest, AHealthyRunIsHealthy) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 10; ++i) run.step(1.0, false, 65536.0);
  run.observe(0, {});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_TRUE(d.causes.empty());
  EXPECT_NE(d.verdict.find("10 of 10 steps applied"), std::string::npos) << d.verdict;
}

TEST_F(DiagnosisTest, NothingIsCalledHealthyThatWasNotObserved) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 10; ++i) run.step(1.0, false, 65536.0);
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::not_observed);
  ASSERT_FALSE(d.notes.empty());
  EXPECT_NE(d.notes.front().find("run it again with observation"), std::string::npos) << d.notes.front();
}

// 65519 rounds to 65504: finite, saturated, no overflow; but next to leave.
TEST_F(DiagnosisTest, WhatSaturatesIsNoOverflow) {
  ForgedRun run("fp16");
  run.small_model();
  run.step(1.0, false, 65536.0);
  run.observe(0, {{"y", {.greatest = 65519.0}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  ASSERT_FALSE(d.watch.empty());
  EXPECT_EQ(d.watch.front().node, "y");
  EXPECT_LT(*d.watch.front().room, 1e-4);
}

TEST_F(DiagnosisTest, TheFirstOperationIsNamedWithItsNumbers) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 3; ++i) run.step(inf_number, true, 65536.0 / (1 << i));
  run.observe(0, {{"y", {.greatest = 66240.0, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}},
              "replay");
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal);
  const Cause& cause = d.causes.at(0);
  EXPECT_EQ(cause.kind, Kind::activation_too_large);
  EXPECT_EQ(cause.node, "y");
  EXPECT_EQ(cause.phase, "forward");
  EXPECT_EQ(cause.step, 0);
  EXPECT_EQ(value(cause, "not_finite"), 1.0);
  EXPECT_EQ(value(cause, "greatest_magnitude"), 66240.0);
  EXPECT_EQ(cause.chain, (std::vector<std::string>{"y", "loss"}));
  EXPECT_EQ(cause.operands.size(), 2u);
  EXPECT_NE(cause.what.find("1.011 x the fp16 limit"), std::string::npos) << cause.what;
  EXPECT_NE(d.verdict.find("does not depend on the loss scale"), std::string::npos) << d.verdict;
  for (const Remedy& remedy : cause.remedies) EXPECT_EQ(remedy.status, "not tried (ulpscope mend tries it)");
  EXPECT_TRUE(std::is_sorted(cause.remedies.begin(), cause.remedies.end(),
                             [](const Remedy& a, const Remedy& b) { return a.cost < b.cost; }));
}

TEST_F(DiagnosisTest, AnOverflowThatGoesNowhereIsHarmless) {
  ForgedRun run("fp16");
  run.small_model();
  run.node("matmul", "aside", {"x", "y"}, "fp16");
  run.step(1.0, false, 65536.0);
  run.observe(0, {{"aside", {.greatest = 70000.0, .overflowed = 4}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::harmless) << d.verdict;
  ASSERT_EQ(d.causes.size(), 1u);
  EXPECT_EQ(d.causes[0].gravity, Gravity::contained);
}

struct MaskedModel : ForgedRun {
  explicit MaskedModel(const std::string& format, const std::string& mode) : ForgedRun(mode) {
    source("scores", TensorRole::input, format, {4, 2});
    source("mask", TensorRole::input, format, {4, 2});
    node("add", "masked", {"scores", "mask"}, format, Phase::forward, {4, 2});
    node("softmax", "probabilities", {"masked"}, format, Phase::forward, {4, 2});
    node("sum", "loss", {"probabilities"}, "fp32", Phase::forward, {});
    node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4, 2});
  }
};

TEST_F(DiagnosisTest, AMaskAndAScoreAddUpToMinusInfinity) {
  MaskedModel run("fp16", "fp16");
  run.step(nan_number, true, 65536.0);
  run.observe(0,
              {{"scores", {.elements = 8, .greatest = 16.0, .mean = -16.0}},
               {"mask", {.elements = 8, .greatest = 65504.0, .mean = -32752.0}},
               {"masked", {.elements = 8, .greatest = 65520.0, .mean = -32000.0, .overflowed = 2}},
               {"probabilities", {.elements = 8, .nan = 2}},
               {"loss", {.elements = 1, .nan = 1}}},
              "replay");
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal);
  const Cause& cause = d.causes.at(0);
  EXPECT_EQ(cause.kind, Kind::mask_sum) << cause.what;
  EXPECT_EQ(cause.node, "masked");
  EXPECT_EQ(value(cause, "rows_without_score"), 1.0);
}

// -15.99 - 65504 rounds back to -65504.
TEST_F(DiagnosisTest, AMaskThatStaysFiniteIsNoFault) {
  MaskedModel run("fp16", "fp16");
  run.step(1.0, false, 65536.0);
  run.observe(0, {{"mask", {.elements = 8, .greatest = 65504.0, .mean = -32752.0}},
                  {"masked", {.elements = 8, .greatest = 65519.99, .mean = -32752.0}}});
  EXPECT_EQ(of(run).outcome, Outcome::healthy);
}

TEST_F(DiagnosisTest, MinusInfinityBesideALivePositionIsWhatMasksAreFor) {
  MaskedModel run("fp16", "fp16");
  run.step(1.0, false, 65536.0);
  run.observe(0, {{"mask", {.elements = 8, .greatest = 65504.0, .mean = -32752.0}},
                  {"masked", {.elements = 8, .greatest = 65530.0, .mean = -32752.0, .overflowed = 4}},
                  {"probabilities", {.elements = 8, .zero = 4}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_TRUE(d.causes.empty());
}

// Their sum leaves fp32, too: there is no rounding that could have counted it.
TEST_F(DiagnosisTest, TwoLowestFiniteMasksOverflowInBf16) {
  MaskedModel run("bf16", "bf16");
  run.step(nan_number);
  const double lowest = 3.3895313892515355e38;
  run.observe(0, {{"scores", {.elements = 8, .greatest = lowest, .mean = -1e38}},
                  {"mask", {.elements = 8, .greatest = lowest, .mean = -1e38}},
                  {"masked", {.elements = 8, .greatest = 1.0, .negative_infinite = 2}},
                  {"probabilities", {.elements = 8, .nan = 2}},
                  {"loss", {.elements = 1, .nan = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal);
  ASSERT_EQ(d.causes.at(0).kind, Kind::mask_sum);
  EXPECT_NE(d.causes[0].what.find("two masks are added"), std::string::npos) << d.causes[0].what;
}

TEST_F(DiagnosisTest, AnInfinitySwallowedByANormIsSilentDamage) {
  for (const bool overflows : {true, false}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16", {2, 8});
    run.node("rms_norm", "norm", {"x"}, "fp16", Phase::forward, {2, 8}, R"({"accumulate": "fp16", "epsilon": 1e-5})");
    run.inner_sum();
    run.node("sum", "loss", {"norm"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {2, 8});
    run.step(1.0, false, 65536.0);
    run.observe(0, {{"x", {.elements = 16, .greatest = overflows ? 256.0 : 255.875}},
                    {"norm", {.elements = 16, .zero = overflows ? 8 : 0}},
                    {"norm.sum", {.elements = 14, .greatest = 65400.0, .overflowed = overflows ? 1 : 0}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, overflows ? Outcome::damaged : Outcome::healthy) << d.verdict;
    if (!overflows) continue;
    EXPECT_EQ(d.causes.at(0).kind, Kind::norm_overflowed);
    EXPECT_EQ(value(d.causes[0], "zero_rows"), 1.0);
  }
}

TEST_F(DiagnosisTest, ASumOfSmallElementsIsTooLong) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp16", {40000});
  run.node("sum", "total", {"x"}, "fp16", Phase::forward, {});
  run.node("expand", "total.dx", {"total"}, "fp16", Phase::backward, {40000});
  run.step(inf_number, true, 65536.0);
  run.observe(0,
              {{"x", {.elements = 40000, .greatest = 3.0, .mean = 2.0}},
               {"total", {.elements = 1, .greatest = 80000.0, .overflowed = 1}}},
              "replay");
  const RunDiagnosis d = of(run);
  ASSERT_EQ(d.causes.at(0).kind, Kind::reduction_too_long);
  EXPECT_EQ(value(d.causes[0], "break_even"), 32759.0);  // 32760 x 2 = 65520 is inf
  EXPECT_EQ(value(d.causes[0], "sum"), 80000.0);
}

// The gradient of a bias is a sum over the batch. Its greatest was 144856 at a scale of 2^16, so it is 2.21: what is too large is the
// scale, and the skip is how the scale is found.
TEST_F(DiagnosisTest, AScaledSumOfTheBackwardPassIsAMatterOfTheScale) {
  for (const bool scaled : {true, false}) {
    ForgedRun run("fp16");
    if (!scaled) run.run.loss_scaling = "none";
    run.source("x", TensorRole::input, "fp16", {1024, 128});
    run.node("sum", "loss", {"x"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp16", Phase::backward, {1024, 128});
    run.node("sum_to", "proj.dbias", {"loss.dx"}, "fp16", Phase::backward, {128});
    run.step(1.0, true, scaled ? 65536.0 : 1.0);
    for (int step = 0; step < 20; ++step) run.step(1.0, false, scaled ? 32768.0 : 1.0);
    run.observe(0,
                {{"x", {.elements = 131072, .greatest = 3.0, .mean = 0.1}},
                 {"loss.dx", {.elements = 131072, .greatest = 900.0, .mean = 1.9e-8}},
                 {"proj.dbias", {.elements = 128, .greatest = 144856.0, .overflowed = 1}}},
                "replay");
    const RunDiagnosis d = of(run);
    if (scaled) {
      EXPECT_EQ(d.causes.at(0).kind, Kind::gradient_too_large_for_scale) << d.causes[0].what;
      EXPECT_NE(d.causes[0].gravity, Gravity::damage) << d.verdict;
    } else {
      ASSERT_EQ(d.causes.at(0).kind, Kind::reduction_too_long) << d.causes[0].what;
      EXPECT_EQ(value(d.causes[0], "sum"), 144856.0);
    }
  }
}

TEST_F(DiagnosisTest, OneElementThatIsTooLargeIsNoMatterOfLength) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp32", {40000});
  run.node("sum", "total", {"x"}, "fp16", Phase::forward, {});
  run.node("expand", "total.dx", {"total"}, "fp16", Phase::backward, {40000});
  run.step(inf_number, true, 65536.0);
  run.observe(0,
              {{"x", {.elements = 40000, .greatest = 70000.0, .mean = 2.0}},
               {"total", {.elements = 1, .greatest = 80000.0, .overflowed = 1}}},
              "replay");
  EXPECT_EQ(of(run).causes.at(0).kind, Kind::activation_too_large);
}

TEST_F(DiagnosisTest, ADivisionByAVanishedEpsilon) {
  for (const bool flushed : {true, false}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.source("eps", TensorRole::input, "fp32");
    run.node("cast", "eps.fp16", {"eps"}, "fp16");
    run.node("add", "divisor", {"x", "eps.fp16"}, "fp16");
    run.node("div", "ratio", {"x", "divisor"}, "fp16");
    run.node("sum", "loss", {"ratio"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(nan_number, true, 65536.0);
    run.observe(0,
                {{"eps.fp16", {.greatest = 1e-8, .flushed = flushed ? 4 : 0, .least = 1e-8}},
                 {"divisor", {.zero = 1}},
                 {"ratio", {.nan = 1}},
                 {"loss", {.elements = 1, .nan = 1}}},
                "replay");
    EXPECT_EQ(of(run).causes.at(0).kind, flushed ? Kind::epsilon_vanished : Kind::zero_divisor);
  }
}

TEST_F(DiagnosisTest, WhatNobodyKnowsIsUnknown) {
  ForgedRun run("fp16");
  run.small_model();
  run.step(nan_number, true, 65536.0);
  run.observe(0, {{"y", {.nan = 2}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal);
  EXPECT_EQ(d.causes.at(0).kind, Kind::unknown);
  EXPECT_NE(d.causes[0].what.find("finite inputs"), std::string::npos) << d.causes[0].what;
  EXPECT_TRUE(d.causes[0].remedies.empty());
}

/// One bad step at the end says nothing of what would have come after it; three in a row, or weights that are gone, do.
TEST_F(DiagnosisTest, ASkippedStepAtTheEndIsNoEvidenceOfFatality) {
  for (const int bad : {1, 2, 3}) {
    ForgedRun run("fp16");
    run.small_model();
    run.step(1.0, false, 65536.0);
    for (int i = 0; i < bad; ++i) run.step(nan_number, true, 65536.0 / (1 << i));
    run.observe(0, {});
    run.observe(1, {{"x", {.nan = 1}}, {"y", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, bad < 3 ? Outcome::healthy : Outcome::fatal) << bad << ": " << d.verdict;
    ASSERT_FALSE(d.causes.empty());
    EXPECT_EQ(d.causes[0].kind, Kind::data_not_finite) << "it is told all the same";
    EXPECT_EQ(d.causes[0].gravity, bad < 3 ? Gravity::note : Gravity::fatal);
    const bool said = std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("whether it gets over") != std::string::npos; });
    EXPECT_EQ(said, bad < 3);
  }
}

TEST_F(DiagnosisTest, PoisonComesFromWeightsDataOrBuffers) {
  for (const auto& [name, kind] : {std::pair{"w", Kind::weights_poisoned}, std::pair{"x", Kind::data_not_finite}}) {
    ForgedRun run("fp16");
    run.small_model();
    run.step(1.0, false, 65536.0);
    for (int i = 0; i < 3; ++i) run.step(nan_number, true, 65536.0);
    run.observe(0, {});
    run.observe(1, {{name, {.nan = 1}}, {"w.fp16", {.nan = 1}}, {"y", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}},
                "replay");
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::fatal);
    EXPECT_EQ(d.causes.at(0).kind, kind);
    EXPECT_EQ(d.causes[0].step, 1);
  }
}

TEST_F(DiagnosisTest, UpdatesThatNeverLand) {
  for (const std::int64_t lost : {std::int64_t{0}, std::int64_t{4}}) {
    ForgedRun run("bf16_pure");
    run.source("w", TensorRole::weight, "bf16");
    run.source("g", TensorRole::gradient, "bf16");
    run.source("norm", TensorRole::activation, "fp32", {});
    run.node("sgd", "w.update", {"g", "norm", "w"}, "bf16", Phase::update, {4},
             R"({"each_operation": true, "momentum": 0.0})", TensorRole::weight);
    run.step(1.0, false, {}, 6e-4);
    run.observe(0, {{"w", {.greatest = 1.0, .mean = 1.0, .rms = 1.0}},
                    {"w.update", {.greatest = 1.0, .mean = 1.0, .lost = lost, .rms = 1.0}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, lost > 0 ? Outcome::damaged : Outcome::healthy) << d.verdict;
    EXPECT_NE(find(d, Kind::no_master_weights), nullptr);
    if (lost > 0)
      EXPECT_EQ(value(*find(d, Kind::update_lost), "half_ulp"), 0x1p-9);
    else
      EXPECT_EQ(find(d, Kind::update_lost), nullptr);
  }
}

TEST_F(DiagnosisTest, GradientsBelowTheRange) {
  for (const bool small : {true, false}) {  // a tenth flushed of what lies near the end of the range; of what does not
    ForgedRun run("fp16");
    run.small_model();
    run.step(1.0, false, 1.0);
    run.observe(
        0,
        {{"w", {.greatest = small ? 1e-5 : 1.0, .rms = small ? 1e-5 : 1.0}},   // a small one is moved by as little
         {"y.cast",
          {.elements = 100, .greatest = small ? 1e-6 : 1.0, .flushed = 37, .least = 1e-9, .rms = small ? 1e-7 : 0.1}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, small ? Outcome::damaged : Outcome::healthy) << d.verdict;
    if (!small) continue;
    EXPECT_EQ(d.causes.at(0).kind, Kind::gradient_below_range);
    EXPECT_EQ(value(d.causes[0], "smallest_scale"), 32.0);  // 1e-9 x 32 > 2^-25
    EXPECT_EQ(value(d.causes[0], "largest_scale"), 0x1p35);  // 1e-6 x 2^35 = 34360; what is stored in fp32 has no part in it
  }
}

TEST_F(DiagnosisTest, MicroBatchesThatAreSwallowed) {
  ForgedRun run("bf16");
  run.source("w", TensorRole::master_weight, "fp32", {});
  run.source("g", TensorRole::gradient, "fp32", {});
  run.source("sum", TensorRole::gradient, "bf16", {});
  run.node("accumulate", "w.accumulate", {"g", "sum"}, "bf16", Phase::backward, {}, "", TensorRole::gradient);
  run.run.micro_batches = 4;
  run.step();
  for (int m = 0; m < 4; ++m) {  // 255, 256, then 257 twice: rounded to 256 each time
    const double sum = std::min(255.0 + m, 257.0);
    run.observe(0,
                {{"g", {.elements = 1, .greatest = 1.0, .mean = m == 0 ? 255.0 : 1.0}},
                 {"w.accumulate", {.elements = 1, .greatest = sum, .mean = sum}}},
                "sampled", m);
  }
  const RunDiagnosis d = of(run);
  const Cause* stuck = find(d, Kind::sum_stuck);
  ASSERT_NE(stuck, nullptr) << d.verdict;
  EXPECT_EQ(value(*stuck, "stuck_at"), 256.0);
  EXPECT_EQ(value(*stuck, "expected"), 258.0);
}

TEST_F(DiagnosisTest, AStepThatIsAskedForAlone) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 3; ++i) run.step(1.0, false, 65536.0);
  run.observe(0, {});
  const RunFileReader reader = forge(in("a.ulp"), {&run});
  const Diagnosis d = diagnose(reader, {.step = 1});
  for (const std::string& note : d.runs.at(0).notes) EXPECT_EQ(note.find("no statistics"), std::string::npos) << note;
  EXPECT_NE(d.runs.at(0).notes.at(0).find("step 2 was not observed; observed: 1"), std::string::npos)
      << d.runs[0].notes[0];
  EXPECT_NE(message_of<UsageError>([&] { diagnose(reader, {.step = 3}); }).find("3 steps are recorded"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] {
              diagnose(reader, {.step = {}, .mode = "bf16", .seed = {}});
            }).find("there are fp16 seed 0"),
            std::string::npos);
}

}  // namespace
}  // namespace ulpscope::reports
