#include "profiler/capsule/make_capsule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "profiler/capsule/capsule_data.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::profiler {
namespace {

using reports::RunFileReader;
using reports::RunRecord;
using reports::StepRecord;

struct Target {
  RunRecord run;
  std::int64_t step = 0;
};

bool failed(const StepRecord& step) { return !step.finite || (step.loss && !std::isfinite(*step.loss)); }

std::vector<RunRecord> runs_asked_for(const RunFileReader& file, const CapsuleRequest& request) {
  std::vector<RunRecord> chosen;
  std::vector<std::string> there;
  const std::vector<reports::MendRecord> mends = file.mends();
  for (RunRecord& run : file.runs()) {
    if (std::any_of(mends.begin(), mends.end(), [&](const reports::MendRecord& m) { return m.trial == run.id; }))
      continue;  // of another experiment
    there.push_back(fmt::format("{} seed {}", run.mode, run.seed));
    if ((request.mode.empty() || run.mode == request.mode) && (!request.seed || run.seed == *request.seed))
      chosen.push_back(std::move(run));
  }
  if (chosen.empty())
    throw UsageError(fmt::format(
        "{} has no run of {}{}; there are {}", request.run_file, request.mode.empty() ? "any mode" : request.mode,
        request.seed ? fmt::format(" with seed {}", *request.seed) : "", fmt::join(there, ", ")));
  return chosen;
}

/// The run in which the step failed, or the only one there is.
Target target_at(const RunFileReader& file, const std::vector<RunRecord>& runs, std::int64_t step,
                 const std::string& path) {
  std::vector<std::string> with_step;
  for (const RunRecord& run : runs)
    for (const StepRecord& row : file.steps(run.id, {step, step + 1})) {
      if (failed(row) || runs.size() == 1) return {run, step};
      with_step.push_back(run.mode);
    }
  if (with_step.empty()) throw UsageError(fmt::format("--step {}: {} has no such step", step + 1, path));
  throw UsageError(fmt::format("--step {}: the step went well in every run of {}; say which to keep with --mode: {}",
                               step + 1, path, fmt::join(with_step, ", ")));
}

/// Where the gravest fault was seen first; else the first step that is not finite.
Target target_of_diagnosis(const RunFileReader& file, const std::vector<RunRecord>& runs,
                           const CapsuleRequest& request) {
  reports::DiagnoseOptions options;
  options.mode = request.mode;
  options.seed = request.seed;
  std::optional<Target> found;
  reports::Gravity gravity = reports::Gravity::contained;
  for (const reports::RunDiagnosis& run : reports::diagnose(file, options).runs)
    for (const reports::Cause& cause : run.causes)
      if (cause.step && cause.gravity < gravity) {
        gravity = cause.gravity;
        found = Target{run.run, *cause.step};
      }
  if (found) return *found;
  for (const RunRecord& run : runs)
    for (const StepRecord& row : file.steps(run.id))
      if (failed(row)) return {run, row.step};
  throw UsageError(fmt::format("no step of {} failed: say which one to keep with --step N{}", request.run_file,
                               runs.size() > 1 ? " and --mode MODE" : ""));
}

void refuse_other_data(const RunRecord& recorded, const RunRecord& now, const std::string& path) {
  const auto fingerprint = [](const RunRecord& run) {
    const auto document = nlohmann::json::parse(run.data_json, nullptr, false);
    return document.is_object() && document.contains("fingerprint") ? document["fingerprint"].dump() : std::string();
  };
  if (!recorded.data_json.empty() && fingerprint(recorded) != fingerprint(now))
    throw UsageError(
        fmt::format("{}: the data are no longer what they were when it was recorded ({})", path, recorded.data));
}

bool same(float here, const reports::Number& recorded) {
  if (!recorded) return true;  // in modes without a scaler it is not recorded
  return static_cast<double>(here) == *recorded || (std::isnan(here) && std::isnan(*recorded));
}

/// Holds the steps against the recorded ones.
class Comparison {
 public:
  Comparison(const RunFileReader& file, const RunRecord& run) : steps_(file.steps(run.id)) {}

  void see(const engine::StepResult& result) {
    const auto row =
        std::find_if(steps_.begin(), steps_.end(), [&](const StepRecord& s) { return s.step == result.iteration; });
    if (row == steps_.end()) {
      ++missing_;
      return;
    }
    ++compared_;
    const bool loss = same(result.loss, row->loss) && same(result.loss_scale, row->loss_scale) && result.finite == row->finite;
    if (loss && same(result.gradient_norm, row->gradient_norm)) return;
    if (difference_.empty() && loss)
      difference_ = fmt::format("from step {} on other bits than recorded: gradient norm {:g}, there {:g}", result.iteration + 1,
                                result.gradient_norm, row->gradient_norm.value_or(NAN));
    if (difference_.empty())
      difference_ = fmt::format("from step {} on other bits than recorded: loss {} at scale {:g}, there {}{}",
                                result.iteration + 1, result.loss, result.loss_scale, row->loss.value_or(NAN),
                                row->loss_scale ? fmt::format(" at scale {:g}", *row->loss_scale) : "");
  }

  bool alike() const { return difference_.empty() && missing_ == 0 && compared_ > 0; }
  std::string words() const {
    if (!difference_.empty()) return difference_;
    if (missing_ > 0)
      return fmt::format("loss, scale and gradient norm of {} steps are as recorded, {} steps are not in the recording",
                         compared_, missing_);
    return fmt::format("loss, scale and gradient norm of {} to the bit as recorded",
                       compared_ == 1 ? "the step" : fmt::format("{} steps", compared_));
  }

 private:
  std::vector<StepRecord> steps_;
  std::int64_t compared_ = 0, missing_ = 0;
  std::string difference_;
};

std::string begin_from_checkpoint(engine::Trainer& trainer, const Runner& runner, const RunInfo& run,
                                  const Target& target, const std::string& run_file) {
  try {
    const auto state = Checkpoints(run_file).load(runner.label(run));
    if (!state || state->iteration > target.step) return "from the first step";
    trainer.restore(*state);
    return fmt::format("from the checkpoint after step {}", state->iteration);
  } catch (const std::exception&) {  // damaged, or of another recording: the first step serves as well
    return "from the first step";
  }
}

std::map<std::string, std::string> versions_here(const Device& device) {
  const DeviceDescription& d = device.description();
  return {{"ulpscope", program_version()},
          {"commit", program_commit()},
          {"compiler", __VERSION__},
          {"device", d.name},
          {"matmul", d.matmul_library},
          {"instruction_set", d.instruction_set},
          {"threads", fmt::format("{}", d.threads)}};
}

}  // namespace

std::optional<MadeCapsule> make_capsule(const CapsuleRequest& request, const std::function<bool()>& stop) {
  Experiment experiment = recorded_experiment(request.run_file);
  const RunFileReader file(request.run_file);
  const std::vector<RunRecord> runs = runs_asked_for(file, request);
  const Target target =
      request.step ? target_at(file, runs, *request.step, request.run_file) : target_of_diagnosis(file, runs, request);
  experiment.run.output.clear();
  Runner runner(experiment);
  refuse_other_data(target.run, runner.record_now(), request.run_file);
  const std::vector<RunInfo> planned = runner.runs();
  const auto info = std::find_if(planned.begin(), planned.end(), [&](const RunInfo& r) {
    return r.mode.name == target.run.mode && static_cast<std::int64_t>(r.seed) == target.run.seed;
  });
  if (info == planned.end())
    throw UsageError(fmt::format("{}: the run of {} is not of its experiment", request.run_file, target.run.mode));

  engine::Topics topics;
  engine::Trainer trainer(
      runner.device(), runner.dataset(),
      engine::TrainerSetup{runner.experiment().model, info->mode, runner.experiment().train, info->seed}, topics);
  const std::string start = begin_from_checkpoint(trainer, runner, *info, target, request.run_file);
  Comparison comparison(file, target.run);
  while (trainer.iteration() < target.step) {
    const engine::StepResult result = trainer.step();
    comparison.see(result);
    if (result.stopped)
      throw UsageError(fmt::format("{}: run again, it ends in step {} and never comes to step {}; {}", request.run_file,
                                   result.iteration + 1, target.step + 1, comparison.words()));
    if (stop()) return std::nullopt;
  }
  MadeCapsule made;
  Capsule& capsule = made.capsule;
  capsule.experiment = runner.experiment();
  capsule.mode = info->mode.name;
  capsule.seed = info->seed;
  capsule.state = trainer.state();
  capsule.batches = batches_of_step(runner.dataset(), trainer.plan(), info->seed, target.step);
  capsule.plan = plan_fingerprint(trainer.plan());
  capsule.versions = versions_here(runner.device());
  const GradientPrinter gradients(topics, trainer);
  const engine::StepResult result = trainer.step();
  comparison.see(result);
  capsule.recorded = {result.loss, result.loss_scale, result.finite, gradients.prints()};
  capsule.way = fmt::format("made again {}; {}", start, comparison.words());
  made.same_bits = comparison.alike();
  made.bytes = save_capsule(request.output, capsule);
  return made;
}

}  // namespace ulpscope::profiler
