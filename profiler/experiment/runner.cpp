#include "profiler/experiment/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/data/draw.h"
#include "kernels/error.h"
#include "kernels/matmul.h"
#include "profiler/experiment/gpu_bus_id.h"
#include "profiler/experiment/kept_weights.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/make_device.h"
#include "profiler/experiment/observe.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/run_record.h"
#include "profiler/experiment/single_run.h"
#include "profiler/experiment/timing.h"
#include "profiler/probes/completeness.h"
#include "profiler/probes/shadow.h"
#include "profiler/trace/gpu_watch.h"
#include "profiler/trace/nvtx_ranges.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using reports::RunStatus;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

struct Runner::State {
  explicit State(const Experiment& e)
      : experiment(e),
        device(make_device(e.run.device, static_cast<int>(e.run.threads))),
        dataset(load_data(experiment)) {
    const engine::Model model = engine::build_model(experiment.model, e.train.batch, true);
    for (const std::string& name : e.run.modes) {
      const engine::Mode& mode = engine::find_mode(name);
      plans.push_back(engine::plan_step(*device, model, mode, e.train));  // throws what the user has to mend
      check_observed_nodes(e.observe, plans.back().graph);
      modes.push_back(mode);
    }
    check_initial_weights();
    matmul_self_test(*device);
  }

  /// Before anything is trained.
  void check_initial_weights() {
    const std::string& path = experiment.train.weights;
    if (path.empty()) return;
    const engine::TensorFile file = engine::read_weights(path);
    for (std::size_t i = 0; i < modes.size(); ++i)
      weights.push_back(engine::check_weights(file, path, plans[i].graph, modes[i], experiment.train.widen));
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
    if (!weights.empty()) run.weights = weights[mode];
    return run;
  }

  std::size_t index_of(const RunInfo& run) const {
    const auto same = [&](const engine::Mode& mode) { return mode.name == run.mode.name; };
    return static_cast<std::size_t>(std::find_if(modes.begin(), modes.end(), same) - modes.begin());
  }

  engine::TrainerSetup setup(const RunInfo& run) const {
    return {experiment.model, run.mode, experiment.train, run.seed};
  }

  Experiment experiment;
  std::unique_ptr<Device> device;
  std::unique_ptr<engine::Dataset> dataset;
  std::vector<engine::Mode> modes;
  std::vector<engine::StepPlan> plans;  ///< of the modes
  std::vector<engine::WeightsSummary> weights;  ///< of the modes; empty: they are drawn
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

}  // namespace

void Watcher::warning(const std::string& text) { spdlog::warn("{}", text); }

Runner::Runner(const Experiment& experiment) : state_(std::make_unique<State>(experiment)) {}
Runner::~Runner() = default;

Device& Runner::device() { return *state_->device; }
const engine::Dataset& Runner::dataset() const { return *state_->dataset; }

void Runner::set_output(const std::string& path) { state_->experiment.run.output = path; }

std::optional<MemoryShortage> Runner::shortage(std::int64_t free_bytes) const {
  const State& s = *state_;
  const bool shadow = s.experiment.observe.shadow;
  std::size_t most = 0;
  std::int64_t most_bytes = 0;
  const auto need = [&](const engine::Mode& mode) -> PlannedNeed {
    return [&s, shadow, mode](const engine::StepPlan& plan, const engine::TrainConfig& train) {
      return step_bytes(plan) + (shadow ? Shadow::planned_bytes(*s.device, plan, {s.experiment.model, mode, train, 0}) : 0);
    };
  };
  for (std::size_t i = 0; i < s.plans.size(); ++i) {
    const std::int64_t bytes = need(s.modes[i])(s.plans[i], s.experiment.train);
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    most = i;
  }
  if (most_bytes <= free_bytes) return std::nullopt;
  MemoryShortage shortage = memory_shortage(*s.device, s.experiment, s.modes[most], s.plans[most], free_bytes, need(s.modes[most]));
  if (shadow) shortage.beside = " and those beside it (observe.shadow)";
  return shortage;
}

void Runner::check_memory(std::int64_t free_bytes) const {
  if (const auto found = shortage(free_bytes)) throw UsageError(shortage_line(*found));
}

const Experiment& Runner::experiment() const { return state_->experiment; }

std::vector<RunInfo> Runner::runs() const {
  std::vector<RunInfo> runs;
  for (std::int64_t seed = 0; seed < state_->experiment.run.seeds; ++seed)
    for (std::size_t mode = 0; mode < state_->modes.size(); ++mode) runs.push_back(state_->run_info(mode, seed));
  return runs;
}

reports::MachineRecord Runner::machine() const {
  const std::unique_ptr<Device> cpu = state_->device->description().kind == DeviceKind::cpu ? nullptr : make_cpu_device();
  return machine_record(cpu ? *cpu : *state_->device, find_gpus(this_system()), cuda_module().state(), reports::MachineId{1});
}

reports::RunRecord Runner::record_now() const {
  return run_record(state_->experiment, state_->run_info(0, 0), *state_->device, *state_->dataset, state_->plans.front());
}

std::vector<reports::Record> Runner::beginning(const std::string& command_line) const {
  return {experiment_record(state_->experiment, command_line), machine()};
}

CheckpointLabel Runner::label(const RunInfo& run) const {
  const std::string settings = comparable_toml(state_->experiment);
  engine::Fnv1a sum;
  sum.bytes(std::as_bytes(std::span(settings)));
  sum.number(state_->dataset->fingerprint());
  return {run.id, run.mode.name, run.seed, fmt::format("{:016x}", sum.value()),
          engine::weight_names(state_->plans[state_->index_of(run)].graph)};
}

namespace {

/// The modes of the first runs that finished, and what is to be said of all of them.
struct Course {
  Outcome outcome;
  WatchingCost watching;
  std::vector<std::optional<TimedMode>> timed;
};

void take_end(const RunInfo& run, const RunEnd& end, Outcome& outcome) {
  if (end.status == RunStatus::interrupted) outcome.interrupted = true;
  if (end.status == RunStatus::finished) ++outcome.finished;
  if (end.status != RunStatus::failed) return;
  ++outcome.failed;
  outcome.failures.push_back(fmt::format("{}, seed {}: {}", run.mode.name, run.seed, end.message));
}

void record_beginning(const Runner& runner, const Past* past, const std::string& command_line,
                      reports::RunFileWriter& writer) {
  const Sink sink = [&writer](reports::Record record) { writer.push(std::move(record)); };
  if (past == nullptr && !writer.begun())
    for (reports::Record& record : runner.beginning(command_line)) writer.push(std::move(record));
  if (past != nullptr && !past->differences.empty()) {
    reports::MachineRecord machine = runner.machine();
    machine.id = past->machine;
    writer.push(machine);
  }
  if (past != nullptr)
    record_note(sink, std::nullopt, fmt::format("resumed {}", utc_now()),
                past->differences.empty() ? command_line
                                          : fmt::format("{}; bits may differ from here on: {}", command_line,
                                                        fmt::join(past->differences, "; ")));
  writer.flush();   // from here on it can be resumed
}

}  // namespace

Outcome Runner::run(reports::RunFileWriter& writer, Watcher& watcher, const std::function<bool()>& stop,
                    const std::string& command_line, const Past* past) {
  State& s = *state_;
  const Sink sink = [&writer](reports::Record record) { writer.push(std::move(record)); };
  const Checkpoints checkpoints(writer.path());
  if (past == nullptr) {   // of a run file that was replaced
    checkpoints.clear();
    KeptWeights(writer.path()).clear();
  }
  record_beginning(*this, past, command_line, writer);

  FaultWarning fault_warning(writer, watcher);
  const std::function<bool()> stop_or_go_on = [&] {
    fault_warning.look_now_and_then();
    return stop();
  };
  const std::unique_ptr<GpuWatch> gpu = s.device->description().kind == DeviceKind::cuda ? watch_gpu(gpu_bus_id(s.experiment.run.device), sink) : nullptr;
  const RunContext context{s.experiment, *s.device, *s.dataset, writer, watcher, stop_or_go_on, checkpoints,
                           past != nullptr ? past->machine : reports::MachineId{1}, gpu.get()};
  Course course;
  Outcome& outcome = course.outcome;
  std::vector<RecordedPlan> plans;
  for (std::size_t mode = 0; mode < s.modes.size(); ++mode)
    plans.push_back({s.plans[mode], static_cast<reports::PlanId>(mode + 1)});
  course.timed.resize(s.modes.size());
  const std::vector<RunInfo> all = runs();
  bool broke_off = false;   // some run, with a checkpoint to go on from
  for (const RunInfo& run : all) {
    outcome.interrupted = outcome.interrupted || (&run != all.data() && stop());
    if (outcome.interrupted) break;
    const std::size_t mode = s.index_of(run);
    const PastRun* const before = past != nullptr && past->runs.contains(run.id) ? &past->runs.at(run.id) : nullptr;
    RunEnd end;
    std::int64_t peak_bytes = 0;
    if (before != nullptr && before->ended) {
      end = {before->record.status, before->record.message};
      peak_bytes = before->peak_bytes;
      checkpoints.remove(run.id);
    } else {
      RunInfo info = run;
      if (before != nullptr && before->state) info.done_before = before->state->iteration;
      SingleRun single(context, info, before, label(run));
      end = single.run(s.setup(run), plans[mode]);
      course.watching += single.cost();
      peak_bytes = single.peak_bytes();
      broke_off = broke_off || single.broke_off();
      outcome.weights_lost += single.weights_lost() ? 1 : 0;
      if (single.shortage()) outcome.shortages.push_back(*single.shortage());
    }
    take_end(run, end, outcome);
    if (!course.timed[mode] && end.status == RunStatus::finished) course.timed[mode] = TimedMode{run, s.setup(run), peak_bytes};
    fault_warning.look();
  }
  writer.flush();  // nothing is written while steps are timed
  record_watching(sink, course.watching, writer.cpu_seconds());
  TimingJob timing{*s.device, *s.dataset, {}, s.experiment.run.timing_steps, 0, {}};
  for (auto& mode : course.timed)
    if (mode) timing.modes.push_back(std::move(*mode));
  if (!outcome.interrupted && timing.steps > 0 && !timing.modes.empty()) {
    const NvtxRange range(nvtx::Category::phase, "timing");
    Faults faults;
    writer.flush();
    timing.free_bytes = s.device->free_bytes().value_or(free_memory_bytes()) / 10 * 9;  // some is left to others
    if (gpu != nullptr) timing.warm = [&gpu] { gpu->begin_timing(); };
    if (!time_modes(timing, sink, watcher, faults, stop)) outcome.interrupted = true;
    if (gpu != nullptr) gpu->end_timing();
    if (faults.count() > 0) record_note(sink, std::nullopt, "timing", faults.first());
  }
  if (gpu != nullptr) gpu->finish();
  writer.flush();   // the last run's end is written down before its checkpoint goes
  if (!outcome.interrupted && !broke_off && !writer.fault()) checkpoints.clear();
  return outcome;
}

}  // namespace ulpscope::profiler
