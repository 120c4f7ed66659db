// ulpscope import: what another program recorded, as a run file.
#include "profiler/import/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "engine/precision/mode.h"
#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"

namespace ulpscope::profiler {
namespace {

/// So that the number of the last step stays one.
constexpr std::int64_t most_every = 1000000000;

struct ImportArguments {
  ImportJob job;
  std::string format;
  std::vector<std::string> columns;
  std::int64_t every = 0;
};

/// "logs/trainer_state.json.gz" as "trainer_state.ulp", in the folder where the command is given.
std::string default_output(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.extension() == ".gz") name = name.stem();
  return (name.has_stem() ? name.stem().string() : "imported") + ".ulp";
}

int import(const ImportArguments& arguments, bool has_every, const Invocation& call) {
  ImportJob job = arguments.job;
  if (job.as.seed < 0) throw UsageError(fmt::format("--seed {}: whole numbers from 0 on", job.as.seed));
  if (!job.as.mode.empty() && job.as.mode != "unknown") engine::find_mode(job.as.mode);
  if (!arguments.format.empty()) job.format = parse_import_format(arguments.format);
  if (has_every && (arguments.every < 1 || arguments.every > most_every)) throw UsageError(fmt::format("--every {}: an entry every so many steps, from 1 to {}", arguments.every, most_every));
  if (has_every) job.log.every = arguments.every;
  for (const std::string& words : arguments.columns) add_columns(words, job.log);
  const bool named = !job.output.empty();
  if (!named) job.output = default_output(job.as.file);
  std::error_code error;
  if (std::filesystem::equivalent(job.output, job.as.file, error))
    throw UsageError(named ? fmt::format("-o {}: that file is read, and it is not written over; give another name", job.output)
                           : fmt::format("{}: the run file would have its name; give another with -o", job.as.file));
  job.command_line = call.command_line;
  std::vector<std::string> words;
  try {
    words = import_recording(job);
  } catch (const Interrupted&) {
    call.err << "interrupted; nothing was written\n" << std::flush;
    return Interrupt::exit_code();
  }
  for (const std::string& line : words) call.out << wrapped(reports::printable(line), "  ") << '\n';
  call.out << wrapped(fmt::format("written: {}; ulpscope info, compare, diagnose and time read it", job.output), "  ") << '\n' << std::flush;
  return exit_ok;
}

}  // namespace

Action declare_import(CLI::App& app) {
  auto arguments = std::make_shared<ImportArguments>();
  app.add_option("FILE", arguments->job.as.file, "an Nsight Systems SQLite export, a PyTorch profiler trace, or a training log (CSV, JSON lines, trainer_state.json, what the program printed); gzip too")->required()->type_name("");
  app.add_option("-o,--output", arguments->job.output, "the run file; without it FILE's name with .ulp")->type_name("RUN");
  app.add_option("--format", arguments->format, fmt::format("{}; without it by what is in FILE", fmt::join(import_format_names(), ", ")))->type_name("WORD");
  app.add_option("--mode", arguments->job.as.mode, "the precision mode that it was trained in; without it unknown, or inferred")->type_name("MODE");
  app.add_option("--seed", arguments->job.as.seed, "its seed [0]")->type_name("S");
  app.add_option("--model", arguments->job.as.model, "what was trained: runs imported with the same --model and --data are held against each other")->type_name("NAME");
  app.add_option("--data", arguments->job.as.data, "what it was trained on")->type_name("NAME");
  app.add_option("--column", arguments->columns, "what the log calls a column: loss=train_loss; also step, held_out_loss, learning_rate, loss_scale, gradient_norm, skipped")->type_name("WHAT=NAME");
  app.add_option("--step-range", arguments->job.trace.step_range, "of a trace: ranges whose name begins so are the steps [ProfilerStep#]")->type_name("NAME");
  CLI::Option* every = app.add_option("--every", arguments->every, "the log has an entry every N steps (logging_steps), where it does not number them")->type_name("N");
  app.add_flag("--force", arguments->job.force, "replace the run file if it is there");
  app.footer(wrapped("Of a training log compare shows the losses and diagnose says whether the run is normal or fatal; what happened inside its steps stays unknown.", ""));
  return [arguments, every](const Invocation& call) { return import(*arguments, every->count() > 0, call); };
}

}  // namespace ulpscope::profiler
