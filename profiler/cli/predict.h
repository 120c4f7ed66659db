// What `ulpscope diagnose --predict` does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/cli/command.h"

namespace ulpscope::profiler {

/// form: "text", "json" or "csv".
int predict_experiment(const std::string& path, const std::string& mode, std::optional<std::int64_t> seed,
                       const char* form, const Invocation& call);

}  // namespace ulpscope::profiler
