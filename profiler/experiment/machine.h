// The machine a run is made on: what can run here, and what may explain a number.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/precision/mode.h"
#include "kernels/device.h"
#include "kernels/cuda_module.h"
#include "profiler/experiment/cuda_driver.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

/// How a mode is carried out on a CPU: "native", or "emulated": its formats are rounded in software, so its time says
/// nothing about the speed of hardware that has them.
bool native_on_cpu(const engine::Mode& mode);
/// Of the time of a mode on this device.
reports::Provenance time_provenance(const Device& device, const engine::Mode& mode);

/// What `ulpscope devices --json` prints: the CPU and GPUs, each with its modes (native, emulated, absent), and why.
nlohmann::json devices_json(const Device& cpu, const GpuSearch& gpus, const CudaModuleState& module);

/// cpu: the processor, wherever the run is.
reports::MachineRecord machine_record(const Device& cpu, const GpuSearch& gpus, const CudaModuleState& module, reports::MachineId id);

/// Bytes this process may still use: free memory of the machine, and of its control group if that has a limit.
std::int64_t free_memory_bytes();

/// Limit less use of the control group (version 2 or 1) under `root`; files in the page cache that nobody has used
/// lately are as good as free. Nothing without a limit.
std::optional<std::int64_t> control_group_free_bytes(const std::string& root = "/sys/fs/cgroup");

/// "2025-01-31T12:00:00Z"
std::string utc_now();

/// Of this program: "0.1.0" and the commit it was built from, empty if unknown.
const char* program_version();
const char* program_commit();

}  // namespace ulpscope::profiler
