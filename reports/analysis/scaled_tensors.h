// The part of the backward pass that the loss scale multiplies.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/diagnosis/plan_view.h"

namespace ulpscope::reports {

/// A result that is a gradient times the loss scale. It is proportional to the scale, but for rounding.
struct ScaledTensor {
  TensorId id{};
  const PlanNode* node = nullptr;  ///< that makes it
  Format format = Format::fp32;
};

/// In execution order: everything that is computed from the gradient of the loss before it is unscaled; where the plan does not scale
/// the loss, the scale is 1. What is computed again in the backward pass is no gradient.
std::vector<ScaledTensor> scaled_tensors(const PlanView& plan);

/// The layer that a node belongs to: the first parts of its name, `depth` of them.
std::string layer_name(const std::string& node, int depth);
/// 1, or 2 if the names of all nodes share their first part.
int layer_depth(const PlanView& plan);
int layer_depth(const std::vector<std::string>& nodes);

}  // namespace ulpscope::reports
