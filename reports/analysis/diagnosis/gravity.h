// How much a fault matters: whether the run got over it, and whether anything that counts was reached.
#pragma once

#include "reports/analysis/diagnosis/causes.h"

namespace ulpscope::reports {

/// A later step was applied with a finite loss: the run went on.
bool recovered(const Evidence& evidence, std::int64_t step);

/// What a forward operation makes reaches no loss and no running average. Of what comes after the loss false.
bool reaches_nothing(const PlanView& plan, const PlanNode& node);

/// Of a cause with a root.
Gravity grade(const Suspect& suspect, const Cause& cause);

}  // namespace ulpscope::reports
