// The rows of the run file that describe an experiment and its runs.
#pragma once

#include <string>

#include "engine/train/trainer.h"
#include "profiler/experiment/experiment.h"
#include "profiler/experiment/runner.h"

namespace ulpscope::profiler {

reports::ExperimentRecord experiment_record(const Experiment& experiment, const std::string& command_line);

/// The experiment as TOML, but for what has nothing to do with its numbers: where it is recorded, how often it is saved.
std::string comparable_toml(Experiment experiment);

/// "none", "dynamic", "fixed:1024": how a mode scales its loss.
std::string loss_scaling_words(const engine::Mode& mode, const engine::TrainConfig& train);

/// What SumsProbe::json() says, as the attribute "sampled_sums"; empty: nothing.
void add_sampled_sums(reports::RunRecord& record, const std::string& json);
/// Adds what the device chose while it ran (Device::kernel_choices) to the record.
void add_kernel_choices(reports::RunRecord& record, const Device& device);

/// The model's settings as a run file keeps them, RunRecord::model_json.
std::string recorded_model(const Experiment& experiment);

/// What is known of a run before its first step; the caller fills in ids and status.
reports::RunRecord run_record(const Experiment& experiment, const RunInfo& run, const Device& device,
                              const engine::Dataset& dataset, const engine::StepPlan& plan);

}  // namespace ulpscope::profiler
