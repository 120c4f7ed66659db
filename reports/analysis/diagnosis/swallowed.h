// Infinities that the forward pass makes finite numbers of (a sigmoid's 1, the 0 of exp(-inf), a share of 0): whether these are the numbers
// that the value itself, which its format did not hold, would have given.
#pragma once

#include "reports/analysis/diagnosis/causes.h"

namespace ulpscope::reports {

/// Of a root of the forward pass that reaches neither the loss nor a gradient nor a weight: fills chain.fate and what goes with it.
void judge_swallowed(const Evidence& evidence, const ObservedStep& step, const Root& root, Chain& chain);

/// What became of it, in words and facts, the loss that fp32 has there beside it.
void tell_swallowed(const Suspect& suspect, Cause& cause);

}  // namespace ulpscope::reports
