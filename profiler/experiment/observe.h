// What an experiment observes, as the trainer takes it.
#pragma once

#include "engine/train/observation.h"
#include "profiler/experiment/experiment.h"
#include "profiler/probes/replay_policy.h"

namespace ulpscope::profiler {

/// Throws UsageError for a pattern that matches none of the plan's nodes, with the nearest.
void check_observed_nodes(const ObserveSettings& settings, const engine::Graph& graph);

/// replays must live as long as the trainer.
/// Of observe.sums.
std::vector<MatrixUnit> sampled_units(const ObserveSettings& settings);

engine::Observation observation(const ObserveSettings& settings, ReplayPolicy& replays);

}  // namespace ulpscope::profiler
