// How far a policy lets its loss scale fall, and what has to be set for it to fall further.
#pragma once

#include <optional>
#include <string>

#include "kernels/scaling/policies.h"

namespace ulpscope::reports {

/// Where overflow after overflow leaves the scale: above `scale`. Nothing: it comes down to it, or the policy is not dynamic.
std::optional<float> floor_above(const scaling::Policy& policy, float scale);

struct LoweredFloor {
  scaling::Policy policy{};
  std::string keys{};   ///< "train.scaler.floor=2"
  float floor = 0.0f;   ///< 2
};
/// The same policy with a floor that lets the scale fall to `scale`. Nothing: it lets it already, or has no number for that.
std::optional<LoweredFloor> lower_floor(const scaling::Policy& policy, float scale);

}  // namespace ulpscope::reports
