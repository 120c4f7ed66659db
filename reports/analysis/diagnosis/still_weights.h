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

/// Adam and its kin divide each weight's gradient by its own size: a small one counts as much as a large one.
bool by_own_size(const Evidence& evidence);

/// Whether an optimizer moves weights by this very tensor, perhaps through casts and views: what adds up to gradients is none.
bool is_weight_gradient(const PlanView& plan, TensorId tensor);

/// Whether what was flushed from a weight's own gradient would have moved the weight, in whose format it is kept: false where it is too small
/// for that, too. True for a gradient that is no weight's, of which that is not known.
bool would_have_moved(const Evidence& evidence, const ObservedStep& step, TensorId flushed);

/// By what was flushed from a gradient of the backward pass; none: no share of a weight's elements as large as `share` is known to stand still, or
/// fp32 would not move them either.
std::optional<StillWeights> still_weights(const Evidence& evidence, const ObservedStep& step, TensorId flushed, double share);

}  // namespace ulpscope::reports
