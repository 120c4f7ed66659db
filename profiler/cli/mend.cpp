// ulpscope mend: tries changes and reports what each did.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/mend/budget.h"
#include "profiler/mend/mend.h"
#include "reports/analysis/mends.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {
namespace {

struct MendArguments {
  std::string path;
  std::string budget = "5m";
  std::string mode;
  std::int64_t seed = 0;
  bool json = false;
  bool csv = false;
};

/// What an earlier mend tried, and this one did not, is shown as such.
void tell_earlier(const MendResult& result, const std::vector<reports::MendId>& earlier, reports::Mends& section) {
  for (reports::MendsOfRun& run : section.runs) {
    std::string when;
    for (reports::MendTrial& trial : run.trials) {
      trial.earlier = std::find(earlier.begin(), earlier.end(), trial.record.id) != earlier.end();
      if (trial.earlier) when = std::max(when, trial.when);
    }
    if (earlier.empty()) continue;
    when = when.empty() ? "" : fmt::format(" of {}", when);
    const bool tried = std::any_of(result.records.begin(), result.records.end(), [](const reports::MendRecord& r) { return r.status != reports::MendStatus::not_tried; });
    if (!tried) {
      run.verdict = fmt::format("nothing was tried now: {}; what follows is from an earlier mend{}: {}", result.stopped.empty() ? "no change could be" : result.stopped, when, run.verdict);
    } else {
      section.notes.push_back(fmt::format("{} tried by an earlier mend{}, not now", earlier.size() == 1 ? "1 of these changes was" : fmt::format("{} of these changes were", earlier.size()), when));
    }
  }
}

/// What was found, where it could not be written down: on the error output, as the form that was asked for tells what is in a file.
int tell_unkept(const MendResult& result, const std::string& path, const std::string& why, const Invocation& call) {
  call.err << wrapped(reports::printable(fmt::format("ulpscope: what was found is not kept in {}: {}. It is:", path, why)), "  ") << '\n';
  for (const reports::MendRecord& record : result.records)
    call.err << wrapped(reports::printable(fmt::format("  {}: {}", record.change, reports::name(record.status))), "    ") << '\n';
  call.err << std::flush;
  return result.interrupted ? Interrupt::exit_code() : exit_fault;
}

int mend_file(const MendArguments& arguments, bool has_seed, const Invocation& call) {
  MendOptions options;
  options.budget_seconds = parse_budget(arguments.budget);
  options.mode = arguments.mode;
  if (has_seed) options.seed = arguments.seed;
  const Interrupt interrupt;
  const MendResult result = mend(arguments.path, options, [] { return Interrupt::requested(); },
                                 [&](const std::string& what) { call.err << wrapped(reports::printable(what), "  ") << '\n' << std::flush; });
  std::vector<reports::MendId> earlier;
  try {
    earlier = record_mends(arguments.path, result);
  } catch (const Error& error) {   // minutes of trials are not lost with the file
    return tell_unkept(result, arguments.path, error.what(), call);
  }
  reports::Mends section = reports::mends(reports::RunFileReader(arguments.path));
  std::erase_if(section.runs, [&](const reports::MendsOfRun& run) { return result.records.empty() || run.run.id != result.run; });
  section.notes = result.notes;
  tell_earlier(result, earlier, section);
  const char* const form = arguments.json ? "json" : arguments.csv ? "csv" : "text";
  reports::make_exporter(form)->write(section, call.out);
  if (!result.machine_fault.empty()) {
    call.err << wrapped(reports::printable(fmt::format("ulpscope: {}; what was not tried for that can be tried again", result.machine_fault)), "  ") << '\n' << std::flush;
    return exit_fault;
  }
  if (!result.interrupted) return exit_ok;
  call.err << (result.records.empty() ? "interrupted before anything was tried; the run file is as it was"
                                      : fmt::format("interrupted; what was tried so far is in {}", arguments.path))
           << '\n'
           << std::flush;
  return Interrupt::exit_code();
}

}  // namespace

Action declare_mend(CLI::App& app) {
  auto arguments = std::make_shared<MendArguments>();
  app.add_option("RUN", arguments->path, "run file (.ulp)")->required()->type_name("");
  app.add_option("--budget", arguments->budget, "how long it may take: 90s, 5m, 1h (5m); what is left then is not tried")->type_name("TIME");
  app.add_option("--mode", arguments->mode, "mend this mode; without it the run that fares worst")->type_name("MODE");
  CLI::Option* seed = app.add_option("--seed", arguments->seed, "and this seed")->type_name("SEED");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.footer("The unchanged experiment is run first: if its fault does not come back, nothing is tried. A change is\n"
             "verified if the fault is gone and nothing worse came, refuted otherwise. Nodes to keep in fp32 are\n"
             "searched for until none can be left out. Results are kept in the run file; a second mend replaces what it tries again.");
  return [arguments, seed](const Invocation& call) { return mend_file(*arguments, seed->count() > 0, call); };
}

}  // namespace ulpscope::profiler
