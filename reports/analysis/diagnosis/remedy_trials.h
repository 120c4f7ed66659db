// What ulpscope mend ran of what a cause's remedies propose.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::reports {

/// The trial that stands for the remedy; null: nothing of the kind was tried. Before all others the one with the remedy's own settings, then
/// one that was made for this cause; none that gives the same key another number.
const MendRecord* trial_for(const Remedy& remedy, const Cause& cause, RunId run, const std::vector<MendRecord>& mends);

/// "verified (from the start, steps 1 to 30 of 60), memory +0 bytes"; of what was not tried also why.
std::string status_of(const MendRecord& mend);

}  // namespace ulpscope::reports
