#include "engine/precision/mode.h"

#include <fmt/format.h>

#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all{
      {"fp32", Format::fp32, false, false},      {"tf32", Format::fp32, true, false},
      {"fp16", Format::fp16, false, true},       {"bf16", Format::bf16, false, false},
      {"fp16+tf32", Format::fp16, true, true},   {"bf16+tf32", Format::bf16, true, false},
      {"fp16_pure", Format::fp16, false, false, true}, {"bf16_pure", Format::bf16, false, false, true},
  };
  return all;
}

const Mode& find_mode(std::string_view name) {
  std::vector<std::string> names;
  for (const Mode& mode : modes()) {
    if (mode.name == name) return mode;
    names.push_back(mode.name);
  }
  throw UsageError(fmt::format("unknown mode '{}', did you mean '{}'? Modes: {}", name, nearest(name, names), fmt::join(names, ", ")));
}

}  // namespace ulpscope::engine
