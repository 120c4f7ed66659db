// Which fixed loss scales suit every step of a recording.
#pragma once

#include <string>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {

struct ScaleLimits {
  reports::Number lowest{};    ///< unknown: nothing is lost at any scale, as far as was observed
  reports::Number highest{};   ///< unknown: none overflowed, as far as was observed
  std::string highest_why{};   ///< what decides it: "step 17 overflowed at 4096"

  bool open() const { return !lowest || !highest || *lowest <= *highest; }
};

/// From the window of the observed steps, the scales at which steps overflowed while their loss was finite, and, where they were
/// recorded, the ranges of every step.
ScaleLimits scale_limits(const reports::RunFileReader& file, const reports::RunDiagnosis& run);

/// What suits both.
ScaleLimits joined(ScaleLimits limits, const std::optional<reports::LossScaleWindow>& window);

}  // namespace ulpscope::profiler
