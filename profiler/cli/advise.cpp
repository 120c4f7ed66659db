// ulpscope advise: which mode for this model on which device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "engine/precision/mode.h"
#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/planned_modes.h"
#include "profiler/predict/predict.h"
#include "reports/analysis/files.h"
#include "reports/analysis/time_peaks.h"
#include "reports/export/exporter.h"
#include "reports/hardware/table.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

struct AdviseArguments {
  std::string path;
  std::vector<std::string> gpus, modes, measured;
  bool predict = false, json = false, csv = false;
};

using Gpus = std::vector<std::pair<std::string, reports::Gpu>>;

/// The GPUs that the runs were made on, as the table knows them.
Gpus gpus_of_runs(const reports::RunFileReader& reader, std::vector<std::string>& notes) {
  Gpus gpus;
  std::vector<std::string> seen;
  for (const reports::RunRecord& run : reader.runs()) {
    if (run.device_kind != "cuda" || std::find(seen.begin(), seen.end(), run.device) != seen.end()) continue;
    seen.push_back(run.device);
    if (const auto peaks = reports::device_peaks(run, reader.machines(), reader.device_samples())) gpus.emplace_back(run.device, peaks->gpu);
    else notes.push_back(fmt::format("{} is not in the table of GPUs: ulpscope hardware --add describes it, --gpu names another", run.device));
  }
  return gpus;
}

/// Modes of --modes that the file has no run of; with --predict alone those of 16 bits that it lacks.
std::vector<std::string> modes_to_add(const AdviseArguments& arguments, const reports::RunFileReader& reader) {
  std::vector<std::string> wanted = arguments.modes;
  if (wanted.empty() && arguments.predict) wanted = {"fp16", "bf16"};
  std::vector<std::string> add;
  for (const std::string& mode : wanted) {
    engine::find_mode(mode);  // throws for one that is none
    const auto runs = reader.runs();
    const bool run = std::any_of(runs.begin(), runs.end(), [&](const reports::RunRecord& r) { return r.mode == mode; });
    if (!run && std::find(add.begin(), add.end(), mode) == add.end()) add.push_back(mode);
  }
  return add;
}

Settings settings_of(const reports::RunFileReader& reader) {
  const auto record = reader.experiment();
  if (!record || record->configuration.empty()) throw UsageError(fmt::format("{}: the file does not keep its experiment, so no mode that was not run can be planned", reader.path()));
  Settings settings;
  settings.add_text(record->configuration, reader.path());
  settings.add_value("run.device", KeyValue(std::string("cpu")), "advise");
  return settings;
}

/// Plans of the file's modes and of those to be added; what cannot be planned again is no reason to refuse where no GPU is asked about.
reports::ProjectionInput plans(const AdviseArguments& arguments, const reports::RunFileReader& reader, const std::vector<std::string>& add, bool needed) {
  reports::ProjectionInput input;
  try {
    input = projection_input(arguments.path, {});
  } catch (const UsageError&) {
    if (needed) throw;
  }
  if (add.empty()) return input;
  const PlannedExperiment experiment(settings_of(reader));
  for (const std::string& mode : add) input.modes.push_back(experiment.plan(mode));
  return input;
}

reports::Prediction prediction_of(const reports::RunFileReader& reader, const std::vector<std::string>& modes) {
  Settings settings = settings_of(reader);
  settings.add_value("run.modes", KeyValue(modes), "--modes");
  return predict(settings, "", std::nullopt, [] { return Interrupt::requested(); });
}

int advise(const AdviseArguments& arguments, const Invocation& call) {
  for (const std::string& mistake : reports::user_gpu_mistakes()) call.err << "ulpscope: left out: " << reports::printable(mistake) << '\n';
  if (arguments.path.ends_with(".toml"))
    throw UsageError(fmt::format("{} is an experiment file, and nothing was run yet: ulpscope run {} -o NAME.ulp, then advise NAME.ulp (ulpscope project says what time and memory it would take)", arguments.path, arguments.path));
  const reports::RunFileReader reader(arguments.path);
  if (reader.runs().empty()) throw UsageError(fmt::format("there is no run in {}", arguments.path));
  reports::AdviceInput input{.reader = &reader};
  std::vector<std::string> notes;
  const Gpus gpus = arguments.gpus.empty() ? gpus_of_runs(reader, notes) : gpus_named(arguments.gpus);
  for (const std::string& words : arguments.gpus)
    if (const std::string taken = reports::gpu_table().taken_for(words); !taken.empty()) notes.push_back(taken);
  const std::vector<std::string> add = modes_to_add(arguments, reader);
  const reports::ProjectionInput planned = plans(arguments, reader, add, !gpus.empty());
  std::vector<std::unique_ptr<reports::RunFileReader>> others;
  std::vector<std::string> left_out;  // of its own runs: that a CPU's are no use is not worth a line
  std::vector<reports::MeasuredRun> measured = reports::measured_runs(reader, left_out);
  for (const std::string& file : arguments.measured) {
    const bool read = reports::same_file(file, arguments.path) || std::any_of(others.begin(), others.end(), [&](const auto& other) { return reports::same_file(file, other->path()); });
    if (read) continue;
    others.push_back(std::make_unique<reports::RunFileReader>(file));
    input.measured.push_back(others.back().get());
    for (reports::MeasuredRun& run : reports::measured_runs(*others.back(), notes)) measured.push_back(std::move(run));
  }
  input.planned = planned.modes;
  if (!gpus.empty()) input.projection = reports::project(planned, gpus, measured);
  const Interrupt interrupt;
  try {
    if (arguments.predict && !add.empty()) input.predicted = prediction_of(reader, add);
  } catch (const Interrupted&) {
    call.err << "interrupted; nothing was advised\n" << std::flush;
    return Interrupt::exit_code();
  }
  reports::Advice result = reports::advise(input);
  result.notes.insert(result.notes.begin(), notes.begin(), notes.end());
  reports::make_exporter(arguments.json ? "json" : arguments.csv ? "csv" : "text")->write(result, call.out);
  return exit_ok;
}

/// One word with commas, several by giving the option again: the word after that is RUN.
void list(CLI::App& app, const char* name, std::vector<std::string>& words, const char* doc, const char* type) {
  app.add_option(name, words, doc)->delimiter(',')->type_name(type)->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

Action declare_advise(CLI::App& app) {
  auto arguments = std::make_shared<AdviseArguments>();
  app.add_option("RUN", arguments->path, "run file (.ulp), with fp32 and the modes in question")->required()->type_name("");
  list(app, "--gpu", arguments->gpus, "GPUs of the table: t4,a100,h100 (ulpscope hardware); without it the GPU of the run", "NAMES");
  list(app, "--modes", arguments->modes, "weigh these, too, though they were not run: planned and projected", "MODES");
  app.add_flag("--predict", arguments->predict, "what such modes (without --modes fp16 and bf16) would overflow or flush, from one step in fp32; the data have to be there");
  list(app, "--measured", arguments->measured, "run files made on GPUs: times of the same experiment count as they are, others fit the projection", "FILES");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.footer(wrapped("Says the winner, why, what it costs, the runner-up and what would change the answer; or that it is undecided, and what would decide it. A mode that is emulated on a GPU is never "
                     "recommended there, nor one whose loss was not held against fp32's. Times are measured on that GPU where a run is, else projected; those of a CPU are never used.", ""));
  return [arguments](const Invocation& call) { return advise(*arguments, call); };
}

}  // namespace ulpscope::profiler
