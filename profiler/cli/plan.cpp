// ulpscope plan: what a training step does in a mode, before a single step is run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "profiler/cli/command.h"
#include "profiler/cli/flags.h"
#include "engine/train/non_standard.h"
#include "profiler/cli/plan_text.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/json_text.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/make_device.h"
#include "profiler/experiment/memory_shortage.h"
#include "profiler/experiment/observe.h"
#include "profiler/experiment/run_record.h"

namespace ulpscope::profiler {
namespace {

struct PlanArguments {
  ExperimentFlags flags;
  std::string mode;
  bool json = false;
};

std::string loss_scaling_from(const Experiment& experiment, const engine::Mode& mode) {
  const std::string words = loss_scaling_words(mode, experiment.train);
  if (words != "dynamic") return words;
  return fmt::format("{}, from {:g}", words, scaling::initial_state(experiment.train.scaler).scale);
}

int plan(const PlanArguments& arguments, const Invocation& call) {
  const Settings settings = arguments.flags.settings();
  Experiment experiment = settings.build();
  if (!experiment.data.features.empty()) load_data(experiment);  // they decide sizes of the model
  const engine::Mode& mode = engine::find_mode(arguments.mode.empty() ? experiment.run.modes.front() : arguments.mode);
  const std::unique_ptr<Device> device =
      settings.placed([&] { return make_device(experiment.run.device, static_cast<int>(experiment.run.threads)); });
  const auto model = [&](bool training) {
    return engine::build_model(experiment.model, experiment.train.batch, training);
  };
  const engine::StepPlan step =
      settings.placed([&] { return engine::plan_step(*device, model(true), mode, experiment.train); });
  settings.placed([&] { check_observed_nodes(experiment.observe, step.graph); });
  const engine::StepPlan evaluation = engine::plan_evaluation(*device, model(false), mode, experiment.train);
  const PlanView view{experiment.name,
                      std::string(engine::name(experiment.model)),
                      mode,
                      device->description().name,
                      loss_scaling_from(experiment, mode),
                      step,
                      evaluation,
                      engine::non_standard(experiment.train),
                      experiment.train.accumulate_as};
  if (const std::int64_t free = device->free_bytes().value_or(free_memory_bytes()); step_bytes(step) > free) {
    const MemoryShortage shortage = memory_shortage(*device, experiment, mode, step, free, [](const engine::StepPlan& p, const engine::TrainConfig&) { return step_bytes(p); });
    call.err << wrapped("warning: " + reports::printable(shortage_line(shortage)), "  ") << '\n' << std::flush;
  }
  if (arguments.json) {
    call.out << json_text(plan_json(view), 2) << '\n';
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
