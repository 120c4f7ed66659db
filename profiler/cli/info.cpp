// ulpscope info: what is in a run file.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "reports/analysis/summary.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {
namespace {

struct InfoArguments {
  std::string path;
  bool json = false;
  bool csv = false;
  bool config = false;
};

int info(const InfoArguments& arguments, const Invocation& call) {
  const reports::RunFileReader reader(arguments.path);
  if (arguments.config) {
    if (const auto experiment = reader.experiment()) call.out << experiment->configuration;
    return exit_ok;
  }
  const char* const form = arguments.json ? "json" : arguments.csv ? "csv" : "text";
  reports::make_exporter(form)->write(reports::summarise(reader), call.out);
  return exit_ok;
}

}  // namespace

Action declare_info(CLI::App& app) {
  auto arguments = std::make_shared<InfoArguments>();
  app.add_option("RUN", arguments->path, "a run file (.ulp)")->required()->type_name("");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  CLI::Option* csv = app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.add_flag("--config", arguments->config, "print the experiment as TOML, every value filled in")
      ->excludes(json)
      ->excludes(csv);
  return [arguments](const Invocation& call) { return info(*arguments, call); };
}

}  // namespace ulpscope::profiler
