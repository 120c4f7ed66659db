#include "profiler/experiment/run_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/passes/matrix_unit.h"
#include "engine/train/non_standard.h"
#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/graph_tables.h"
#include "profiler/experiment/json_text.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/savings_record.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;

/// The keys of one table of the experiment file with their values; a table inside it is an object of its own.
json settings_json(const Experiment& experiment, const std::string& table) {
  json all = json::object();
  for (const Key& key : keys()) {
    if (!key.name.starts_with(table + ".")) continue;
    const std::string name = key.name.substr(table.size() + 1);
    const std::size_t dot = name.find('.');
    const auto value = key.get(experiment);
    if (!value) continue;
    json& place = dot == std::string::npos ? all[name] : all[name.substr(0, dot)][name.substr(dot + 1)];
    std::visit([&](const auto& v) { place = v; }, *value);
  }
  return all;
}

/// [[node]] tables are part of what the model is, [[override]] and [[inject]] of how it is trained: as TOML.
json with_tables(json settings, const char* key, std::string text) {
  if (!text.empty()) settings[key] = std::move(text);
  return settings;
}

std::int64_t context_of(const engine::ModelConfig& model) {
  return std::visit(
      [](const auto& config) -> std::int64_t {
        if constexpr (requires { config.context; }) return config.context;
        return 0;
      },
      model);
}

/// Whose sums the products have: emulated, by what rule, under what assumption.
json sums_json(const engine::MatrixUnitUse& use) {
  return {{"as", name(use.unit)},          {"provenance", "emulated"}, {"products", use.products},
          {"of_unit", use.of_unit},        {"plain_narrow", use.narrow}, {"rules", use.rules},
          {"words", engine::words(use)}};
}

}  // namespace

std::string loss_scaling_words(const engine::Mode& mode, const engine::TrainConfig& train) {
  if (!engine::scales_loss(mode, train)) return "none";
  if (const auto* fixed = std::get_if<scaling::FixedScaling>(&train.scaler))
    return fmt::format("fixed:{:g}", fixed->scale);
  return fmt::format("dynamic:{}", scaling::name(train.scaler));
}

std::string comparable_toml(Experiment experiment) {
  experiment.run.output.clear();
  experiment.run.checkpoint_every = 0;
  experiment.run.save_weights = false;
  return to_toml(experiment);
}

reports::ExperimentRecord experiment_record(const Experiment& experiment, const std::string& command_line) {
  reports::ExperimentRecord record;
  record.name = experiment.name;
  record.configuration = to_toml(experiment);
  record.command_line = command_line;
  record.producer_version = program_version();
  record.producer_commit = program_commit();
  record.created = utc_now();
  return record;
}

void add_kernel_choices(reports::RunRecord& record, const Device& device) {
  const auto choices = device.kernel_choices();
  if (choices.empty()) return;
  nlohmann::json all = nlohmann::json::parse(record.kernel_choices_json, nullptr, false);
  if (!all.is_object()) all = nlohmann::json::object();
  for (const auto& [what, choice] : choices) all["chosen"][what] = choice;
  record.kernel_choices_json = json_text(all);
}

void add_sampled_sums(reports::RunRecord& record, const std::string& text) {
  if (text.empty()) return;
  json all = json::parse(record.attributes_json, nullptr, false);
  if (!all.is_object()) all = json::object();
  all["sampled_sums"] = json::parse(text);
  record.attributes_json = json_text(all);
}

std::string recorded_model(const Experiment& experiment) {
  return json_text(with_tables(settings_json(experiment, "model"), "nodes", node_tables_toml(experiment)));
}

reports::RunRecord run_record(const Experiment& experiment, const RunInfo& run, const Device& device,
                              const engine::Dataset& dataset, const engine::StepPlan& plan) {
  const DeviceDescription& description = device.description();
  reports::RunRecord record;
  record.id = run.id;
  record.mode = run.mode.name;
  record.seed = static_cast<std::int64_t>(run.seed);
  record.device = description.name;
  record.device_kind = description.kind == DeviceKind::cpu ? "cpu" : "cuda";
  record.model = engine::name(experiment.model);
  record.model_json = recorded_model(experiment);
  record.data = fmt::format("{}", fmt::join(experiment.data.paths, ", "));
  if (record.data.empty()) record.data = dataset.describe();
  json data{{"paths", experiment.data.paths}, {"description", dataset.describe()}, {"fingerprint", fmt::format("{:016x}", dataset.fingerprint())},
            {"held_out", experiment.data.held_out}};
  if (!experiment.data.features.empty()) data["scale"] = experiment.data.scale, data["shift"] = experiment.data.shift;
  record.data_json = json_text(data);
  record.versions_json = json_text({{"ulpscope", program_version()},
                                    {"commit", program_commit()},
                                    {"matmul", description.matmul_library},
                                    {"compiler", __VERSION__}});
  record.kernel_choices_json = json_text({{"matmul", description.matmul_library},
                                          {"instruction_set", description.instruction_set},
                                          {"threads", description.threads}});
  for (std::string& words : engine::non_standard(experiment.train)) record.non_standard.push_back(std::move(words));
  record.parameters = plan.parameters;
  record.steps_planned = experiment.train.steps;
  record.batch = experiment.train.batch;
  record.micro_batches = experiment.train.micro_batches;
  record.context = context_of(experiment.model);
  record.threads = description.threads;
  record.optimizer = experiment.train.optimizer.kind == engine::OptimizerKind::adamw ? "adamw" : "sgd";
  record.loss_scaling = loss_scaling_words(run.mode, experiment.train);
  record.time_provenance = time_provenance(device, run.mode);
  json attributes{{"train", with_tables(settings_json(experiment, "train"), "tables", change_tables_toml(experiment))}, {"observe", settings_json(experiment, "observe")},
                  {"memory", savings_json(plan)}};
  if (run.weights)
    attributes["weights"] = {{"file", experiment.train.weights},
                             {"dtypes", run.weights->dtypes},
                             {"in_16_bits", run.weights->in_16_bits},
                             {"widened", run.mode.mixed() && run.weights->in_16_bits > 0},
                             {"master_copy_bytes", run.mode.mixed() ? run.weights->master_bytes : 0}};
  if (experiment.train.accumulate_as != MatrixUnit::none)
    attributes["sums"] = sums_json(engine::matrix_unit_use(plan.graph, experiment.train.accumulate_as));
  record.attributes_json = json_text(attributes);
  return record;
}

}  // namespace ulpscope::profiler
