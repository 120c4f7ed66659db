// The rules of `ulpscope check`, each with a recording that breaks it and one that does not.
#include "reports/analysis/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/export/exporter.h"
#include "reports/run_file/sqlite.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Check : public Scratch {
 protected:
  CheckResult of(const std::vector<MadeUpRun>& runs, const std::string& rules) {
    const RunFileReader reader = make_run_file(in("a.ulp"), runs);
    return check({&reader}, parse_check_rules({rules}));
  }
  static std::string write(const CheckResult& result, const char* form) {
    std::ostringstream out;
    make_exporter(form)->write(result, out);
    return out.str();
  }
  static std::string mistake(const std::string& rules) {
    try {
      parse_check_rules({rules});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

constexpr const char* all_rules = "overflow,divergence,skip-rate=0,undecided,worse,unfinished,incomplete,non-standard";

std::vector<MadeUpRun> three_seeds(const std::string& mode, double offset) {
  std::vector<MadeUpRun> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(made_up("fp32", i, 1.9 + 0.1 * i));
    runs.push_back(made_up(mode, i, 1.9 + 0.1 * i + offset));
  }
  return runs;
}

TEST_F(Check, NothingIsFoundInACleanRecording) {
  const CheckResult result = of(three_seeds("fp16", 0.001), all_rules);
  EXPECT_TRUE(result.findings.empty()) << write(result, "text");
  EXPECT_EQ(result.runs, 6);
  EXPECT_THAT(write(result, "text"), AllOf(HasSubstr("a.ulp: nothing found in 6 runs (overflow, divergence, skip-rate=0"),
                                           testing::EndsWith(")\n")));
}

TEST_F(Check, EachRuleFindsItsOwn) {
  auto one = [&](std::vector<MadeUpRun> runs, const std::string& rule) {
    const CheckResult result = of(runs, rule);
    EXPECT_EQ(result.findings.size(), 1u) << rule << write(result, "text");
    EXPECT_EQ(of(three_seeds("fp16", 0.001), rule).findings.size(), 0u);
    return result.findings.empty() ? Finding{} : result.findings[0];
  };
  auto runs = three_seeds("fp16", 0.001);
  runs[1].overflow = [](std::int64_t step) { return step == 4 || step == 7; };
  for (MadeUpRun& run : runs)
    if (run.run.mode == "fp16") run.run.loss_scaling = "dynamic";
  EXPECT_EQ(one(runs, "overflow").text, "a gradient was not finite in 2 of 20 steps; 2 were skipped");
  EXPECT_EQ(one(runs, "skip-rate=0.09").text, "2 of 20 steps were skipped: 0.1, more than 0.09");
  EXPECT_TRUE(of(runs, "skip-rate=0.1").findings.empty()) << "more than, not as many as";
  EXPECT_EQ(one(runs, "overflow").seed, 0);
  EXPECT_EQ(one(runs, "overflow").mode, "fp16");

  runs = three_seeds("fp16", 0.001);
  runs[3].loss = [](std::int64_t step) { return step > 10 ? NAN : 2.0; };
  EXPECT_THAT(one(runs, "divergence").text, HasSubstr("the loss is not finite from step 12 on"));
  runs = three_seeds("fp16", 0.001);
  runs[5].run.status = RunStatus::interrupted;
  EXPECT_THAT(one(runs, "unfinished").text, HasSubstr("interrupted after 20 of 20 steps"));
  runs = three_seeds("fp16", 0.001);
  runs[1].run.non_standard = {"train.clip_order = \"before_unscale\""};
  EXPECT_THAT(of(runs, "non-standard").findings.at(0).text, HasSubstr("before_unscale"));
  EXPECT_THAT(one(three_seeds("fp16", 0.5), "worse").text, HasSubstr("worse: held-out loss +0.5 against fp32"));
  EXPECT_THAT(of({made_up("fp32", 0, 2.0), made_up("fp16", 0, 2.0)}, "undecided").findings.at(0).text, HasSubstr("a verdict needs 3"));
}

TEST_F(Check, WhatIsMissingCannotBeVouchedFor) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp16", 0, 2.0)});
  {
    RunFileWriter writer(in("a.ulp"), {.append = true});
    writer.push(CompletenessRecord{.kind = "lost", .subject = "step", .count = 3, .detail = "disk full"});
    writer.push(RunRecord{.id = reader.runs().at(0).id, .mode = "fp16", .status = RunStatus::interrupted, .steps_planned = 40});
    writer.close();
  }
  const CheckResult result = check({&reader}, parse_check_rules({"overflow", "skip-rate=1", "incomplete"}));
  ASSERT_EQ(result.findings.size(), 4u) << write(result, "text");
  EXPECT_THAT(result.findings[0].text, HasSubstr("unknown: steps are missing"));
  EXPECT_EQ(result.findings[2].text, "steps are missing from the recording");
  EXPECT_EQ(result.findings[3].text, "step lost: 3 (disk full)");
}

TEST_F(Check, ATimingPhaseThatWasCutShortIsUnfinished) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp16", 0, 2.0)});
  {
    RunFileWriter writer(in("a.ulp"), {.append = true});
    writer.push(CompletenessRecord{.kind = "note", .subject = "timing", .detail = "interrupted after 30 of 100 steps"});
    writer.push(CompletenessRecord{.run = reader.runs().at(0).id, .kind = "note", .subject = "timing", .detail = "not timed: a gradient is not finite in step 3"});
    writer.close();
  }
  const CheckResult result = check({&reader}, parse_check_rules({"unfinished", "incomplete"}));
  ASSERT_EQ(result.findings.size(), 2u) << write(result, "text");
  for (const Finding& finding : result.findings) EXPECT_EQ(finding.text, "the timing phase: interrupted after 30 of 100 steps");
}

TEST_F(Check, WhatAMachineDoesNotGiveIsNoGap) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp16", 0, 2.0)});
  const auto found_with = [&](const char* kind, const char* subject) {
    RunFileWriter writer(in("a.ulp"), {.append = true});
    writer.push(CompletenessRecord{.run = reader.runs().at(0).id, .kind = kind, .subject = subject, .detail = "why"});
    writer.close();
    return check({&reader}, parse_check_rules({"incomplete"})).findings.size();
  };
  for (const char* subject : {"kernel trace", "GPU state", "GPU state: power", "kernel counters"}) EXPECT_EQ(found_with("refused", subject), 0u) << subject;
  EXPECT_EQ(found_with("refused", "kernel trace: flush of the trace"), 1u) << "what was not handed over is a gap";
  EXPECT_EQ(found_with("fault", "GPU state"), 2u);
  EXPECT_EQ(found_with("lost", "kernel trace: launches"), 3u);
}

TEST_F(Check, StepsThatAreNotThereAreNoneThatWentWell) {
  auto runs = three_seeds("fp16", 0.001);
  runs[1].steps = 17;
  runs[3].steps = 0;
  const CheckResult result = of(runs, all_rules);
  EXPECT_EQ(std::count_if(result.findings.begin(), result.findings.end(), [](const Finding& f) { return f.text.starts_with("unknown: steps are missing"); }), 6)
      << "overflow, divergence, skip-rate: " << write(result, "text");
  EXPECT_EQ(of(runs, "incomplete").findings.at(0).text, "steps are missing from the recording: 17 of 20 are there");
  EXPECT_EQ(of(runs, "unfinished").findings.size(), 2u);
  const RunFileReader reader(in("a.ulp"));
  for (const ModeResult& mode : compare({&reader}).modes)
    EXPECT_EQ(mode.applied.value && mode.overflows.value, mode.mode == "fp32") << "unknown, not 0";
}

TEST_F(Check, LossesThatAreNotThere) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp16", 0, 2.0)});
  Database(in("a.ulp"), SQLITE_OPEN_READWRITE).execute("UPDATE step SET loss = NULL WHERE step > 14");
  const CheckResult result = check({&reader}, parse_check_rules({"divergence", "incomplete"}));
  ASSERT_EQ(result.findings.size(), 2u) << write(result, "text");
  EXPECT_EQ(result.findings[0].text, "unknown: 5 of 20 steps have no loss on record");
}

TEST_F(Check, RunsThatAreNotThere) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp32", 3, 2.0), made_up("fp32", 4, 2.0), made_up("fp16", 4, 2.0)});
  Database(in("a.ulp"), SQLITE_OPEN_READWRITE)
      .execute("UPDATE experiment SET configuration = '[train]\nseeds = 9\n\n[run]\nmodes = [\"fp32\", \"fp16\", \"bf16\"]\nseeds = 2\nseed = 3\n'");
  const CheckResult result = check({&reader}, parse_check_rules({"overflow", "unfinished", "worse"}));
  ASSERT_EQ(result.findings.size(), 4u) << write(result, "text");
  EXPECT_EQ(result.findings[0].text, "unknown: 1 of 2 runs is not in the recording, the first being seed 3");
  EXPECT_EQ(result.findings[0].mode, "fp16");
  EXPECT_EQ(result.findings[3].text, "2 of 2 runs are not in the recording, the first being seed 3");
  EXPECT_EQ(result.findings[3].mode, "bf16");
}

TEST_F(Check, ASkipInTheLastStepIsNoDivergence) {
  auto runs = three_seeds("fp16", 0.001);
  runs[1].overflow = [](std::int64_t step) { return step == 19; };
  runs[1].loss = [](std::int64_t step) { return step == 19 ? INFINITY : 1.9; };
  EXPECT_TRUE(of(runs, "divergence").findings.empty());
  EXPECT_EQ(of(runs, "overflow").findings.size(), 1u);
  runs[1].overflow = [](std::int64_t step) { return step >= 17; };
  runs[1].loss = [](std::int64_t step) { return step >= 17 ? INFINITY : 1.9; };
  EXPECT_EQ(of(runs, "divergence").findings.size(), 1u);
}

// A weight of the next step has an infinite activation in it that the loss swallows: no gradient says so.
TEST_F(Check, WhatObservationFoundCounts) {
  ForgedRun quiet("bf16"), loud("bf16", 2);
  for (ForgedRun* run : {&quiet, &loud}) {
    run->run.steps_planned = 3;
    run->small_model("bf16");
    for (int i = 0; i < 3; ++i) run->step(2.0);
    run->observe(0, {});
  }
  loud.observe(2, {{"y", {.elements = 4, .greatest = 1e39, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
  const RunFileReader well = forge(in("a.ulp"), {&quiet});
  EXPECT_TRUE(check({&well}, parse_check_rules({"overflow,damage,fatal"})).findings.empty());
  const RunFileReader ill = forge(in("b.ulp"), {&loud});
  const CheckResult overflow = check({&ill}, parse_check_rules({"overflow"}));
  ASSERT_EQ(overflow.findings.size(), 1u);
  EXPECT_EQ(overflow.findings[0].text, "values overflowed in 1 of 2 observed steps, first in y in step 3");
  const Diagnosis diagnosis = diagnose(ill);
  const bool fatal = diagnosis.runs.at(0).outcome == Outcome::fatal;
  ASSERT_TRUE(fatal || diagnosis.runs.at(0).outcome == Outcome::damaged);
  const CheckResult damage = check({&ill}, parse_check_rules({"damage"}));
  ASSERT_EQ(damage.findings.size(), 1u) << write(damage, "text");
  EXPECT_THAT(damage.findings[0].text, AllOf(testing::StartsWith(fatal ? "fatal: y" : "damage: y"), HasSubstr("step 3")));
  EXPECT_EQ(check({&ill}, parse_check_rules({"fatal"})).findings.size(), fatal ? 1u : 0u);
  EXPECT_THAT(of({made_up("fp32", 0, 2.0)}, "damage").findings.at(0).text, HasSubstr("unknown: no step was observed"));
}

TEST_F(Check, EveryFormHoldsEveryFinding) {
  auto runs = three_seeds("fp16", 0.5);
  runs[1].overflow = [](std::int64_t step) { return step == 4; };
  const CheckResult result = of(runs, "overflow,worse");
  ASSERT_EQ(result.findings.size(), 2u);
  const std::string text = write(result, "text"), csv = write(result, "csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "a line each";
  EXPECT_THAT(text, HasSubstr("a.ulp: overflow: fp16, seed 0: a gradient was not finite in 1 of 20 steps"));
  EXPECT_THAT(text, HasSubstr("a.ulp: worse: fp16: worse: "));
  const auto json = nlohmann::json::parse(write(result, "json"));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["seed"], 0);
  EXPECT_TRUE(json["findings"][1]["seed"].is_null());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

TEST_F(Check, RulesThatAreNoneAreRefused) {
  EXPECT_THAT(mistake("overflows"), AllOf(HasSubstr("--fail-on overflows: there is no such rule"), HasSubstr("skip-rate=X")));
  EXPECT_THAT(mistake(""), HasSubstr("there is no such rule"));
  EXPECT_THAT(mistake("skip-rate"), HasSubstr("takes a share from 0 to 1: skip-rate=0.1"));
  EXPECT_THAT(mistake("skip-rate=2"), HasSubstr("takes a share"));
  EXPECT_THAT(mistake("skip-rate=nan"), HasSubstr("takes a share"));
  EXPECT_THAT(mistake("overflow=1"), HasSubstr("takes no number"));
  EXPECT_EQ(parse_check_rules({"skip-rate=0.5,overflow", "skip-rate=0.25"}).size(), 2u);
  EXPECT_EQ(*parse_check_rules({"skip-rate=0.5", "skip-rate=0.25"})[0].limit, 0.25) << "the last counts";
}

}  // namespace
}  // namespace ulpscope::reports
