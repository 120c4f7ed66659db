// The first thing a diagnosis says: normal or fatal, and on what that rests.
#pragma once

#include <string>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/normality.h"

namespace ulpscope::reports {

std::string verdict_of(const Evidence& evidence, const StepStory& story, const RunDiagnosis& run);

/// Losses that were not finite and recovered, scalars that moved, what the recording cannot say.
void add_notes(const Evidence& evidence, const StepStory& story, RunDiagnosis& run);

/// Says of every run in trouble whether fp32 in the same file is in the same.
void share_with_fp32(Diagnosis& diagnosis);

}  // namespace ulpscope::reports
