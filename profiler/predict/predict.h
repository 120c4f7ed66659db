// What will go wrong with an experiment, before it is trained.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "profiler/experiment/experiment_file.h"
#include "reports/analysis/prediction.h"

namespace ulpscope::profiler {

/// mode: that mode, and beside it the one of the other 16-bit format; empty: the experiment's. seed: of weights and
/// batch; none: the experiment's first. Throws UsageError for what the experiment's user has to mend. One step is run
/// in fp32, and in a mode whose forward pass will overflow in that mode, too; nothing is written. stop: asked again and again, in the step, too; true ends it: Interrupted is thrown.
reports::Prediction predict(const Settings& settings, const std::string& mode, std::optional<std::int64_t> seed,
                            const std::function<bool()>& stop = {});

}  // namespace ulpscope::profiler
