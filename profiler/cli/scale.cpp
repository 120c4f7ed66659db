// ulpscope scale: recorded ranges under other loss-scaling policies.
#include "reports/analysis/scale_replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "kernels/scaling/loss_scaler.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {
namespace {

struct ScaleArguments {
  std::string path;
  std::vector<std::string> policies;
  std::string mode;
  std::int64_t seed = 0;
  bool json = false;
  bool csv = false;
};

int scale(const ScaleArguments& arguments, bool has_seed, const Invocation& call) {
  reports::ScaleReplayOptions options;
  options.policies = reports::parse_policies(arguments.policies);
  options.mode = arguments.mode;
  if (has_seed) options.seed = arguments.seed;
  const reports::RunFileReader reader(arguments.path);
  const char* const form = arguments.json ? "json" : arguments.csv ? "csv" : "text";
  reports::make_exporter(form)->write(reports::replay_scales(reader, options), call.out);
  return exit_ok;
}

std::string policies_help() {
  return wrapped(fmt::format("Policies: {}, and {}: that of the run. Each has its framework's defaults; a number behind a colon is its first scale, "
                             "others go by name: pytorch:2^20, deepspeed:interval=500:hysteresis=1.",
                             fmt::join(scaling::policy_names(), ", "), reports::recorded_policy_name), "") +
         "\n" + wrapped("Needs a run that was recorded with --ranges. Projected: the gradients of a step are taken to be those that were recorded, whatever was skipped before.", "");
}

}  // namespace

Action declare_scale(CLI::App& app) {
  auto arguments = std::make_shared<ScaleArguments>();
  app.add_option("RUN", arguments->path, "run file (.ulp)")->required()->type_name("");
  app.add_option("--policy", arguments->policies, "loss-scaling policies, with commas")
      ->type_name("LIST")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--mode", arguments->mode, "this mode alone")->type_name("MODE");
  CLI::Option* seed = app.add_option("--seed", arguments->seed, "this seed alone")->type_name("SEED");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.footer(policies_help());
  return [arguments, seed](const Invocation& call) { return scale(*arguments, seed->count() > 0, call); };
}

}  // namespace ulpscope::profiler
