// Trains, evaluates and records one mode with one seed.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "profiler/experiment/checkpoints.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "profiler/probes/completeness.h"

namespace ulpscope::profiler {

class GpuWatch;

/// How a run ended.
struct RunEnd {
  reports::RunStatus status = reports::RunStatus::finished;
  std::string message;
};

/// The plan of a mode in the run file: recorded once, by the first run that can.
struct RecordedPlan {
  const engine::StepPlan& plan;
  reports::PlanId id{};
  bool recorded = false;
};

/// What the runs of an experiment share.
struct RunContext {
  const Experiment& experiment;
  Device& device;
  const engine::Dataset& dataset;
  reports::RunFileWriter& writer;
  Watcher& watcher;
  const std::function<bool()>& stop;
  const Checkpoints& checkpoints;
  reports::MachineId machine{1};
  GpuWatch* gpu = nullptr;   ///< null: there is no GPU to watch
};

/// Saves the state of a run now and then: after a number of steps, or every half minute.
class Checkpointer {
 public:
  static constexpr double seconds_between = 30.0;

  Checkpointer(const RunContext& context, CheckpointLabel label, Faults& faults);

  /// Goes on where another one stopped, for what record() says.
  void resume(std::int64_t saved, double seconds);
  void save_if_due(const engine::Trainer& trainer);
  /// Where rows of the steps so far cannot be written, or the checkpoint itself, the last one stays; said once.
  void save(const engine::Trainer& trainer);
  /// What it came to, into the run file.
  void record() const;
  const CheckpointLabel& label() const { return label_; }

 private:
  using Clock = std::chrono::steady_clock;
  void warn(const std::string& text);

  const RunContext& context_;
  CheckpointLabel label_;
  Faults& faults_;
  Clock::time_point last_ = Clock::now();
  std::int64_t saved_ = 0, bytes_ = 0;
  double seconds_ = 0.0;
  bool warned_ = false;
};

class SingleRun {
 public:
  /// past: what was recorded of it before; null: it begins. All must outlive it.
  SingleRun(const RunContext& context, const RunInfo& run, const PastRun* past, CheckpointLabel label);

  /// Never throws for what goes wrong in the run: that is its status.
  RunEnd run(const engine::TrainerSetup& setup, RecordedPlan& plan);

  /// Greatest memory of the run on the device.
  std::int64_t peak_bytes() const { return peak_bytes_; }
  const WatchingCost& cost() const { return cost_; }
  /// It ended by a fault, not by what training came to: its last checkpoint stays.
  bool broke_off() const { return broke_off_; }
  /// It ended because there was not memory enough.
  const std::optional<MemoryShortage>& shortage() const { return shortage_; }
  /// Its final weights were asked for, and could not be kept.
  bool weights_lost() const { return weights_lost_; }

 private:
  RunEnd train(const engine::TrainerSetup& setup, RecordedPlan& plan);
  RunEnd steps(engine::Trainer& trainer, const Recorder& recorder, std::chrono::steady_clock::time_point begin);
  RunEnd interrupted(const engine::Trainer& trainer);
  RunEnd out_of_memory(const RecordedPlan& plan, const std::string& words);
  /// Final weights beside the run file, if they are asked for.
  void keep_weights(const engine::Trainer& trainer);
  bool evaluation_due(std::int64_t steps_done) const;
  /// False if it was stopped.
  bool evaluate(engine::Trainer& trainer, std::int64_t steps_done);

  const RunContext& context_;
  const RunInfo& run_;
  const PastRun* past_;
  Sink sink_;
  Faults faults_;
  Checkpointer checkpointer_;
  reports::RunRecord record_;
  std::int64_t peak_bytes_ = 0;
  WatchingCost cost_;
  std::optional<MemoryShortage> shortage_;
  bool broke_off_ = false, weights_lost_ = false;
};

}  // namespace ulpscope::profiler
