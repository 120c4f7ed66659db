// ulpscope run: train, record, compare.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>

#include "kernels/error.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/command.h"
#include "profiler/cli/compare_text.h"
#include "profiler/cli/flags.h"
#include "profiler/cli/program.h"
#include "profiler/cli/progress.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/machine.h"

namespace ulpscope::profiler {
namespace {

struct RunArguments {
  ExperimentFlags flags;
  std::string output;
  bool force = false;
};

using Writer = std::unique_ptr<reports::RunFileWriter>;

/// A new file "gpt-20250131-120000.ulp"; with a number if another run began in the same second.
Writer open_default(const Experiment& experiment) {
  const std::string stem =
      fmt::format("{}-{:%Y%m%d-%H%M%S}", engine::name(experiment.model), fmt::localtime(std::time(nullptr)));
  constexpr int most = 1000;
  for (int i = 1;; ++i) {
    const std::string path = i == 1 ? stem + ".ulp" : fmt::format("{}-{}.ulp", stem, i);
    const auto taken = [&] { return std::filesystem::exists(path) || std::filesystem::exists(path + "-lock"); };
    if (i < most && taken()) continue;
    try {
      return std::make_unique<reports::RunFileWriter>(path);
    } catch (const UsageError&) {
      if (i == most || !taken()) throw;  // else another run was faster
    }
  }
}

/// The name asked for, or none. Refused before anything is loaded.
std::string choose_output(const RunArguments& arguments, const Experiment& experiment) {
  std::string path = !arguments.output.empty() ? arguments.output : experiment.run.output;
  if (path.empty()) return path;
  reports::check_output(path, true);  // what --force would not replace either
  std::error_code error;
  if (!arguments.force && std::filesystem::exists(path, error)) {
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
  experiment.run.output = choose_output(arguments, experiment);
  const std::unique_ptr<Runner> made = settings.placed([&] { return std::make_unique<Runner>(experiment); });
  Runner& runner = *made;
  runner.check_memory(free_memory_bytes());  // an old file is not given up for a run that cannot begin
  const Interrupt interrupt;
  const Writer opened = experiment.run.output.empty()
                            ? open_default(experiment)
                            : std::make_unique<reports::RunFileWriter>(
                                  experiment.run.output, reports::WriterOptions{.overwrite = arguments.force});
  reports::RunFileWriter& writer = *opened;
  const std::string output = writer.path();
  runner.set_output(output);

  const ProgressStyle style = terminal_style();
  call.err << wrapped(runner.dataset().describe(), "  ", style.width) << '\n';
  call.err << wrapped(fmt::format("{}: {}, {} steps, {} seed{}; recorded in {}", engine::name(experiment.model),
                                  fmt::join(experiment.run.modes, ", "), experiment.train.steps, experiment.run.seeds,
                                  experiment.run.seeds == 1 ? "" : "s", output),
                      "  ", style.width)
           << '\n'
           << std::flush;
  Progress progress(call.err, style);
  const Outcome outcome = runner.run(
      writer, progress, [] { return Interrupt::requested(); }, call.command_line);
  // What was trained must not be lost to a recording that has gaps: it is compared as far as it can be read.
  bool whole = true;
  try {
    writer.close();
  } catch (const std::exception& error) {
    whole = false;
    call.err << wrapped(fmt::format("ulpscope: {}", error.what()), "  ", style.width) << '\n' << std::flush;
  }

  if (outcome.interrupted) {
    call.err << wrapped(fmt::format("interrupted; what was done so far is in {} (ulpscope compare {})", output,
                                    quoted({output})),
                        "  ", style.width)
             << '\n'
             << std::flush;
    return Interrupt::exit_code();
  }
  if (outcome.finished == 0)
    throw Error(fmt::format("no run finished; {} says more: {}", output, outcome.failures.front()));
  call.out << '\n' << comparison_text({output}) << what_next(experiment, output, arguments.flags.file()) << std::flush;
  return whole ? exit_ok : exit_fault;
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
