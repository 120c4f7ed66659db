// What must be the same for two runs to be held against each other. Part of compare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// What each item is called → its value: the model's settings, the text trained on (by its fingerprint: a path says
/// where it lay, not what it was), batch and context, every setting of the training with those of the scaler, and the
/// non-standard knobs. Not in it: mode, whose matrix units' sums it had, seed and device, the loss scaling in force (modes differ in it), and how often
/// was evaluated (it changes nothing that is judged).
using Likeness = std::map<std::string, std::string>;
Likeness likeness(const RunRecord& run);

/// Names of the items that differ: "data", "batch", "train.lr" …
std::vector<std::string> differences(const Likeness& a, const Likeness& b);

}  // namespace ulpscope::reports
