// A loss that rises far above where it was: what the record of the steps says of it.
#pragma once

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// A loss that is finite and was far above its beginning: fills gravity, step, what and facts. Where the data change, or the
/// experiment file sets a number, or the loss comes back, it is no damage.
void tell_run_away(const Evidence& evidence, Cause& cause);

/// To an end whose cause is not known: the learning rate of the last step that moved the weights before it, as something to try and not as
/// the cause. Nothing if no step did, or the experiment file sets numbers.
void add_rate(const Evidence& evidence, Cause& cause);

/// To a fatal cause of the forward pass: that the loss had been growing for many steps before, and at which learning rate.
void add_divergence(const Evidence& evidence, Cause& cause);

}  // namespace ulpscope::reports
