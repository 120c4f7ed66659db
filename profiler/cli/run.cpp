// ulpscope run: train, record, compare.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "kernels/error.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/command.h"
#include "profiler/cli/compare_text.h"
#include "profiler/cli/flags.h"
#include "profiler/cli/program.h"
#include "profiler/cli/progress.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"

namespace ulpscope::profiler {
namespace {

struct RunArguments {
  ExperimentFlags flags;
  std::string output;
  bool force = false;
};

/// "gpt-20250131-120000.ulp"
std::string default_output(const Experiment& experiment) {
  return fmt::format("{}-{:%Y%m%d-%H%M%S}.ulp", engine::name(experiment.model), fmt::localtime(std::time(nullptr)));
}

std::string choose_output(const RunArguments& arguments, const Experiment& experiment) {
  std::string path = !arguments.output.empty() ? arguments.output : experiment.run.output;
  if (path.empty()) return default_output(experiment);
  if (std::filesystem::exists(path) && !std::filesystem::is_directory(path) && !arguments.force) {
    throw UsageError(fmt::format("{} is there already: give another name with -o, or --force to replace it", path));
  }
  return path;
}

std::string what_next(const Experiment& experiment, const std::string& output, const std::string& file) {
  std::string text = "\nTry next:\n";
  const auto suggest = [&](const std::string& command, const std::string& what) {
    const bool fits = columns(command) <= 43;
    text +=
        fits ? fmt::format("  {} {}\n", column(command, 43), what) : fmt::format("  {}\n{:46}{}\n", command, "", what);
  };
  const std::vector<std::string>& modes = experiment.run.modes;
  if (modes.size() == 1 &&
      modes.front() != "fp32") {  // as the Hugging Face trainer trains: one mode, nothing beside it
    suggest(fmt::format("--modes fp32,{}", modes.front()), "here: compares it with fp32");
  }
  if (experiment.run.seeds < 3) suggest("--seeds 3", "here: enough seeds for a verdict");
  suggest("ulpscope compare " + quoted({output}) + " --json", "these figures for a program");
  suggest("ulpscope info " + quoted({output}), "what was recorded");
  if (!file.empty())
    suggest(fmt::format("ulpscope plan {} --mode {}", quoted({file}), modes.back()), "every operation and its formats");
  return text;
}

int run(const RunArguments& arguments, const Invocation& call) {
  const Settings settings = arguments.flags.settings();
  Experiment experiment = settings.build();
  const std::string output = choose_output(arguments, experiment);
  experiment.run.output = output;
  Runner runner(experiment);
  const Interrupt interrupt;
  reports::RunFileWriter writer(output, {.overwrite = arguments.force});

  call.err << wrapped(runner.dataset().describe(), "  ") << '\n';
  call.err << wrapped(fmt::format("{}: {}, {} steps, {} seed{}; recorded in {}", engine::name(experiment.model),
                                  fmt::join(experiment.run.modes, ", "), experiment.train.steps, experiment.run.seeds,
                                  experiment.run.seeds == 1 ? "" : "s", output),
                      "  ")
           << '\n'
           << std::flush;
  Progress progress(call.err, terminal_style());
  const Outcome outcome = runner.run(
      writer, progress, [] { return Interrupt::requested(); }, call.command_line);
  writer.close();

  if (outcome.interrupted) {
    call.err << wrapped(fmt::format("interrupted; what was done so far is in {} (ulpscope compare {})", output,
                                    quoted({output})),
                        "  ")
             << '\n'
             << std::flush;
    return exit_interrupted;
  }
  if (outcome.finished == 0)
    throw Error(fmt::format("no run finished; {} says more: {}", output, outcome.failures.front()));
  call.out << '\n' << comparison_text({output}) << what_next(experiment, output, arguments.flags.file()) << std::flush;
  return exit_ok;
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->flags.declare_for_run(app);
  app.add_option("-o,--output", arguments->output,
                 "the run file; without it a name made from model and time [run.output]")
      ->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace the run file if it is there");
  app.footer(keys_help());
  return [arguments](const Invocation& call) { return run(*arguments, call); };
}

}  // namespace ulpscope::profiler
