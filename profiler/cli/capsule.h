// What `ulpscope diagnose --capsule` does.
#pragma once

#include "profiler/capsule/make_capsule.h"
#include "profiler/cli/command.h"

namespace ulpscope::profiler {

int keep_capsule(const CapsuleRequest& request, bool json, const Invocation& call);

}  // namespace ulpscope::profiler
