// Keeps a step of a recorded run: the run is made again up to it (from its last checkpoint, where one lies beside the
// file), held against the recording step by step, and what the step reads is written down.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "profiler/capsule/capsule.h"

namespace ulpscope::profiler {

struct CapsuleRequest {
  std::string run_file;
  std::string output;
  std::optional<std::int64_t> step;  ///< iteration; none: where the gravest fault of the diagnosis was seen first
  std::string mode;                  ///< empty: the first run that has such a step
  std::optional<std::int64_t> seed;
};

struct MadeCapsule {
  Capsule capsule;
  std::int64_t bytes = 0;
  bool same_bits = false;  ///< loss, scale and gradient norm of every step up to this one are those of the recording
};

/// stop: asked after every step; true ends it without a capsule, and nothing is returned. Throws UsageError in one
/// line: no such run or step, no step that failed, data that are no longer what they were; Error: the file cannot be
/// written.
std::optional<MadeCapsule> make_capsule(const CapsuleRequest& request, const std::function<bool()>& stop);

}  // namespace ulpscope::profiler
