#include "profiler/mend/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "kernels/scaling/loss_scaler.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/observe.h"
#include "profiler/experiment/single_run.h"
#include "reports/analysis/statistics.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::profiler {
namespace {

constexpr std::size_t least_timed = 3;
constexpr std::size_t flush_every = 4096;

/// Progress of a trial is its one line; faults of its recording show in what is found in it.
class Silent final : public Watcher {
 public:
  void warning(const std::string&) override {}
};

reports::Number typical(const std::vector<double>& values) {
  return values.size() < least_timed ? std::nullopt : reports::median(values);
}

/// Steps that were committed and not looked into, nor counted; the first one warms up.
std::vector<double> plain_steps(const reports::RunFileReader& file, const Trial& trial, reports::RunId run) {
  std::set<std::int64_t> observed(trial.diagnosis.observed.begin(), trial.diagnosis.observed.end());
  for (const reports::CompletenessRecord& row : file.completeness())
    if (const auto step = reports::counted_step(row); step && row.run == run) observed.insert(*step);
  std::vector<double> seconds;
  for (const reports::StepRecord& step : file.steps(run))
    if (step.step > trial.first_step && !step.skipped && step.wall_seconds && !observed.contains(step.step)) seconds.push_back(*step.wall_seconds);
  return seconds;
}

reports::Count peak_of(const reports::RunFileReader& file, reports::RunId run) {
  reports::Count peak;
  for (const reports::MemoryRecord& row : file.memory(run, reports::MemoryKind::peak))
    if (row.total_bytes)
      peak = std::max(peak.value_or(0), *row.total_bytes - row.bytes[static_cast<std::size_t>(reports::MemoryCategory::observation)].value_or(0));
  return peak;
}

void count_skips(const reports::RunFileReader& file, reports::RunId run, bool dynamic, Trial& trial) {
  const std::vector<reports::StepRecord> steps = file.steps(run);
  for (const reports::StepRecord& step : steps) {
    if (!step.skipped) continue;
    ++trial.skipped;
    if (!trial.first_skipped) trial.first_skipped = step.step;
  }
  if (dynamic) trial.scale = scale_course(steps, trial.diagnosis.run.status == reports::RunStatus::failed);
}

/// What is missing in a recording would be taken for what did not happen.
template <class Work>
auto kept(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw NotKept(fmt::format("a trial could not be recorded: {}", error.what()));
  }
}

/// Null: those of the experiment that is changed.
std::unique_ptr<engine::Dataset> other_data(const Experiment& base, const Experiment& experiment) {
  if (experiment.data.scale == base.data.scale && experiment.data.shift == base.data.shift) return nullptr;
  Experiment own = experiment;
  return load_data(own);
}

}  // namespace

Trials::Trials(Runner& base, std::int64_t seed, std::function<bool()> stop)
    : base_(base), seed_(seed), stop_(std::move(stop)) {}

Trial Trials::run(const Experiment& experiment, const engine::TrainerState* start) {
  const engine::Mode& mode = engine::find_mode(experiment.run.modes.front());
  const engine::Model model = engine::build_model(experiment.model, experiment.train.batch, true);
  const engine::StepPlan plan = engine::plan_step(base_.device(), model, mode, experiment.train);   // throws what the model does not allow
  ++count_;
  const std::unique_ptr<engine::Dataset> changed = other_data(base_.experiment(), experiment);
  const std::string path = folder_.file("trial.ulp");
  Trial trial;
  {
    const auto recording = kept([&] { return std::make_unique<reports::RunFileWriter>(path, reports::WriterOptions{.overwrite = true}); });
    reports::RunFileWriter& writer = *recording;
    Silent watcher;
    const Checkpoints checkpoints(path);
    const RunContext context{experiment, base_.device(), changed ? *changed : base_.dataset(), writer, watcher, stop_, checkpoints};
    RunInfo info;
    info.id = reports::RunId{1};
    info.mode = mode;
    info.seed = info.first_seed = static_cast<std::uint64_t>(seed_);
    info.steps = experiment.train.steps;
    info.loss_scaling = engine::scales_loss(mode, experiment.train);
    PastRun past;
    if (start != nullptr) past.state = *start;
    RecordedPlan recorded{plan, reports::PlanId{1}};
    SingleRun single(context, info, start != nullptr ? &past : nullptr, CheckpointLabel{info.id, mode.name, info.seed, {}});
    const RunEnd end = single.run({experiment.model, mode, experiment.train, info.seed}, recorded);
    for (std::size_t i = 0; i < twin_.size(); ++i) {
      if (i % flush_every == 0) writer.flush();   // statistics are dropped where the queue is full
      writer.push(twin_[i]);
    }
    trial.stopped = end.status == reports::RunStatus::interrupted;
    kept([&] { writer.close(); });
    if (writer.dropped() > 0) trial.gaps = fmt::format("{} rows of its statistics came faster than they were written, and are missing", writer.dropped());
  }
  trial.first_step = start != nullptr ? start->iteration : 0;
  const reports::RunFileReader file(path);
  trial.diagnosis = reports::diagnose(file, {.step = {}, .mode = mode.name, .seed = {}}).runs.front();
  trial.step = plan.graph;
  trial.steps = trial.diagnosis.steps;
  trial.last_step = experiment.train.steps;
  count_skips(file, reports::RunId{1}, engine::scales_loss(mode, experiment.train) && scaling::is_dynamic(experiment.train.scaler), trial);
  trial.step_seconds = typical(plain_steps(file, trial, reports::RunId{1}));
  trial.time_provenance = trial.diagnosis.run.time_provenance;
  trial.peak_bytes = peak_of(file, reports::RunId{1});
  return trial;
}

std::vector<reports::Record> fp32_twin(const reports::RunFileReader& file, std::int64_t seed, bool statistics) {
  constexpr reports::RunId id{2};
  constexpr reports::PlanId plan{2};
  std::vector<reports::Record> twin;
  const std::vector<reports::RunRecord> runs = file.runs();
  const auto in_fp32 = [](const reports::RunRecord& run) { return run.mode == "fp32"; };
  auto found = std::find_if(runs.begin(), runs.end(), [&](const reports::RunRecord& run) { return in_fp32(run) && run.seed == seed; });
  if (found == runs.end()) found = std::find_if(runs.begin(), runs.end(), in_fp32);   // as diagnose does
  if (found == runs.end() || !found->plan) return twin;
  const auto add = [&](auto records, auto&& renumber) {
    for (auto& record : records) {
      renumber(record);
      twin.emplace_back(std::move(record));
    }
  };
  const auto of_plan = [&](auto& record) { record.plan = plan; };
  const auto of_run = [&](auto& record) { record.run = id; };
  add(std::vector<reports::RunRecord>{*found}, [&](reports::RunRecord& run) { run.id = id, run.plan = plan; });
  add(file.nodes(*found->plan), of_plan);
  add(file.edges(*found->plan), of_plan);
  add(file.tensors(*found->plan), of_plan);
  add(file.steps(found->id), of_run);
  if (statistics) add(file.tensor_stats(found->id), of_run);
  return twin;
}

}  // namespace ulpscope::profiler
