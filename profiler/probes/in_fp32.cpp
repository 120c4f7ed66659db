#include "profiler/probes/in_fp32.h"

#include <utility>

namespace ulpscope::profiler {

engine::TrainerSetup in_fp32(engine::TrainerSetup setup, Device& device) {
  setup.mode = engine::find_mode("fp32");
  engine::TrainConfig& config = setup.config;
  config.scaler = scaling::NoScaling{};
  config.scale_pure = config.scale_all = false;
  config.accumulator_format = Format::fp32;
  config.gradient_format.reset();
  config.early_unscale = false;
  config.overrides.clear();
  config.accumulate_as = MatrixUnit::none;
  config.keep_fp32.clear();
  config.keep.clear();
  config.fusion = false;
  engine::OptimizerConfig& optimizer = config.optimizer;
  optimizer.arithmetic = engine::UpdateArithmetic::fp32;
  optimizer.rounding = UpdateRounding::nearest;
  optimizer.moment_format.reset();
  optimizer.scalar_format = optimizer.norm_accumulate = Format::fp32;
  optimizer.clip_before_unscale = false;
  const std::vector<engine::Injection> injections = std::exchange(config.injections, {});
  if (injections.empty()) return setup;
  const engine::Graph graph =
      engine::plan_step(device, engine::build_model(setup.model, config.batch, true), setup.mode, config).graph;
  for (const engine::Injection& injection : injections)
    if (graph.contains(injection.value)) config.injections.push_back(injection);
  return setup;
}

}  // namespace ulpscope::profiler
