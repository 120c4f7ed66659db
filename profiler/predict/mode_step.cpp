#include "profiler/predict/mode_step.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/plan_records.h"
#include "profiler/experiment/run_record.h"
#include "profiler/probes/in_fp32.h"
#include "profiler/probes/tensor_probe.h"

namespace ulpscope::profiler {
namespace {

/// Everything but step and statistics.
reports::RehearsedStep described(const Experiment& experiment, const engine::Mode& mode, const Device& device, const engine::Dataset& dataset, const engine::StepPlan& plan) {
  RunInfo info;
  info.mode = mode;
  info.seed = static_cast<std::uint64_t>(experiment.run.seed);
  reports::RehearsedStep step{.run = run_record(experiment, info, device, dataset, plan)};
  record_plan(plan, reports::PlanId{}, [&](reports::Record record) {
    std::visit(
        [&]<class R>(R&& row) {
          using Row = std::remove_cvref_t<R>;
          if constexpr (std::is_same_v<Row, reports::NodeRecord>) step.nodes.push_back(std::forward<R>(row));
          if constexpr (std::is_same_v<Row, reports::TensorRecord>) step.tensors.push_back(std::forward<R>(row));
          if constexpr (std::is_same_v<Row, reports::EdgeRecord>) step.edges.push_back(std::forward<R>(row));
        },
        std::move(record));
  });
  return step;
}

reports::StepRecord record_of(const engine::StepResult& result) {
  reports::StepRecord record;
  record.step = result.iteration;
  record.loss = static_cast<double>(result.loss);
  record.loss_scale = static_cast<double>(result.loss_scale);
  record.gradient_norm = static_cast<double>(result.gradient_norm);
  record.finite = result.finite;
  return record;
}

engine::TrainerSetup setup_of(const Experiment& experiment, const engine::Mode& mode) {
  return {experiment.model, mode, experiment.train, static_cast<std::uint64_t>(experiment.run.seed)};
}

}  // namespace

reports::RehearsedStep rehearse_in_mode(Device& device, const engine::Dataset& dataset, Experiment experiment, const engine::Mode& mode, double scale,
                                        const std::function<bool()>& stop) {
  experiment.train.fusion = false;
  if (engine::scales_loss(mode, experiment.train)) experiment.train.scaler = scaling::FixedScaling{static_cast<float>(scale)};
  engine::Topics topics;
  engine::Trainer trainer(device, dataset, setup_of(experiment, mode), topics);
  reports::RehearsedStep step = described(experiment, mode, device, dataset, trainer.plan());
  Faults faults;
  const auto keep = [&](reports::Record record) {
    auto& row = std::get<reports::TensorStatsRecord>(record);
    row.observation = "sampled";   // as a run's own step, which it is
    step.statistics.push_back(std::move(row));
  };
  const TensorProbe probe(topics, trainer.plan().graph, keep, faults, step.run.id);
  const auto listening = topics.tensor.subscribe([&](const engine::TensorEvent&) {
    if (stop && stop()) throw Interrupted();
  });
  step.step = record_of(trainer.rehearse([](const engine::Node&) { return true; }));
  return step;
}

reports::RehearsedStep step_in_fp32(Device& device, const engine::Dataset& dataset, const Experiment& experiment, const Rehearsal& rehearsal) {
  const engine::TrainerSetup setup = in_fp32(setup_of(experiment, engine::find_mode("fp32")), device);
  const engine::StepPlan plan = engine::plan_step(device, engine::build_model(setup.model, setup.config.batch, true), setup.mode, setup.config);
  reports::RehearsedStep step = described(experiment, setup.mode, device, dataset, plan);
  step.step = record_of(rehearsal.result);
  for (const auto& [name, counts] : rehearsal.ranges) {
    reports::TensorStatsRecord row = tensor_stats(counts);
    row.tensor = static_cast<reports::TensorId>(plan.graph.find(name).index);
    row.observation = "sampled";
    step.statistics.push_back(std::move(row));
  }
  return step;
}

}  // namespace ulpscope::profiler
