// The figures of one mode from its runs. Part of compare.
#pragma once

#include "reports/analysis/compare.h"

namespace ulpscope::reports {

/// The runs a mode's figures are over: those that ended, or all with a step if none did.
std::vector<const RunResult*> runs_that_count(const ModeResult& mode);

/// Everything that needs no other mode.
void fill_own_figures(ModeResult& mode);

/// Distance, verdict, speed and memory against fp32; null if there is none. `same_setting`: times and bytes are
/// comparable.
void fill_against_reference(ModeResult& mode, const ModeResult* reference, bool same_setting);

/// A mode with the sums of a matrix unit against the same with plain ones, or another unit's, by the noise between fp32 seeds (null: there
/// are none). Undecided under three seeds of either.
Judgement judge_sums(const ModeResult& mode, const ModeResult& against, const ModeResult* reference, std::string& metric);

/// What the sums of a matrix unit change: the mode against the same mode with plain sums, judged by the noise between fp32 seeds.
void fill_against_plain_sums(ModeResult& mode, const ModeResult& plain, const ModeResult* reference);

}  // namespace ulpscope::reports
