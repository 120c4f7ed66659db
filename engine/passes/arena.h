// Where in the arena buffers lie.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/passes/memory_plan.h"

namespace ulpscope::engine {

/// Gives every buffer an offset: largest first, each at the lowest offset that is free for all of its life. Returns the
/// bytes of the arena.
std::int64_t place_in_arena(std::vector<Placement*> buffers);

}  // namespace ulpscope::engine
