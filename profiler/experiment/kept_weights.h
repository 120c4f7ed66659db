// Final weights that stay beside a run file: a folder NAME.ulp.weights with a safetensors file for each run that ended, written
// where it was asked for (run.save_weights). They, or the checkpoint of a run that broke off, are what `ulpscope export` hands on.
#pragma once

#include <cstdint>
#include <string>

#include "engine/data/safetensors.h"
#include "profiler/experiment/checkpoints.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

class KeptWeights {
 public:
  explicit KeptWeights(const std::string& run_file) : folder_(run_file + ".weights") {}

  /// "NAME.ulp.weights/fp16-seed0.safetensors"
  std::string path(const std::string& mode, std::int64_t seed) const;
  /// Parameters and buffers of the state, in their own formats. started: the run's, which tells recordings of the same name
  /// apart. Replaces what is there once the new file is on the disk. Returns its bytes. Throws Error.
  std::int64_t save(const CheckpointLabel& label, const std::string& started, const engine::TrainerState& state) const;
  /// Removes what such files are there, and the folder if nothing else is in it.
  void clear() const noexcept;

 private:
  std::string folder_;
};

struct WeightsOfRun {
  engine::TensorFile file;   ///< parameters and buffers alone; metadata: mode, seed, step
  std::int64_t step = 0;     ///< steps that were done
  bool final = false;        ///< false: from the checkpoint of a run that has not ended
};

/// Throws UsageError in one line if there are none, with what to do about it, and for files that are damaged or belong to another
/// recording.
WeightsOfRun weights_of_run(const std::string& run_file, const reports::RunRecord& run);

}  // namespace ulpscope::profiler
