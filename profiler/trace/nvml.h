// NVML, the management library of the NVIDIA driver, loaded at run time: clocks, power, temperature, and why a clock is low. Never run
// on a device so far: proved with a library that stands for it (tests/profiler/nvml).
#pragma once

#include <memory>
#include <string>

#include "profiler/trace/gpu_state.h"

namespace ulpscope::profiler {

inline constexpr const char* nvml_library = "libnvidia-ml.so.1";

/// The GPU with this PCI bus id ("0000:3b:00.0"); empty: unknown, then the machine must have one GPU only. Null: it cannot be asked, and
/// `problem` says why and what to do, in one line.
std::unique_ptr<GpuStateSource> open_nvml(const std::string& pci_bus_id, std::string& problem, const std::string& library = nvml_library);

}  // namespace ulpscope::profiler
