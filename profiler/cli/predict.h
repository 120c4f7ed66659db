// What `ulpscope diagnose --predict` does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/cli/command.h"

namespace ulpscope::profiler {

/// assignments: "train.lr=1e-3", as given to --set. form: "text", "json" or "csv".
int predict_experiment(const std::string& path, const std::vector<std::string>& assignments, const std::string& mode,
                       std::optional<std::int64_t> seed, const char* form, const Invocation& call);

}  // namespace ulpscope::profiler
