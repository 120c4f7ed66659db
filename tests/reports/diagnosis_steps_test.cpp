// Normal or fatal: what the steps' own record says of loss scaling, schedules, buffers and devices; and the forms a
// diagnosis is written in.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/normality.h"
#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisStepsTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  static const Cause* find(const RunDiagnosis& run, Kind kind) {
    const auto found =
        std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.kind == kind; });
    return found == run.causes.end() ? nullptr : &*found;
  }
  /// A gradient of g, skipped until it fits, `skips` times.
  static ForgedRun searching(double g, int skips, int good) {
    ForgedRun run("fp16");
    run.small_model();
    double scale = 65536.0;
    for (int i = 0; i < skips + good; ++i) {
      run.step(1.0, i < skips, scale);
      if (i < skips) scale /= 2;
    }
    run.observe(0,
                {{"y.cast", {.greatest = g * 65536.0, .overflowed = 4}}, {"unscale_check", {.positive_infinite = 4}}},
                "replay");
    return run;
  }
};

// case-32's table: 16 is the exponent of the first scale.
TEST_F(DiagnosisStepsTest, SkipsThatAreDue) {
  scaling::PytorchScaler policy;
  EXPECT_EQ(due_skips(policy, 1.0, 65520.0), 1);
  EXPECT_EQ(due_skips(policy, 100.0, 65520.0), 7);
  EXPECT_EQ(due_skips(policy, 0.01, 65520.0), 0);
  policy.initial_scale = 0x1p32f;
  EXPECT_EQ(due_skips(policy, 1.0, 65520.0), 17);
  EXPECT_EQ(due_skips(policy, 0.01, 65520.0), 10);
  EXPECT_EQ(due_skips(policy, 100.0, 65520.0), 23);
  EXPECT_EQ(due_skips(policy, 1e-3, 65520.0), 7);
  EXPECT_EQ(due_skips(scaling::FixedScaling{}, 100.0, 65520.0), std::nullopt);
  EXPECT_EQ(due_skips(scaling::DeepspeedScaler{}, 1e6, 65520.0), std::nullopt);  // its floor is 1
  EXPECT_EQ(due_skips(scaling::DeepspeedScaler{}, 100.0, 65520.0), 8);           // the hysteresis absorbs the first
}

// Behind the first applied step, by each policy's own rule. A gradient of 1 overflows from 65520 on in fp16, and at no finite scale in fp32.
TEST_F(DiagnosisStepsTest, LaterSkipsThatAreDue) {
  const auto of = [](const scaling::Policy& policy, double gradient, double limit, std::int64_t steps) {
    const LaterSkips later = later_skips(policy, gradient, limit, steps);
    return std::pair(later.skips, later.greatest_scale);
  };
  // 32768 fits, 65536 does not, and so on: every other step.
  EXPECT_EQ(of(scaling::PytorchScaler{.initial_scale = 32768.0f, .growth_interval = 1}, 1.0, 65520.0, 10), std::pair(std::int64_t{5}, 65536.0));
  // 4096, 40960, then 409600, 204800, 102400 overflow; 51200 fits, 512000, 256000, 128000 overflow; 64000 fits.
  EXPECT_EQ(of(scaling::PytorchScaler{.initial_scale = 4096.0f, .growth_factor = 10.0, .growth_interval = 1}, 1.0, 65520.0, 10), std::pair(std::int64_t{6}, 512000.0));
  // 17 skips of a search are none of them; after 2000 good steps one.
  EXPECT_EQ(of(scaling::PytorchScaler{.initial_scale = 0x1p32f}, 1.0, 65520.0, 2017).first, 0);
  EXPECT_EQ(of(scaling::PytorchScaler{.initial_scale = 0x1p32f}, 1.0, 65520.0, 2018).first, 1);
  // In fp32 it doubles to 2^127 and no further: nothing is due.
  EXPECT_EQ(of(scaling::PytorchScaler{.growth_interval = 1}, 1.0, 0x1p128, 400), std::pair(std::int64_t{0}, 0x1p127));
  EXPECT_EQ(of(scaling::ApexScaler{.growth_interval = 1}, 1e-3, 65520.0, 40), std::pair(std::int64_t{0}, 0x1p24)) << "its cap";
  // A growth to 4 comes back to the floor of 16, and there it ends: two.
  EXPECT_EQ(of(scaling::DeepspeedScaler{.initial_scale = 2.0f, .growth_interval = 25, .least_scale = 16.0f, .hysteresis = 1}, 20000.0, 65520.0, 40), std::pair(std::int64_t{2}, 16.0));
}

TEST_F(DiagnosisStepsTest, WhatWasLostWhileTheFileWasWrittenIsNotCalledHealthy) {
  const ForgedRun run = searching(1.0, 0, 3);
  const RunFileReader file = forge(in("a.ulp"), {&run});
  EXPECT_EQ(diagnose(file).runs.at(0).verdict.find("unknown in part"), std::string::npos);
  {
    RunFileWriter writer(in("a.ulp"), {.append = true});
    writer.push(CompletenessRecord{.kind = "dropped", .subject = "tensor_stats", .count = 753, .detail = "the queue was full"});
    writer.close();
  }
  const RunDiagnosis found = diagnose(file).runs.at(0);
  EXPECT_EQ(found.lost_statistics, 753);
  EXPECT_TRUE(found.verdict.starts_with("unknown in part: 753 rows of tensors were lost while the file was written. What is there says ")) << found.verdict;
  EXPECT_TRUE(std::any_of(found.notes.begin(), found.notes.end(), [](const std::string& n) { return n.starts_with("753 rows of tensors were lost"); }));
}

TEST_F(DiagnosisStepsTest, ASearchForTheScaleIsNormal) {
  const RunDiagnosis d = of(searching(100.0, 7, 3));
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  ASSERT_NE(find(d, Kind::gradient_too_large_for_scale), nullptr);
  EXPECT_EQ(find(d, Kind::gradient_too_large_for_scale)->gravity, Gravity::normal);
  ASSERT_FALSE(d.reasons.empty());
  EXPECT_NE(d.reasons[0].find("7 steps skipped, 7 due"), std::string::npos) << d.reasons[0];
}

TEST_F(DiagnosisStepsTest, ASearchUnderWayIsNormalAndOneThatIsOverdueIsNot) {
  EXPECT_EQ(of(searching(100.0, 5, 0)).outcome, Outcome::untrained);
  EXPECT_EQ(of(searching(100.0, 12, 0)).outcome, Outcome::fatal);
}

TEST_F(DiagnosisStepsTest, AFatalCauseIsNamedWithinThreeSkips) {
  for (int skips = 1; skips <= 3; ++skips) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < skips; ++i) run.step(nan_number, true, 65536.0 / (1 << i));
    run.observe(0, {{"y", {.greatest = 90000.0, .overflowed = 4}}, {"loss", {.elements = 1, .positive_infinite = 1}}},
                "replay");
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::fatal);
    EXPECT_EQ(d.causes.at(0).kind, Kind::activation_too_large);
  }
}

TEST_F(DiagnosisStepsTest, AnIsolatedSkipIsNormal) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 500; ++i) run.step(1.0, i == 200 || i == 400, 65536.0);
  run.observe(200, {{"y.cast", {.greatest = 70000.0, .overflowed = 1}}, {"unscale_check", {.positive_infinite = 1}}},
              "replay");
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_NE(d.reasons.at(0).find("2 in 500 steps"), std::string::npos) << d.reasons[0];
}

TEST_F(DiagnosisStepsTest, TooManySkipsAreNot) {
  ForgedRun run("fp16");
  run.small_model();
  for (int i = 0; i < 500; ++i) run.step(1.0, i % 5 == 4, 65536.0);
  run.step(1.0, false, 65536.0);
  run.observe(4, {{"y.cast", {.greatest = 70000.0, .overflowed = 1}}, {"unscale_check", {.positive_infinite = 1}}},
              "replay");
  EXPECT_EQ(of(run).outcome, Outcome::damaged);
}

TEST_F(DiagnosisStepsTest, AnEndWithoutACauseIsUnknown) {
  ForgedRun run("bf16");
  run.small_model("bf16");
  run.step(1.0);
  run.step(nan_number);
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal);
  EXPECT_EQ(d.causes.at(0).kind, Kind::unknown);
  EXPECT_NE(d.causes[0].what.find("from step 2 on; no step was observed"), std::string::npos) << d.causes[0].what;
}

TEST_F(DiagnosisStepsTest, ALossThatRanAwayFromBelowZero) {
  ForgedRun run("bf16");
  run.small_model("bf16");
  run.observe(0, {});
  for (int i = 0; i < 10; ++i) run.step(i < 4 ? -1.0 - 0.1 * i : 3.0);
  run.events.push_back({.run = run.run.id, .step = 8, .kind = event_kind::divergence, .value = 3.0});
  const RunDiagnosis d = of(run);
  ASSERT_FALSE(d.causes.empty());
  EXPECT_NE(d.causes[0].what.find("-1.3 in step 4, 3 in step 5"), std::string::npos) << d.causes[0].what;
}

TEST_F(DiagnosisStepsTest, ADivergenceThatEndedWellIsNotPassedOver) {
  const auto outcome = [&](double middle) {
    ForgedRun run("fp16");
    run.small_model();
    run.observe(0, {});
    for (int i = 0; i < 10; ++i) run.step(i == 4 || i == 5 ? middle : 2.0 - 0.1 * i, false, 1024.0);
    if (middle > 2.0) run.events.push_back({.run = run.run.id, .step = 5, .kind = event_kind::divergence, .value = middle});
    return of(run);
  };
  const RunDiagnosis away = outcome(9.0);
  EXPECT_EQ(away.outcome, Outcome::healthy);
  EXPECT_EQ(away.verdict.find("no harm found, though the loss had run away: 10 of 10 steps applied"), 0u) << away.verdict;
  EXPECT_EQ(outcome(1.6).verdict.find("healthy: 10 of 10 steps applied"), 0u);
}

// An activation that is infinite makes the loss NaN; its gradients are finite, so the step is applied.
TEST_F(DiagnosisStepsTest, AppliedStepsWithALossThatIsNotFiniteAreDamage) {
  const auto after = [&](bool skipped) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 3; ++i) run.step(nan_number, skipped, 1024.0);
    for (int i = 0; i < 4; ++i) run.step(1.0, false, 1024.0);
    run.observe(0, {{"y", {.greatest = 72000.0, .overflowed = 4}}, {"loss", {.nan = 1}}}, "replay");
    return of(run);
  };
  const RunDiagnosis applied = after(false);
  EXPECT_EQ(applied.outcome, Outcome::damaged) << applied.verdict;
  ASSERT_FALSE(applied.notes.empty());
  EXPECT_NE(applied.notes.front().find("3 losses, 3 of them in steps that were applied"), std::string::npos) << applied.notes.front();
  EXPECT_EQ(after(true).outcome, Outcome::healthy) << "what was skipped came to nothing";
}

// 2^6 in step 1, 2^7.5 in step 2, 2^9 in step 3: 1.5 bits a step, 7 bits below the limit in step 3, so the limit is reached in step 8.
TEST_F(DiagnosisStepsTest, AStepThatTheRunHasPassedIsNoProjection) {
  const auto leaves = [&](int steps, double greatest) {
    ForgedRun run("fp16");
    run.small_model();
    run.run.steps_planned = 20;
    for (int i = 0; i < steps; ++i) run.step(1.0, false, 1024.0);
    run.observe(0, {{"y", {.greatest = 64.0}}});
    run.observe(1, {{"y", {.greatest = std::sqrt(64.0 * greatest)}}});
    run.observe(2, {{"y", {.greatest = greatest}}});
    const RunDiagnosis d = of(run);
    return d.watch.empty() ? std::nullopt : d.watch.front().leaves;
  };
  EXPECT_EQ(leaves(3, 512.0), 7);
  EXPECT_EQ(leaves(7, 512.0), 7);
  EXPECT_EQ(leaves(8, 512.0), std::nullopt) << "step 8 is over, and nothing left its range";
  EXPECT_EQ(leaves(20, 512.0), std::nullopt);
}

TEST_F(DiagnosisStepsTest, AReplayThatDiffersIsTheDevice) {
  ForgedRun run("fp16");
  run.small_model();
  run.step(nan_number, true, 65536.0);
  run.step(1.0, false, 32768.0);
  run.observe(0, {}, "replay");
  run.events.push_back(
      {.run = run.run.id, .step = 0, .kind = event_kind::replay, .detail_json = R"({"what": "differs"})"});
  EXPECT_EQ(of(run).causes.at(0).kind, Kind::device_fault);
  run.events[0].detail_json = R"({"what": "same"})";
  EXPECT_EQ(find(of(run), Kind::device_fault), nullptr);
}

TEST_F(DiagnosisStepsTest, AScheduleThatCountsSkippedSteps) {
  for (const bool ahead : {true, false}) {
    ForgedRun run = searching(2.0, 2, 0);
    run.steps.clear();
    for (int i = 0; i < 4; ++i)
      run.step(1.0, i < 2, 65536.0 / (1 << std::min(i, 2)), ahead ? 1e-3 * i : 1e-3 * std::max(i - 2, 0));
    const RunDiagnosis d = of(run);
    EXPECT_EQ(find(d, Kind::schedule_ahead) != nullptr, ahead);
  }
}

TEST_F(DiagnosisStepsTest, BuffersThatASkippedStepPoisoned) {
  for (const char* buffers : {"always", "transaction"}) {
    ForgedRun run("fp16");
    run.source("running", TensorRole::buffer, "fp32");
    run.small_model();
    run.node("ema", "running.ema", {"running", "y"}, "fp32", Phase::forward, {4}, R"({"momentum": 0.1})",
             TensorRole::buffer);
    run.run.attributes_json = std::string(R"({"train": {"buffers": ")") + buffers +
                              R"(", "scaler": {"policy": "pytorch", "interval": 2000}}})";
    run.step(1.0, false, 65536.0);
    run.step(nan_number, true, 65536.0);
    run.step(1.0, false, 32768.0);
    run.observe(
        1,
        {{"y", {.greatest = 1e6, .overflowed = 4}}, {"loss", {.elements = 1, .nan = 1}}, {"running.ema", {.nan = 4}}},
        "replay");
    const RunDiagnosis d = of(run);
    const bool kept = std::string(buffers) == "always";
    EXPECT_EQ(d.outcome, kept ? Outcome::damaged : Outcome::healthy) << d.verdict;
    EXPECT_EQ(find(d, Kind::buffers_poisoned) != nullptr, kept);
    EXPECT_EQ(find(d, Kind::activation_too_large)->gravity, Gravity::normal);  // the run got over it
  }
}

TEST_F(DiagnosisStepsTest, WhatFp32SharesIsNoMatterOfPrecision) {
  ForgedRun fp32("fp32", 1), fp16("fp16", 2);
  for (ForgedRun* run : {&fp32, &fp16}) {
    run->small_model(run->run.mode);
    run->step(nan_number, false, run == &fp16 ? Number(65536.0) : std::nullopt);
    run->observe(0, {{"x", {.nan = 1}}, {"y", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}});
  }
  const Diagnosis d = diagnose(forge(in("a.ulp"), {&fp32, &fp16}));
  EXPECT_NE(d.runs.at(1).verdict.find("fp32 in this file has the same fault"), std::string::npos) << d.runs[1].verdict;
  const Diagnosis alone = diagnose(RunFileReader(in("a.ulp")), {.mode = "fp16"});
  ASSERT_EQ(alone.runs.size(), 1u);
  EXPECT_EQ(alone.runs[0].verdict, d.runs[1].verdict) << "it is so, whichever mode was asked for";
}

TEST_F(DiagnosisStepsTest, WhatFp32DoesNotComeThroughEitherIsOfferedALowerRate) {
  ForgedRun fp32("fp32", 1), fp16("fp16", 2);
  for (ForgedRun* run : {&fp32, &fp16}) {
    run->small_model(run->run.mode);
    const Number scale = run == &fp16 ? Number(65536.0) : std::nullopt;
    run->step(1.0, false, scale);
    for (int i = 0; i < 3; ++i) run->step(nan_number, run == &fp16, scale);
  }
  fp16.observe(1, {{"y", {.greatest = 1e6, .overflowed = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
  const Diagnosis d = diagnose(forge(in("a.ulp"), {&fp32, &fp16}), {.mode = "fp16"});
  EXPECT_NE(d.runs.at(0).verdict.find("fp32 in this file does not come through either"), std::string::npos) << d.runs[0].verdict;
  const auto& remedies = d.runs[0].causes.at(0).remedies;
  EXPECT_EQ(std::count_if(remedies.begin(), remedies.end(), [](const Remedy& r) { return r.mend == "lr"; }), 1);
}

TEST_F(DiagnosisStepsTest, ParametersThatLackAGradientInOneModeAlone) {
  ForgedRun fp32("fp32", 1), fp16("fp16", 2);
  fp32.small_model("fp32");
  fp16.small_model();
  for (ForgedRun* run : {&fp32, &fp16}) {
    run->source("v", TensorRole::master_weight, "fp32");
    if (run == &fp32)
      run->node("sgd", "v.update", {"unscale_check", "global_norm", "v"}, "fp32", Phase::update, {4}, "",
                TensorRole::weight);
    run->step(1.0, false, run == &fp16 ? Number(65536.0) : std::nullopt);
    run->observe(0, {});
  }
  const Diagnosis d = diagnose(forge(in("a.ulp"), {&fp32, &fp16}));
  const Cause* cause = find(d.runs.at(1), Kind::no_gradient);
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(cause->gravity, Gravity::damage);
  EXPECT_NE(cause->what.find("but one in fp32 (v)"), std::string::npos) << cause->what;
  EXPECT_EQ(find(d.runs.at(0), Kind::no_gradient), nullptr);
}

TEST_F(DiagnosisStepsTest, WhatWasTriedSaysSo) {
  ForgedRun run("fp16");
  run.small_model();
  run.step(inf_number, true, 65536.0);
  run.observe(0, {{"y", {.greatest = 66240.0, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}},
              "replay");
  const MendRecord mend{.id = MendId{1},
                        .run = run.run.id,
                        .kind = "keep_fp32",
                        .change = "y in fp32",
                        .how_run = "10 steps from the start",
                        .status = MendStatus::verified};
  const Diagnosis d = diagnose(forge(in("a.ulp"), {&run}, {mend}));
  const auto& remedies = d.runs.at(0).causes.at(0).remedies;
  const auto kept =
      std::find_if(remedies.begin(), remedies.end(), [](const Remedy& r) { return r.mend == "keep_fp32"; });
  ASSERT_NE(kept, remedies.end());
  EXPECT_EQ(kept->status, "y in fp32: verified (10 steps from the start)");
}

TEST_F(DiagnosisStepsTest, EveryFormSaysTheSame) {
  ForgedRun run("fp16");
  run.small_model();
  run.run.non_standard = {"override of 'y': accumulate = \"fp16\""};
  run.step(nan_number, true, 65536.0);
  run.observe(0, {{"y", {.greatest = 66240.0, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}},
              "replay");
  const Diagnosis d = diagnose(forge(in("a.ulp"), {&run}));
  std::map<std::string, std::string> forms;
  for (const std::string& form : exporter_names()) {
    std::ostringstream out;
    make_exporter(form)->write(d, out);
    forms[form] = out.str();
    EXPECT_NE(forms[form].find("activation_too_large"), std::string::npos) << form;
    EXPECT_NE(forms[form].find("66240"), std::string::npos) << form;
    EXPECT_NE(forms[form].find("not tried"), std::string::npos) << form;
  }
  std::istringstream lines(forms["text"]);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_NE(forms["text"].find("accumulate"), std::string::npos);
  EXPECT_NE(forms["text"].find("[counted]"), std::string::npos);
  const auto json = nlohmann::json::parse(forms["json"]);
  EXPECT_EQ(json["runs"][0]["outcome"], "fatal");
  EXPECT_EQ(json["runs"][0]["causes"][0]["node"], "y");
  EXPECT_EQ(json["runs"][0]["causes"][0]["step"], 0);
}

}  // namespace
}  // namespace ulpscope::reports
