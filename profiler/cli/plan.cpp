// ulpscope plan: what a training step does in a mode, before a single step is run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "profiler/cli/command.h"
#include "profiler/cli/flags.h"
#include "profiler/cli/plan_text.h"
#include "profiler/cli/program.h"

namespace ulpscope::profiler {
namespace {

struct PlanArguments {
  ExperimentFlags flags;
  std::string mode;
  bool json = false;
};

std::string loss_scaling_words(const Experiment& experiment, const engine::Mode& mode) {
  if (!engine::scales_loss(mode, experiment.train)) return "none";
  const scaling::Policy& policy = experiment.train.scaler;
  if (const auto* fixed = std::get_if<scaling::FixedScaling>(&policy))
    return fmt::format("fixed at {:g}", fixed->scale);
  return fmt::format("dynamic, from {:g}", scaling::initial_state(policy).scale);
}

int plan(const PlanArguments& arguments, const Invocation& call) {
  const Experiment experiment = arguments.flags.settings().build();
  const engine::Mode& mode = engine::find_mode(arguments.mode.empty() ? experiment.run.modes.front() : arguments.mode);
  const std::unique_ptr<Device> device =
      make_cpu_device({.threads = static_cast<int>(experiment.run.threads), .instruction_set = {}});
  const auto model = [&](bool training) {
    return engine::build_model(experiment.model, experiment.train.batch, training);
  };
  const engine::StepPlan step = engine::plan_step(*device, model(true), mode, experiment.train);
  const engine::StepPlan evaluation = engine::plan_evaluation(*device, model(false), mode, experiment.train);
  const PlanView view{experiment.name,
                      std::string(engine::name(experiment.model)),
                      mode,
                      device->description().name,
                      loss_scaling_words(experiment, mode),
                      step,
                      evaluation};
  if (arguments.json) {
    call.out << plan_json(view).dump(2) << '\n';
  } else {
    call.out << plan_text(view);
  }
  return exit_ok;
}

}  // namespace

Action declare_plan(CLI::App& app) {
  auto arguments = std::make_shared<PlanArguments>();
  arguments->flags.declare_for_plan(app);
  app.add_option("--mode", arguments->mode, "the precision mode; without it the first of run.modes")->type_name("MODE");
  app.add_flag("--json", arguments->json, "print JSON");
  app.footer(keys_help());
  return [arguments](const Invocation& call) { return plan(*arguments, call); };
}

}  // namespace ulpscope::profiler
