// What `ulpscope plan` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/train/trainer.h"

namespace ulpscope::profiler {

/// A plan and what it was made for.
struct PlanView {
  std::string experiment;  ///< its name
  std::string model;
  engine::Mode mode;
  std::string device;
  std::string loss_scaling;  ///< "none", "dynamic, from 65536", "fixed:1024"
  const engine::StepPlan& plan;
  const engine::StepPlan& evaluation;
  std::vector<std::string> non_standard = {};   ///< knobs that reproduce faults
  MatrixUnit sums_as = MatrixUnit::none;        ///< train.accumulate_as
};

/// Every node in two or three lines, totals, memory; at most 80 columns.
std::string plan_text(const PlanView& view);
nlohmann::json plan_json(const PlanView& view);

}  // namespace ulpscope::profiler
