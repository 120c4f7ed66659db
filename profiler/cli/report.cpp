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
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/planned_modes.h"
#include "reports/export/html/page.h"
#include "reports/export/layout.h"
#include "reports/export/report_json.h"
#include "reports/export/report_markdown.h"
#include "reports/export/report_perfetto.h"
#include "reports/hardware/table.h"

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
  std::vector<std::string> gpus{};
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
  for (const std::string& gpu : arguments.gpus)
    if (gpu.empty() || gpu.starts_with('-')) throw UsageError("--gpu takes names of GPUs, such as h100,t4 (ulpscope hardware)");
  if (!csv && std::find(given.begin(), given.end(), true) == given.end())
    throw UsageError(fmt::format("report writes files: say which with {}", fmt::join(flags(), ", ")));
  for (std::size_t i = 0; i < forms().size(); ++i) {
    if (!given[i]) continue;
    const std::string& path = arguments.outputs[i];
    if (path.empty()) throw UsageError(fmt::format("{} takes the name of a file", forms()[i].flag));
    if (forms()[i].check != nullptr) forms()[i].check();
    check_output_file(path, arguments.force, arguments.paths, forms()[i].flag);
    for (std::size_t other = 0; other < i; ++other)
      if (given[other] && std::filesystem::path(arguments.outputs[other]).lexically_normal() == std::filesystem::path(path).lexically_normal()) throw UsageError(fmt::format("{} and {} name the same file: {}", forms()[other].flag, forms()[i].flag, path));
  }
  if (csv) check_csv_folder(arguments.csv, arguments.force, arguments.paths, arguments.outputs);
}

void end_if_asked() {
  if (Interrupt::requested()) throw Interrupted();
}

/// Makes the report once, if a form needs it.
class Made {
 public:
  Made(const ReportArguments& arguments, std::ostream& err) : arguments_(arguments), err_(err) {
    for (const std::string& path : arguments.paths) {
      readers_.push_back(std::make_unique<reports::RunFileReader>(path));
      views_.push_back(readers_.back().get());
    }
    options_.between = end_if_asked;
    options_.verdict.gpus = gpus_named(arguments.gpus);
    // As `ulpscope advise` does, so that the answers are the same.
    options_.verdict.plans = [](const reports::RunFileReader& reader) { return projection_input(reader.path(), {}); };
  }
  const std::vector<const reports::RunFileReader*>& readers() const { return views_; }
  const reports::Report& report() {
    if (made_) return *made_;
    for (const std::string& mistake : reports::user_gpu_mistakes()) err_ << "ulpscope: left out: " << reports::printable(mistake) << '\n';
    made_ = reports::make_report(views_, options_);
    for (const std::string& words : arguments_.gpus)
      if (std::string taken = reports::gpu_table().taken_for(words); !taken.empty()) made_->verdict.notes.insert(made_->verdict.notes.begin(), std::move(taken));
    return *made_;
  }

 private:
  const ReportArguments& arguments_;
  std::ostream& err_;
  std::vector<std::unique_ptr<reports::RunFileReader>> readers_{};
  std::vector<const reports::RunFileReader*> views_{};
  reports::ReportOptions options_{};
  std::optional<reports::Report> made_{};
};

int report(const ReportArguments& arguments, const std::vector<bool>& given, bool csv, const Invocation& call) {
  check(arguments, given, csv);
  const Interrupt interrupt;
  std::string written;  // now
  try {
    Made made(arguments, call.err);
    for (std::size_t i = 0; i < forms().size(); ++i) {
      if (!given[i]) continue;
      const Form& form = forms()[i];
      written = arguments.outputs[i];
      if (form.write != nullptr) made.report();  // before the file is made
      write_output_file(written, [&](std::ostream& out) { form.write != nullptr ? form.write(made.report(), out) : form.write_runs(made.readers(), out); }, end_if_asked);
      call.err << fmt::format("{} written\n", written);
    }
    if (csv) {
      written = arguments.csv;
      const reports::Report& result = made.report();
      end_if_asked();
      write_csv_folder(result, arguments.csv);
      call.err << fmt::format("{} written\n", arguments.csv);
    }
  } catch (const Interrupted&) {
    call.err << fmt::format("interrupted; {} was not written\n", written) << std::flush;
    return Interrupt::exit_code();
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
  app.add_option("--gpu", arguments->gpus, "decide for these GPUs of the table, t4,a100,h100 (ulpscope hardware); without it for those of the runs")
      ->delimiter(',')->type_name("NAMES")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--force", arguments->force, "replace files that are there");
  app.footer(wrapped("From the run files alone: the verdict, the modes side by side, loss, loss scale, numerics by layer and step, overflows and their causes, memory, time, and where it all comes from.", ""));
  return [arguments, options, csv](const Invocation& call) {
    std::vector<bool> given;
    for (const CLI::Option* option : options) given.push_back(option->count() > 0);
    return report(*arguments, given, csv->count() > 0, call);
  };
}

}  // namespace ulpscope::profiler
