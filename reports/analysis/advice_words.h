// What an advice says beside its decision. Part of advise.
#pragma once

#include <string>

#include "reports/analysis/advice.h"

namespace ulpscope::reports::advice_parts {

std::string or_else(const std::string& words, const char* otherwise);
/// "1.25 GB"
std::string gb(double bytes);
/// "2.31 x fp32's speed (1.90…2.60) [projected]"
std::string gain_words(const ModeAdvice& mode);
/// "loss inside fp32's seed noise, 3 seeds [computed]", of a mode whose loss was shown to be no worse.
std::string loss_words(const ModeEvidence& evidence);
/// How to get a verdict on the loss: of this mode; empty: of each.
std::string seeds_words(const std::string& mode);

/// What the winner saves and costs beside fp32.
void add_costs(DeviceAdvice& advice);
/// What would change the answer, after what was said so far.
void add_changes(DeviceAdvice& advice, const Gpu& gpu);
/// The same without a device.
void add_numeric_changes(DeviceAdvice& advice);
/// What has to be known whatever is chosen.
void add_said(DeviceAdvice& advice);

}  // namespace ulpscope::reports::advice_parts
