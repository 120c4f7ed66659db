// What `ulpscope devices` prints.
#pragma once

#include <string>

#include "kernels/device.h"
#include "kernels/cuda_module.h"
#include "profiler/experiment/cuda_driver.h"

namespace ulpscope::profiler {

/// At most 80 columns.
std::string devices_text(const Device& cpu, const GpuSearch& gpus, const CudaModuleState& module);

}  // namespace ulpscope::profiler
