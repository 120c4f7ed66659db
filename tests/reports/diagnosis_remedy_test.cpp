// What is said of changes that were not run, and why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/analysis/diagnosis/remedy.h"
#include "reports/analysis/diagnosis/remedy_trials.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisRemedyTest : public Scratch {
 protected:
  /// A forward overflow of fp16, which asks for keep_fp32, bf16 and clamp; and data that are poisoned, which no run can mend.
  std::string status(const std::string& mend, const std::vector<MendRecord>& mends, bool data = false) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 3; ++i) run.step(nan_number, true, 65536.0);
    if (data)
      run.observe(0, {{"x", {.nan = 1}}, {"y", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    else
      run.observe(0, {{"y", {.greatest = 7e4, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}}, "replay");
    const RunDiagnosis d = diagnose(forge(in("a.ulp"), {&run}, mends)).runs.at(0);
    for (const Remedy& remedy : d.causes.at(0).remedies)
      if (remedy.mend == mend) return remedy.status;
    return "no such remedy";
  }
  static MendRecord record(const std::string& kind, MendStatus status, const std::string& why) {
    return {.id = MendId{1}, .run = RunId{1}, .kind = kind, .change = "it", .status = status, .detail_json = R"({"why": ")" + why + "\"}"};
  }
};

TEST_F(DiagnosisRemedyTest, WhatWasNotTriedSaysWhy) {
  EXPECT_EQ(status("bf16", {}), not_tried) << "mend was not run";
  EXPECT_EQ(status("bf16", {record("bf16", MendStatus::not_tried, "the budget of 1 min was spent")}), "it: not tried (the budget of 1 min was spent)");
  EXPECT_EQ(status("clamp", {record("bf16", MendStatus::verified, "")}), not_asked_for) << "it was run, and made nothing of the kind";
  EXPECT_EQ(status("bf16", {record("bf16", MendStatus::verified, "")}), "it: verified");
  EXPECT_EQ(status("data", {}, true), cannot_be_tried);
  EXPECT_EQ(status("data", {record("bf16", MendStatus::refuted, "")}, true), cannot_be_tried);
  EXPECT_TRUE(mend_tries("keep_fp32"));
  for (const char* kind : {"", "data", "restart", "reset_buffers", "device", "observe", "cast_cache"}) EXPECT_FALSE(mend_tries(kind)) << kind;
}

/// z (linear) reads sq, which is kept in fp32, through a cast of its own that overflows: kept in fp32 z needs no cast, and sq is in fp32 already.
TEST_F(DiagnosisRemedyTest, TheReaderOfACastIsKeptInFp32NotWhatMadeTheNumber) {
  for (const bool asked : {false, true}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp32");
    run.source("w", TensorRole::master_weight, "fp32");
    run.node("mul", "sq", {"x", "x"}, "fp32");
    run.node("cast", "z.in0.fp16", {"sq"}, "fp16");
    run.node("linear", "z", {"z.in0.fp16", "w"}, "fp16");
    if (asked) run.nodes.back().format_reason = "override: computes in fp16 by 'z*'; override: result in fp16 by 'z'";
    run.node("mean", "loss", {"z"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    for (int i = 0; i < 3; ++i) run.step(nan_number, true, 64.0);
    run.observe(0, {{"sq", {.greatest = 9e4}}, {"z.in0.fp16", {.greatest = 9e4, .overflowed = 1}}, {"z", {.positive_infinite = 4}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
    const RunDiagnosis d = diagnose(forge(in("a.ulp"), {&run})).runs.at(0);
    ASSERT_EQ(d.causes.at(0).node, "z.in0.fp16") << d.verdict;
    const auto kept = std::find_if(d.causes[0].remedies.begin(), d.causes[0].remedies.end(), [](const Remedy& r) { return r.mend == "keep_fp32"; });
    ASSERT_NE(kept, d.causes[0].remedies.end());
    EXPECT_EQ(kept->ulpscope, asked ? "override = [{nodes = \"z\", compute = \"fp32\", output = \"fp32\"}]" : "train.keep_fp32=z");
    EXPECT_EQ(kept->change.find("the last that names a node wins") != std::string::npos, asked) << kept->change;
  }
}

/// An accumulator's format is a setting: bf16 instead of fp16 would leave it as it is. Its infinity has swallowed nothing.
TEST_F(DiagnosisRemedyTest, AnAccumulatorThatOverflowsIsKeptInFp32) {
  ForgedRun run("fp32");
  run.source("w", TensorRole::master_weight, "fp32", {});
  run.source("g", TensorRole::gradient, "fp32", {});
  run.source("sum", TensorRole::gradient, "fp16", {});
  run.node("mul", "loss", {"w", "w"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {});
  run.node("accumulate", "w.accumulate", {"loss.dx", "sum"}, "fp16", Phase::backward, {}, "", TensorRole::gradient);
  run.node("unscale_check", "unscale_check", {"w.accumulate"}, "fp32", Phase::update, {}, "", TensorRole::gradient);
  run.run.micro_batches = 3;
  for (int i = 0; i < 3; ++i) run.step(1.0, true);
  for (int m = 0; m < 3; ++m)
    run.observe(0, {{"loss.dx", {.elements = 1, .greatest = 3e4, .mean = 3e4}},
                    {"w.accumulate", {.elements = 1, .greatest = 3e4 * (m + 1), .mean = m < 2 ? 3e4 * (m + 1) : inf_number, .overflowed = m == 2 ? 1 : 0}},
                    {"unscale_check", {.elements = 1, .positive_infinite = m == 2 ? 1 : 0}}},
                "sampled", m);
  const RunDiagnosis d = diagnose(forge(in("a.ulp"), {&run})).runs.at(0);
  ASSERT_FALSE(d.causes.empty()) << d.verdict;
  EXPECT_EQ(d.causes.at(0).operation, "accumulate");
  ASSERT_EQ(d.causes[0].remedies.size(), 1u);
  EXPECT_EQ(d.causes[0].remedies[0].ulpscope, "train.accumulator_format=fp32");
  for (const Cause& cause : d.causes) EXPECT_NE(cause.kind, Kind::sum_stuck) << cause.what;
}

TEST(RemedyTrials, StandForTheNumberAndTheCauseTheyWereMadeFor) {
  const auto record = [](const char* change, const char* settings, MendStatus status, const char* target) {
    return MendRecord{.run = RunId{1}, .kind = "scale", .change = change, .settings_json = fmt::format(R"({{"ulpscope": "{}"}})", settings), .status = status,
                      .detail_json = fmt::format(R"({{"targets": ["{}"]}})", target)};
  };
  const std::vector<MendRecord> mends{record("a", "train.scaler.init=0.5", MendStatus::verified, "gradient_too_large_for_scale at p.cast"),
                                      record("b", "train.scaler.init=65536", MendStatus::refuted, "scale_floor")};
  Cause gradient, floor;
  gradient.kind = Kind::gradient_too_large_for_scale;
  gradient.node = "p.cast.fp16";
  floor.kind = Kind::scale_floor;
  const auto change = [&](const std::string& settings, const Cause& cause) {
    const MendRecord* trial = trial_for({.ulpscope = settings, .mend = "scale"}, cause, RunId{1}, mends);
    return trial == nullptr ? std::string("none") : trial->change;
  };
  EXPECT_EQ(change("train.scaler.init=0.5", gradient), "a");
  EXPECT_EQ(change("train.scaler.init=0.5, train.scaler.min=0.5", floor), "a") << "the number decides, whoever asks";
  EXPECT_EQ(change("train.scaler.init=65536", gradient), "b");
  EXPECT_EQ(change("train.scaler.init=8", gradient), "none") << "what was tried with other numbers says nothing of this one";
  EXPECT_EQ(change("", gradient), "a") << "made for this cause";
  EXPECT_EQ(change("", floor), "b");
  EXPECT_EQ(trial_for({.ulpscope = "", .mend = "scale"}, floor, RunId{2}, mends), nullptr) << "of another run";
  EXPECT_EQ(trial_for({.ulpscope = "", .mend = "bf16"}, floor, RunId{1}, mends), nullptr);
}

}  // namespace
}  // namespace ulpscope::reports
