// Which GPU an experiment runs on, as NVML names it.
#pragma once

#include <string>

namespace ulpscope::profiler {

/// Of the GPU that run.device ("auto", "cuda:1") names; empty: unknown.
std::string gpu_bus_id(const std::string& which);

}  // namespace ulpscope::profiler
