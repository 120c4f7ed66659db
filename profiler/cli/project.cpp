// ulpscope project: time and memory on a GPU that is not here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/planned_modes.h"
#include "reports/analysis/files.h"
#include "reports/export/write_projection.h"
#include "reports/hardware/table.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

struct ProjectArguments {
  std::string path;
  std::vector<std::string> gpus, modes, measured, check;
  bool json = false;
};

/// Of these files, each once, however it is written: a run counts no more for being named twice.
std::vector<reports::MeasuredRun> measured_in(const std::vector<std::string>& files, std::vector<std::string>& left_out) {
  std::vector<reports::MeasuredRun> runs;
  std::set<std::filesystem::path> read;
  for (const std::string& file : files) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::canonical(file, error);
    if (!error && !read.insert(path).second) continue;
    for (reports::MeasuredRun& run : reports::measured_runs(reports::RunFileReader(file), left_out)) runs.push_back(std::move(run));
  }
  return runs;
}

int check(const ProjectArguments& arguments, const Invocation& call) {
  reports::Projection result;
  const std::vector<reports::MeasuredRun> runs = measured_in(arguments.check, result.notes);
  if (runs.size() < 2) throw UsageError(fmt::format("--check needs two runs measured on GPUs, these files have {}{}", runs.size(), result.notes.empty() ? "" : fmt::format(" ({})", result.notes.front())));
  result.checked = reports::check_projections(runs);
  if (arguments.json) reports::write_projection_json(result, call.out);
  else reports::write_projection_text(result, call.out);
  return exit_ok;
}

int project(const ProjectArguments& arguments, const Invocation& call) {
  for (const std::string& mistake : reports::user_gpu_mistakes()) call.err << "ulpscope: left out: " << reports::printable(mistake) << '\n';
  if (!arguments.check.empty()) {
    if (!arguments.path.empty() || !arguments.gpus.empty()) throw UsageError("--check stands alone: ulpscope project --check a100.ulp,h100.ulp");
    return check(arguments, call);
  }
  if (arguments.path.empty()) throw UsageError("what is to be projected? ulpscope project RUN.ulp --gpu a100, or an experiment file (.toml)");
  if (arguments.gpus.empty()) throw UsageError("on which GPU? --gpu t4,a100,h100; ulpscope hardware lists them");
  const auto gpus = gpus_named(arguments.gpus);
  reports::ProjectionInput input = projection_input(arguments.path, arguments.modes);
  std::vector<std::string> left_out;
  std::vector<reports::MeasuredRun> measured = measured_in(arguments.measured, left_out);
  input.notes.insert(input.notes.end(), left_out.begin(), left_out.end());
  for (const std::string& words : arguments.gpus)
    if (const std::string taken = reports::gpu_table().taken_for(words); !taken.empty()) input.notes.push_back(taken);
  // Its own runs, where they were made on a GPU; that a CPU's are no use is not worth a line.
  left_out.clear();
  const bool named = std::any_of(arguments.measured.begin(), arguments.measured.end(), [&](const std::string& file) { return reports::same_file(file, arguments.path); });
  if (is_run_file(arguments.path) && !named)
    for (reports::MeasuredRun& run : measured_in({arguments.path}, left_out)) measured.push_back(std::move(run));
  const reports::Projection result = reports::project(input, gpus, measured);
  if (arguments.json) reports::write_projection_json(result, call.out);
  else reports::write_projection_text(result, call.out);
  return exit_ok;
}

/// One word with commas, several by giving the option again: the word after that is FILE.
void list(CLI::App& app, const char* name, std::vector<std::string>& words, const char* doc, const char* type) {
  app.add_option(name, words, doc)->delimiter(',')->type_name(type)->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

Action declare_project(CLI::App& app) {
  auto arguments = std::make_shared<ProjectArguments>();
  app.add_option("FILE", arguments->path, "run file (.ulp) or experiment file (.toml)")->type_name("");
  list(app, "--gpu", arguments->gpus, "GPUs of the table: t4,a100,h100 (ulpscope hardware)", "NAMES");
  list(app, "--modes", arguments->modes, "these modes; without it all of the file", "MODES");
  list(app, "--measured", arguments->measured, "run files made on GPUs, to fit attainable shares to", "FILES");
  list(app, "--check", arguments->check, "project every measured run of these files from the others", "FILES");
  app.add_flag("--json", arguments->json, "print JSON, every launch in it");
  app.footer(wrapped("Node by node the greatest of FLOPs by attainable rate, bytes by attainable bandwidth and launch cost. Shares are fitted to measured runs where there are any, else assumed. "
                     "Runs on a CPU say nothing of a GPU's time and are never used for it; their plan is. Memory is the plan's, exactly, with a share for the context.", ""));
  return [arguments](const Invocation& call) { return project(*arguments, call); };
}

}  // namespace ulpscope::profiler
