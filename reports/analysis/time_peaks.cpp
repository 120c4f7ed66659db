#include "reports/analysis/time_peaks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/hardware/table.h"

namespace ulpscope::reports {
namespace {

DevicePeaks peaks_of(const Gpu& gpu) {
  return DevicePeaks{gpu.peak_of(Rate::fp32).value_or(0.0), gpu.peak_of(Rate::tf32), gpu.peak_of(Rate::fp16), gpu.peak_of(Rate::bf16), gpu.bandwidth_gbs.value_or(0.0), gpu};
}

/// What the driver said of the device by this name when the run was made; of several the greatest clock.
PresentGpu reported(const RunRecord& run, const std::vector<MachineRecord>& machines) {
  PresentGpu present{.name = run.device};
  for (const MachineRecord& machine : machines) {
    if (!run.machine || machine.id != *run.machine) continue;
    const auto devices = nlohmann::json::parse(machine.devices_json, nullptr, false);
    const nlohmann::json::json_pointer list("/cuda/gpus");
    if (!devices.is_object() || !devices.contains(list) || !devices.at(list).is_array()) continue;
    for (const auto& gpu : devices.at(list)) {
      const auto number = [&gpu](const char* key) -> Number { return gpu.contains(key) && gpu[key].is_number() ? Number(gpu[key].get<double>()) : std::nullopt; };
      if (!gpu.is_object() || !gpu.contains("name") || gpu["name"] != run.device) continue;
      const Number clock = number("clock_mhz"), sms = number("multiprocessors");
      if (!clock || !sms || !(*sms >= 1.0 && *sms <= 4096.0) || *clock <= present.clock_mhz.value_or(0.0)) continue;
      present.clock_mhz = clock;
      present.sms = static_cast<std::int64_t>(*sms);
    }
  }
  return present;
}

}  // namespace

Number DevicePeaks::of(std::string_view format) const {
  const ModeSupport there = product_support(gpu, format);
  return there.support == Support::native || there.support == Support::no_gain ? there.peak : std::nullopt;
}

std::optional<bool> DevicePeaks::on_tensor_cores(std::string_view format) const {
  if (format == "fp32") return false;
  const Support there = product_support(gpu, format).support;
  if (there == Support::unknown) return std::nullopt;
  return there == Support::native || there == Support::no_gain;
}

std::optional<DevicePeaks> device_peaks(std::string_view device) {
  const Gpu* gpu = gpu_table().of_device(device);
  return gpu == nullptr ? std::nullopt : std::optional(peaks_of(*gpu));
}

std::optional<DevicePeaks> device_peaks(const RunRecord& run, const std::vector<MachineRecord>& machines, const std::vector<DeviceSample>& samples) {
  const Gpu* gpu = gpu_table().of_device(run.device);
  if (gpu == nullptr) return std::nullopt;
  PresentGpu present = reported(run, machines);
  double sampled = 0.0;
  for (const DeviceSample& sample : samples)
    if (!sample.run || *sample.run == run.id) sampled = std::max(sampled, sample.core_clock_mhz.value_or(0.0));
  if (!present.clock_mhz && sampled <= gpu->boost_mhz) return peaks_of(*gpu);
  if (!present.sms) present.sms = gpu->sms;
  present.clock_mhz = std::max(present.clock_mhz.value_or(0.0), sampled);
  return peaks_of(described(present, gpu_table()));
}

}  // namespace ulpscope::reports
