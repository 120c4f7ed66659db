// What a plan does to save memory, in words: part of what `ulpscope plan` prints.
#pragma once

#include <string>

#include "engine/train/trainer.h"

namespace ulpscope::profiler {

/// Lines of at most 80 columns; empty for a plan that has nothing to save.
std::string savings_text(const engine::StepPlan& plan);

}  // namespace ulpscope::profiler
