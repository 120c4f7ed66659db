// What a run came to: how it ended, and what is known if steps are missing.
#include "reports/analysis/run_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/analysis/compare.h"
#include "reports/export/exporter.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <class Section>
std::string written(const char* form, const Section& section) {
  std::ostringstream out;
  make_exporter(form)->write(section, out);
  return out.str();
}

class RunResults : public Scratch {
 protected:
  /// A file with what `fill` pushes beside the runs.
  RunFileReader file(std::vector<MadeUpRun> runs, const std::function<void(RunFileWriter&)>& fill) {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    std::int64_t id = 1;
    for (MadeUpRun& run : runs) {
      run.run.id = RunId{id++};
      write_run(writer, run);
    }
    fill(writer);
    writer.close();
    return RunFileReader(in("a.ulp"));
  }
  static RunResult first(const RunFileReader& reader) { return summarise_run(reader, reader.runs().front()); }
};

// A mode without a scaler stops at the first gradient that is not finite; the loss of that step still is.
TEST_F(RunResults, AStopByGradientsIsAResultThatIsNotFinite) {
  std::vector<MadeUpRun> runs;
  for (const std::int64_t seed : {1, 2, 3})
    runs.push_back(made_up("fp32", seed, 1.9 + 0.05 * static_cast<double>(seed)));
  for (const std::int64_t seed : {1, 2, 3}) {
    MadeUpRun stopped = made_up("bf16", seed, 2.0);
    stopped.steps = 8;
    stopped.overflow = [](std::int64_t i) { return i == 7; };
    stopped.run.status = RunStatus::failed;
    stopped.run.message = "a gradient is not finite in step 8";
    runs.push_back(stopped);
  }
  const RunFileReader reader = file(runs, [](RunFileWriter& writer) {
    for (const std::int64_t id : {4, 5, 6})
      writer.push(EventRecord{.run = RunId{id}, .step = 7, .kind = event_kind::stop, .value = 3.0});
  });
  const Comparison comparison = compare({&reader});
  ASSERT_EQ(comparison.modes.size(), 2u);
  const ModeResult& bf16 = comparison.modes[1];
  EXPECT_EQ(bf16.judgement.pairs, 3) << "not missing";
  EXPECT_EQ(bf16.judgement.verdict, Verdict::worse);
  EXPECT_TRUE(std::isnan(*bf16.final_loss.value));
  EXPECT_TRUE(std::isnan(*bf16.held_out_loss.value)) << "an evaluation before the end is not what it came to";
  EXPECT_EQ(bf16.runs[0].stopped_at, 7);
  EXPECT_EQ(bf16.notes[0], "seed 1: diverged: a gradient that is not finite ended it in step 8; the last finite loss is 3, in step 8");
  EXPECT_EQ(bf16.runs[0].last_finite_loss, 3.0);
  EXPECT_EQ(bf16.runs[0].last_finite_step, 7);
  EXPECT_EQ(final_loss_words(bf16.runs[0], [](double) { return "a number"; }), "none");
}

TEST_F(RunResults, ALossThatRanAwayIsSaid) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.loss = [](std::int64_t i) { return i < 5 ? 2.0 : 9.0; };
  const RunFileReader reader = file({run}, [](RunFileWriter& writer) {
    writer.push(EventRecord{.run = RunId{1}, .step = 9, .kind = event_kind::divergence, .value = 9.0});
  });
  EXPECT_EQ(first(reader).ran_away_at, 9);
  EXPECT_FALSE(first(reader).diverged()) << "its loss is a number and is compared";
  EXPECT_THAT(compare({&reader}).modes[0].notes,
              testing::ElementsAre("seed 1: diverged: the loss ran away, said in step 10"));
  EXPECT_FALSE(first(reader).came_back);
}

TEST_F(RunResults, ALossThatCameBackSaysSoAndStillRanAway) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.loss = [](std::int64_t i) { return i < 5 ? 2.0 : i < 9 ? 9.0 : 1.5; };
  const RunFileReader reader = file({run}, [](RunFileWriter& writer) {
    writer.push(EventRecord{.run = RunId{1}, .step = 7, .kind = event_kind::divergence, .value = 9.0});
  });
  EXPECT_TRUE(first(reader).came_back);
  EXPECT_TRUE(first(reader).went_astray());
  EXPECT_THAT(compare({&reader}).modes[0].notes,
              testing::ElementsAre("seed 1: diverged: the loss ran away, said in step 8; it came back, to 1.5 at the end"));
}

TEST_F(RunResults, SkippedStepsAtTheEndAreNoDivergenceBeforeTheyAreThree) {
  const auto ending = [&](std::int64_t skips) {
    MadeUpRun run = made_up("fp16", 1, 2.0);
    run.overflow = [skips](std::int64_t i) { return i >= 20 - skips; };
    run.loss = [skips](std::int64_t i) { return i >= 20 - skips ? INFINITY : 2.0; };
    return first(make_run_file(in("a.ulp"), {run}));
  };
  for (const std::int64_t skips : {1, 2}) {
    const RunResult result = ending(skips);
    EXPECT_FALSE(result.diverged()) << skips;
    EXPECT_FALSE(result.went_astray());
    EXPECT_EQ(result.final_loss, 2.0);
    EXPECT_EQ(*divergence_note(result), skips == 1 ? "the loss was not finite in 1 step, first in step 20, and it was skipped"
                                                   : "the loss was not finite in 2 steps, first in step 19, and all were skipped");
  }
  EXPECT_EQ(ending(3).diverged_at, 17);
  EXPECT_EQ(*divergence_note(ending(3)), "diverged: the loss is not finite from step 18 on; the last finite one is 2, in step 17");
  EXPECT_EQ(*divergence_note(ending(20)), "diverged: the loss is not finite from step 1 on; no loss on record is finite");
  EXPECT_EQ(*ending(3).final_loss, INFINITY);
}

TEST_F(RunResults, AStepThatIsAppliedBeginsTheDivergence) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.overflow = [](std::int64_t i) { return i == 17; };
  run.loss = [](std::int64_t i) { return i >= 17 ? NAN : 2.0; };
  const RunResult result = first(make_run_file(in("a.ulp"), {run}));
  EXPECT_EQ(result.diverged_at, 18) << "the skipped step before changed nothing";
  run.steps = 18;   // and a step that ends the run is skipped, too, but no harmless one
  const RunFileReader stopped = file({run}, [](RunFileWriter& writer) {
    writer.push(EventRecord{.run = RunId{1}, .step = 17, .kind = event_kind::stop, .value = NAN});
  });
  EXPECT_EQ(first(stopped).diverged_at, 17);
  EXPECT_EQ(first(stopped).losses_skipped, 0);
}

// One applied step with a loss that is no number, among the last ten: the run did not end in it.
TEST_F(RunResults, TheFinalLossIsOfStepsThatHaveOne) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.loss = [](std::int64_t i) { return i == 15 ? NAN : i > 15 ? 3.0 : 2.0; };
  const RunResult result = first(make_run_file(in("a.ulp"), {run}));
  EXPECT_FALSE(result.diverged());
  EXPECT_DOUBLE_EQ(*result.final_loss, 2.4) << "the last ten that are finite: six of 2 and four of 3";
  EXPECT_EQ(result.last_finite_step, 19);
  EXPECT_EQ(*divergence_note(result), "the loss was not finite in 1 step, first in step 16, and recovered");
  EXPECT_EQ(final_loss_words(result, [](double x) { return std::to_string(static_cast<int>(10.0 * x + 0.5)); }), "24");
}

TEST_F(RunResults, AppliedIsWhatTheLastStepSays) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.overflow = [](std::int64_t i) { return i == 3; };
  const RunFileReader whole = file({run}, [](RunFileWriter&) {});
  EXPECT_EQ(first(whole).applied, 19);
  EXPECT_EQ(first(whole).skipped, 1);
  EXPECT_EQ(first(whole).overflows, 1);
}

TEST_F(RunResults, CountsOfStepsAreUnknownIfStepsAreMissing) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.steps = 10;
  const RunFileReader gap = file({run}, [](RunFileWriter& writer) {
    writer.push(StepRecord{.run = RunId{1}, .step = 15, .applied = 15, .loss = 2.0});
  });
  EXPECT_EQ(first(gap).applied, std::nullopt);
  EXPECT_EQ(first(gap).overflows, std::nullopt);
  EXPECT_FALSE(compare({&gap}).modes[0].skipped.known());
  const RunFileReader cut = file({run}, [](RunFileWriter& writer) {
    writer.push(CompletenessRecord{.kind = "lost", .subject = "step", .count = 2});
  });
  EXPECT_EQ(first(cut).applied, std::nullopt) << "the end may be missing";
  run.steps = 20;
  const RunFileReader other = file({run}, [](RunFileWriter& writer) {
    writer.push(CompletenessRecord{.kind = "lost", .subject = "step", .count = 2});
  });
  EXPECT_EQ(first(other).applied, 20) << "all of its steps are there: others were lost";
}

TEST_F(RunResults, WhatIsMissingFromAFileThatWasCutOffIsUnknown) {
  MadeUpRun run = made_up("fp32", 1, 2.0);
  EXPECT_THAT(written("text", summarise(make_run_file(in("a.ulp"), {run}))),
              HasSubstr("completeness    nothing was dropped, lost or refused\n"));
  run.run.status = RunStatus::running;
  const Summary summary = summarise(make_run_file(in("a.ulp"), {run}));
  EXPECT_THAT(written("text", summary), AllOf(HasSubstr("completeness    unknown: the file was cut off\n"),
                                              Not(HasSubstr("nothing was dropped"))));
  EXPECT_EQ(json::parse(written("json", summary))["cut_off"], true);
  EXPECT_THAT(written("csv", summary), HasSubstr("\r\nfile,cut_off,1,\r\n"));
}

TEST_F(RunResults, JsonCountsStepsFromZeroAndSaysSo) {
  MadeUpRun run = made_up("fp32", 1, 2.0);
  run.loss = [](std::int64_t i) { return i > 10 ? std::numeric_limits<double>::quiet_NaN() : 2.0; };
  const RunFileReader reader = make_run_file(in("a.ulp"), {run});
  const json document = json::parse(written("json", compare({&reader})));
  EXPECT_EQ(document["modes"][0]["runs"][0]["diverged_at"], 11);
  EXPECT_THAT(document["modes"][0]["notes"][0].get<std::string>(), HasSubstr("step 12"));
  for (const json& member : document["run_members"])
    EXPECT_TRUE(document["modes"][0]["runs"][0].contains(member["key"])) << member;
  EXPECT_THAT(document["run_members"][0]["meaning"].get<std::string>(), HasSubstr("counted from 0"));
}

}  // namespace
}  // namespace ulpscope::reports
