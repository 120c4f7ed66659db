// ulpscope time: where the time of a step went, and what mixed precision costs.
#include "reports/analysis/break_even.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "reports/export/exporter.h"
#include "reports/export/text.h"

namespace ulpscope::profiler {
namespace {

struct TimeArguments {
  std::vector<std::string> paths;
  std::string mode;
  std::int64_t seed = 0;
  std::int64_t top = 10;
  bool json = false;
  std::string csv;
  bool force = false;
};

/// In the forms that were asked for.
template <class Result>
void write_forms(const Result& result, const TimeArguments& arguments, bool has_csv, const Invocation& call) {
  if (has_csv) {
    std::ostringstream text;
    reports::make_exporter("csv")->write(result, text);
    write_output_file(arguments.csv, text.str());
  }
  if (arguments.json) return reports::make_exporter("json")->write(result, call.out);
  reports::TextExporter text;
  text.top_nodes = static_cast<std::size_t>(arguments.top);
  text.write(result, call.out);
}

int time(const TimeArguments& arguments, bool has_seed, bool has_top, bool has_csv, const Invocation& call) {
  if (arguments.top < 0) throw UsageError(fmt::format("--top {}: how many nodes to list, 0 for all", arguments.top));
  if (has_csv && arguments.csv.empty()) throw UsageError("--csv takes the name of a file");
  if (has_csv) check_output_file(arguments.csv, arguments.force, arguments.paths, "--csv");
  if (arguments.paths.size() > 1 && !arguments.mode.empty())
    throw UsageError("--mode goes with one run file: several are held against each other in every mode");
  if (arguments.paths.size() > 1 && has_top) throw UsageError("--top goes with one run file: of several no nodes are listed");
  reports::TimeOptions options{.mode = arguments.mode};
  if (has_seed) options.seed = arguments.seed;
  std::vector<reports::TimeReport> all;
  for (const std::string& path : arguments.paths) all.push_back(reports::time_report(reports::RunFileReader(path), options));
  if (all.size() == 1) {
    write_forms(all.front(), arguments, has_csv, call);
  } else {
    write_forms(reports::break_even(all), arguments, has_csv, call);
  }
  return exit_ok;
}

}  // namespace

Action declare_time(CLI::App& app) {
  auto arguments = std::make_shared<TimeArguments>();
  app.add_option("RUN", arguments->paths, "run file (.ulp); several that differ in the batch: from which batch on a mode is faster than fp32")->required()->type_name("");
  app.add_option("--mode", arguments->mode, "this mode alone, still held against fp32")->type_name("MODE");
  CLI::Option* seed = app.add_option("--seed", arguments->seed, "this seed; without it the one that was timed")->type_name("SEED");
  CLI::Option* top = app.add_option("--top", arguments->top, "list so many nodes of a mode (10); 0: all")->type_name("N");
  app.add_flag("--json", arguments->json, "print JSON, every node in it");
  CLI::Option* csv = app.add_option("--csv", arguments->csv, "write CSV there too, every node in it")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace that file if it is there");
  app.footer(wrapped("By mode: the step, its nodes by category, what casts, loss scaling, the finite check, master weights and skipped steps cost, the share of products and the greatest speed-up it allows, and why there is none. "
                     "On a CPU every mode but fp32 is emulated: its times say nothing of a GPU.", ""));
  return [arguments, seed, top, csv](const Invocation& call) { return time(*arguments, seed->count() > 0, top->count() > 0, csv->count() > 0, call); };
}

}  // namespace ulpscope::profiler
