// A folder with a text of some kilobytes, a tiny model, and a runner.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/runner.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {

using reports::RunFileReader;
using reports::RunFileWriter;

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

}  // namespace ulpscope::profiler
