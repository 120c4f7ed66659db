#include "profiler/experiment/make_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "kernels/error.h"
#include "reports/hardware/support.h"

namespace ulpscope::profiler {
namespace {

/// "13.0" as 13000; 0: unknown.
int version_number(const std::string& text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end) return 0;
  std::from_chars(first.ptr + 1, end, minor);
  return major * 1000 + minor * 10;
}

std::string version_text(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

DeviceChoice parse_device(const std::string& which) {
  if (which == "auto") return {true, std::nullopt};
  if (which == "cpu") return {false, std::nullopt};
  if (which == "cuda") return {false, 0};
  if (which.starts_with("cuda:")) {
    int number = -1;
    const char* const end = which.data() + which.size();
    const auto [rest, error] = std::from_chars(which.data() + 5, end, number);
    if (error == std::errc() && rest == end && number >= 0) return {false, number};
  }
  throw UsageError(fmt::format("'{}' is no device; choices: auto, cpu, cuda, cuda:0, cuda:1, …", which));
}

std::vector<std::string> why_no_gpu(const GpuSearch& gpus, const CudaModuleState& module, int gpu) {
  std::vector<std::string> reasons = gpus.reasons;
  if (!module.loaded) reasons.push_back(module.problem);
  if (!gpus.gpus.empty() && gpu >= static_cast<int>(gpus.gpus.size()))
    reasons.push_back(fmt::format("there is no GPU {}: the driver has {}, numbered from 0", gpu, gpus.gpus.size()));
  // Minor versions are compatible: a driver for 13.0 serves a runtime of 13.1.
  const int driver = version_number(gpus.driver_version);
  if (module.loaded && driver > 0 && driver / 1000 < module.runtime_version / 1000)
    reasons.push_back(fmt::format("the NVIDIA driver serves CUDA up to {}, the GPU module was built with {}: update the driver, or build "
                                  "ulpscope with a CUDA Toolkit {}",
                                  gpus.driver_version, version_text(module.runtime_version), driver / 1000));
  if (module.loaded && gpu < static_cast<int>(gpus.gpus.size())) {
    const Gpu& asked = gpus.gpus[static_cast<std::size_t>(gpu)];
    if (!has_code_for(module.architectures, asked.major, asked.minor))
      reasons.push_back(fmt::format("the GPU module has no code for {}, compute capability {}.{}, but for {}: build ulpscope with -DULPSCOPE_CUDA_ARCHITECTURES={}{} and "
                                    "a CUDA Toolkit that knows it (for less than 7.5: CUDA 12)",
                                    asked.name, asked.major, asked.minor, module.architectures, asked.major, asked.minor));
  }
  return reasons;
}

std::vector<std::string> why_no_gpu(const GpuSearch& gpus, const CudaModuleState& module) {
  std::vector<std::string> reasons = why_no_gpu(gpus, module, 0);
  for (int i = 1; i < static_cast<int>(gpus.gpus.size()); ++i) {
    for (std::string& reason : why_no_gpu(gpus, module, i))
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::unique_ptr<Device> make_device(const std::string& which, int threads, const std::string& place) {
  const DeviceChoice choice = parse_device(which);
  const auto cpu = [threads] { return make_cpu_device({.threads = threads, .instruction_set = {}}); };
  if (!choice.automatic && !choice.gpu) return cpu();
  const std::vector<std::string> reasons = why_no_gpu(find_gpus(this_system()), cuda_module().state(), choice.gpu.value_or(0));
  if (reasons.empty()) return cuda_module().make_device(choice.gpu.value_or(0));
  if (choice.automatic) return cpu();
  const std::string why = fmt::format("cannot be used: {} (ulpscope devices says more", fmt::join(reasons, "; "));
  if (!place.empty()) throw UsageError(fmt::format("{} {})", place, why));
  throw UsageError(fmt::format("run.device = \"{}\" {}; \"cpu\" runs everywhere)", which, why));
}

const char* name(HowItRuns how) {
  switch (how) {
    case HowItRuns::native: return "native";
    case HowItRuns::no_effect: return "no effect";
    case HowItRuns::emulated: return "emulated";
  }
  return "";
}

HowItRuns on_gpu(const engine::Mode& mode, int major, int minor) {
  using reports::Support;
  const reports::Gpu gpu{.capability = major * 10 + minor};
  switch (reports::how_it_runs(gpu, mode.name).support) {
    case Support::emulated:
    case Support::absent: return HowItRuns::emulated;
    case Support::no_effect: return HowItRuns::no_effect;
    case Support::native:
    case Support::no_gain:
    case Support::unknown: break;  // fp16 of 7.5: its parts without matrix units are not told apart by capability
  }
  return HowItRuns::native;
}

}  // namespace ulpscope::profiler
