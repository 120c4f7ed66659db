// Reads GPUs from TOML: the built-in table and the user's own, in one form (gpus.toml says it).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/hardware/gpu.h"

namespace ulpscope::reports {

struct ReadGpus {
  std::vector<Gpu> gpus{};                ///< those without a mistake
  std::vector<std::string> mistakes{};    ///< "my-gpu.toml:7: …", one line each, in the order of the file
  std::size_t tables = 0;                 ///< [[gpu]] tables, those with mistakes too
};

/// A stated peak is refused if it is further than this from what SMs, fma and clock give.
inline constexpr double peak_tolerance = 0.05;

/// file: names it in messages. Never throws for what is in the text.
ReadGpus read_gpus(std::string_view toml, const std::string& file);

}  // namespace ulpscope::reports
