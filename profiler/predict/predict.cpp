#include "profiler/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/train/non_standard.h"
#include "profiler/experiment/load_data.h"
#include "profiler/predict/checks.h"
#include "profiler/predict/rehearsal.h"

namespace ulpscope::profiler {
namespace {

struct Planned {
  const engine::Mode& mode;
  bool asked = true;
  engine::StepPlan plan;
};

/// The same mode in the other 16-bit format; none for others.
std::string counterpart(const engine::Mode& mode) {
  std::string name = mode.name;
  for (const auto& [half, other] : {std::pair{"fp16", "bf16"}, std::pair{"bf16", "fp16"}})
    if (name.starts_with(half)) return name.replace(0, 4, other);
  return "";
}

std::vector<std::string> modes_to_judge(const std::vector<std::string>& asked) {
  std::vector<std::string> names = asked;
  for (const std::string& name : asked) {
    const std::string other = counterpart(engine::find_mode(name));
    if (!other.empty() && std::find(names.begin(), names.end(), other) == names.end()) names.push_back(other);
  }
  return names;
}

reports::PredictionInput input_of(const Planned& planned, const Experiment& experiment, const Rehearsal& rehearsal) {
  const engine::TrainConfig& config = experiment.train;
  reports::PredictionInput input;
  input.mode = planned.mode.name;
  input.asked = planned.asked;
  input.lower = planned.mode.lower;
  input.scaled = engine::scales_loss(planned.mode, config);
  input.policy = config.scaler;
  input.non_standard = engine::non_standard(config);
  const PlanFacts facts(planned.plan, planned.mode, config, rehearsal);
  std::vector<std::string> explained;
  check_masks(facts, input.checks, explained);
  check_sums(facts, input.checks);
  check_positions(facts, input.checks);
  check_optimizer(facts, input.checks);
  add_ranges(facts, explained, input);
  return input;
}

}  // namespace

reports::Prediction predict(const Settings& settings, const std::string& mode, std::optional<std::int64_t> seed) {
  Experiment experiment = settings.build();
  if (!mode.empty()) experiment.run.modes = {engine::find_mode(mode).name};
  if (seed) experiment.run.seed = *seed;
  const std::unique_ptr<engine::Dataset> data = load_data(experiment);
  const std::unique_ptr<Device> device =
      make_cpu_device({.threads = static_cast<int>(experiment.run.threads), .instruction_set = {}});
  const engine::Model model = engine::build_model(experiment.model, experiment.train.batch, true);
  std::vector<Planned> plans;
  std::set<std::string> wanted;
  for (const std::string& name : modes_to_judge(experiment.run.modes)) {
    const auto& asked = experiment.run.modes;
    const engine::Mode& m = engine::find_mode(name);
    plans.push_back({m, std::find(asked.begin(), asked.end(), name) != asked.end(),
                     settings.placed([&] { return engine::plan_step(*device, model, m, experiment.train); })});
    wanted.merge(mask_scores(plans.back().plan));
    wanted.merge(position_tables(plans.back().plan));
  }
  const engine::TrainerSetup setup{experiment.model, engine::find_mode("fp32"), experiment.train,
                                   static_cast<std::uint64_t>(experiment.run.seed)};
  const Rehearsal rehearsal = rehearse_in_fp32(*device, *data, setup, wanted);
  reports::Prediction prediction;
  prediction.experiment = experiment.name;
  prediction.seed = experiment.run.seed;
  prediction.loss = static_cast<double>(rehearsal.result.loss);
  if (!std::isfinite(rehearsal.result.loss) || !rehearsal.result.finite)
    prediction.remarks.emplace_back(
        "the step is not finite in fp32 either: ranges of what comes after that are not known");
  for (const Planned& planned : plans)
    prediction.modes.push_back(reports::predict(input_of(planned, experiment, rehearsal)));
  prediction.advice = reports::advice(prediction.modes);
  return prediction;
}

}  // namespace ulpscope::profiler
