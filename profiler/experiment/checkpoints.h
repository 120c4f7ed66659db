// The checkpoints of an experiment: a folder NAME.ulp.ckpt beside its run file, with a safetensors file for the run that is
// under way. Only whoever holds the run file's lock writes there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/train/trainer_state.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

/// What a checkpoint belongs to.
struct CheckpointLabel {
  reports::RunId run{};
  std::string mode;
  std::uint64_t seed = 0;
  std::string experiment;   ///< fingerprint of the configuration and the data
  std::vector<std::string> weights{};   ///< names of parameters and buffers
};

class Checkpoints {
 public:
  /// Of the metadata: the names of the weights, a JSON list.
  static constexpr const char* weights_key = "weights";

  explicit Checkpoints(const std::string& run_file) : folder_(run_file + ".ckpt") {}

  std::string path(reports::RunId run) const;
  /// Replaces the last one of the run once this one is on the disk. Returns its bytes. Throws Error.
  std::int64_t save(const CheckpointLabel& label, const engine::TrainerState& state) const;
  /// Nothing if there is none. Throws UsageError for a file that is damaged or belongs to something else. remark: what is to be
  /// said of one that is taken.
  std::optional<engine::TrainerState> load(const CheckpointLabel& label, std::string* remark = nullptr) const;
  bool has(reports::RunId run) const noexcept;
  void remove(reports::RunId run) const noexcept;
  /// Removes what checkpoints are there, and the folder if nothing else is in it.
  void clear() const noexcept;

 private:
  std::string folder_;
};

}  // namespace ulpscope::profiler
