// What to change: by kind of cause, what costs least first, in the words of those who train.
#pragma once

#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// What is said of a change that nobody has run.
inline constexpr const char* not_tried = "not tried (ulpscope mend tries it)";

/// Fills Cause::remedies. A status other than "not tried" comes from a MendRecord of this run alone.
void add_remedies(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause);

/// Trials of this run that no remedy of its causes stands for.
std::vector<Remedy> other_trials(const Evidence& evidence, const std::vector<MendRecord>& mends,
                                 const std::vector<Cause>& causes);

}  // namespace ulpscope::reports
