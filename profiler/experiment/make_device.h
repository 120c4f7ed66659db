// Which device an experiment runs on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/precision/mode.h"
#include "kernels/cuda_module.h"
#include "kernels/device.h"
#include "profiler/experiment/cuda_driver.h"

namespace ulpscope::profiler {

/// A value of run.device: "auto" (the first GPU that can be used, else the CPU), "cpu", "cuda" (the first GPU), "cuda:1".
struct DeviceChoice {
  bool automatic = false;
  std::optional<int> gpu;   ///< its number; none: the CPU
};
/// Throws UsageError naming the choices.
DeviceChoice parse_device(const std::string& which);

/// Why no GPU can be used here and what to do, from the driver's side and the module's: one sentence each. Empty: the GPU with this
/// number can.
std::vector<std::string> why_no_gpu(const GpuSearch& gpus, const CudaModuleState& module, int gpu);
/// For each of them, each reason once.
std::vector<std::string> why_no_gpu(const GpuSearch& gpus, const CudaModuleState& module);

/// Throws UsageError for a GPU that cannot be used, with the reasons. place: where the device was asked for, for that message; empty: run.device.
std::unique_ptr<Device> make_device(const std::string& which, int threads, const std::string& place = "");

/// How a mode is carried out by a GPU of this compute capability: by the rules of reports/hardware/support.h.
enum class HowItRuns : std::uint8_t {
  native,      ///< its products are the hardware's: tensor cores for fp16 from 7.0, for bf16 and tf32 from 8.0
  no_effect,   ///< tf32 below 8.0: the same as fp32
  emulated,    ///< bf16 below 8.0: the format's numbers, not its speed; never recommended
};
const char* name(HowItRuns how);
HowItRuns on_gpu(const engine::Mode& mode, int major, int minor);

}  // namespace ulpscope::profiler
