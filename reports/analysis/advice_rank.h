// Which of the modes that are possible leads. Part of advice.
//
// Measured beats projected: where two modes or more were measured on the device, these alone are ranked, and one whose time is projected
// alone is spoken of, not ranked. Else all are ranked by projected times, if all that have a time have a projected one.
#pragma once

#include <vector>

#include "reports/analysis/advice.h"

namespace ulpscope::reports::advice_parts {

using Candidates = std::vector<const ModeAdvice*>;
/// What of a mode is compared; null: nothing that all have.
using TimeOf = Figure ModeEvidence::*;

struct Ranking {
  Candidates among{};
  TimeOf by = nullptr;
};
Ranking ranking_of(const Candidates& candidates);

/// Of these the one that leads: the fastest, and of those within 5 % of it the one with least against it. Null for none.
const ModeAdvice* leader(const Ranking& ranking);

bool timed(const ModeAdvice& m);
/// Whether it fits is not certain. A run on this very device shows that it does.
bool may_not_fit(const ModeEvidence& e);
/// Its loss was held against fp32's and is no worse.
bool proven(const ModeEvidence& e);

/// Step of `other` ÷ step of `mode` by these times, with its range: of quartiles, or what the projection says of the two together; where it
/// says nothing, slow of one against fast of the other.
Figure ratio_of_times(const ModeEvidence& other, const ModeEvidence& mode, TimeOf by);

}  // namespace ulpscope::reports::advice_parts
