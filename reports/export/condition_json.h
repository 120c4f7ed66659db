// What a GPU said of itself, in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/analysis/gpu_condition.h"

namespace ulpscope::reports {

nlohmann::ordered_json condition_json(const GpuCondition& condition);

}  // namespace ulpscope::reports
