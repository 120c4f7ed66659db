// ulpscope diagnose: what went wrong in a recording, why, whether it matters, what to change.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/capsule.h"
#include "profiler/cli/command.h"
#include "profiler/cli/predict.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {
namespace {

struct DiagnoseArguments {
  std::string path;
  std::int64_t step = 0;
  std::int64_t seed = 0;
  std::string mode;
  bool json = false;
  bool csv = false;
  bool predict = false;
  std::string capsule;
  std::vector<std::string> assignments;
  double flushed = 1.0;   ///< percent
};

int diagnose(const DiagnoseArguments& arguments, bool has_step, bool has_seed, const Invocation& call) {
  if (has_step && arguments.step < 1) throw UsageError("--step counts from 1, as steps are shown");
  const char* const form = arguments.json ? "json" : arguments.csv ? "csv" : "text";
  if (arguments.predict) {
    if (has_step) throw UsageError("--step does not go with --predict, which looks at the first step");
    if (has_seed && arguments.seed < 0) throw UsageError(fmt::format("--seed {}: seeds are whole numbers from 0", arguments.seed));
    return predict_experiment(arguments.path, arguments.assignments, arguments.mode, has_seed ? std::optional(arguments.seed) : std::nullopt, form, call);
  }
  if (!arguments.assignments.empty()) throw UsageError("--set goes with --predict, which takes an experiment file: what was recorded cannot be set any more");
  if (!arguments.capsule.empty()) {
    if (arguments.csv) throw UsageError("--csv does not go with --capsule: give --json or neither");
    CapsuleRequest request{
        .run_file = arguments.path, .output = arguments.capsule, .step = {}, .mode = arguments.mode, .seed = {}};
    if (has_step) request.step = arguments.step - 1;
    if (has_seed) request.seed = arguments.seed;
    return keep_capsule(request, arguments.json, call);
  }
  if (arguments.path.ends_with(".toml"))
    throw UsageError(fmt::format("{} is an experiment file, and nothing was recorded yet: --predict says what will go wrong, ulpscope run "
                                 "records it", arguments.path));
  const reports::RunFileReader reader(arguments.path);
  reports::DiagnoseOptions options;
  if (has_step) options.step = arguments.step - 1;
  if (has_seed) options.seed = arguments.seed;
  options.mode = arguments.mode;
  if (!(arguments.flushed >= 0.0 && arguments.flushed < 100.0)) throw UsageError("--flushed takes percent: from 0 to less than 100");
  options.flushed_share = arguments.flushed / 100.0;
  const reports::Diagnosis result = reports::diagnose(reader, options);
  reports::make_exporter(form)->write(result, call.out);
  return exit_ok;
}

}  // namespace

Action declare_diagnose(CLI::App& app) {
  auto arguments = std::make_shared<DiagnoseArguments>();
  app.add_option("RUN", arguments->path, "run file (.ulp); with --predict an experiment file (.toml)")->required()->type_name("");
  CLI::Option* step =
      app.add_option("--step", arguments->step, "look inside this step alone, counted from 1")->type_name("N");
  app.add_option("--mode", arguments->mode, "this mode alone, in full")->type_name("MODE");
  CLI::Option* seed = app.add_option("--seed", arguments->seed, "this seed alone")->type_name("SEED");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print JSON");
  app.add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  app.add_option("--flushed", arguments->flushed, "the loss-scale window loses at most so much of a layer's gradients below the range [1]")->type_name("PERCENT");
  CLI::Option* predict = app.add_flag("--predict", arguments->predict,
                                      "RUN is an experiment file: what will go wrong, before it is trained");
  take_one_at_a_time(*app.add_option("--set", arguments->assignments, "with --predict: sets any key of the experiment file; several times")
                          ->type_name("KEY=VALUE"));
  app.add_option("--capsule", arguments->capsule,
                 "keep the step that failed (or --step N) in a file, for ulpscope replay")
      ->type_name("FILE")
      ->excludes(predict);
  app.footer(
      "Answers in this order: normal or fatal, where, why, what to change, head-room.\n"
      "Changes are not claimed to help before they were tried.");
  return [arguments, step, seed](const Invocation& call) {
    return diagnose(*arguments, step->count() > 0, seed->count() > 0, call);
  };
}

}  // namespace ulpscope::profiler
