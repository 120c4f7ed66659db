// What a run does that nobody should do: knobs that reproduce the faults of other programs.
#pragma once

#include <string>
#include <vector>

#include "engine/train/config.h"

namespace ulpscope::engine {

/// One line for each knob that is not at its default: the key of the experiment file and what it does. Shown wherever the run is.
std::vector<std::string> non_standard(const TrainConfig& config);

}  // namespace ulpscope::engine
