// Peak rates of GPUs, by the device's name, from the hardware table: only to say which share of it a product reached, and whether it
// must have used tensor cores. Dense figures (no sparsity) with fp32 sums, of one device.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reports/hardware/support.h"
#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// A rate is above a peak, with tensor cores or without, if it is above the peak times this. It is for what a peak itself is uncertain by:
/// stated figures are rounded (they are within 1.2 % of SMs × fma × 2 × clock), and the clock may be a step (15 MHz, under 1 %) above the
/// one that was reported or sampled.
inline constexpr double peak_margin = 1.02;

struct DevicePeaks {
  double fp32 = 0.0;  ///< TFLOP/s, without tensor cores
  Number tf32{};      ///< TFLOP/s; unknown: there is no hardware for it, or its rate is not known
  Number fp16{};
  Number bf16{};
  double bandwidth = 0.0;  ///< of the memory, GB/s (10^9)
  Gpu gpu{};               ///< whose they are

  /// Of products in this format; nothing if there is no hardware for it, or its rate is not known.
  Number of(std::string_view format) const;
  /// Whether its tensor cores multiply in this format: by the hardware there is, whatever is known of its rate. Nothing: not known.
  std::optional<bool> on_tensor_cores(std::string_view format) const;
};

/// The table's, at its clock. Matches whole words ("GH200 480GB" is no H200); nothing for a device that is not in the table, and for a
/// part of one (MIG).
std::optional<DevicePeaks> device_peaks(std::string_view device);

/// The same with the SMs and at the greatest clock that this very device has: what its driver reported (devices of the run's machine), or
/// what was sampled in the run or its timing phase, if that is greater; drivers call a typical clock the greatest where a part boosts above it.
std::optional<DevicePeaks> device_peaks(const RunRecord& run, const std::vector<MachineRecord>& machines, const std::vector<DeviceSample>& samples);

}  // namespace ulpscope::reports
