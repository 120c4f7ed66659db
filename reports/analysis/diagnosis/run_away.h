// A loss that rises far above where it was: what the record of the steps says of it.
#pragma once

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// A loss that is finite and was far above its beginning: fills kind, gravity, step, what and facts. It is a divergence, and no damage of
/// precision, but where fp32 in the same file does not have it, or nobody looked. others: damage that the run has besides.
void tell_run_away(const Evidence& evidence, bool others, Cause& cause);

/// A divergence that the run does not come back from, in the words of a verdict; empty: there is none.
std::string divergence_words(const std::vector<Cause>& causes);

/// To an end whose cause is not known: the learning rate of the last step that moved the weights before it, as something to try and not as
/// the cause. Nothing if no step did, or the experiment file sets numbers.
void add_rate(const Evidence& evidence, Cause& cause);

/// To a fatal cause of the forward pass: that the loss had been growing for many steps before, and at which learning rate.
void add_divergence(const Evidence& evidence, Cause& cause);

}  // namespace ulpscope::reports
