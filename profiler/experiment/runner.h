// Runs an experiment: each mode with each seed is trained, evaluated and recorded, then the modes are timed side by
// side.
//
//   Runner runner(experiment);            // loads the data, plans every mode: the user's mistakes show here
//   reports::RunFileWriter writer(path);
//   const Outcome outcome = runner.run(writer, watcher, stop, command_line);
//   writer.close();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "engine/train/weights.h"
#include "profiler/experiment/checkpoints.h"
#include "profiler/experiment/experiment.h"
#include "profiler/experiment/memory_shortage.h"
#include "profiler/probes/faults.h"
#include "reports/run_file/writer.h"

namespace ulpscope::profiler {

struct Past;

/// One mode with one seed.
struct RunInfo {
  reports::RunId id{};
  engine::Mode mode;
  std::uint64_t seed = 0;
  std::int64_t seeds = 1;  ///< how many seeds the experiment has, and the first
  std::uint64_t first_seed = 0;
  std::int64_t steps = 0;
  std::int64_t done_before = 0;  ///< steps that were made before it was resumed
  bool loss_scaling = false;
  std::optional<engine::WeightsSummary> weights;  ///< none: drawn from the seed
};

/// What is told to whoever shows progress. Everything is optional; what these throw does not stop training.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void run_begin(const RunInfo&) {}
  /// seconds: wall time since the run's first step began.
  virtual void step(const RunInfo&, const engine::StepResult&, double /*seconds*/) {}
  virtual void evaluated(const RunInfo&, const engine::Trainer::Evaluation&) {}
  /// message: why it failed or was interrupted.
  virtual void run_end(const RunInfo&, reports::RunStatus, const std::string& /*message*/) {}
  /// note: why the modes are not timed in turn, if they are not.
  virtual void timing_begin(std::int64_t /*steps*/, const std::string& /*note*/) {}
  virtual void timing_step(std::int64_t /*done*/, std::int64_t /*steps*/) {}
  virtual void timing_end() {}
  /// The recording has a fault, training goes on. Said once for a file. Without a watcher of its own: logged.
  virtual void warning(const std::string& text);
};

struct Outcome {
  bool interrupted = false;
  std::int64_t finished = 0;          ///< runs
  std::int64_t failed = 0;            ///< runs that stopped or threw; the others went on
  std::int64_t weights_lost = 0;      ///< runs whose final weights could not be kept
  std::vector<std::string> failures;  ///< "fp16, seed 0: …"
  std::vector<MemoryShortage> shortages;  ///< of the runs that failed for want of memory
};

class Runner {
 public:
  /// Throws UsageError for data that is missing or too short, a pattern that matches no node; Error for a matrix
  /// product that is wrong on this processor.
  explicit Runner(const Experiment& experiment);
  ~Runner();

  /// Of the mode that needs most memory; nothing: it needs no more than `free_bytes`.
  std::optional<MemoryShortage> shortage(std::int64_t free_bytes) const;
  /// Throws UsageError, with the keys to lower, if there is one.
  void check_memory(std::int64_t free_bytes) const;

  /// The run file's name, as the recorded experiment says it.
  void set_output(const std::string& path);

  /// What a run file begins with, for WriterOptions::first; a file that was begun without it gets it from run().
  std::vector<reports::Record> beginning(const std::string& command_line) const;

  /// stop: asked after every step and between the batches of an evaluation; true ends the run, and the file is complete so far.
  /// past: of a run file that is gone on with (past.h); its `rewind` has to be among the writer's options. Runs that ended are
  /// left as they are. Checkpoints lie beside the run file until everything has ended.
  Outcome run(reports::RunFileWriter& writer, Watcher& watcher, const std::function<bool()>& stop,
              const std::string& command_line, const Past* past = nullptr);

  const Experiment& experiment() const;
  /// In the order in which they are run.
  std::vector<RunInfo> runs() const;
  /// This machine, and what a run made now would say of itself: to compare with what was recorded.
  reports::MachineRecord machine() const;
  reports::RunRecord record_now() const;
  CheckpointLabel label(const RunInfo& run) const;

  Device& device();
  const engine::Dataset& dataset() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::profiler
