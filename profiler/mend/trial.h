// Runs a changed experiment, from its start or from a checkpoint, and diagnoses what came of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "profiler/experiment/runner.h"
#include "profiler/experiment/temporary_folder.h"
#include "profiler/mend/horizon.h"
#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::profiler {

/// The machine could not keep what a trial showed (no room for its recording): no change can be judged by it.
class NotKept : public Error {
 public:
  using Error::Error;
};

struct Trial {
  reports::RunDiagnosis diagnosis{};
  engine::Graph step{};          ///< as it was planned
  bool stopped = false;          ///< it was asked to end before its last step
  std::int64_t first_step = 0;   ///< iteration; more than 0: it began from a checkpoint
  std::int64_t steps = 0;        ///< done
  std::int64_t last_step = 0;    ///< that it was to come to
  std::int64_t skipped = 0;      ///< of the steps done
  ScaleCourse scale{};           ///< unless it scales no loss, or by a fixed number
  std::string remark{};          ///< why it is as long as it is, where it is not as long as the others or as it should be
  std::string gaps{};            ///< what its recording lacks; empty: nothing
  std::optional<std::int64_t> first_skipped{};   ///< iteration
  reports::Number step_seconds{};   ///< median of the steps that nobody looked into; unknown with less than three
  reports::Provenance time_provenance = reports::Provenance::unknown;
  reports::Count peak_bytes{};   ///< without what observing needs
};

class Trials {
 public:
  /// base: of the experiment that is changed, in one mode; its data and device are used. stop: asked after every step.
  Trials(Runner& base, std::int64_t seed, std::function<bool()> stop);
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  /// In the first of its modes, as many steps as it says. Throws UsageError for a change that the model does not allow, before
  /// anything is run, and NotKept where it was run and its recording has gaps. start: state to begin from, of the same mode and formats; null: the start.
  Trial run(const Experiment& experiment, const engine::TrainerState* start = nullptr);
  std::int64_t count() const { return count_; }
  /// From here on trials are judged beside this fp32 run, as fp32_twin() gives it.
  void judge_beside(std::vector<reports::Record> twin) { twin_ = std::move(twin); }

 private:
  Runner& base_;
  std::int64_t seed_;
  std::function<bool()> stop_;
  TemporaryFolder folder_{"mend"};   ///< of the trials' run files
  std::int64_t count_ = 0;
  std::vector<reports::Record> twin_;
};

/// What a diagnosis reads of the fp32 run with this seed, or else of the first one, as a second run of another file; empty if there is none. Some faults
/// show only beside it: a loss that is exactly 0 here alone, a parameter that has a gradient there.
/// statistics: of its tensors, too, which may be many.
std::vector<reports::Record> fp32_twin(const reports::RunFileReader& file, std::int64_t seed, bool statistics = true);

}  // namespace ulpscope::profiler
