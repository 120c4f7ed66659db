// The plan of a mode, as rows of the run file.
#pragma once

#include <string>

#include "engine/train/trainer.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// Pushes every node, edge and tensor of the plan. Ids are the graph's indices.
void record_plan(const engine::StepPlan& plan, reports::PlanId id, const Sink& sink);

/// Bytes a node reads and writes at least once, computed from shapes and formats; a view moves none.
struct NodeTraffic {
  std::int64_t read = 0;
  std::int64_t written = 0;
};
NodeTraffic node_traffic(const engine::Graph& graph, const engine::Node& node);

/// What the multiplier or the arithmetic of a node works in: "tf32", "fp16", "fp32" …
std::string compute_format(const engine::Graph& graph, const engine::Node& node);

/// A node's attributes as a JSON object; numbers that are not finite are the words "inf", "-inf", "nan".
std::string attributes_json(const engine::Attributes& attributes);

}  // namespace ulpscope::profiler
