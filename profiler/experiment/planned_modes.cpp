#include "profiler/experiment/planned_modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "engine/train/trainer.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/make_device.h"
#include "profiler/experiment/plan_records.h"
#include "reports/hardware/table.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

engine::StepPlan planned(Device& device, const Experiment& experiment, const std::string& mode, std::int64_t batch) {
  engine::TrainConfig config = experiment.train;
  config.batch = batch;
  return engine::plan_step(device, engine::build_model(experiment.model, batch, true), engine::find_mode(mode), config);
}

struct Rows {
  std::vector<reports::NodeRecord> nodes;
  std::vector<reports::TensorRecord> tensors;
  std::vector<reports::EdgeRecord> edges;
};

Rows rows_of(const engine::StepPlan& plan) {
  Rows rows;
  record_plan(plan, reports::PlanId{1}, [&rows](reports::Record record) {
    if (auto* node = std::get_if<reports::NodeRecord>(&record)) rows.nodes.push_back(std::move(*node));
    if (auto* tensor = std::get_if<reports::TensorRecord>(&record)) rows.tensors.push_back(std::move(*tensor));
    if (auto* edge = std::get_if<reports::EdgeRecord>(&record)) rows.edges.push_back(std::move(*edge));
  });
  return rows;
}

std::int64_t bytes_of(const engine::StepPlan& plan) { return engine::planned_bytes(plan).peak; }

}  // namespace

struct PlannedExperiment::Cache {
  std::map<std::pair<std::string, std::int64_t>, reports::Count> peaks;
};

PlannedExperiment::PlannedExperiment(const Settings& settings) : experiment_(settings.build()), device_(make_cpu_device({.threads = static_cast<int>(experiment_.run.threads), .instruction_set = {}})), cache_(std::make_unique<Cache>()) {
  if (!experiment_.data.features.empty()) load_data(experiment_);  // they decide sizes of the model
}

PlannedExperiment::~PlannedExperiment() = default;

reports::PlannedMode PlannedExperiment::plan(const std::string& mode) const {
  const engine::StepPlan step = planned(*device_, experiment_, mode, experiment_.train.batch);
  Rows rows = rows_of(step);
  return {.mode = mode,
          .plan = reports::time_parts::plan_of(std::move(rows.nodes), std::move(rows.tensors), rows.edges),
          .micro_batches = step.micro_batches,
          .batch = experiment_.train.batch,
          .tokens = step.tokens,
          .parameters = step.parameters,
          .peak_bytes = bytes_of(step)};
}

reports::Count PlannedExperiment::peak_at(const std::string& mode, std::int64_t batch) {
  const bool own_batch = std::holds_alternative<engine::GraphConfig>(experiment_.model);
  if (own_batch && batch != experiment_.train.batch) return std::nullopt;
  const auto [place, fresh] = cache_->peaks.try_emplace({mode, batch});
  if (!fresh) return place->second;
  try {
    place->second = bytes_of(planned(*device_, experiment_, mode, batch));
  } catch (const Error&) {  // sizes that no plan has: too many elements
  }
  return place->second;
}

reports::ProjectionInput projection_input(const std::string& path, const std::vector<std::string>& modes) {
  for (const std::string& mode : modes) engine::find_mode(mode);  // throws for one that is none
  reports::ProjectionInput input{.file = path, .most_batch = static_cast<std::int64_t>(find_key("train.batch", "").range.greatest)};
  std::shared_ptr<PlannedExperiment> again;
  if (is_run_file(path) || path.ends_with(".ulp")) {
    const reports::RunFileReader reader(path);
    input.modes = reports::planned_modes(reader, modes);
    input.plan_from = fmt::format("the plan in {}", path);
    const auto record = reader.experiment();
    if (record) input.experiment = record->name;
    try {
      if (!record || record->configuration.empty()) throw UsageError("the file has no experiment");
      Settings settings;
      settings.add_text(record->configuration, path);
      again = std::make_shared<PlannedExperiment>(settings);
    } catch (const UsageError& error) {
      input.notes.push_back(fmt::format("other batches are not planned: {}", error.what()));
    }
  } else {
    Settings settings;
    settings.add_file(path);
    again = std::make_shared<PlannedExperiment>(settings);
    input.experiment = again->experiment().name;
    input.plan_from = "planned now";
    for (const std::string& mode : modes.empty() ? again->experiment().run.modes : modes) input.modes.push_back(settings.placed([&] { return again->plan(mode); }));
  }
  if (again && std::holds_alternative<engine::GraphConfig>(again->experiment().model)) input.notes.emplace_back("a graph of [[node]] tables says its batch itself: other batches are not planned");
  else if (again) input.peak_at = [again](const std::string& mode, std::int64_t batch) { return again->peak_at(mode, batch); };
  input.notes.emplace_back("launches and memory are those of the plan for a CPU: what it fuses is one launch, scratch memory of a GPU's libraries is in the context's share");
  return input;
}

std::vector<std::pair<std::string, reports::Gpu>> gpus_named(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, reports::Gpu>> gpus;
  for (const std::string& word : words) {
    const reports::Gpu& gpu = reports::gpu_table().named(word);
    bool twice = false;
    for (const auto& known : gpus) twice |= known.second.name == gpu.name;
    if (!twice) gpus.emplace_back(word, gpu);
  }
  return gpus;
}

}  // namespace ulpscope::profiler
