// ulpscope check: for pipelines. Exit code 1 if a rule is broken.
#include "reports/analysis/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "reports/export/exporter.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

struct CheckArguments {
  std::vector<std::string> paths;
  std::vector<std::string> rules;
  bool json = false;
  bool csv = false;
};

std::string rules_help() {
  std::string text = "Rules:\n";
  for (const reports::CheckRuleInfo& rule : reports::check_rules())
    text += wrapped(fmt::format("  {:<14} {}", rule.name, rule.meaning), std::string(17, ' ')) + "\n";
  return text + "Exit codes: 0 nothing found, 1 findings (a line for each), 2 wrong use.";
}

int check(const CheckArguments& arguments, const Invocation& call) {
  if (arguments.rules.empty()) throw UsageError("--fail-on is missing: say what to look for, as --fail-on divergence,skip-rate=0.1");
  const std::vector<reports::CheckRule> rules = reports::parse_check_rules(arguments.rules);
  std::vector<std::unique_ptr<reports::RunFileReader>> readers;
  std::vector<const reports::RunFileReader*> views;
  for (const std::string& path : arguments.paths) {
    readers.push_back(std::make_unique<reports::RunFileReader>(path));
    views.push_back(readers.back().get());
  }
  const reports::CheckResult result = reports::check(views, rules);
  const char* const form = arguments.json ? "json" : arguments.csv ? "csv" : "text";
  reports::make_exporter(form)->write(result, call.out);
  return result.findings.empty() ? exit_ok : exit_fault;
}

}  // namespace

Action declare_check(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  app.add_option("RUN", arguments->paths, "run files (.ulp)")->required()->type_name("");
  app.add_option("--fail-on", arguments->rules, "what must not be there, with commas")
      ->type_name("RULES")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.footer(rules_help());
  return [arguments](const Invocation& call) { return check(*arguments, call); };
}

}  // namespace ulpscope::profiler
