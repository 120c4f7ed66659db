// ulpscope compare: the modes side by side.
#include "reports/analysis/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/compare_text.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "reports/export/exporter.h"
#include "reports/export/text.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

struct CompareArguments {
  std::vector<std::string> paths;
  bool json = false;
  bool csv = false;
  std::string output;
  bool force = false;
  std::int64_t top = 5;
};

int compare(const CompareArguments& arguments, const Invocation& call) {
  if (!arguments.output.empty()) check_output_file(arguments.output, arguments.force, arguments.paths);
  if (arguments.top < 0) throw UsageError(fmt::format("--top {}: how many nodes to list, 0 for all", arguments.top));
  const std::string text = comparison_text(arguments.paths, arguments.json ? "json" : arguments.csv ? "csv" : "text", arguments.top);
  if (arguments.output.empty()) {
    call.out << text;
  } else {
    write_output_file(arguments.output, text);
  }
  return exit_ok;
}

/// Of several machines none is alike with the first: there is nothing to show.
void refuse(const reports::Comparison& comparison) {
  if (!comparison.machines || comparison.machines->refused.empty() || comparison.machines->machines.size() > 1) return;
  std::string words;
  for (const reports::MachineRefusal& refusal : comparison.machines->refused)
    words += (words.empty() ? "" : " / ") + reports::text(refusal, comparison.machines->machines.front().tag + fmt::format(" ({})", fmt::join(comparison.machines->machines.front().files, ", ")));
  throw UsageError(words);
}

}  // namespace

std::string comparison_text(const std::vector<std::string>& paths, const std::string& form, std::int64_t nodes) {
  std::vector<std::unique_ptr<reports::RunFileReader>> readers;
  std::vector<const reports::RunFileReader*> views;
  for (const std::string& path : paths) {
    readers.push_back(std::make_unique<reports::RunFileReader>(path));
    views.push_back(readers.back().get());
  }
  const reports::Comparison comparison = reports::compare(views);
  refuse(comparison);
  std::ostringstream out;
  if (form == "text") {
    reports::TextExporter exporter;
    exporter.nodes_across = static_cast<std::size_t>(nodes);
    exporter.write(comparison, out);
  } else {
    reports::make_exporter(form)->write(comparison, out);
  }
  return out.str();
}

Action declare_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  app.add_option("RUN", arguments->paths, "run files (.ulp)")->required()->type_name("");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.add_option("-o,--output", arguments->output, "write there instead of to the terminal")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace that file if it is there");
  app.add_option("--top", arguments->top, "of several machines: list so many nodes of a mode (5); 0: all")->type_name("N");
  return [arguments](const Invocation& call) { return compare(*arguments, call); };
}

}  // namespace ulpscope::profiler
