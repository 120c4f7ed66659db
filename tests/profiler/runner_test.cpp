// Whole experiments on tiny models: what ends up in the run file.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <map>
#include <numeric>

#include "kernels/error.h"
#include "profiler/experiment/timing.h"
#include "tests/profiler/runner_fixture.h"
#include "tests/sanitized.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::int64_t timed(const RunFileReader& file, reports::RunId run, bool warm_up) {
  std::int64_t count = 0;
  for (const auto& sample : file.timing_samples(run)) count += sample.warm_up == warm_up ? 1 : 0;
  return count;
}

TEST_F(RunnerTest, TwoModesThreeStepsGiveTheirRows) {
  const Outcome outcome = run(experiment({}));
  EXPECT_EQ(outcome.finished, 2);
  EXPECT_EQ(outcome.failed, 0);
  EXPECT_FALSE(outcome.interrupted);

  const RunFileReader file(path());
  const auto recorded = file.experiment();
  ASSERT_TRUE(recorded.has_value());
  EXPECT_EQ(recorded->name, "tiny");
  EXPECT_EQ(recorded->command_line, "ulpscope run tiny.toml");
  EXPECT_EQ(recorded->configuration, to_toml(experiment({}))) << "every value filled in";
  ASSERT_EQ(file.machines().size(), 1u);
  const auto runs = file.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].mode, "fp32");
  EXPECT_EQ(runs[0].loss_scaling, "none");
  EXPECT_EQ(runs[0].time_provenance, reports::Provenance::measured);
  EXPECT_EQ(runs[1].mode, "fp16");
  EXPECT_EQ(runs[1].loss_scaling, "dynamic:pytorch");
  EXPECT_EQ(runs[1].time_provenance, reports::Provenance::emulated) << "no speed may be claimed from it";
  for (const auto& r : runs) {
    EXPECT_EQ(r.status, reports::RunStatus::finished);
    EXPECT_EQ(r.steps_planned, 3);
    EXPECT_FALSE(r.ended.empty());
    const auto steps = file.steps(r.id);
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps.back().step, 2);
    EXPECT_NEAR(*steps.front().loss, std::log(256.0), 0.5) << "an untrained model knows nothing about the next byte";
    EXPECT_EQ(steps.front().tokens, 16);
    EXPECT_EQ(steps.front().loss_scale.has_value(), r.mode == "fp16");
    const auto evaluations = file.evaluations(r.id);
    ASSERT_EQ(evaluations.size(), 1u) << "held-out loss at the end";
    EXPECT_EQ(evaluations[0].step, 3);
    EXPECT_EQ(evaluations[0].tokens, 32);
    EXPECT_EQ(timed(file, r.id, false), 10);
    EXPECT_EQ(timed(file, r.id, true), warm_up_steps);
    ASSERT_TRUE(r.plan.has_value());
    EXPECT_GT(file.nodes(*r.plan).size(), 20u);
    EXPECT_GT(file.edges(*r.plan).size(), 20u);
    EXPECT_GT(file.tensors(*r.plan).size(), file.nodes(*r.plan).size());
    EXPECT_FALSE(file.node_timings(r.id).empty());
  }
  for (const auto& row : file.completeness()) EXPECT_NE(row.kind, "fault") << row.detail;
}

TEST_F(RunnerTest, TheLedgerIsTheDevicesPeakToTheByte) {
  run(experiment({"run.modes=fp32,tf32,fp16,bf16,bf16+tf32", "run.timing_steps=0"}));
  const RunFileReader file(path());
  ASSERT_EQ(file.runs().size(), 5u);
  for (const auto& r : file.runs()) {
    std::map<reports::MemoryKind, std::int64_t> totals;
    for (const auto& row : file.memory(r.id)) {
      std::int64_t sum = 0;
      for (const auto& bytes : row.bytes) sum += bytes.value();
      EXPECT_EQ(sum, row.total_bytes) << r.mode << ' ' << reports::name(row.kind);
      totals[row.kind] = sum - row.bytes[static_cast<std::size_t>(reports::MemoryCategory::observation)].value();
      const auto master = row.bytes[static_cast<std::size_t>(reports::MemoryCategory::master_weights)].value();
      EXPECT_EQ(master > 0, r.loss_scaling == "dynamic:pytorch" || r.mode.starts_with("bf16")) << r.mode;
    }
    EXPECT_EQ(totals.size(), 2u) << "the prediction and the peak, without what was held to observe";
    EXPECT_EQ(totals[reports::MemoryKind::peak], totals[reports::MemoryKind::predicted]) << r.mode;
    EXPECT_EQ(timed(file, r.id, false), 0) << "no timing phase was asked for";
  }
  for (const auto& row : file.completeness()) EXPECT_NE(row.kind, "fault") << row.detail;
}

TEST_F(RunnerTest, SeedsAreTheSameInEveryModeAndDifferFromEachOther) {
  run(experiment({"run.seeds=2", "run.seed=5", "run.timing_steps=0", "train.evaluate_every=1"}));
  const RunFileReader file(path());
  const auto runs = file.runs();
  ASSERT_EQ(runs.size(), 4u);
  for (std::size_t i = 0; i < runs.size(); ++i)
    EXPECT_EQ(runs[i].seed, i < 2 ? 5 : 6) << "all modes with one seed, then the next";
  std::map<std::pair<std::string, std::int64_t>, double> first;
  for (const auto& r : runs) {
    first[{r.mode, r.seed}] = *file.steps(r.id).front().loss;
    EXPECT_EQ(file.evaluations(r.id).size(), 3u) << "after every step";
  }
  EXPECT_NEAR((first[{"fp32", 5}]), (first[{"fp16", 5}]), 0.01) << "the same weights and batch, rounded";
  EXPECT_NE((first[{"fp32", 5}]), (first[{"fp32", 6}]));
  EXPECT_EQ(runs[0].plan, runs[2].plan) << "the seeds of a mode share its plan";
}

TEST_F(RunnerTest, NothingHeldOutNothingEvaluated) {
  run(experiment({"data.held_out=0", "run.timing_steps=0"}));
  const RunFileReader file(path());
  EXPECT_TRUE(file.evaluations(file.runs().front().id).empty());
}

TEST_F(RunnerTest, AModeThatStopsIsRecordedAndTheOthersGoOn) {
  // A learning rate that throws the weights out of range within a few steps: fp32 stops, fp16 skips from then on.
  const Outcome outcome = run(
      experiment({"train.lr=1e38", "train.steps=6", "train.clip=0", "train.optimizer=sgd", "train.schedule=constant"}));
  EXPECT_EQ(outcome.failed, 1);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_THAT(outcome.failures[0], HasSubstr("fp32, seed 0"));
  const RunFileReader file(path());
  const auto runs = file.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].status, reports::RunStatus::failed);
  EXPECT_THAT(runs[0].message, HasSubstr("has no loss scaler"));
  EXPECT_LT(file.steps(runs[0].id).size(), 6u);
  EXPECT_EQ(runs[1].status, reports::RunStatus::finished);
  EXPECT_EQ(file.steps(runs[1].id).size(), 6u);
  EXPECT_EQ(timed(file, runs[0].id, false), 0) << "what stopped is not timed";
  EXPECT_LT(timed(file, runs[1].id, false), 10) << "a step that is skipped is no sample";
}

TEST_F(RunnerTest, AStopEndsTheRunAfterItsStepAndTheFileIsComplete) {
  int asked = 0;
  Watcher silent;
  const Outcome outcome = run(experiment({"train.steps=50"}), silent, [&] { return ++asked >= 4; });
  EXPECT_TRUE(outcome.interrupted);
  const RunFileReader file(path());
  EXPECT_FALSE(file.live());
  ASSERT_EQ(file.runs().size(), 1u) << "the next mode was not begun";
  EXPECT_EQ(file.runs()[0].status, reports::RunStatus::interrupted);
  EXPECT_EQ(file.steps(file.runs()[0].id).size(), 4u);
  EXPECT_EQ(file.memory(file.runs()[0].id, reports::MemoryKind::peak).size(), 1u);
}

TEST_F(RunnerTest, AWatcherThatThrowsDoesNotStopTraining) {
  class Broken final : public Watcher {
    void step(const RunInfo&, const engine::StepResult&, double) override { throw Error("no terminal"); }
  } broken;
  EXPECT_EQ(run(experiment({"run.timing_steps=0"}), broken).finished, 2);
  bool said = false;
  for (const auto& row : RunFileReader(path()).completeness())
    said |= row.kind == "fault" && row.detail == "progress: no terminal";
  EXPECT_TRUE(said);
}

TEST_F(RunnerTest, ADiskThatIsFullIsSaidWhileItTrains) {
  struct Ears final : Watcher {
    void step(const RunInfo&, const engine::StepResult& result, double) override { steps = result.iteration + 1; }
    void warning(const std::string& text) override { said.push_back(text); }
    std::vector<std::string> said;
    std::int64_t steps = 0;
  } ears;
  const Experiment e = experiment({"run.modes=fp32", "run.timing_steps=0", "train.steps=1000000"});
  Runner runner(e);
  RunFileWriter writer(path(), {.overwrite = true});
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 200 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const Outcome outcome = runner.run(
      writer, ears, [&] { return !ears.said.empty() || ears.steps > 900000; }, "");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(outcome.interrupted);
  ASSERT_EQ(ears.said.size(), 1u) << "once";
  EXPECT_THAT(ears.said[0], HasSubstr("training goes on"));
  EXPECT_LT(ears.steps, 900000);
}

TEST_F(RunnerTest, AStepIsCountedFromOneInMessages) {
  run(experiment({"train.lr=1e38", "train.steps=6", "train.clip=0", "train.optimizer=sgd", "train.schedule=constant",
                  "run.modes=fp32", "run.timing_steps=0"}));
  const RunFileReader file(path());
  const auto steps = static_cast<std::int64_t>(file.steps(file.runs().at(0).id).size());
  EXPECT_THAT(file.runs().at(0).message, HasSubstr("not finite in step " + std::to_string(steps) + ","));
}

TEST_F(RunnerTest, MistakesShowBeforeAnythingIsTrained) {
  EXPECT_THROW(Runner(experiment({"train.keep_fp32=nosuchnode*"})), UsageError);
  EXPECT_THROW(Runner(experiment({"data.path=" + folder_ + "/missing.txt"})), UsageError);
  EXPECT_THROW(Runner(experiment({"model.context=100000"})), UsageError);
  Experiment nothing = experiment({});
  nothing.data.paths.clear();
  EXPECT_THROW(Runner{nothing}, UsageError);
}

TEST_F(RunnerTest, StepsThatAreSkippedAreNotTimed) {
  // The scale that the scaler looks for is out of its reach: fp16 skips every step.
  run(experiment({"train.scaler.init=3e38", "train.scaler.backoff=0.999999"}));
  const RunFileReader file(path());
  ASSERT_EQ(file.runs().size(), 2u);
  EXPECT_EQ(timed(file, file.runs()[0].id, false), 10);
  EXPECT_EQ(timed(file, file.runs()[1].id, false) + timed(file, file.runs()[1].id, true), 0);
  std::string note;
  for (const auto& row : file.completeness())
    if (row.subject == "timing") note = row.detail;
  EXPECT_EQ(note, "not timed: 300 steps in a row were skipped");
}

TEST_F(RunnerTest, TheSearchForTheScaleIsNoWarmUp) {
  run(experiment({"train.scaler.init=3e38", "train.scaler.backoff=0.01"}));
  const RunFileReader file(path());
  const auto fp16 = file.runs().at(1);
  EXPECT_TRUE(file.steps(fp16.id).front().skipped);
  EXPECT_EQ(timed(file, fp16.id, true), warm_up_steps);
  EXPECT_EQ(timed(file, fp16.id, false), 10);
}

TEST_F(RunnerTest, APathThatIsNotUtf8IsRecorded) {
  const std::string odd = folder_ + "/caf\xe9.txt";
  std::filesystem::copy_file(folder_ + "/text.txt", odd);
  Experiment e = experiment({"run.modes=fp32", "run.timing_steps=0", "train.steps=1"});
  e.data.paths = {odd};
  EXPECT_EQ(run(e).finished, 1);
  const RunFileReader file(path());
  EXPECT_THAT(file.runs().at(0).data_json, HasSubstr("caf\xEF\xBF\xBD.txt"));
}

TEST_F(RunnerTest, TheScalersSettingsAreAmongThoseOfTheTraining) {
  run(experiment({"run.modes=fp32", "run.timing_steps=0", "train.steps=1", "train.scaler.init=1024"}));
  const std::string train = RunFileReader(path()).runs().at(0).attributes_json;
  EXPECT_THAT(train, HasSubstr("\"scaler\":{"));
  EXPECT_THAT(train, HasSubstr("\"init\":1024"));
}

TEST_F(RunnerTest, WhatIsComputedAgainIsInTheRunFile) {
  EXPECT_EQ(run(experiment({"run.modes=fp32,bf16", "run.timing_steps=0", "train.recompute=blocks",
                            "train.weight_copies=recast"}))
                .finished,
            2);
  const RunFileReader file(path());
  for (const auto& r : file.runs()) {
    EXPECT_THAT(r.attributes_json, AllOf(HasSubstr("\"recompute\":\"blocks\""), HasSubstr("\"segments\":[\"block0\"")));
    EXPECT_EQ(r.attributes_json.find("\"chosen\":\"recast\"") != std::string::npos, r.mode == "bf16");
    int again = 0;
    for (const auto& node : file.nodes(*r.plan)) {
      if (!node.name.ends_with(".again")) continue;
      ++again;
      EXPECT_EQ(node.phase, reports::Phase::backward);
      EXPECT_THAT(node.format_reason, StartsWith("recomputed: ")) << node.name;
      EXPECT_THAT(node.attributes_json, HasSubstr("\"recomputes\":\"" + node.name.substr(0, node.name.size() - 6) + "\""));
    }
    EXPECT_GT(again, 5);
    std::map<reports::MemoryKind, std::int64_t> totals;
    for (const auto& row : file.memory(r.id))   // the first step is observed
      totals[row.kind] = row.total_bytes.value() - row.bytes[static_cast<std::size_t>(reports::MemoryCategory::observation)].value();
    EXPECT_EQ(totals[reports::MemoryKind::peak], totals[reports::MemoryKind::predicted]);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
