// What a run needs of memory that is not there: by category, the largest node, and the batch that would fit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/trainer.h"

namespace ulpscope::profiler {

struct Experiment;

/// Bytes are computed from plans; free_bytes is what the device (or the host) said.
struct MemoryShortage {
  std::string mode;
  std::string beside;                      ///< what is run beside it: " and those beside it (observe.shadow)"; empty: nothing
  std::int64_t needed_bytes = 0, free_bytes = 0;
  std::map<engine::MemoryCategory, std::int64_t> by_category;   ///< of the step at its peak
  std::string largest_node, largest_operation;   ///< whose results take most memory; empty: there is none
  std::int64_t largest_bytes = 0;
  std::int64_t batch = 0;                  ///< of a micro-batch, as configured
  std::optional<std::int64_t> fits;        ///< the greatest smaller batch whose plan needs no more than is free; 0: not even one of 1
  std::optional<std::int64_t> fits_bytes;  ///< that it, or the batch of 1, needs
  std::vector<std::string> size_keys;      ///< keys that make the model larger
};

/// Bytes of a plan at a batch, with what is run beside it.
using PlannedNeed = std::function<std::int64_t(const engine::StepPlan&, const engine::TrainConfig&)>;

/// The plan is made again at smaller batches; where a model makes its own batches, or no plan can be made, `fits` stays unknown.
MemoryShortage memory_shortage(Device& device, const Experiment& experiment, const engine::Mode& mode, const engine::StepPlan& plan, std::int64_t free_bytes, const PlannedNeed& need);
/// The step alone.
std::int64_t step_bytes(const engine::StepPlan& plan);

/// One line: what is needed, what is free, what to lower.
std::string shortage_line(const MemoryShortage& shortage);
/// For people, at most 80 columns: the plan by category, the largest node, the batch that would fit.
std::string shortage_text(const MemoryShortage& shortage);

}  // namespace ulpscope::profiler
