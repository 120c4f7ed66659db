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
#include "profiler/experiment/named_file.h"
#include "profiler/experiment/past.h"

namespace ulpscope::profiler {
namespace {

struct RunArguments {
  ExperimentFlags flags;
  std::string output;
  bool force = false;
  bool resume = false;
  bool accept_different_bits = false;
};

using Writer = std::unique_ptr<reports::RunFileWriter>;

/// What was there stays until the new file is made and says what it is of.
Writer open_new(Runner& runner, const std::string& path, bool overwrite, const Invocation& call) {
  runner.set_output(path);
  return std::make_unique<reports::RunFileWriter>(
      path, reports::WriterOptions{.overwrite = overwrite, .first = runner.beginning(call.command_line)});
}

/// A new file "gpt-20250131-120000.ulp"; with a number if another run began in the same second.
Writer open_default(Runner& runner, const Invocation& call) {
  const std::string stem = fmt::format("{}-{:%Y%m%d-%H%M%S}", engine::name(runner.experiment().model), fmt::localtime(std::time(nullptr)));
  constexpr int most = 1000;
  for (int i = 1;; ++i) {
    const std::string path = i == 1 ? stem + ".ulp" : fmt::format("{}-{}.ulp", stem, i);
    const auto taken = [&] { return std::filesystem::exists(path) || std::filesystem::exists(path + "-lock"); };
    if (i < most && taken()) continue;
    try {
      return open_new(runner, path, false, call);
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

/// The run file that is gone on with. FILE is that file, or the experiment it was made from: then -o or run.output names it.
std::string file_to_resume(const RunArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  const std::string& file = arguments.flags.file();
  if (file.empty()) throw UsageError("--resume of which run file? ulpscope run NAME.ulp --resume");
  if (!file.ends_with(".toml")) {
    if (arguments.flags.more_than_a_file())
      throw UsageError(fmt::format("--resume takes the experiment as {} has it: leave the other flags out, or give the experiment "
                                   "file and -o {}", file, file));
    return file;
  }
  const std::string output = arguments.flags.settings().build().run.output;
  if (output.empty()) throw UsageError(fmt::format("--resume of which run file? ulpscope run NAME.ulp --resume, or {} with -o NAME.ulp", file));
  return output;
}

Experiment experiment_to_resume(const RunArguments& arguments, const std::string& run_file) {
  if (arguments.output.empty() && !arguments.flags.file().ends_with(".toml")) return recorded_experiment(run_file);
  return arguments.flags.settings().build();
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

/// Trains, and says how it ended. file: the experiment file; empty: none.
int train(Runner& runner, reports::RunFileWriter& writer, const Past* past, const std::string& file, const Invocation& call) {
  const Experiment experiment = runner.experiment();
  const std::string output = writer.path();
  const NamedFile recorded(output);
  const ProgressStyle style = terminal_style();
  call.err << wrapped(reports::printable(runner.dataset().describe()), "  ", style.width) << '\n';
  call.err << wrapped(fmt::format("{}: {}, {} steps, {} seed{}; recorded in {}", engine::name(experiment.model),
                                  fmt::join(experiment.run.modes, ", "), experiment.train.steps, experiment.run.seeds,
                                  experiment.run.seeds == 1 ? "" : "s", reports::printable(output)),
                      "  ", style.width)
           << '\n';
  for (const std::string& remark : past != nullptr ? past->remarks : std::vector<std::string>{})
    call.err << wrapped(reports::printable(remark), "  ", style.width) << '\n';
  call.err << std::flush;
  Progress progress(call.err, style);
  const Outcome outcome = runner.run(
      writer, progress, [] { return Interrupt::requested(); }, call.command_line, past);
  // What was trained must not be lost to a recording that has gaps: it is compared as far as it can be read.
  bool whole = true;
  try {
    writer.close();
  } catch (const std::exception& error) {
    whole = false;
    if (recorded.fate().empty()) call.err << wrapped(reports::printable(fmt::format("ulpscope: {}", error.what())), "  ", style.width) << '\n' << std::flush;
  }
  // Another experiment is not told as this one.
  if (const std::string fate = recorded.fate(); !fate.empty()) throw Error(fmt::format("{} was {} while it was recorded: what was trained is lost", output, fate));

  for (const MemoryShortage& shortage : outcome.shortages) call.err << '\n' << shortage_text(shortage);
  if (outcome.interrupted) {
    call.err << wrapped(fmt::format("interrupted; what was done so far is in {0} (ulpscope compare {1}); ulpscope run {1} --resume "
                                    "goes on", reports::printable(output), reports::printable(quoted({output}))),
                        "  ", style.width)
             << '\n'
             << std::flush;
    return Interrupt::exit_code();
  }
  if (outcome.finished == 0)
    throw Error(fmt::format("no run finished; {} says more: {}", output, outcome.failures.front()));
  call.out << '\n' << comparison_text({output}) << what_next(experiment, output, file) << std::flush;
  if (outcome.failed > 0)
    call.err << wrapped(reports::printable(fmt::format("ulpscope: {} of {} runs failed, the others are compared above: {}", outcome.failed,
                                                       outcome.failed + outcome.finished, outcome.failures.front())),
                        "  ", style.width)
             << '\n';
  return whole && outcome.weights_lost == 0 && outcome.failed == 0 ? exit_ok : exit_fault;
}

int begin(const RunArguments& arguments, const Invocation& call) {
  const Settings settings = arguments.flags.settings();
  Experiment experiment = settings.build();
  experiment.run.output = choose_output(arguments, experiment);
  const std::unique_ptr<Runner> runner = settings.placed([&] { return std::make_unique<Runner>(experiment); });
  runner->check_memory(runner->device().free_bytes().value_or(free_memory_bytes()));  // an old file is not given up for a run that cannot begin
  const Interrupt interrupt;
  const std::string& output = experiment.run.output;
  const Writer writer = output.empty() ? open_default(*runner, call) : open_new(*runner, output, arguments.force, call);
  return train(*runner, *writer, nullptr, arguments.flags.file(), call);
}

int resume(const RunArguments& arguments, const Invocation& call) {
  if (arguments.force) throw UsageError("--resume goes on with a run file, and --force replaces it: give one of them");
  const std::string path = file_to_resume(arguments);
  Experiment experiment = experiment_to_resume(arguments, path);
  experiment.run.output = path;
  Runner runner(experiment);
  runner.check_memory(runner.device().free_bytes().value_or(free_memory_bytes()));
  const Interrupt interrupt;
  Past past;
  reports::RunFileWriter writer(path, {.append = true, .rewind = [&] {
                                         past = read_past(path, runner, arguments.accept_different_bits);
                                         return past.rewind;
                                       }});
  return train(runner, writer, &past, "", call);
}

int run(const RunArguments& arguments, const Invocation& call) {
  if (arguments.resume) return resume(arguments, call);
  if (arguments.accept_different_bits) throw UsageError("--accept-different-bits goes with --resume");
  return begin(arguments, call);
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->flags.declare_for_run(app);
  app.add_option("-o,--output", arguments->output,
                 "the run file; without it a name made from model and time [run.output]")
      ->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace the run file if it is there");
  app.add_flag("--resume", arguments->resume,
               "go on with a run file that was interrupted or killed (FILE, or -o), to the same bits");
  app.add_flag("--accept-different-bits", arguments->accept_different_bits,
               "with --resume: also on another processor, library, thread count or version");
  app.footer(keys_help());
  return [arguments](const Invocation& call) { return run(*arguments, call); };
}

}  // namespace ulpscope::profiler
