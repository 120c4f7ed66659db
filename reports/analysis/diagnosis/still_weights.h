// Weights that get no gradient because what theirs is computed from was rounded to zero, while others of the same tensor do: beside the rms of
// all, what was lost is nothing; of their own gradient it is everything.
#pragma once

#include <optional>
#include <string>

#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

struct StillWeights {
  std::string gradient{};   ///< of the weights
  std::int64_t zeros = 0;   ///< of its elements that are exactly 0 for that reason, at least
  std::int64_t elements = 0;
};

/// By what was flushed from a gradient of the backward pass; none: no share of a weight's elements as large as `share` is known to stand still, or
/// fp32 would not move them either.
std::optional<StillWeights> still_weights(const Evidence& evidence, const ObservedStep& step, TensorId flushed, double share);

}  // namespace ulpscope::reports
