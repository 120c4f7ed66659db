// The sections of a report, from files of a test's own.
#include "reports/analysis/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "reports/analysis/steps_to_read.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

class ReportSections : public Scratch {
 protected:
  Report of(const RunFileReader& reader) { return make_report({&reader}); }
};

/// fp32 with these seeds, and another mode with the same.
std::vector<MadeUpRun> seeds_of(const std::string& mode, double difference) {
  std::vector<MadeUpRun> runs;
  for (int seed = 0; seed < 3; ++seed) {
    runs.push_back(made_up("fp32", seed, 2.0 + 0.1 * seed));
    runs.push_back(made_up(mode, seed, 2.0 + 0.1 * seed + difference));
  }
  return runs;
}

/// fp32 and fp16 of the small model: y overflows in step 1 of fp16, which is skipped.
struct TwoModes {
  ForgedRun fp32{"fp32", 1}, fp16{"fp16", 2};
  explicit TwoModes(std::int64_t steps = 4) {
    fp32.small_model("fp32");
    fp16.small_model();
    for (std::int64_t i = 0; i < steps; ++i) {
      fp32.step();
      fp16.step(1.0, i == 1, i <= 1 ? 65536.0 : 32768.0);
      Counts y{.greatest = 2048.0};
      if (i == 1) y = {.greatest = 70000.0, .overflowed = 3};
      const Counts gradient{.greatest = 16.0, .flushed = 1, .zero = 1};
      const Counts weight{.lost = i == 2 ? 2 : 0};
      fp16.observe(i, {{"y", y}, {"y.cast", gradient}, {"w", weight}, {"loss", {.positive_infinite = i == 1 ? 1 : 0}}}, i == 1 ? "replay" : "sampled");
      for (TensorStatsRecord& row : fp16.stats) row.histogram = ExponentHistogram{-1, {3, 1}};
    }
    fp16.events.push_back({.run = RunId{2}, .step = 1, .kind = event_kind::overflow});
    fp16.events.push_back({.run = RunId{2}, .step = 1, .kind = event_kind::scale_change, .value = 32768.0});
  }
  RunFileReader file(const std::string& path, const std::vector<MendRecord>& mends = {}) { return forge(path, {&fp32, &fp16}, mends); }
};

TEST_F(ReportSections, TheVerdictOnEmulatedTimesIsUndecidedAndSaysSoFirst) {
  std::vector<MadeUpRun> runs = seeds_of("fp16", 0.001);
  for (MadeUpRun& run : runs) run.step_seconds = {run.run.mode == "fp32" ? 0.2 : 0.1, run.run.mode == "fp32" ? 0.2 : 0.1};
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const Report report = of(reader);
  EXPECT_EQ(report.verdict.mode, "");
  EXPECT_THAT(report.verdict.sentence, testing::StartsWith("Undecided: no GPU is named"));
  EXPECT_THAT(report.verdict.sentence, HasSubstr("by their numerics"));
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  for (const ModeAdvice& mode : report.verdict.answers[0].advice.modes) EXPECT_FALSE(mode.evidence.measured.value || mode.speed.value) << mode.evidence.mode;
  ASSERT_FALSE(report.verdict.caveats.empty());
  EXPECT_THAT(report.verdict.caveats.front(), HasSubstr("emulated: fp16"));
  EXPECT_FALSE(report.verdict.answers[0].would_change.empty());
  ASSERT_EQ(report.runs.size(), 6u);
  EXPECT_EQ(report.runs[4].label, "fp16, seed 1");
  EXPECT_TRUE(report.runs[3].first_of_mode);
}

TEST_F(ReportSections, AMeasuredSpeedDecidesAndALossBeyondTheNoiseForbids) {
  for (const double difference : {0.001, 1.0}) {
    std::vector<MadeUpRun> runs = seeds_of("bf16", difference);
    for (MadeUpRun& run : runs) {
      run.run.device = "NVIDIA A100-SXM4-80GB";
      run.run.device_kind = "cuda";
      run.run.time_provenance = Provenance::measured;
      run.step_seconds = {run.run.mode == "fp32" ? 0.2 : 0.1, run.run.mode == "fp32" ? 0.2 : 0.1};
    }
    const RunFileReader reader = make_run_file(in("a.ulp"), runs);
    const Report report = of(reader);
    EXPECT_EQ(report.verdict.mode, difference < 0.1 ? "bf16" : "fp32") << report.verdict.sentence;
    EXPECT_TRUE(report.verdict.caveats.empty());
    EXPECT_THAT(report.verdict.sentence, HasSubstr("on A100 SXM 80GB: "));
    const std::vector<std::string> why = report.verdict.all(&VerdictAnswer::why);
    if (difference < 0.1) {
      EXPECT_THAT(report.verdict.all(&VerdictAnswer::costs), testing::Contains(HasSubstr("2.00 × fp32's speed")));
      EXPECT_TRUE(report.verdict.modes[1].possible);
    } else {
      EXPECT_THAT(why, testing::Contains(testing::StartsWith("bf16 is out: worse than fp32 beyond seed noise")));
      EXPECT_FALSE(report.verdict.modes[1].possible);
    }
  }
}

TEST_F(ReportSections, OneSeedCarriesNoVerdict) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp32", 0, 2.0), made_up("bf16", 0, 2.0)});
  const Report report = of(reader);
  EXPECT_EQ(report.verdict.mode, "");
  EXPECT_THAT(report.verdict.sentence, HasSubstr("open: bf16"));
  EXPECT_THAT(report.verdict.answers[0].would_change, testing::Contains(HasSubstr("3 seeds")));
}

// More seeds would not clear what came to harm, and nothing can be held against an fp32 that did.
TEST_F(ReportSections, WhatCameToHarmIsOutWhateverTheSeeds) {
  for (const char* const sick : {"bf16", "fp32"}) {
    std::vector<MadeUpRun> runs{made_up("fp32", 0, 2.0), made_up("tf32", 0, 2.0), made_up("bf16", 0, 2.0)};
    for (MadeUpRun& run : runs)
      if (run.run.mode == sick) run.loss = [](std::int64_t i) { return i >= 3 ? nan_number : 2.0; };
    const RunFileReader reader = make_run_file(in(std::string(sick) + ".ulp"), runs);
    const Report report = of(reader);
    EXPECT_EQ(report.verdict.mode, "");
    for (const ModeStanding& mode : report.verdict.modes) EXPECT_EQ(mode.possible, mode.label != sick) << mode.label;
    EXPECT_THAT(report.verdict.answers[0].why, testing::Contains(testing::StartsWith(std::string(sick) + " is out: ")));
  }
}

// One decision, whoever asks.
TEST_F(ReportSections, TheVerdictIsTheAnswerOfAdvise) {
  const RunFileReader reader = make_run_file(in("a.ulp"), seeds_of("bf16", 0.001));
  const Advice alone = advise({.reader = &reader});
  const Report report = of(reader);
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  EXPECT_EQ(report.verdict.answers[0].advice.reason, alone.devices.at(0).reason);
  EXPECT_THAT(report.verdict.notes, testing::Not(testing::Contains(HasSubstr("GPUs of the table"))));
}

// Runs of one setting in two files are weighed together.
TEST_F(ReportSections, SeedsInSeveralFilesAreWeighedTogether) {
  std::vector<MadeUpRun> runs = seeds_of("bf16", 0.001), first, second;
  for (MadeUpRun& run : runs) (run.run.mode == "fp32" ? first : second).push_back(run);
  const RunFileReader a = make_run_file(in("a.ulp"), first), b = make_run_file(in("b.ulp"), second);
  const Report report = make_report({&a, &b});
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  ASSERT_EQ(report.verdict.answers[0].advice.modes.size(), 2u);
  EXPECT_EQ(report.verdict.answers[0].advice.modes[1].evidence.verdict, Verdict::inside);
}

// Where an experiment was run on a CPU and on a GPU, the GPU is what is decided for.
TEST_F(ReportSections, AnAnswerForEachMachineThatIsKnown) {
  std::vector<MadeUpRun> here = seeds_of("bf16", 0.001), there = here;
  here.push_back(made_up("tf32", 0, 2.0));
  for (MadeUpRun& run : there) {
    run.run.device = "NVIDIA A100-SXM4-80GB";
    run.run.device_kind = "cuda";
    run.run.time_provenance = Provenance::measured;
    run.step_seconds = {run.run.mode == "fp32" ? 0.2 : 0.1, run.run.mode == "fp32" ? 0.2 : 0.1};
  }
  const RunFileReader a = make_run_file(in("a.ulp"), here), b = make_run_file(in("b.ulp"), there);
  const Report report = make_report({&a, &b});
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  EXPECT_EQ(report.verdict.answers[0].tag, "B");
  EXPECT_EQ(report.verdict.mode, "bf16");
  EXPECT_THAT(report.verdict.sentence, testing::StartsWith("B: bf16 on A100 SXM 80GB: 2.00 x fp32's speed"));
  ASSERT_TRUE(report.modes.machines);
  // What the answer for the GPU says of a mode holds of the CPU's line of it.
  ASSERT_EQ(report.verdict.modes.size(), 5u);
  for (const ModeStanding& mode : report.verdict.modes) {
    EXPECT_EQ(mode.possible, mode.label != "A tf32") << mode.label;
    EXPECT_EQ(mode.against, mode.possible ? "" : "not weighed: it was not run where the answer is from") << mode.label;
  }
}

TEST_F(ReportSections, TheBandIsBetweenTheSeedsOfFp32AndSpikesStayInIt) {
  std::vector<MadeUpRun> runs{made_up("fp32", 0, 2.0), made_up("fp32", 1, 2.0), made_up("fp16", 0, 2.0)};
  for (MadeUpRun& run : runs) run.steps = 1000;
  runs[0].loss = [](std::int64_t i) { return i == 777 ? nan_number : 3.0; };
  runs[1].loss = [](std::int64_t i) { return i == 500 ? 9.0 : 1.0; };
  runs[2].overflow = [](std::int64_t i) { return i == 10; };
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const Report report = make_report({&reader, &reader}, {.buckets = 100});
  EXPECT_EQ(report.files.size(), 1u);
  ASSERT_EQ(report.curves.runs.size(), 3u);
  ASSERT_EQ(report.curves.bands.size(), 1u);
  const SeedBand& band = report.curves.bands[0];
  EXPECT_EQ(band.seeds, 2);
  ASSERT_EQ(band.points.size(), 100u);
  EXPECT_EQ(band.points[50].high, 9.0);
  EXPECT_EQ(band.points[51].high, 3.0);
  EXPECT_EQ(band.points[77].low, 1.0);
  EXPECT_EQ(band.points[77].first, 770);
  EXPECT_EQ(band.points[77].last, 779);
  EXPECT_EQ(band.points[77].seeds, 2);
  EXPECT_FALSE(band.points[0].seconds) << "no step was timed";
  ASSERT_EQ(report.curves.runs[2].series.skipped.size(), 1u);
  EXPECT_EQ(report.curves.runs[2].series.skipped[0].step, 10);
}

TEST_F(ReportSections, AnOverflowIsTracedToTheOperationThatMadeItWithItsCauseAndStamp) {
  TwoModes two;
  const RunFileReader reader = two.file(in("a.ulp"), {{.id = MendId{1}, .run = RunId{2}, .kind = "keep_fp32", .change = "y in fp32", .how_run = "from step 0", .status = MendStatus::verified}});
  const Report report = of(reader);
  ASSERT_EQ(report.overflows.total, (std::vector<std::int64_t>{0, 1}));
  ASSERT_EQ(report.overflows.events.size(), 1u);
  const OverflowEvent& event = report.overflows.events[0];
  EXPECT_EQ(event.step, 1);
  EXPECT_TRUE(event.skipped);
  EXPECT_TRUE(event.observed);
  EXPECT_EQ(event.operation, "linear");
  EXPECT_EQ(event.tensor, "y");
  EXPECT_EQ(event.format, "fp16");
  EXPECT_EQ(event.not_finite, 3);
  EXPECT_EQ(event.greatest_magnitude, 70000.0);
  EXPECT_EQ(event.loss_scale, 65536.0);
  ASSERT_TRUE(event.cause);
  const OverflowCause& cause = report.overflows.causes[*event.cause];
  EXPECT_EQ(cause.cause.kind, Kind::activation_too_large);
  EXPECT_EQ(cause.stamp, "verified") << cause.status;
  ASSERT_EQ(report.scale.runs.size(), 1u);
  const ScaleHistory& history = report.scale.runs[0];
  ASSERT_EQ(history.overflows.size(), 1u);
  EXPECT_EQ(history.overflows[0].scale, 65536.0);
  EXPECT_EQ(history.overflows[0].next, 32768.0);
  EXPECT_TRUE(history.window) << "y.cast is a scaled gradient in fp16 that was observed";
}

TEST_F(ReportSections, WhatTheStepReadThatWasNotFiniteIsToldAndNoOperationIsBlamed) {
  ForgedRun run("fp16", 1);
  run.small_model();
  run.step(1.0, true, 65536.0);
  run.observe(0, {{"x", {.nan = 2}}, {"y", {.nan = 4}}, {"loss", {.nan = 1}}}, "replay");
  const RunFileReader reader = forge(in("a.ulp"), {&run});
  const Report report = of(reader);
  const OverflowEvent& event = report.overflows.events.at(0);
  EXPECT_EQ(event.tensor, "x");
  EXPECT_EQ(event.not_finite, 2);
  EXPECT_EQ(event.node, "");
}

TEST_F(ReportSections, CellsHoldTheWorstOfTheirStepsInBitsAndShares) {
  TwoModes two;
  const RunFileReader reader = two.file(in("a.ulp"));
  const Report report = of(reader);
  ASSERT_EQ(report.numerics.maps.size(), 1u) << "of fp32 nothing is observed";
  const NumericsMap& map = report.numerics.maps[0];
  EXPECT_EQ(map.observed, 4);
  EXPECT_EQ(map.columns.size(), 4u);
  const auto row = [&](const std::string& layer) {
    return map.cells.at(static_cast<std::size_t>(std::find(map.layers.begin(), map.layers.end(), layer) - map.layers.begin()));
  };
  const auto y = row("y");
  EXPECT_NEAR(*y[0].head_room, std::log2(65520.0 / 2048.0), 1e-12);
  EXPECT_NEAR(*y[1].head_room, std::log2(65520.0 / 70000.0), 1e-12);
  EXPECT_TRUE(y[1].not_finite);
  EXPECT_FALSE(y[2].not_finite);
  EXPECT_NEAR(*y[0].flushed, 1.0 / 3.0, 1e-12) << "y.cast: 1 of 4 elements less 1 zero";
  EXPECT_FALSE(y[0].error);
  EXPECT_NEAR(*row("w")[2].lost, 2.0 / 12.0, 1e-12) << "of w, its copy and what the update made, 4 elements each";
  EXPECT_EQ(row("w")[1].lost, 0.0);
  // The worst of all steps in one column.
  const NumericsSection narrow = numerics_section(report.runs, {.columns = 1});
  ASSERT_EQ(narrow.maps[0].columns.size(), 1u);
  EXPECT_EQ(narrow.maps[0].columns[0].steps, 4);
  const auto worst = narrow.maps[0].cells[static_cast<std::size_t>(std::find(map.layers.begin(), map.layers.end(), "y") - map.layers.begin())];
  EXPECT_LT(*worst[0].head_room, 0.0);
  // Tensors nearest to trouble first; the worst step, then the latest.
  ASSERT_GE(report.numerics.histograms.size(), 2u);
  EXPECT_EQ(report.numerics.histograms[0].tensor, "y");
  EXPECT_EQ(report.numerics.histograms[0].stats.step, 1);
  EXPECT_EQ(report.numerics.histograms[0].why, "values that are not finite");
  EXPECT_EQ(report.numerics.histograms[1].stats.step, 3);
  EXPECT_EQ(report.numerics.formats[0].least_subnormal, -24);
  EXPECT_EQ(report.numerics.formats[0].least_normal, -14);
  EXPECT_EQ(report.numerics.formats[0].greatest, 15);
}

TEST_F(ReportSections, OfManyObservedStepsThoseWithAnOverflowAreRead) {
  TwoModes two(100);
  const RunFileReader reader = two.file(in("a.ulp"));
  EXPECT_EQ(reader.observed_steps(RunId{2}).size(), 100u);
  EXPECT_TRUE(reader.observed_steps(RunId{1}).empty());
  const auto in_one = static_cast<std::int64_t>(reader.tensor_stats(RunId{2}, {.first = 5, .end = 6}).size());
  const std::vector<std::int64_t> steps = steps_to_read(reader, RunId{2}, in_one * 10);
  EXPECT_LE(steps.size(), 10u);
  EXPECT_GE(steps.size(), 8u);
  EXPECT_EQ(steps.front(), 0);
  EXPECT_EQ(steps.back(), 99);
  EXPECT_THAT(steps, testing::Contains(1));
  EXPECT_EQ(steps_to_read(reader, RunId{2}, in_one * 100).size(), 100u);
  const Report report = make_report({&reader}, {.numerics = {.rows = in_one * 10}, .diagnosis_rows = in_one * 20});
  EXPECT_EQ(report.numerics.maps[0].observed, 100);
  EXPECT_EQ(report.numerics.maps[0].read, std::ssize(steps));
  EXPECT_TRUE(report.overflows.events[0].cause) << "the diagnosis rests on the same steps";
  EXPECT_THAT(diagnosis_of(report.runs[1], report.diagnoses)->notes, testing::Contains(HasSubstr("of 100 observed steps")));
}

// Of very many overflows the first is read, and others evenly among them: it is said how many of how many.
TEST_F(ReportSections, OfManyOverflowsSomeAreReadAndItIsSaid) {
  TwoModes two(100);
  for (std::int64_t i = 10; i < 90; ++i) two.fp16.events.push_back({.run = RunId{2}, .step = i, .kind = event_kind::overflow});
  const RunFileReader reader = two.file(in("a.ulp"));
  const auto in_one = static_cast<std::int64_t>(reader.tensor_stats(RunId{2}, {.first = 5, .end = 6}).size());
  const std::vector<std::int64_t> steps = steps_to_read(reader, RunId{2}, in_one * 20);
  EXPECT_LE(steps.size(), 20u);
  EXPECT_THAT(steps, testing::Contains(1)) << "the first";
  EXPECT_GT(std::count_if(steps.begin(), steps.end(), [](std::int64_t step) { return step > 60 && step < 90; }), 2) << "late ones, too";
  EXPECT_THAT(words_of_reading(reader, RunId{2}, steps), testing::MatchesRegex("of 100 observed steps the statistics of [0-9]+ were read: .* of the 81 with an overflow, .*"));
  EXPECT_EQ(words_of_reading(reader, RunId{2}, reader.observed_steps(RunId{2})), "");
}

TEST_F(ReportSections, ARunWithoutAStepIsNotHealthy) {
  ForgedRun run("fp16", 1);
  run.small_model();
  run.observe(0, {{"y", {.greatest = 16.0}}});
  const RunFileReader reader = forge(in("a.ulp"), {&run});
  const Report report = of(reader);
  EXPECT_EQ(report.verdict.modes.at(0).outcome, Outcome::not_observed);
  EXPECT_EQ(report.verdict.modes.at(0).health, "no step is recorded");
}

TEST_F(ReportSections, MemoryThatDidNotHalveIsExplainedByCategory) {
  TwoModes two;
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    writer.push(ExperimentRecord{.name = "forged"});
    two.fp32.write(writer);
    two.fp16.write(writer);
    for (const std::int64_t id : {1, 2}) {
      MemoryRecord peak{.run = RunId{id}, .kind = MemoryKind::peak};
      peak.bytes.fill(0);
      const auto set = [&](MemoryCategory c, std::int64_t bytes) { peak.bytes[static_cast<std::size_t>(c)] = bytes; };
      set(MemoryCategory::weights, id == 1 ? 4'000'000 : 2'000'000);
      set(MemoryCategory::master_weights, id == 1 ? 0 : 4'000'000);
      set(MemoryCategory::optimizer_state, 8'000'000);
      set(MemoryCategory::activations, id == 1 ? 8'000'000 : 4'000'000);
      set(MemoryCategory::observation, id == 1 ? 0 : 500'000'000);
      peak.total_bytes = id == 1 ? 20'000'000 : 518'000'000;
      writer.push(peak);
    }
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  const Report report = of(reader);
  ASSERT_EQ(report.memory.modes.size(), 2u);
  const ModeMemory& fp16 = report.memory.modes[1];
  EXPECT_NEAR(*fp16.ratio, 0.9, 1e-12) << "what is held to observe is not counted";
  ASSERT_EQ(fp16.why.size(), 2u) << "weights and activations did halve";
  EXPECT_THAT(fp16.why[0], testing::StartsWith("master weights: 3.8 MiB against fp32's none"));
  EXPECT_THAT(fp16.why[1], testing::StartsWith("optimizer state: 7.6 MiB against fp32's 7.6 MiB"));
  EXPECT_TRUE(report.memory.modes[0].why.empty());
  // 4 elements: y in fp16 lives from y to the mean, the copy of w from the cast to the last that reads it.
  EXPECT_EQ(fp16.curve_provenance, Provenance::computed);
  ASSERT_GE(fp16.curve.size(), 3u);
  EXPECT_EQ(fp16.curve[0].bytes, 8);
  EXPECT_EQ(fp16.curve[1].bytes, 16);
  EXPECT_EQ(fp16.curve[2].node, "loss");
}

// A plan that does not say what its tensors are: how much lives is unknown, not 0.
TEST_F(ReportSections, MemoryOverAStepOfUnknownTensorsIsUnknown) {
  TwoModes runs;
  for (ForgedRun* run : {&runs.fp32, &runs.fp16}) run->tensors.clear();
  const RunFileReader reader = runs.file(in("a.ulp"));
  const Report report = of(reader);
  for (const ModeMemory& mode : report.memory.modes) {
    EXPECT_TRUE(mode.curve.empty());
    EXPECT_EQ(mode.curve_provenance, Provenance::unknown);
  }
}

TEST_F(ReportSections, AFileWithoutARunIsRefused) {
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    writer.push(ExperimentRecord{.name = "forged"});
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  EXPECT_THROW(of(reader), UsageError);
  EXPECT_THROW(make_report({}), UsageError);
}

TEST_F(ReportSections, ARunThatWasCutOffIsReportedAndMarked) {
  ForgedRun run("fp16", 1);
  run.small_model();
  for (int i = 0; i < 5; ++i) run.step(1.0, false, 65536.0);
  run.run.status = RunStatus::running;
  const RunFileReader reader = forge(in("a.ulp"), {&run});
  const Report report = of(reader);
  EXPECT_TRUE(report.runs.at(0).cut_off);
  EXPECT_THAT(report.verdict.caveats, testing::Contains(HasSubstr("cut off")));
  EXPECT_TRUE(report.origin.files.at(0).summary.cut_off);
}

}  // namespace
}  // namespace ulpscope::reports
