#include "reports/analysis/time_peaks.h"

#include "reports/hardware/table.h"

namespace ulpscope::reports {

Number DevicePeaks::of(std::string_view format) const {
  if (format == "fp32") return fp32;
  if (format == "tf32") return tf32;
  if (format == "fp16") return fp16;
  if (format == "bf16") return bf16;
  return std::nullopt;
}

std::optional<DevicePeaks> device_peaks(std::string_view device) {
  const Gpu* gpu = gpu_table().of_device(device);
  if (gpu == nullptr) return std::nullopt;
  const auto peak = [gpu](Rate rate) { return gpu->peak_of(rate); };
  return DevicePeaks{peak(Rate::fp32).value_or(0.0), peak(Rate::tf32), peak(Rate::fp16), peak(Rate::bf16), gpu->bandwidth_gbs.value_or(0.0)};
}

}  // namespace ulpscope::reports
