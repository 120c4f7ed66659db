#include "profiler/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/optim/schedule.h"
#include "engine/train/non_standard.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/make_device.h"
#include "profiler/predict/checks.h"
#include "profiler/predict/gradient_sums.h"
#include "profiler/predict/mode_step.h"
#include "profiler/predict/rehearsal.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/scaled_tensors.h"

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

bool goes_well(const Rehearsal& rehearsal) { return std::isfinite(rehearsal.result.loss) && rehearsal.result.finite; }

/// Where the step in fp32 is not finite, no mode is.
reports::Foreseen not_finite_in_fp32(const Rehearsal& rehearsal) {
  reports::Foreseen f{.kind = "not_finite_in_fp32", .gravity = reports::Gravity::fatal, .format = "fp32", .order = -1};
  const char* const which = std::isfinite(rehearsal.result.loss) ? "a gradient" : "the loss";
  if (!rehearsal.first_not_finite) {
    f.what = fmt::format("{} is not finite in fp32 either, in the first step; where that begins was not found", which);
    return f;
  }
  const NotFinite& first = *rehearsal.first_not_finite;
  f.node = first.node;
  f.operation = first.operation;
  f.phase = first.phase;
  f.tensor = first.tensor;
  const std::string count = fmt::format("{} of {} not finite", first.not_finite, reports::counted(first.elements, "element"));
  f.what = first.node.empty()
               ? fmt::format("{} is not finite in fp32 either: {} ({}) has {} before the first step begins", which, first.tensor, first.role, count)
               : fmt::format("{} is not finite in fp32 either: {} ({}, {}) has {}, from inputs up to {} in magnitude: no mode trains this", which,
                             first.node, first.operation, first.phase, count, reports::amount(first.greatest_input));
  f.facts.push_back(reports::fact("not_finite", "not finite", static_cast<double>(first.not_finite), count, reports::Provenance::counted));
  return f;
}

reports::PredictionInput input_of(const Planned& planned, const Experiment& experiment, const Rehearsal& rehearsal) {
  const engine::TrainConfig& config = experiment.train;
  reports::PredictionInput input;
  input.mode = planned.mode.name;
  input.asked = planned.asked;
  input.lower = planned.mode.lower;
  input.scaled = engine::scales_loss(planned.mode, config);
  input.policy = config.scaler;
  input.steps = config.steps;
  input.non_standard = engine::non_standard(config);
  const PlanFacts facts(planned.plan, planned.mode, config, rehearsal);
  std::vector<std::string> explained;
  check_masks(facts, input.checks, explained);
  check_divisors(facts, input.checks);
  check_order(facts, input.checks);
  input.may_cancel = may_cancel(facts);
  if (config.schedule_counts == engine::ScheduleCounts::iterations)
    for (std::int64_t step = 0; step < config.steps && step <= reports::most_first_skips; ++step) input.rates.push_back(engine::learning_rate(config.schedule, step));
  check_norms(facts, input.checks);
  check_running(facts, input.checks, explained);
  check_variances(facts, input.checks);
  check_sums(facts, input.checks);
  check_stuck_sums(facts, input.checks);
  check_positions(facts, input.checks);
  check_optimizer(facts, input.checks);
  check_wide_norms(facts, input.checks);
  if (!goes_well(rehearsal)) input.checks.push_back(not_finite_in_fp32(rehearsal));
  add_ranges(facts, explained, input);
  std::vector<std::string> names;
  for (const engine::Node& node : planned.plan.graph.nodes())
    if (node.phase != engine::Phase::unscale && node.phase != engine::Phase::update) names.push_back(node.name);
  input.layer_depth = reports::layer_depth(names);
  return input;
}

/// What becomes of what leaves the range: the step is made in the mode, too.
void follow(Device& device, const engine::Dataset& data, const Experiment& experiment, const engine::Mode& mode, const Rehearsal& rehearsal, double scale,
            const std::function<bool()>& stop, reports::PredictionInput& input) {
  const reports::RehearsedStep step = rehearse_in_mode(device, data, experiment, mode, scale, stop), twin = step_in_fp32(device, data, experiment, rehearsal);
  input.followed = reports::follow_rehearsed(step, &twin);
}

}  // namespace

reports::Prediction predict(const Settings& settings, const std::string& mode, std::optional<std::int64_t> seed, const std::function<bool()>& stop) {
  Experiment experiment = settings.build();
  if (!mode.empty()) experiment.run.modes = {engine::find_mode(mode).name};
  if (seed) experiment.run.seed = *seed;
  const std::unique_ptr<engine::Dataset> data = load_data(experiment);
  const std::unique_ptr<Device> device =
      make_device(experiment.run.device, static_cast<int>(experiment.run.threads));
  const engine::Model model = engine::build_model(experiment.model, experiment.train.batch, true);
  std::vector<Planned> plans;
  std::set<std::string> wanted, wanted_of_every;
  for (const std::string& name : modes_to_judge(experiment.run.modes)) {
    if (stop && stop()) throw Interrupted();
    const auto& asked = experiment.run.modes;
    const engine::Mode& m = engine::find_mode(name);
    plans.push_back({m, std::find(asked.begin(), asked.end(), name) != asked.end(),
                     settings.placed([&] { return engine::plan_step(*device, model, m, experiment.train); })});
    wanted.merge(mask_scores(plans.back().plan));
    wanted.merge(position_tables(plans.back().plan));
    wanted.merge(narrow_addends(plans.back().plan));
    wanted.merge(norm_inputs(plans.back().plan));
    wanted.merge(averaged(plans.back().plan));
    wanted_of_every.merge(micro_batch_addends(plans.back().plan));
    wanted_of_every.merge(added_gradients(plans.back().plan));
  }
  const engine::TrainerSetup setup{experiment.model, engine::find_mode("fp32"), experiment.train,
                                   static_cast<std::uint64_t>(experiment.run.seed)};
  const Rehearsal rehearsal = rehearse_in_fp32(*device, *data, setup, wanted, wanted_of_every, stop);
  reports::Prediction prediction;
  prediction.experiment = experiment.name;
  prediction.seed = experiment.run.seed;
  prediction.loss = static_cast<double>(rehearsal.result.loss);
  if (!goes_well(rehearsal))
    prediction.remarks.push_back(
        fmt::format("the step is not finite in fp32 either{}: ranges of what comes after that are not known",
                    rehearsal.first_not_finite ? fmt::format(", from {} on", rehearsal.first_not_finite->tensor) : ""));
  for (const Planned& planned : plans) {
    reports::PredictionInput input = input_of(planned, experiment, rehearsal);
    reports::ModePrediction judged = reports::predict(input);
    if (goes_well(rehearsal) && reports::is_to_be_followed(input, judged)) {
      follow(*device, *data, experiment, planned.mode, rehearsal, judged.settled_scale.value_or(1.0), stop, input);
      judged = reports::predict(input);
    }
    prediction.modes.push_back(std::move(judged));
  }
  if (stop && stop()) throw Interrupted();
  prediction.advice = goes_well(rehearsal) ? reports::advice(prediction.modes) : "no mode helps where fp32 itself is not finite: mend that first";
  return prediction;
}

}  // namespace ulpscope::profiler
