#include "reports/analysis/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/error.h"
#include "tests/reports/compared_runs.h"

namespace ulpscope::reports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

class Compare : public ComparedRuns {};

// Three seeds of fp32 (1.9, 2.0, 2.1) and of another mode, whose losses lie above by `offset`.
std::vector<MadeUpRun> against_fp32(const std::string& other, const std::vector<double>& offset) {
  std::vector<MadeUpRun> runs;
  for (std::size_t i = 0; i < 3; ++i)
    runs.push_back(made_up("fp32", static_cast<std::int64_t>(i), 1.9 + 0.1 * static_cast<double>(i)));
  for (std::size_t i = 0; i < offset.size(); ++i)
    runs.push_back(made_up(other, static_cast<std::int64_t>(i), 1.9 + 0.1 * static_cast<double>(i) + offset[i]));
  return runs;
}

TEST_F(Compare, JudgesAgainstFp32) {
  EXPECT_EQ(mode(of(against_fp32("fp16", {-0.01, 0.0, 0.01})), "fp16").judgement.verdict, Verdict::inside);
  EXPECT_EQ(mode(of(against_fp32("fp16", {0.18, 0.2, 0.22})), "fp16").judgement.verdict, Verdict::worse);
  EXPECT_EQ(mode(of(against_fp32("fp16", {-0.18, -0.2, -0.22})), "fp16").judgement.verdict, Verdict::better);
  EXPECT_EQ(mode(of(against_fp32("fp16", {-0.3, 0.0, 0.3})), "fp16").judgement.verdict, Verdict::undecided);
  EXPECT_EQ(mode(of(against_fp32("fp16", {0.2, 0.2})), "fp16").judgement.verdict, Verdict::undecided);
  const Comparison comparison = of(against_fp32("fp16", {0.18, 0.2, 0.22}));
  EXPECT_EQ(mode(comparison, "fp32").judgement.verdict, Verdict::reference);
  EXPECT_FALSE(mode(comparison, "fp32").distance.known());
  EXPECT_NEAR(*mode(comparison, "fp16").distance.value, 0.2, 1e-12);
  EXPECT_EQ(mode(comparison, "fp16").distance.provenance, Provenance::computed);
  EXPECT_EQ(mode(comparison, "fp16").distance.samples, 3);
  EXPECT_EQ(mode(comparison, "fp16").metric, "held-out loss");
}

TEST_F(Compare, PairsBySeedNotByPosition) {
  std::vector<MadeUpRun> runs = against_fp32("bf16", {0.001, 0.001, 0.001});
  std::reverse(runs.begin(), runs.end());
  runs.erase(runs.begin());  // bf16 has lost seed 2
  runs.push_back(made_up("bf16", 77, 50.0));
  const Comparison comparison = of(runs);
  EXPECT_EQ(mode(comparison, "bf16").judgement.pairs, 2);
  EXPECT_NEAR(*mode(comparison, "bf16").judgement.difference, 0.001, 1e-12);
}

TEST_F(Compare, JudgesFinalLossIfAHeldOutLossIsMissing) {
  std::vector<MadeUpRun> runs = against_fp32("fp16", {0.0, 0.0, 0.0});
  runs.back().held_out.reset();
  runs.back().loss = [](std::int64_t) { return 7.0; };
  const Comparison comparison = of(runs);
  EXPECT_EQ(mode(comparison, "fp16").metric, "final loss");
  EXPECT_NEAR(*mode(comparison, "fp16").judgement.difference, (7.0 - 2.1) / 3, 1e-12);
}

TEST_F(Compare, FinalBestAndHeldOut) {
  MadeUpRun run = made_up("fp32", 1, 0.0);
  run.loss = [](std::int64_t i) { return i == 4 ? 0.25 : 20.0 - static_cast<double>(i); };
  run.held_out = 3.5;
  const Comparison comparison = of({run});
  const ModeResult& fp32 = mode(comparison, "fp32");
  EXPECT_DOUBLE_EQ(*fp32.final_loss.value, 5.5);  // mean of 10 … 1
  EXPECT_DOUBLE_EQ(*fp32.best_loss.value, 0.25);
  EXPECT_DOUBLE_EQ(*fp32.held_out_loss.value, 3.5);
  EXPECT_EQ(fp32.final_loss.spread, std::nullopt);
  EXPECT_EQ(fp32.final_loss.provenance, Provenance::computed);
  run.steps = 3;
  EXPECT_DOUBLE_EQ(*mode(of({run}), "fp32").final_loss.value, 19.0);  // fewer than ten: all
}

TEST_F(Compare, CountsStepsAndFollowsTheScale) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.run.loss_scaling = "dynamic:pytorch";
  run.scale = [](std::int64_t i) { return i < 3 ? 65536.0 : i < 15 ? 32768.0 : 131072.0; };
  run.overflow = [](std::int64_t i) { return i == 2; };
  MadeUpRun other = run;
  other.run.seed = 2;
  other.scale = [](std::int64_t i) { return i < 19 ? 65536.0 : 16384.0; };
  const Comparison comparison = of({made_up("fp32", 1, 2.0), run, other});
  const ModeResult& fp16 = mode(comparison, "fp16");
  EXPECT_EQ(fp16.applied.value, 38.0);
  EXPECT_EQ(fp16.skipped.value, 2.0);
  EXPECT_EQ(fp16.overflows.value, 2.0);
  EXPECT_EQ(fp16.overflows.provenance, Provenance::counted);
  EXPECT_EQ(fp16.scale_first.value, 65536.0);
  EXPECT_EQ(fp16.scale_range.low, 16384.0);
  EXPECT_EQ(fp16.scale_range.high, 131072.0);
  EXPECT_EQ(fp16.scale_last.value, std::nullopt) << "the seeds differ";
  EXPECT_EQ(fp16.scale_last.low, 16384.0);
  EXPECT_EQ(fp16.scale_last.high, 131072.0);
  EXPECT_FALSE(mode(comparison, "fp32").scale_first.known());
  EXPECT_EQ(mode(comparison, "fp32").scale_first.provenance, Provenance::unknown);
}

TEST_F(Compare, TimesWithoutWarmUpAndLabelledEmulatedOnACpu) {
  MadeUpRun fp32 = made_up("fp32", 1, 2.0);
  fp32.step_seconds = {0.010, 0.020, 0.030, 0.040, 0.050};
  MadeUpRun fp16 = made_up("fp16", 1, 2.0);
  fp16.step_seconds = {0.060, 0.060, 0.060};
  fp16.run.time_provenance = Provenance::measured;  // even if the recorder says so
  const Comparison comparison = of({fp32, fp16, made_up("bf16", 1, 2.0)});
  const Figure& time = mode(comparison, "fp32").step_seconds;
  EXPECT_DOUBLE_EQ(*time.value, 0.030);
  EXPECT_DOUBLE_EQ(*time.low, 0.020);
  EXPECT_DOUBLE_EQ(*time.high, 0.040);
  EXPECT_EQ(time.samples, 5);
  EXPECT_EQ(time.provenance, Provenance::measured);
  EXPECT_DOUBLE_EQ(*mode(comparison, "fp32").tokens_per_second.value, 512 / 0.030);
  const ModeResult& other = mode(comparison, "fp16");
  EXPECT_TRUE(other.emulated);
  EXPECT_EQ(other.step_seconds.provenance, Provenance::emulated);
  EXPECT_EQ(other.tokens_per_second.provenance, Provenance::emulated);
  EXPECT_DOUBLE_EQ(*other.speed.value, 0.5);
  EXPECT_EQ(other.speed.provenance, Provenance::emulated);
  EXPECT_FALSE(mode(comparison, "bf16").step_seconds.known());
  EXPECT_FALSE(mode(comparison, "bf16").speed.known());
}

TEST_F(Compare, TimesOfAGpuAreMeasured) {
  std::vector<MadeUpRun> runs{made_up("fp32", 1, 2.0), made_up("fp16", 1, 2.0)};
  for (MadeUpRun& run : runs) {
    run.run.device = "NVIDIA H200";
    run.run.device_kind = "cuda";
    run.run.time_provenance = Provenance::measured;
    run.step_seconds = {run.run.mode == "fp32" ? 0.030 : 0.010};
  }
  const Comparison comparison = of(runs);
  EXPECT_FALSE(mode(comparison, "fp16").emulated);
  EXPECT_DOUBLE_EQ(*mode(comparison, "fp16").speed.value, 3.0);
  EXPECT_EQ(mode(comparison, "fp16").step_seconds.provenance, Provenance::measured);
  EXPECT_EQ(mode(comparison, "fp16").speed.provenance, Provenance::computed) << "divided here";
}

TEST_F(Compare, PeakMemoryAndItsSplit) {
  MadeUpRun fp32 = made_up("fp32", 1, 2.0);
  fp32.peak_bytes = 4000;
  MadeUpRun fp16 = made_up("fp16", 1, 2.0);
  fp16.peak_bytes = 3000;
  const Comparison comparison = of({fp32, fp16});
  const ModeResult& other = mode(comparison, "fp16");
  EXPECT_EQ(other.peak_bytes.value, 3000.0);
  EXPECT_EQ(other.peak_bytes.provenance, Provenance::counted);
  EXPECT_EQ(other.memory_ratio.value, 0.75);
  EXPECT_EQ(other.memory_ratio.provenance, Provenance::computed);
  double sum = 0.0;
  for (const Figure& figure : other.peak_by_category) sum += figure.value.value_or(0.0);
  EXPECT_EQ(sum, 3000.0);
  const Figure& weights = other.peak_by_category[static_cast<std::size_t>(MemoryCategory::weights)];
  EXPECT_EQ(weights.value, 750.0);
  EXPECT_EQ(weights.provenance, Provenance::computed) << "the allocator counts bytes, not what they are for";
}

TEST_F(Compare, SaysWhereALossWasLost) {
  std::vector<MadeUpRun> runs = against_fp32("bf16", {0.0, 0.0, 0.0});
  runs[4].loss = [](std::int64_t i) { return i >= 7 ? nan_value : 2.0; };
  runs[4].held_out.reset();
  runs[4].steps = 9;
  runs[4].run.status = RunStatus::failed;
  runs[4].run.message = "the loss is not finite";
  const Comparison comparison = of(runs);
  const ModeResult& bf16 = mode(comparison, "bf16");
  EXPECT_EQ(bf16.runs[1].diverged_at, 7);
  EXPECT_TRUE(std::isnan(*bf16.final_loss.value));
  EXPECT_EQ(bf16.judgement.verdict, Verdict::undecided);
  EXPECT_EQ(bf16.judgement.pairs, 3);
  EXPECT_THAT(bf16.notes, ElementsAre("seed 1: diverged: the loss is not finite from step 8 on; the last finite one is 2, in step 7",
                                      "seed 1: failed after 9 of 20 steps: the loss is not finite"));
}

TEST_F(Compare, ALossLostInASkippedStepIsNoDivergence) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.loss = [](std::int64_t i) { return i == 15 ? std::numeric_limits<double>::infinity() : 2.0; };
  run.overflow = [](std::int64_t i) { return i == 15; };
  const Comparison comparison = of({run});
  const ModeResult& fp16 = mode(comparison, "fp16");
  EXPECT_FALSE(fp16.runs[0].diverged());
  EXPECT_DOUBLE_EQ(*fp16.final_loss.value, 2.0);
  EXPECT_THAT(fp16.notes, ElementsAre("seed 1: the loss was not finite in 1 step, first in step 16, and it was skipped"));
}

TEST_F(Compare, AModeThatSkippedEveryStepIsNotJudged) {
  std::vector<MadeUpRun> runs = against_fp32("fp16", {3.0, 3.0, 3.0});
  for (std::size_t i = 3; i < 6; ++i) {
    runs[i].overflow = [](std::int64_t) { return true; };
    runs[i].scale = [](std::int64_t) { return 1e38; };
  }
  Comparison comparison = of(runs);
  EXPECT_EQ(mode(comparison, "fp16").judgement.verdict, Verdict::undecided);
  EXPECT_EQ(mode(comparison, "fp16").judgement.reason,
            "no step was applied: every step was skipped (loss scale 1e+38)");
  EXPECT_NEAR(*mode(comparison, "fp16").distance.value, 3.0, 1e-12) << "shown all the same";
  for (std::size_t i = 3; i < 6; ++i) runs[i].scale = [](std::int64_t step) { return step < 10 ? 4.0 : 0.0; };
  EXPECT_EQ(mode(of(runs), "fp16").judgement.reason, "no step was applied: every step was skipped (loss scale 0 to 4)");
  EXPECT_EQ(mode(of({runs[3]}), "fp16").judgement.reason,
            "no step was applied: every step was skipped (loss scale 0 to 4)")
      << "without fp32 too";
  runs[3].overflow = runs[4].overflow = [](std::int64_t step) { return step < 19; };
  comparison = of(runs);
  EXPECT_EQ(mode(comparison, "fp16").judgement.verdict, Verdict::undecided);
  EXPECT_EQ(mode(comparison, "fp16").judgement.reason,
            "no step was applied under 1 of 3 seeds: every step was skipped (loss scale 0 to 4)");
  runs[5].overflow = runs[4].overflow;
  EXPECT_EQ(mode(of(runs), "fp16").judgement.verdict, Verdict::worse) << "one applied step is a result";
}

TEST_F(Compare, MarksWhatDidNotFinish) {
  std::vector<MadeUpRun> runs = against_fp32("fp16", {0.0, 0.0, 0.0});
  runs[3].run.status = RunStatus::interrupted;
  runs[3].run.message = "Ctrl-C";
  runs[3].steps = 5;
  runs[4].run.status = RunStatus::running;
  const Comparison comparison = of(runs);
  const ModeResult& fp16 = mode(comparison, "fp16");
  EXPECT_EQ(fp16.seeds.value, 1.0);
  EXPECT_EQ(fp16.applied.value, 20.0) << "the interrupted runs do not count";
  EXPECT_EQ(fp16.judgement.verdict, Verdict::undecided);
  EXPECT_THAT(fp16.notes,
              ElementsAre("seed 0: interrupted after 5 of 20 steps: Ctrl-C", "seed 1: cut off after 20 of 20 steps"));
  // With nothing finished there is still something to see.
  runs[5].run.status = RunStatus::interrupted;
  EXPECT_EQ(mode(of(runs), "fp16").seeds.value, 3.0);
}

TEST_F(Compare, OrdersModesAndNamesKnobs) {
  std::vector<MadeUpRun> runs;
  for (const char* name : {"zz", "bf16_pure", "fp16_pure", "bf16+tf32", "fp16+tf32", "bf16", "fp16", "tf32", "fp32"}) {
    runs.push_back(made_up(name, 1, 2));
    runs.back().run.non_standard = {"norm sums in 16 bits"};
  }
  const Comparison comparison = of(runs);
  EXPECT_THAT(order(comparison),
              ElementsAre("fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32", "fp16_pure", "bf16_pure", "zz"));
  EXPECT_THAT(mode(comparison, "fp16_pure").notes, ElementsAre("non-standard: norm sums in 16 bits"));
}

TEST_F(Compare, WithoutFp32NothingIsJudged) {
  const Comparison comparison = of({made_up("fp16", 1, 2), made_up("fp16", 2, 2), made_up("fp16", 3, 2)});
  EXPECT_EQ(comparison.modes[0].judgement.verdict, Verdict::undecided);
  EXPECT_THAT(comparison.warnings, Contains(HasSubstr("there is no fp32 run")));
}

TEST_F(Compare, JoinsFilesOfTheSameExperiment) {
  const RunFileReader a =
      make_run_file(in("a.ulp"), {made_up("fp32", 1, 2.0), made_up("fp32", 2, 2.1), made_up("fp32", 3, 2.2)});
  const RunFileReader b =
      make_run_file(in("b.ulp"), {made_up("fp16", 1, 2.0), made_up("fp16", 2, 2.1), made_up("fp16", 3, 2.2)});
  const Comparison comparison = compare({&a, &b});
  EXPECT_THAT(order(comparison), ElementsAre("fp32", "fp16"));
  EXPECT_EQ(comparison.modes[1].judgement.verdict, Verdict::inside);
  EXPECT_THAT(comparison.warnings, IsEmpty());
  EXPECT_THAT(compare({&a, &a}).warnings, IsEmpty()) << "the same file twice";
}

TEST_F(Compare, RefusesFilesThatAreNotAlike) {
  MadeUpRun bigger = made_up("fp32", 1, 2.0);
  bigger.run.batch = 16;
  bigger.run.data = "other.txt";
  const RunFileReader a = make_run_file(in("a.ulp"), {made_up("fp32", 1, 2.0), made_up("fp16", 1, 2.0)});
  const RunFileReader b = make_run_file(in("b.ulp"), {bigger});
  const Comparison comparison = compare({&a, &b});
  EXPECT_THAT(order(comparison), ElementsAre("Afp32", "Afp16", "Bfp32"));
  // Said once, with the reason, though it is the same device.
  EXPECT_THAT(comparison.warnings, IsEmpty());
  ASSERT_TRUE(comparison.machines);
  ASSERT_EQ(comparison.machines->refused.size(), 1u);
  EXPECT_EQ(comparison.machines->refused[0].tag, "B");
  EXPECT_THAT(comparison.machines->refused[0].reasons, ElementsAre("another batch: batch is 16, in A 8", HasSubstr("another configuration: data is other.txt, in A ")));
  // Within one file they are held apart, with a warning.
  const RunFileReader one = make_run_file(in("one.ulp"), {made_up("fp32", 1, 2.0), bigger});
  EXPECT_FALSE(compare({&one}).machines);
  EXPECT_THAT(compare({&one}).warnings, Contains("A and B are not alike and not held against each other: they differ in batch, data"));
}

TEST_F(Compare, OtherDevicesShareLossesButNotTimes) {
  MadeUpRun cpu = made_up("fp32", 1, 2.0);
  cpu.step_seconds = {0.010};
  MadeUpRun gpu = made_up("fp16", 1, 2.5);
  gpu.run.device = "NVIDIA H200";
  gpu.run.device_kind = "cuda";
  gpu.run.time_provenance = Provenance::measured;
  gpu.step_seconds = {0.001};
  const RunFileReader a = make_run_file(in("a.ulp"), {cpu});
  const RunFileReader b = make_run_file(in("b.ulp"), {gpu});
  const Comparison comparison = compare({&a, &b});
  EXPECT_NEAR(*mode(comparison, "fp16").judgement.difference, 0.5, 1e-12);
  EXPECT_FALSE(mode(comparison, "fp16").speed.known());
  EXPECT_THAT(comparison.warnings, ElementsAre(HasSubstr("different devices")));
}

TEST_F(Compare, ASeedRunTwiceCountsOnce) {
  MadeUpRun first = made_up("fp32", 1, 2.0);
  first.run.status = RunStatus::interrupted;
  const Comparison comparison = of({first, made_up("fp32", 1, 3.0)});
  EXPECT_EQ(comparison.modes[0].seeds.value, 1.0);
  EXPECT_DOUBLE_EQ(*comparison.modes[0].final_loss.value, 3.0) << "the finished one";
  EXPECT_THAT(comparison.warnings, ElementsAre(HasSubstr("fp32: seed 1 was run twice")));
}

TEST_F(Compare, TrialsOfMendsAreLeftOutAndGapsAreSaid) {
  RunFileWriter writer(in("m.ulp"));
  MadeUpRun run = made_up("fp32", 1, 2.0);
  run.run.id = RunId{1};
  write_run(writer, run);
  MadeUpRun trial = made_up("fp16", 1, 2.0);
  trial.run.id = RunId{2};
  write_run(writer, trial);
  writer.push(MendRecord{.id = MendId{1}, .run = RunId{1}, .trial = RunId{2}});
  writer.push(
      CompletenessRecord{.kind = "dropped", .subject = "tensor_stats", .count = 12, .detail = "the queue was full"});
  writer.close();
  const RunFileReader reader(in("m.ulp"));
  const Comparison comparison = compare({&reader});
  EXPECT_THAT(order(comparison), ElementsAre("fp32"));
  EXPECT_THAT(comparison.warnings, ElementsAre(HasSubstr("tensor_stats dropped: 12 (the queue was full)")));
}

TEST_F(Compare, NotesAboutTimingAreShownAndOthersAreNot) {
  RunFileWriter writer(in("n.ulp"));
  MadeUpRun run = made_up("fp16", 3, 2.0);
  run.run.id = RunId{1};
  write_run(writer, run);
  writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = "timing", .detail = "not timed: why"});
  writer.push(CompletenessRecord{.kind = "note", .subject = "timing order", .detail = "one after the other"});
  writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = "cost of the recorder", .detail = "x"});
  writer.push(CompletenessRecord{
      .kind = "observation_cost", .subject = "node clock", .seconds = 0.5, .provenance = Provenance::inferred});
  writer.close();
  const RunFileReader reader(in("n.ulp"));
  EXPECT_THAT(compare({&reader}).notes, ElementsAre(HasSubstr("n.ulp: one after the other"),
                                                    HasSubstr("watching (node clock) cost 0.5 s, inferred"),
                                                    HasSubstr("n.ulp: fp16, seed 3: not timed: why")));
}

TEST_F(Compare, NothingToCompareIsAUsersMistake) {
  EXPECT_THROW(compare({}), UsageError);
  const RunFileReader reader = make_run_file(in("empty.ulp"), {});
  EXPECT_THAT(message_of<UsageError>([&] { compare({&reader}); }), HasSubstr("there is no run in"));
}

TEST_F(Compare, ARunWithoutAStepIsShownAndUnknown) {
  MadeUpRun run = made_up("fp16", 1, 2.0);
  run.steps = 0;
  run.held_out.reset();
  run.run.status = RunStatus::failed;
  const Comparison comparison = of({made_up("fp32", 1, 2.0), run});
  EXPECT_FALSE(mode(comparison, "fp16").final_loss.known());
  EXPECT_EQ(mode(comparison, "fp16").seeds.value, 0.0);
  EXPECT_THAT(mode(comparison, "fp16").notes, ElementsAre("seed 1: failed after 0 of 20 steps"));
}

TEST(ComparisonFigures, HaveKeysOfTheirOwnAndAMeaning) {
  std::vector<std::string> keys;
  for (const FigureInfo& info : comparison_figures()) {
    EXPECT_THAT(keys, testing::Not(Contains(info.key)));
    keys.emplace_back(info.key);
    EXPECT_NE(std::string(info.meaning), "");
  }
  for (int i = 0; i < memory_category_count; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const std::string key = "peak_" + std::string(name(category)) + "_bytes";
    const auto info = std::find_if(comparison_figures().begin(), comparison_figures().end(),
                                   [&](const FigureInfo& figure) { return figure.key == key; });
    ASSERT_NE(info, comparison_figures().end()) << key;
    ModeResult mode;
    mode.peak_by_category[static_cast<std::size_t>(i)].value = 42.0;
    EXPECT_EQ(info->get(mode).value, 42.0) << key;
  }
}

}  // namespace
}  // namespace ulpscope::reports
