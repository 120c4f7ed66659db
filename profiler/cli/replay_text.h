// What a replayed capsule came to, for people and for programs.
#pragma once

#include <string>

#include "profiler/capsule/replay_capsule.h"

namespace ulpscope::profiler {

std::string replay_text(const CapsuleReplay& replay);
/// "kind": "ulpscope replay", "version": 1.
std::string replay_json(const CapsuleReplay& replay);

}  // namespace ulpscope::profiler
