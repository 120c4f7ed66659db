// Whole experiments on tiny models: what ends up in the run file.
#include "profiler/experiment/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "kernels/error.h"
#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/timing.h"
#include "reports/run_file/reader.h"
#include "tests/sanitized.h"

namespace ulpscope::profiler {
namespace {

using reports::RunFileReader;
using reports::RunFileWriter;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A folder of its own with a text of some kilobytes in it.
class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_runner_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
              "_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream text(folder_ + "/text.txt");
    for (int i = 0; i < 400; ++i) text << "line " << i * 37 % 101 << " of a text\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Experiment experiment(const std::vector<std::string>& assignments) const {
    Settings settings;
    settings.add_text(
        "[model]\nkind = 'gpt'\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\n[data]\npath = 'text.txt'\n"
        "[train]\nsteps = 3\nbatch = 2\nevaluation_batches = 2\n[run]\nmodes = ['fp32', 'fp16']\nthreads = 1\n",
        folder_ + "/tiny.toml");
    for (const std::string& assignment : assignments) settings.add_assignment(assignment);
    return settings.build();
  }

  Outcome run(
      const Experiment& e, Watcher& watcher, const std::function<bool()>& stop = [] { return false; }) {
    Runner runner(e);
    RunFileWriter writer(path(), {.overwrite = true});
    const Outcome outcome = runner.run(writer, watcher, stop, "ulpscope run tiny.toml");
    writer.close();
    return outcome;
  }
  Outcome run(const Experiment& e) {
    Watcher silent;
    return run(e, silent);
  }
  std::string path() const { return folder_ + "/out.ulp"; }

  std::string folder_;
};

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

TEST_F(RunnerTest, MoreMemoryThanThereIsIsRefusedWithWhatToLower) {
  const Runner runner(experiment({}));
  EXPECT_NO_THROW(runner.check_memory(std::int64_t{1} << 30));
  try {
    runner.check_memory(1000);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("a step in "), HasSubstr("1000 B are free"),
                                             HasSubstr("train.batch (now 2)"), HasSubstr("model.layers"), HasSubstr("not even a batch of 1 fits")));
  }
  const auto none = runner.shortage(1000);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->fits, 0);
  EXPECT_FALSE(none->largest_node.empty());
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

TEST_F(RunnerTest, ARunThatFindsNoMemoryIsDescribedAllTheSame) {
#if ULPSCOPE_SANITIZED
  GTEST_SKIP() << "the sanitizer takes more address space than this leaves";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = rlim_t{6} << 30;  // the logits alone take 8 GiB
  if (before.rlim_max < tight.rlim_cur) GTEST_SKIP() << "there is a tighter limit here";
  Experiment e = experiment({"run.modes=fp32", "run.seeds=2"});
  e.train.batch = 1000000;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const Outcome outcome = run(e);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(outcome.failed, 2);
  const RunFileReader file(path());
  ASSERT_EQ(file.runs().size(), 2u);
  for (const auto& r : file.runs()) {
    EXPECT_EQ(r.status, reports::RunStatus::failed);
    EXPECT_EQ(r.model, "gpt");
    EXPECT_EQ(r.batch, 1000000);
    EXPECT_GT(r.parameters.value_or(0), 0);
    EXPECT_EQ(file.memory(r.id, reports::MemoryKind::predicted).size(), 1u) << "what it would have taken";
    EXPECT_THAT(r.message, testing::AllOf(testing::StartsWith("out of memory ("), HasSubstr("a step in fp32 needs "), HasSubstr("train.batch (now 1000000)"), HasSubstr("a batch of "), HasSubstr("the largest result is ")));
  }
  ASSERT_EQ(outcome.shortages.size(), 2u);
  const MemoryShortage& shortage = outcome.shortages[0];
  EXPECT_GT(shortage.needed_bytes, shortage.free_bytes);
  ASSERT_TRUE(shortage.fits);
  EXPECT_GT(*shortage.fits, 1);
  EXPECT_LE(*shortage.fits_bytes, shortage.free_bytes);
  // The next greater batch does not: planned here by another way.
  e.train.batch = *shortage.fits + 1;
  const Runner next(e);
  EXPECT_TRUE(next.shortage(shortage.free_bytes));
  e.train.batch = *shortage.fits;
  const Runner fitting(e);
  EXPECT_FALSE(fitting.shortage(shortage.free_bytes));
  const std::string text = shortage_text(shortage);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("activations"), HasSubstr("total"), HasSubstr("would fit"), HasSubstr("[computed]")));
  EXPECT_GT(file.nodes(*file.runs()[1].plan).size(), 20u);
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

TEST_F(RunnerTest, ModesThatDoNotFitTogetherAreTimedOneAfterTheOther) {
  const Experiment e = experiment({});
  const auto device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const auto data = engine::load_text(e.data.paths, engine::text_options(e.model, e.data.held_out));
  for (const bool fits : {true, false}) {
    TimingJob job{*device, *data, {}, 10, fits ? 200 : 199};
    for (const char* mode : {"fp32", "bf16"}) {
      RunInfo run;
      run.id = static_cast<reports::RunId>(job.modes.size() + 1);
      run.mode = engine::find_mode(mode);
      job.modes.push_back({run, {e.model, run.mode, e.train, 0}, 100});
    }
    std::vector<std::int64_t> order;
    std::vector<std::string> notes;
    const Sink sink = [&](const reports::Record& record) {
      if (const auto* sample = std::get_if<reports::TimingSample>(&record))
        order.push_back(static_cast<std::int64_t>(sample->run));
      if (const auto* note = std::get_if<reports::CompletenessRecord>(&record)) notes.push_back(note->detail);
    };
    Watcher silent;
    Faults faults;
    EXPECT_TRUE(time_modes(job, sink, silent, faults, [] { return false; }));
    EXPECT_EQ(order.size(), 2u * (10 + warm_up_steps));
    EXPECT_EQ(notes.size(), fits ? 0u : 1u);
    // Stopped after two steps: one of each mode, or two of the first.
    order.clear();
    int asked = 0;
    EXPECT_FALSE(time_modes(job, sink, silent, faults, [&] { return ++asked == 2; }));
    ASSERT_EQ(order.size(), 2u);
    EXPECT_EQ(order[0], 1);
    EXPECT_EQ(order[1], fits ? 2 : 1);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
