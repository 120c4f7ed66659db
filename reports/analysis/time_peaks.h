// Peak rates of GPUs, by the device's name, from the hardware table: only to say which share of it a product reached, and whether it
// must have used tensor cores. Dense figures (no sparsity) with fp32 sums, of one device.
#pragma once

#include <optional>
#include <string_view>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

struct DevicePeaks {
  double fp32 = 0.0;  ///< TFLOP/s, without tensor cores
  Number tf32{};      ///< TFLOP/s; unknown: there is no hardware for it
  Number fp16{};
  Number bf16{};
  double bandwidth = 0.0;  ///< of the memory, GB/s (10^9)

  /// Of products in this format; nothing if there is no hardware for it.
  Number of(std::string_view format) const;
};

/// Matches whole words ("GH200 480GB" is no H200); nothing for a device that is not in the table, and for a part of one (MIG).
std::optional<DevicePeaks> device_peaks(std::string_view device);

}  // namespace ulpscope::reports
