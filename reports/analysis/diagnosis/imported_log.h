// The first question of a diagnosis, normal or fatal, asked of a training log that another program wrote. Losses, loss scales, gradient norms and
// skipped steps are all there is: where a fault begins, and everything inside a step, is unknown, and nothing is claimed of it.
#pragma once

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"
#include "reports/analysis/imported.h"

namespace ulpscope::reports {

/// A run without numbers (a trace) gets no verdict.
RunDiagnosis diagnose_imported(const Evidence& evidence, const Imported& imported);

}  // namespace ulpscope::reports
