// The plans of an experiment's modes as the rows of a run file, without running anything: for projection and advice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "profiler/experiment/experiment_file.h"
#include "reports/analysis/projection.h"

namespace ulpscope::profiler {

/// Plans an experiment again and again: in its modes, at other batches. Nothing is allocated. Plans are made for the CPU, whose kernels
/// decide scratch memory and what is fused.
class PlannedExperiment {
 public:
  /// The experiment file (settings), or the text that a run file keeps. Data that decide a model's sizes are read. Throws UsageError for
  /// what the experiment's user has to mend.
  explicit PlannedExperiment(const Settings& settings);
  ~PlannedExperiment();

  const Experiment& experiment() const { return experiment_; }
  reports::PlannedMode plan(const std::string& mode) const;
  /// Peak bytes at another batch; nothing if there is no such plan (a graph that makes its own batches has one alone).
  reports::Count peak_at(const std::string& mode, std::int64_t batch);

 private:
  struct Cache;
  Experiment experiment_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Cache> cache_;
};

/// RUN.ulp or experiment.toml as a projection takes it. modes: empty for all of a run file, of an experiment for those of run.modes.
/// What can be planned again is; what cannot says so in the notes.
reports::ProjectionInput projection_input(const std::string& path, const std::vector<std::string>& modes);

/// The GPUs of --gpu, each as typed. Throws UsageError for a name that is none.
std::vector<std::pair<std::string, reports::Gpu>> gpus_named(const std::vector<std::string>& words);

}  // namespace ulpscope::profiler
