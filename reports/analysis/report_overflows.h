// What left its format: every overflow as an event, with the operation it began in, and the causes behind them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/report_runs.h"

namespace ulpscope::reports {

/// A step whose gradients were not finite.
struct OverflowEvent {
  std::size_t run = 0;  ///< in Report::runs
  std::int64_t step = 0;
  Number loss{};
  Number loss_scale{};
  bool skipped = false;
  bool observed = false;    ///< statistics of this very step are there: what follows is counted, not concluded
  std::string operation{};  ///< the first in execution order that made a value that is not finite of values that were; empty: not known, or the tensor below is one that the step read
  std::string node{};
  std::string phase{};
  std::string tensor{};
  std::string format{};
  Count not_finite{};           ///< elements of the tensor, as stored
  Number greatest_magnitude{};  ///< of its finite elements, before rounding
  std::optional<std::size_t> cause{};  ///< in OverflowsSection::causes: the one at this node
};

/// A cause of the diagnosis, with what mend says of the changes to it.
struct OverflowCause {
  std::size_t run = 0;
  Cause cause{};
  std::string stamp{};   ///< "verified", "refuted", "not tried", of the best change; empty: no change is known
  std::string change{};  ///< that change, in words
  std::string status{};  ///< what came of trying it, in words
};

struct OverflowsSection {
  std::vector<OverflowEvent> events{};  ///< by run, then by step: at most `most_events` of a run, the first ones
  std::vector<std::int64_t> total{};    ///< by run: how many there are
  std::vector<OverflowCause> causes{};  ///< by run, gravest first
};

inline constexpr std::int64_t most_overflow_events = 200;

OverflowsSection overflows_section(const std::vector<ReportRun>& runs, const std::vector<Diagnosis>& diagnoses,
                                   std::int64_t most_events = most_overflow_events);

}  // namespace ulpscope::reports
