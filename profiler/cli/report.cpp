// ulpscope report: a result in forms that travel.
#include "reports/analysis/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/report_folder.h"
#include "profiler/cli/text.h"
#include "reports/export/html/page.h"
#include "reports/export/report_json.h"
#include "reports/export/report_markdown.h"
#include "reports/export/report_perfetto.h"

namespace ulpscope::profiler {
namespace {

/// A form that is one file. To add one: a line in forms().
struct Form {
  const char* flag;
  const char* what;
  void (*write)(const reports::Report& report, std::ostream& out);
  void (*check)() = nullptr;  ///< throws UsageError if this build cannot write it
  /// Instead of write: from the run files, without a report.
  void (*write_runs)(const std::vector<const reports::RunFileReader*>& readers, std::ostream& out) = nullptr;
};

void check_html() {
  if (!reports::can_write_html())
    throw UsageError("--html: this build has no Vega to draw with: node-vega and esbuild were not there when it was configured; scripts/setup installs "
                     "them, then configure and build again");
}

const std::vector<Form>& forms() {
  static const std::vector<Form> list{{"--html", "one page that opens anywhere: charts, tables, all in it", reports::write_html, check_html},
                                      {"--md", "Markdown for a pull request", reports::write_markdown},
                                      {"--json", "everything, for programs (docs/report.schema.json)", reports::write_report_json},
                                      {"--perfetto", "a trace for ui.perfetto.dev: steps, passes, nodes, kernels", nullptr, nullptr, reports::write_perfetto}};
  return list;
}

struct ReportArguments {
  std::vector<std::string> paths;
  std::vector<std::string> outputs = std::vector<std::string>(forms().size());  ///< by form
  std::string csv{};  ///< a folder
  bool force = false;
};

std::vector<std::string> flags() {
  std::vector<std::string> names;
  for (const Form& form : forms()) names.emplace_back(form.flag);
  names.emplace_back("--csv");
  return names;
}

/// Everything that can be refused is, before a file is read or written.
void check(const ReportArguments& arguments, const std::vector<bool>& given, bool csv) {
  if (!csv && std::find(given.begin(), given.end(), true) == given.end())
    throw UsageError(fmt::format("report writes files: say which with {}", fmt::join(flags(), ", ")));
  for (std::size_t i = 0; i < forms().size(); ++i) {
    if (!given[i]) continue;
    const std::string& path = arguments.outputs[i];
    if (path.empty()) throw UsageError(fmt::format("{} takes the name of a file", forms()[i].flag));
    if (forms()[i].check != nullptr) forms()[i].check();
    check_output_file(path, arguments.force, arguments.paths, forms()[i].flag);
    for (std::size_t other = 0; other < i; ++other)
      if (given[other] && arguments.outputs[other] == path) throw UsageError(fmt::format("{} and {} name the same file: {}", forms()[other].flag, forms()[i].flag, path));
  }
  if (csv) check_csv_folder(arguments.csv, arguments.force, arguments.paths, arguments.outputs);
}

int report(const ReportArguments& arguments, const std::vector<bool>& given, bool csv, const Invocation& call) {
  check(arguments, given, csv);
  std::vector<std::unique_ptr<reports::RunFileReader>> readers;
  std::vector<const reports::RunFileReader*> views;
  for (const std::string& path : arguments.paths) {
    readers.push_back(std::make_unique<reports::RunFileReader>(path));
    views.push_back(readers.back().get());
  }
  std::optional<reports::Report> made;
  const auto result = [&]() -> const reports::Report& { return made ? *made : made.emplace(reports::make_report(views)); };
  for (std::size_t i = 0; i < forms().size(); ++i) {
    if (!given[i]) continue;
    const Form& form = forms()[i];
    if (form.write != nullptr) result();  // before the file is made
    write_output_file(arguments.outputs[i], [&](std::ostream& out) { form.write != nullptr ? form.write(result(), out) : form.write_runs(views, out); });
    call.err << fmt::format("{} written\n", arguments.outputs[i]);
  }
  if (csv) {
    write_csv_folder(result(), arguments.csv);
    call.err << fmt::format("{} written\n", arguments.csv);
  }
  return exit_ok;
}

}  // namespace

Action declare_report(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  app.add_option("RUN", arguments->paths, "run files (.ulp), finished, cut off or still being written")->required()->type_name("");
  std::vector<CLI::Option*> options;
  for (std::size_t i = 0; i < forms().size(); ++i) options.push_back(app.add_option(forms()[i].flag, arguments->outputs[i], forms()[i].what)->type_name("FILE"));
  const CLI::Option* csv = app.add_option("--csv", arguments->csv, "a folder of tables, with a data dictionary")->type_name("FOLDER");
  app.add_flag("--force", arguments->force, "replace files that are there");
  app.footer(wrapped("From the run files alone: the verdict, the modes side by side, loss, loss scale, numerics by layer and step, overflows and their causes, memory, time, and where it all comes from.", ""));
  return [arguments, options, csv](const Invocation& call) {
    std::vector<bool> given;
    for (const CLI::Option* option : options) given.push_back(option->count() > 0);
    return report(*arguments, given, csv->count() > 0, call);
  };
}

}  // namespace ulpscope::profiler
