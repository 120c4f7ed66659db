// What a plan does to save memory, for programs: in the attributes of a run and in `ulpscope plan --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/train/trainer.h"

namespace ulpscope::profiler {

/// "checkpointing": segments, what is computed again, peak and kept bytes with it and without; "weight_copies": what was
/// chosen, casts made again, peak and kept bytes of both choices. A part that does not apply is absent. Bytes and FLOPs are
/// computed from the plan.
nlohmann::json savings_json(const engine::StepPlan& plan);

}  // namespace ulpscope::profiler
