// Times that cannot be true, and what the GPU's clock was while they were taken.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

/// Of the device's work in a step and the step itself; empty: both can be true.
std::string clocks_disagree(const ModeTime& mode) {
  if (!mode.step.value || mode.run.device_kind == "cpu") return {};
  const double step = *mode.step.value;
  const Number kernels = mode.device ? mode.device->busy_seconds.value : std::nullopt;
  const Number events = mode.device_step.value;
  const double work = std::max(kernels.value_or(0.0), events.value_or(0.0));
  // No host waits for less than the device does.
  if (work > (1.0 + clocks_agree) * step)
    return fmt::format("the device was at work for {} a step and the step took {}: the host's clock was stopped too early, or other steps were traced", milliseconds(work), milliseconds(step));
  const bool gpu_bound = kernels && *kernels >= gpu_bound_from * step;
  if (gpu_bound && events && std::abs(*events - step) > clocks_agree * step)
    return fmt::format("the GPU is busy for {:.0f} % of the step, and yet events on the device say {} and the host's clock {}", 100.0 * *kernels / step, milliseconds(*events), milliseconds(step));
  return {};
}

std::string faster_than_hardware(const ModeTime& mode) {
  const auto impossible = std::count_if(mode.nodes.begin(), mode.nodes.end(), [](const NodeTime& n) { return n.faster_than_peak; });
  if (impossible == 0) return {};
  return fmt::format("{} product{} faster than the hardware can be in the plan's format: the time is wrong, or another format was used (NVIDIA_TF32_OVERRIDE)", impossible, impossible == 1 ? " is" : "s are");
}

}  // namespace

void add_trust(ModeTime& mode) {
  mode.invalid = clocks_disagree(mode);
  if (!mode.invalid.empty()) mode.notes.push_back(fmt::format("the step's time is invalid: {}", mode.invalid));
  if (const std::string impossible = faster_than_hardware(mode); !impossible.empty()) mode.notes.push_back(impossible);
}

void add_condition(ModeTime& mode, const std::vector<DeviceSample>& samples) {
  if (mode.run.device_kind == "cpu") return;
  std::vector<DeviceSample> own;
  if (mode.step_from == StepSource::timing_phase)
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(own), [](const DeviceSample& s) { return s.phase == "timing"; });
  if (own.empty())
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(own), [&](const DeviceSample& s) { return s.run == mode.run.id; });
  if (!own.empty()) mode.condition = gpu_condition(own);
}

}  // namespace ulpscope::reports::time_parts
