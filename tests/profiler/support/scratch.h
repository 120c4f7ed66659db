// A folder for the files of a test, gone with it; experiments recorded there.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/runner.h"

namespace ulpscope::profiler {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ulpscope-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    folder_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator()(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// As `ulpscope run` does, without timing and checkpoints.
inline void record_experiment(Experiment experiment, const std::string& file) {
  experiment.run.timing_steps = 0;
  experiment.run.checkpoint_every = -1;
  Runner runner(experiment);
  reports::RunFileWriter writer(file, {.overwrite = true});
  Watcher watcher;
  runner.run(
      writer, watcher, [] { return false; }, "ulpscope run");
  writer.close();
}

/// examples/cases/NAME.toml
inline Settings case_settings(const std::string& name, const std::vector<std::string>& assignments = {}) {
  Settings settings;
  settings.add_file(std::string(ULPSCOPE_SOURCE_DIR) + "/examples/cases/" + name + ".toml");
  for (const std::string& assignment : assignments) settings.add_assignment(assignment);
  return settings;
}

}  // namespace ulpscope::profiler
