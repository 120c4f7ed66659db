// The history of the loss scale, with the window of scales that suit the gradients, and every overflow.
#pragma once

#include <optional>
#include <vector>

#include "reports/analysis/report_curves.h"
#include "reports/analysis/report_runs.h"
#include "reports/analysis/window.h"

namespace ulpscope::reports {

/// A step whose gradients were not finite.
struct ScaleOverflow {
  std::int64_t step = 0;
  Number scale{};        ///< in force
  Number next{};         ///< in force afterwards, where the event of the change says so
  bool skipped = false;
};

struct ScaleHistory {
  std::size_t run = 0;  ///< in Report::runs
  Curve scale{};        ///< in force, by step: constant between its points
  std::vector<ScaleOverflow> overflows{};       ///< every one, by step
  std::int64_t changes = 0;                     ///< events of a scale that changed
  std::optional<LossScaleWindow> window{};      ///< as diagnosed; none: there is no scaled gradient of a narrow range, or none was observed
};

struct ScaleSection {
  std::vector<ScaleHistory> runs{};  ///< those that scale their loss
};

/// Takes curves and windows from what was made of the runs before.
ScaleSection scale_section(const std::vector<ReportRun>& runs, const CurvesSection& curves, const std::vector<Diagnosis>& diagnoses);

}  // namespace ulpscope::reports
