// What to change: by kind of cause, what costs least first, in the words of those who train.
#pragma once

#include <string_view>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// What is said of a change that nobody has run.
inline constexpr const char* not_tried = "not tried (ulpscope mend tries it)";
/// Of one that is no key and no rewrite of the experiment.
inline constexpr const char* cannot_be_tried = "not tried (ulpscope mend has no way to try this)";
/// Of one that mend could try, and did not make a candidate of in this run.
inline constexpr const char* not_asked_for = "not tried (ulpscope mend found nothing of the kind to try in this run)";

/// Whether ulpscope mend makes trials of this kind (Remedy::mend).
bool mend_tries(std::string_view kind);

/// Fills Cause::remedies. A status other than these three comes from a MendRecord of this run alone; of a change that mend was to try
/// and did not it says why (the budget was spent, the graph does not allow it).
void add_remedies(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause);

/// To a fault that fp32 does not come through either: the learning rate of the last step that moved the weights before it, as something to try.
void offer_lower_rate(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause);

/// Trials of this run that no remedy of its causes stands for.
std::vector<Remedy> other_trials(const Evidence& evidence, const std::vector<MendRecord>& mends,
                                 const std::vector<Cause>& causes);

}  // namespace ulpscope::reports
