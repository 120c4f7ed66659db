#include "profiler/experiment/observe.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/passes/pattern.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::profiler {

void check_observed_nodes(const ObserveSettings& settings, const engine::Graph& graph) {
  for (const std::string& pattern : settings.nodes) {
    const auto nodes = graph.nodes();
    if (std::any_of(nodes.begin(), nodes.end(), [&](const engine::Node& node) { return engine::matches(pattern, node.name); })) continue;
    std::vector<std::string> names;
    for (const engine::Node& node : nodes) names.push_back(node.name);
    throw UsageError(fmt::format("observe.nodes: \"{}\" matches no node of the step; the nearest is '{}', `ulpscope plan` lists them",
                                 pattern, nearest(pattern, names)));
  }
}

std::vector<MatrixUnit> sampled_units(const ObserveSettings& settings) {
  std::vector<MatrixUnit> units;
  for (const std::string& word : settings.sums) units.push_back(parse_matrix_unit(word).value());
  return units;
}

engine::Observation observation(const ObserveSettings& settings, ReplayPolicy& replays) {
  engine::Observation observation;
  if (settings.every > 0) {
    observation.nodes = [patterns = settings.nodes](const engine::Node& node) {
      return std::any_of(patterns.begin(), patterns.end(),
                         [&](const std::string& pattern) { return engine::matches(pattern, node.name); });
    };
    observation.steps = [every = settings.every](std::int64_t iteration) { return iteration % every == 0; };
  }
  observation.ranges = settings.ranges;
  if (settings.replay) observation.replay = [&replays](const engine::StepResult& result) { return replays.wanted(result.loss, result.finite); };
  return observation;
}

}  // namespace ulpscope::profiler
