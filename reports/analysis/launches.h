// What each launch of a plan has to do on a GPU, for projection and calibration.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/time_category.h"
#include "reports/analysis/time_parts.h"
#include "reports/hardware/attainable.h"

namespace ulpscope::reports {

struct PlannedLaunch {
  NodeId lead{};
  std::string name{};
  std::string operation{};
  TimeCategory category = TimeCategory::other;
  Phase phase = Phase::forward;
  std::string format{};     ///< that its product multiplies in; of others fp32
  double product_flops = 0.0, other_flops = 0.0, bytes = 0.0;  ///< of one call
  bool complete = true;     ///< false: FLOPs or bytes of a member are unknown, or an operation is
};

/// Launches in execution order; views, which launch nothing, are left out.
std::vector<PlannedLaunch> planned_launches(const time_parts::Plan& plan);

/// The same launch as work for this GPU: what its product runs at there. Nothing if its format is emulated or absent there, or its
/// peak not known.
std::optional<Work> work_on(const PlannedLaunch& launch, const Gpu& gpu);

}  // namespace ulpscope::reports
