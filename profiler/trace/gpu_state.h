// What a GPU says of itself while it works. The real source is NVML (nvml.h); tests put their own behind the same class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope::profiler {

/// At one moment. Nothing: the GPU does not say this, or NVML refuses it; never 0 for that.
struct GpuState {
  std::optional<double> core_clock_mhz{};       ///< of the multiprocessors
  std::optional<double> memory_clock_mhz{};
  std::optional<double> power_watts{};
  std::optional<double> temperature_celsius{};
  std::optional<std::int64_t> throttle_reasons{};   ///< bits of NVML's clocks event reasons (reports/analysis/gpu_condition.h)
};

class GpuStateSource {
 public:
  virtual ~GpuStateSource() = default;
  /// Asks the GPU now. Throws nothing.
  virtual GpuState read() = 0;
  /// What it would not say in any reading so far, and why: one line each, "power: the GPU does not offer it". Empty before read().
  virtual std::vector<std::string> refusals() const = 0;
};

}  // namespace ulpscope::profiler
