// Averages that a graph composes of its parts.
#pragma once

#include <optional>

#include "reports/analysis/diagnosis/plan_view.h"

namespace ulpscope::reports {

/// The one input that an average is of, from the average upwards: a mean, or a sum that a number divides or multiplies; none: it is no average.
std::optional<TensorId> averaged(const PlanView& plan, TensorId tensor);

}  // namespace ulpscope::reports
