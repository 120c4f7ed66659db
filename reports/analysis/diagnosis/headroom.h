// How far every layer is from the edges of its format, how that moved, and what will leave it next.
#pragma once

#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// Layers (node names up to their first dot; up to the second if all share the first) with results in 16 bits or 8,
/// least room first.
std::vector<LayerRoom> head_room(const Evidence& evidence);

/// Results less than 2 bits from their limit, or growing so that they reach it within as many steps as were observed
/// (or planned): the nearest first, at most eight.
std::vector<Watched> watch_list(const Evidence& evidence);

}  // namespace ulpscope::reports
