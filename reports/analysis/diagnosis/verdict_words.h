// The first thing a diagnosis says: normal or fatal, and on what that rests.
#pragma once

#include <string>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/normality.h"

namespace ulpscope::reports {

std::string verdict_of(const Evidence& evidence, const StepStory& story, const RunDiagnosis& run);

/// Losses that were not finite and recovered, scalars that moved, what the recording cannot say.
void add_notes(const Evidence& evidence, const StepStory& story, RunDiagnosis& run);

/// Says of a run in trouble whether fp32 in the same file is in the same. True: the run is in trouble, and fp32 does not come through either.
bool share_with_fp32(const RunDiagnosis& fp32, RunDiagnosis& run);

}  // namespace ulpscope::reports
