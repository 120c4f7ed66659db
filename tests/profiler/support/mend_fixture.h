// Records an experiment, mends it, and looks at what came of which change.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/runner.h"
#include "profiler/mend/mend.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/mends.h"

namespace ulpscope::profiler {

using reports::MendsOfRun;
using reports::MendStatus;
using reports::MendTrial;

class MendFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "ulpscope_mend_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream text(in("text.txt"));
    for (int i = 0; i < 4000; ++i) text << "line " << i * 37 % 101 << " of a text\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  Experiment from_text(const std::string& toml) const {
    Settings settings;
    settings.add_text(toml, in("test.toml"));
    return settings.build();
  }
  Experiment from_case(const std::string& name, const std::string& mode, const std::vector<std::string>& assignments = {}) const {
    Settings settings;
    settings.add_file(std::string(ULPSCOPE_SOURCE_DIR) + "/examples/cases/" + name + ".toml");
    for (const std::string& assignment : assignments) settings.add_assignment(assignment);
    Experiment experiment = settings.build();
    experiment.run.modes = {mode};
    return experiment;
  }

  std::string record(Experiment experiment) const {
    experiment.run.timing_steps = 0;
    experiment.run.checkpoint_every = -1;
    experiment.run.threads = 1;
    Runner runner(experiment);
    reports::RunFileWriter writer(in("run.ulp"), {.overwrite = true});
    Watcher watcher;
    runner.run(writer, watcher, [] { return false; }, "ulpscope run");
    writer.close();
    return in("run.ulp");
  }

  /// Mends what it finds wrong; the section of the file.
  const MendsOfRun& mended(const Experiment& experiment, double budget = 300.0) {
    const std::string file = record(experiment);
    const MendResult result = mend(file, {.budget_seconds = budget}, nullptr, nullptr);
    notes_ = result.notes;
    record_mends(file, result);
    mends_ = reports::mends(reports::RunFileReader(file));
    static const MendsOfRun none;
    return mends_.runs.empty() ? none : mends_.runs.front();
  }

  static std::string told(const MendsOfRun& run) {
    std::string text = fmt::format("{}\n", run.verdict);
    for (const MendTrial& t : run.trials)
      text += fmt::format("  {} [{}] {}: {} (stays: {})\n", t.record.kind, name(t.record.status), t.record.change, t.why, fmt::join(t.remains, "; "));
    return text;
  }
  static const MendTrial& trial(const MendsOfRun& run, const std::string& kind, const std::string& words = "") {
    const auto found = std::find_if(run.trials.begin(), run.trials.end(), [&](const MendTrial& t) {
      return t.record.kind == kind && t.record.change.find(words) != std::string::npos;
    });
    if (found != run.trials.end()) return *found;
    ADD_FAILURE() << "no " << kind << " in " << told(run);
    static const MendTrial none;
    return none;
  }
  static void expect(const MendsOfRun& run, const std::string& kind, MendStatus status, const std::string& words = "") {
    EXPECT_EQ(name(trial(run, kind, words).record.status), name(status)) << kind << " " << words << "\n" << told(run);
  }

  std::string folder_;
  reports::Mends mends_;
  std::vector<std::string> notes_;
};

/// One step in fp16 that changes nothing.
inline constexpr const char* one_step =
    "model = {kind = 'graph', loss = 'loss'}\n"
    "train = {steps = 1, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0, scaler = {init = 256}}\n"
    "run = {modes = ['fp16']}\n";

}  // namespace ulpscope::profiler
