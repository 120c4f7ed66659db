// Precision modes: DESIGN's table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/formats/format.h"

namespace ulpscope::engine {

struct Mode {
  std::string name;
  Format lower = Format::fp32;   ///< what autocast lowers to, or what a pure mode keeps everything in; fp32: neither
  bool tf32 = false;             ///< products that stay fp32 multiply in tf32
  bool loss_scaling = false;     ///< dynamic by default
  bool pure = false;             ///< weights, gradients and optimizer state in `lower`, no master, no policy

  bool mixed() const { return lower != Format::fp32 && !pure; }   ///< fp32 master weights and 16-bit copies
};

/// Every mode, in the order of reports.
const std::vector<Mode>& modes();

/// Throws UsageError naming the nearest mode and listing them all.
const Mode& find_mode(std::string_view name);

}  // namespace ulpscope::engine
