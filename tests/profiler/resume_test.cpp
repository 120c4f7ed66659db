// An experiment that was stopped and gone on with records the same numbers as one that was not, and says when it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "profiler/experiment/checkpoints.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "reports/run_file/sqlite.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using reports::RunFileReader;
using reports::RunFileWriter;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Stop = std::function<bool()>;

const Stop never = [] { return false; };

class ResumeTest : public TinyExperiment {
 protected:
  Outcome begin(const Experiment& e, const std::string& name, const Stop& stop = never) {
    Runner runner(e);
    RunFileWriter writer(in(name), {.overwrite = true});
    const Outcome outcome = runner.run(writer, silent_, stop, "ulpscope run tiny.toml");
    writer.close();
    return outcome;
  }
  Outcome resume(const std::string& name, const Stop& stop = never, bool accept = false) {
    Runner runner(recorded_experiment(in(name)));
    Past past;
    RunFileWriter writer(in(name), {.append = true, .rewind = [&] { return (past = read_past(in(name), runner, accept)).rewind; }});
    const Outcome outcome = runner.run(writer, silent_, stop, "ulpscope run --resume", &past);
    writer.close();
    remarks_ = past.remarks;
    return outcome;
  }
  std::string refusal(const std::string& name, const std::vector<std::string>& assignments = {}, bool as_recorded = true) {
    try {
      const Runner runner(as_recorded ? recorded_experiment(in(name)) : experiment(assignments));
      read_past(in(name), runner, false);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }
  /// Stops when asked for the n-th time.
  static Stop at(int n) {
    return [n, asked = std::make_shared<int>(0)] { return ++*asked >= n; };
  }
  void sql(const std::string& name, const std::string& words) {
    reports::Database database(in(name), SQLITE_OPEN_READWRITE);
    database.execute(words.c_str());
  }

  Watcher silent_;
  std::vector<std::string> remarks_;
};

TEST_F(ResumeTest, TheSameNumbersWhereverItWasStopped) {
  const Experiment e = experiment();
  EXPECT_EQ(begin(e, "whole.ulp").finished, 6);
  const auto whole = numbers_of(in("whole.ulp"));
  EXPECT_GT(whole.size(), 6u * 13);
  // Each run asks after 12 steps and before the batches of three evaluations of two; all but the first before they begin.
  for (const int n : {1, 5, 6, 7, 17, 18, 19, 20, 26, 60, 100}) {
    EXPECT_TRUE(begin(e, "cut.ulp", at(n)).interrupted) << n;
    EXPECT_NE(numbers_of(in("cut.ulp")), whole) << n;
    EXPECT_EQ(resume("cut.ulp").finished, 6) << n;
    EXPECT_EQ(numbers_of(in("cut.ulp")), whole) << "stopped at " << n;
    EXPECT_FALSE(std::filesystem::exists(in("cut.ulp.ckpt"))) << "everything has ended";
  }
}

/// What watching cost is said once for the whole file, however often it was gone on with.
TEST_F(ResumeTest, TheCostOfWatchingIsSaidOnce) {
  const auto costs = [&] {
    std::vector<std::string> subjects;
    for (const reports::CompletenessRecord& row : RunFileReader(in("cut.ulp")).completeness())
      if (row.kind == "observation_cost") subjects.push_back(row.subject);
    std::sort(subjects.begin(), subjects.end());
    return subjects;
  };
  begin(experiment(), "cut.ulp", at(5));
  const std::vector<std::string> once = costs();
  EXPECT_FALSE(once.empty());
  for (const int n : {7, 9}) resume("cut.ulp", at(n));
  EXPECT_EQ(costs(), once);
  EXPECT_EQ(resume("cut.ulp").finished, 6);
  EXPECT_EQ(costs(), once);
}

TEST_F(ResumeTest, StoppedAgainAndAgain) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1"});
  begin(e, "whole.ulp");
  begin(e, "cut.ulp", at(2));
  int times = 0;
  while (resume("cut.ulp", at(3)).interrupted) ASSERT_LT(++times, 20);
  EXPECT_GE(times, 4);
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
}

TEST_F(ResumeTest, FromACheckpointInTheMiddleRowsAfterItAreReplaced) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1", "run.checkpoint_every=4"});
  begin(e, "whole.ulp");
  // As after a kill: rows up to step 7, the checkpoint of step 4.
  const Runner runner(e);
  const RunInfo run = runner.runs().front();
  begin(e, "other.ulp", at(4));
  begin(e, "cut.ulp", at(9));
  std::filesystem::copy_file(in("other.ulp.ckpt/run-1.safetensors"), in("cut.ulp.ckpt/run-1.safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
  sql("cut.ulp", "UPDATE run SET status = 'running', ended = ''");
  ASSERT_TRUE(Checkpoints(in("cut.ulp")).load(runner.label(run)).has_value());
  resume("cut.ulp");
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_THAT(remarks_[0], HasSubstr("fp16, seed 0: goes on at step 5"));
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
}

TEST_F(ResumeTest, WithoutACheckpointItBeginsAgain) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1"});
  begin(e, "whole.ulp");
  begin(e, "cut.ulp", at(5));
  std::filesystem::remove_all(in("cut.ulp.ckpt"));
  resume("cut.ulp");
  EXPECT_THAT(remarks_.at(0), HasSubstr("there is no checkpoint of it: it begins again"));
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
  // Rows that a power cut lost: the checkpoint is ahead of them.
  begin(e, "cut.ulp", at(5));
  sql("cut.ulp", "DELETE FROM step WHERE step = 3");
  resume("cut.ulp");
  EXPECT_THAT(remarks_.at(0), HasSubstr("rows of steps before its checkpoint are missing"));
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
}

TEST_F(ResumeTest, NoCheckpointsWhereNoneAreWanted) {
  begin(experiment({"run.modes=fp32", "run.checkpoint_every=-1"}), "cut.ulp", at(5));
  EXPECT_FALSE(std::filesystem::exists(in("cut.ulp.ckpt")));
}

TEST_F(ResumeTest, WhatWasCountedBeforeIsCountedOn) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1", "observe.every=2", "observe.ranges=true", "observe.shadow=true"});
  const auto notes = [&](const std::string& name) {
    std::vector<std::string> lines;
    for (const auto& row : RunFileReader(in(name)).completeness())
      if (row.subject == "observed steps" || row.subject == "ranges" || row.subject == "shadow steps")
        lines.push_back(fmt::format("{} {} {}", row.subject, row.count.value_or(-1), row.subject == "shadow steps" ? "" : row.detail));
    return lines;
  };
  begin(e, "whole.ulp");
  begin(e, "cut.ulp", at(7));
  sql("cut.ulp", "INSERT INTO completeness (run, kind, subject, count, provenance, detail) VALUES (1, 'fault', 'profiler', 2, 'counted', 'recorder: odd')");
  resume("cut.ulp");
  EXPECT_EQ(notes("whole.ulp").size(), 3u);
  EXPECT_EQ(notes("cut.ulp"), notes("whole.ulp"));
  int faults = 0, since = 0;
  for (const auto& row : RunFileReader(in("cut.ulp")).completeness()) {
    faults += row.kind == "fault" && row.count == 2 ? 1 : 0;
    since += row.subject == "cost of the recorder" && row.detail.find(" since it went on at step ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(faults, 1) << "of the part that stays";
  EXPECT_EQ(since, 1);
}

// Out of memory, say: what training had come to is still there.
TEST_F(ResumeTest, ARunThatBrokeOffGoesOnFromItsCheckpoint) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1"});
  begin(e, "whole.ulp");
  begin(e, "cut.ulp", at(5));
  sql("cut.ulp", "UPDATE run SET status = 'failed', message = 'out of memory'");
  resume("cut.ulp");
  EXPECT_THAT(remarks_.at(0), HasSubstr("goes on at step"));
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
  // Without its checkpoint it is over.
  sql("cut.ulp", "UPDATE run SET status = 'failed', message = 'out of memory'");
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("nothing to resume"));
}

TEST_F(ResumeTest, ARunThatDivergedAndStoppedIsLeft) {
  const std::vector<std::string> wild{"train.lr=1e38",  "train.clip=0", "train.optimizer=sgd", "train.schedule=constant",
                                      "run.modes=fp32,fp16", "run.seeds=1"};
  begin(experiment(wild), "whole.ulp");
  begin(experiment(wild), "cut.ulp", at(6));
  ASSERT_EQ(RunFileReader(in("cut.ulp")).runs().at(0).status, reports::RunStatus::failed);
  const Outcome outcome = resume("cut.ulp");
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_EQ(outcome.finished, 1);
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
}

TEST_F(ResumeTest, DivergenceIsSaidOnceAndAtTheSameStep) {
  const std::vector<std::string> wild{"train.lr=3", "train.clip=0", "train.optimizer=sgd", "train.schedule=constant",
                                      "run.modes=fp32", "run.seeds=1", "train.steps=30", "train.momentum=0"};
  begin(experiment(wild), "whole.ulp");
  const auto whole = numbers_of(in("whole.ulp"));
  EXPECT_THAT(whole, ::testing::Contains(HasSubstr("event"))) << "or the test says nothing";
  for (const int n : {3, 7, 9, 12, 24}) {
    begin(experiment(wild), "cut.ulp", at(n));
    resume("cut.ulp");
    EXPECT_EQ(numbers_of(in("cut.ulp")), whole) << n;
  }
}

TEST_F(ResumeTest, ATimingPhaseThatWasStoppedIsMadeAnew) {
  const Experiment e = experiment({"run.modes=fp32", "run.seeds=1", "run.timing_steps=10"});
  EXPECT_TRUE(begin(e, "cut.ulp", at(12 + 6 + 1 + 4)).interrupted);
  EXPECT_EQ(RunFileReader(in("cut.ulp")).runs().at(0).status, reports::RunStatus::finished);
  EXPECT_EQ(resume("cut.ulp").finished, 1);
  const RunFileReader file(in("cut.ulp"));
  EXPECT_EQ(file.timing_samples(file.runs().at(0).id).size(), 13u);
  for (const auto& row : file.completeness()) EXPECT_NE(row.subject, "timing") << row.detail;
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("cut.ulp has ended"));
}

TEST_F(ResumeTest, WhatCannotBeGoneOnWithIsSaidInOneLine) {
  begin(experiment(), "whole.ulp");
  EXPECT_THAT(refusal("whole.ulp"), HasSubstr("whole.ulp has ended: every run in it is finished or failed"));
  EXPECT_THAT(refusal("none.ulp"), HasSubstr("none.ulp"));
  EXPECT_THAT(refusal("tiny.toml"), HasSubstr("tiny.toml is not a run file"));

  begin(experiment(), "cut.ulp", at(5));
  EXPECT_THAT(refusal("cut.ulp", {"train.lr=0.5"}, false), AllOf(HasSubstr("another experiment"), HasSubstr("[train] lr = 0.5")));
  EXPECT_THAT(refusal("cut.ulp", {"run.threads=2"}, false), HasSubstr("another experiment"));
  {
    const RunFileWriter writer(in("cut.ulp"), {.append = true});
    EXPECT_THAT(refusal("cut.ulp"), HasSubstr("is being written by another process"));
  }
  std::ofstream(in("cut.ulp.ckpt/run-1.safetensors"), std::ios::app) << "x";
  EXPECT_THAT(refusal("cut.ulp"), AllOf(HasSubstr("run-1.safetensors: it is too long"), HasSubstr("without this file, fp32, seed 0 begins again")));
  std::filesystem::resize_file(in("cut.ulp.ckpt/run-1.safetensors"), 100);
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("run-1.safetensors: it is cut off"));

  begin(experiment(), "cut.ulp", at(5));
  {   // one bit of a weight
    std::fstream file(in("cut.ulp.ckpt/run-1.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get() ^ 1);
    file.seekp(-1, std::ios::end);
    file.put(last);
  }
  EXPECT_THAT(refusal("cut.ulp"), AllOf(HasSubstr("run-1.safetensors: it is damaged: tensor '"), HasSubstr("' is not what was written (crc32)"),
                                        HasSubstr("fp32, seed 0 begins again")));

  begin(experiment(), "cut.ulp", at(5));
  begin(experiment({"train.lr=0.5"}), "other.ulp", at(5));
  std::filesystem::copy_file(in("other.ulp.ckpt/run-1.safetensors"), in("cut.ulp.ckpt/run-1.safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("it is a checkpoint of another experiment"));
  begin(experiment(), "cut.ulp", at(5));
  std::ofstream(in("text.txt"), std::ios::app) << "more";
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("the data are no longer what they were"));
  sql("cut.ulp", "DELETE FROM experiment");
  EXPECT_THAT(refusal("cut.ulp"), HasSubstr("cut off before its experiment was written down"));
}

TEST_F(ResumeTest, ACheckpointOfAnOlderVersionHasNoChecksums) {
  const Experiment e = experiment({"run.modes=fp32", "run.seeds=1"});
  begin(e, "whole.ulp");
  begin(e, "cut.ulp", at(5));
  const std::string path = in("cut.ulp.ckpt/run-1.safetensors");
  engine::TensorFile file = engine::read_safetensors(path);
  ASSERT_EQ(file.metadata.erase("crc32"), 1u);
  engine::write_safetensors(path, file);
  resume("cut.ulp");
  ASSERT_EQ(remarks_.size(), 2u);
  EXPECT_THAT(remarks_[0], HasSubstr("fp32, seed 0: its checkpoint has no checksums"));
  EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp")));
}

TEST_F(ResumeTest, AnotherMachineIsNamedAndHasToBeAccepted) {
  const Experiment e = experiment({"run.modes=fp16", "run.seeds=1"});
  begin(e, "cut.ulp", at(5));
  sql("cut.ulp", "UPDATE machine SET processor = 'Z80'");
  sql("cut.ulp", "UPDATE run SET kernel_choices_json = json_set(kernel_choices_json, '$.threads', 64), "
                 "versions_json = json_set(versions_json, '$.ulpscope', '0.0.9')");
  EXPECT_THAT(refusal("cut.ulp"), AllOf(HasSubstr("processor Z80, here "), HasSubstr("threads 64, here 1"), HasSubstr("ulpscope 0.0.9"),
                                        HasSubstr("--accept-different-bits")));
  EXPECT_EQ(resume("cut.ulp", never, true).finished, 1);
  const RunFileReader file(in("cut.ulp"));
  ASSERT_EQ(file.machines().size(), 2u);
  EXPECT_EQ(file.runs().at(0).machine, reports::MachineId{2});
  std::string said;
  for (const auto& row : file.completeness())
    if (row.subject.starts_with("resumed")) said = row.detail;
  EXPECT_THAT(said, AllOf(HasSubstr("bits may differ from here on"), HasSubstr("Z80")));
}

TEST_F(ResumeTest, ANewRunOfTheSameNameForgetsTheOldCheckpoints) {
  begin(experiment(), "cut.ulp", at(5));
  ASSERT_TRUE(std::filesystem::exists(in("cut.ulp.ckpt/run-1.safetensors")));
  std::ofstream(in("cut.ulp.ckpt/notes.txt")) << "mine";
  begin(experiment({"run.modes=fp32", "run.seeds=1"}), "cut.ulp");
  EXPECT_FALSE(std::filesystem::exists(in("cut.ulp.ckpt/run-1.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(in("cut.ulp.ckpt/notes.txt"))) << "what is not ours stays";
}

TEST_F(ResumeTest, ACheckpointThatCannotBeWrittenIsSaidAndTrainingGoesOn) {
  struct Ears final : Watcher {
    void warning(const std::string& text) override { said.push_back(text); }
    std::vector<std::string> said;
  } ears;
  std::ofstream(in("cut.ulp.ckpt")) << "a file is in the way";
  Runner runner(experiment({"run.modes=fp32", "run.seeds=1", "run.checkpoint_every=2"}));
  RunFileWriter writer(in("cut.ulp"));
  EXPECT_EQ(runner.run(writer, ears, never, "").finished, 1);
  writer.close();
  ASSERT_EQ(ears.said.size(), 1u) << "once";
  EXPECT_THAT(ears.said[0], AllOf(HasSubstr("cut.ulp.ckpt"), HasSubstr("training goes on")));
}

}  // namespace
}  // namespace ulpscope::profiler
