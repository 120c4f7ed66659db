// What a step plan does to save memory: activation checkpointing, and when 16-bit copies of weights are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/train/config.h"

namespace ulpscope::engine {

struct StepPlan;

/// Bytes a step takes, computed from its plan.
struct PlannedBytes {
  std::int64_t peak = 0;                  ///< persistent values and arena
  std::int64_t kept = 0;                  ///< for the backward pass, all categories
};

struct MemorySavings {
  bool asked = false;                     ///< for checkpointing; it may find nothing to do
  std::vector<std::string> segments;      ///< computed again in the backward pass; empty: no checkpointing
  std::int32_t repeated = 0;              ///< nodes
  std::int32_t recast = 0;                ///< casts of weights made again
  double flops = 0.0;                     ///< of both, computed
  PlannedBytes without_checkpointing;     ///< the same plan without it; zeros if it was not asked for
  WeightCopies weight_copies = WeightCopies::keep;   ///< what was chosen: keep or recast
  bool has_weight_copies = false;         ///< the step has some; else the two figures below are zeros
  PlannedBytes with_keep, with_recast;    ///< both ways planned
};

PlannedBytes planned_bytes(const StepPlan& plan);

/// Recasting is chosen automatically if the step's peak falls by more than this share.
inline constexpr double recast_threshold = 0.02;

/// The plan of a step, its graph complete up to the update, with what saves memory put in as configured. `finish` does what
/// comes after: fusion, memory plan. Throws UsageError as checkpoint() does.
StepPlan save_memory(StepPlan plan, const TrainConfig& config, const std::function<void(StepPlan&)>& finish);

}  // namespace ulpscope::engine
