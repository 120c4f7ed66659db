#include "profiler/experiment/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <new>
#include <optional>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/plan_records.h"
#include "profiler/experiment/run_record.h"
#include "profiler/experiment/timing.h"
#include "profiler/probes/completeness.h"
#include "profiler/probes/memory_ledger.h"
#include "profiler/probes/recorder.h"
#include "profiler/trace/node_clock.h"
#include "reports/export/numbers.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using reports::RunStatus;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Before anything is loaded.
const Experiment& with_data(const Experiment& experiment) {
  if (!experiment.data.paths.empty()) return experiment;
  throw UsageError("there is no data to train on: set data.path in the experiment file, or give --data PATH");
}

/// The keys that make this model larger.
std::vector<std::string> size_keys(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const Key& key : keys())
    if (key.name.starts_with("model.") && key.type == KeyType::integer && key.get(experiment))
      names.push_back(key.name);
  return names;
}

/// How a run ended.
struct End {
  RunStatus status = RunStatus::finished;
  std::string message;
};

}  // namespace

struct Runner::State {
  explicit State(const Experiment& e)
      : experiment(with_data(e)),
        device(make_cpu_device({.threads = static_cast<int>(e.run.threads), .instruction_set = {}})),
        dataset(engine::load_text(e.data.paths, engine::text_options(e.model, e.data.held_out))) {
    const engine::Model model = engine::build_model(e.model, e.train.batch, true);
    for (const std::string& name : e.run.modes) {
      const engine::Mode& mode = engine::find_mode(name);
      plans.push_back(engine::plan_step(*device, model, mode, e.train));  // throws what the user has to mend
      modes.push_back(mode);
    }
    matmul_self_test(*device);
  }

  RunInfo run_info(std::size_t mode, std::int64_t seed) const {
    RunInfo run;
    run.id = static_cast<reports::RunId>(seed * static_cast<std::int64_t>(modes.size()) +
                                         static_cast<std::int64_t>(mode) + 1);
    run.mode = modes[mode];
    run.seed = static_cast<std::uint64_t>(experiment.run.seed + seed);
    run.seeds = experiment.run.seeds;
    run.first_seed = static_cast<std::uint64_t>(experiment.run.seed);
    run.steps = experiment.train.steps;
    run.loss_scaling = engine::scales_loss(run.mode, experiment.train);
    return run;
  }

  engine::TrainerSetup setup(const RunInfo& run) const {
    return {experiment.model, run.mode, experiment.train, run.seed};
  }

  Experiment experiment;
  std::unique_ptr<Device> device;
  std::unique_ptr<engine::Dataset> dataset;
  std::vector<engine::Mode> modes;
  std::vector<engine::StepPlan> plans;  ///< of the modes
};

namespace {

/// Says once that the file cannot be written, while there is time to do something about it.
class FaultWarning {
 public:
  FaultWarning(const reports::RunFileWriter& writer, Watcher& watcher) : writer_(writer), watcher_(watcher) {}

  void look() {
    const auto fault = warned_ ? std::nullopt : writer_.fault();
    if (!fault) return;
    warned_ = true;
    Faults ignored;
    ignored.guard("progress",
                  [&] { watcher_.warning(fmt::format("{}; training goes on, writing is tried again", *fault)); });
  }
  /// After every step: looks once a second.
  void look_now_and_then() {
    if (seconds_since(last_) < 1.0) return;
    last_ = Clock::now();
    look();
  }

 private:
  const reports::RunFileWriter& writer_;
  Watcher& watcher_;
  bool warned_ = false;
  Clock::time_point last_ = Clock::now();
};

/// The plan of a mode in the run file: recorded once, by the first run that can.
struct RecordedPlan {
  const engine::StepPlan& plan;
  reports::PlanId id{};
  bool recorded = false;
};

/// Trains, evaluates and records one mode with one seed.
class SingleRun {
 public:
  SingleRun(const Experiment& experiment, Device& device, const engine::Dataset& dataset, const RunInfo& run, Sink sink,
            Watcher& watcher, const std::function<bool()>& stop)
      : experiment_(experiment),
        device_(device),
        dataset_(dataset),
        run_(run),
        sink_(std::move(sink)),
        watcher_(watcher),
        stop_(stop) {}

  /// Never throws for what goes wrong in the run: that is its status.
  End run(const engine::TrainerSetup& setup, RecordedPlan& plan) {
    record_.id = run_.id;
    record_.mode = run_.mode.name;
    record_.seed = static_cast<std::int64_t>(run_.seed);
    record_.started = utc_now();
    faults_.guard("progress", [&] { watcher_.run_begin(run_); });
    End end;
    try {
      end = train(setup, plan);
    } catch (const std::bad_alloc&) {
      end = {RunStatus::failed, "out of memory"};
    } catch (const std::exception& error) {
      end = {RunStatus::failed, error.what()};
    }
    record_.status = end.status;
    record_.message = end.message;
    record_.ended = utc_now();
    faults_.guard("runner", [&] { sink_(record_); });
    faults_.guard("progress", [&] { watcher_.run_end(run_, end.status, end.message); });
    return end;
  }

  /// Greatest memory of the run on the device.
  std::int64_t peak_bytes() const { return peak_bytes_; }
  const WatchingCost& cost() const { return cost_; }

 private:
  End train(const engine::TrainerSetup& setup, RecordedPlan& plan) {
    // From the plan, before the trainer is made: if there is no memory for it, the run file says of what.
    record_ = run_record(experiment_, run_, device_, dataset_, plan.plan);
    record_.machine = reports::MachineId{1};
    record_.plan = plan.id;
    record_.started = utc_now();
    sink_(record_);
    faults_.guard("plan", [&] {
      if (!plan.recorded) record_plan(plan.plan, plan.id, sink_);
      plan.recorded = true;
    });
    MemoryLedger ledger(device_, sink_, faults_, run_.id);
    ledger.record_prediction(plan.plan.memory.peak_by_category);
    engine::Topics topics;
    engine::Trainer trainer(device_, dataset_, setup, topics);

    Recorder recorder(topics, sink_, faults_, run_.id, run_.loss_scaling);
    NodeClock clock(topics, faults_, trainer.plan().graph.node_count(), run_.steps > 1 ? 1 : 0);
    const Clock::time_point begin = Clock::now();
    const End end = steps(trainer, recorder, begin);
    cost_ = {seconds_since(begin), recorder.own_seconds(), clock.own_seconds(), recorder.steps(),
             clock.sampled_steps()};

    ledger.record_peak(trainer.memory_by_category());
    peak_bytes_ = ledger.peak_bytes();
    faults_.guard("node clock", [&] {
      for (auto& timing : clock.timings(run_.id, time_provenance(device_, run_.mode))) sink_(timing);
    });
    faults_.guard("completeness", [&] { record_completeness(sink_, run_.id, faults_, cost_); });
    return end;
  }

  End steps(engine::Trainer& trainer, const Recorder& recorder, Clock::time_point begin) {
    const std::int64_t every = experiment_.train.evaluate_every;
    for (std::int64_t i = 0; i < run_.steps; ++i) {
      const engine::StepResult result = trainer.step();
      faults_.guard("progress", [&] { watcher_.step(run_, result, seconds_since(begin)); });
      if (result.stopped && result.scale_event == scaling::ScaleEvent::gave_up) {
        return {RunStatus::failed, fmt::format("step {} overflowed at the loss scale {:g}, the lowest of the policy {}",
                                               result.iteration + 1, result.loss_scale,
                                               scaling::name(experiment_.train.scaler))};
      }
      if (result.stopped) {
        return {RunStatus::failed, fmt::format("a gradient is not finite in step {}, and {} has no loss scaler "
                                               "(train.non_finite = \"stop\")",
                                               result.iteration + 1, run_.mode.name)};
      }
      if (stop_()) return {RunStatus::interrupted, "Ctrl-C or a signal to end"};
      const bool last = i + 1 == run_.steps;
      if (last || (every > 0 && (i + 1) % every == 0)) evaluate(trainer, i + 1);
    }
    if (const auto step = recorder.diverged_at())
      return {RunStatus::finished, fmt::format("diverged at step {}", *step + 1)};
    return {};
  }

  void evaluate(engine::Trainer& trainer, std::int64_t steps_done) {
    const Clock::time_point begin = Clock::now();
    const engine::Trainer::Evaluation evaluation = trainer.evaluate();
    if (!evaluation.available) return;
    reports::EvaluationRecord record;
    record.run = run_.id;
    record.step = steps_done;
    record.loss = evaluation.loss;
    record.tokens = evaluation.batches * trainer.plan().tokens;
    record.wall_seconds = seconds_since(begin);
    faults_.guard("recorder", [&] { sink_(record); });
    faults_.guard("progress", [&] { watcher_.evaluated(run_, evaluation); });
  }

  const Experiment& experiment_;
  Device& device_;
  const engine::Dataset& dataset_;
  const RunInfo& run_;
  Sink sink_;
  Watcher& watcher_;
  const std::function<bool()>& stop_;
  Faults faults_;
  reports::RunRecord record_;
  std::int64_t peak_bytes_ = 0;
  WatchingCost cost_;
};

}  // namespace

void Watcher::warning(const std::string& text) { spdlog::warn("{}", text); }

Runner::Runner(const Experiment& experiment) : state_(std::make_unique<State>(experiment)) {}
Runner::~Runner() = default;

Device& Runner::device() { return *state_->device; }
const engine::Dataset& Runner::dataset() const { return *state_->dataset; }

void Runner::set_output(const std::string& path) { state_->experiment.run.output = path; }

void Runner::check_memory(std::int64_t free_bytes) const {
  std::int64_t most = 0;
  std::string mode;
  for (std::size_t i = 0; i < state_->plans.size(); ++i) {
    const engine::MemoryPlan& memory = state_->plans[i].memory;
    const std::int64_t bytes = memory.persistent_bytes + memory.arena_bytes;
    if (bytes <= most) continue;
    most = bytes;
    mode = state_->modes[i].name;
  }
  if (most <= free_bytes) return;
  throw UsageError(fmt::format(
      "a step in {} needs {} of memory, and {} are free: lower train.batch (now {}) or the model's size ({})", mode,
      reports::bytes_text(static_cast<double>(most)), reports::bytes_text(static_cast<double>(free_bytes)),
      state_->experiment.train.batch, fmt::join(size_keys(state_->experiment), ", ")));
}

Outcome Runner::run(reports::RunFileWriter& writer, Watcher& watcher, const std::function<bool()>& stop,
                    const std::string& command_line) {
  State& s = *state_;
  const Sink sink = [&writer](reports::Record record) { writer.push(std::move(record)); };
  sink(experiment_record(s.experiment, command_line));
  sink(machine_record(*s.device, find_gpus(this_system()), reports::MachineId{1}));

  FaultWarning fault_warning(writer, watcher);
  const std::function<bool()> stop_or_go_on = [&] {
    fault_warning.look_now_and_then();
    return stop();
  };

  Outcome outcome;
  TimingJob timing{*s.device, *s.dataset, {}, s.experiment.run.timing_steps, 0};
  WatchingCost watching;
  std::vector<RecordedPlan> plans;
  for (std::size_t mode = 0; mode < s.modes.size(); ++mode)
    plans.push_back({s.plans[mode], static_cast<reports::PlanId>(mode + 1)});
  std::vector<std::optional<TimedMode>> timed(s.modes.size());  // the first run of each mode that finished
  for (std::int64_t seed = 0; seed < s.experiment.run.seeds && !outcome.interrupted; ++seed) {
    for (std::size_t mode = 0; mode < s.modes.size() && !outcome.interrupted; ++mode) {
      const RunInfo run = s.run_info(mode, seed);
      SingleRun single(s.experiment, *s.device, *s.dataset, run, sink, watcher, stop_or_go_on);
      const End end = single.run(s.setup(run), plans[mode]);
      watching += single.cost();
      if (end.status == RunStatus::interrupted) outcome.interrupted = true;
      if (end.status == RunStatus::finished) ++outcome.finished;
      if (end.status == RunStatus::failed) {
        ++outcome.failed;
        outcome.failures.push_back(fmt::format("{}, seed {}: {}", run.mode.name, run.seed, end.message));
      }
      if (!timed[mode] && end.status == RunStatus::finished)
        timed[mode] = TimedMode{run, s.setup(run), single.peak_bytes()};
      if (stop()) outcome.interrupted = true;
      fault_warning.look();
    }
  }
  writer.flush();  // nothing is written while steps are timed
  record_watching(sink, watching, writer.cpu_seconds());
  for (auto& mode : timed)
    if (mode) timing.modes.push_back(std::move(*mode));
  if (!outcome.interrupted && timing.steps > 0 && !timing.modes.empty()) {
    Faults faults;
    writer.flush();
    timing.free_bytes = free_memory_bytes() / 10 * 9;  // some is left to others
    if (!time_modes(timing, sink, watcher, faults, stop)) outcome.interrupted = true;
    if (faults.count() > 0) record_note(sink, std::nullopt, "timing", faults.first());
  }
  return outcome;
}

}  // namespace ulpscope::profiler
