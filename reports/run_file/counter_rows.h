// Rows of `completeness` about hardware counters: what writes and what reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// Beginning of their subjects.
inline constexpr const char* counters_subject = "kernel counters";
/// With the step's number, which is the row's count, too.
inline constexpr const char* counted_step_subject = "kernel counters: step ";

/// Counters were refused, or some lost. They are an extra, which most drivers give to administrators alone: it is no gap in what was
/// recorded.
inline bool lacks_counters(const CompletenessRecord& row) {
  return (row.kind == "refused" || row.kind == "lost") && row.subject.starts_with(counters_subject);
}

/// The step that this row is about: nodes were counted in it, one after the other, so that its time is no step's. Else none.
inline std::optional<std::int64_t> counted_step(const CompletenessRecord& row) {
  return row.subject.starts_with(counted_step_subject) ? row.count : std::nullopt;
}

/// Those of a run. In a file that is being written a step's row comes before the one that marks it, and both before the next step's.
inline std::set<std::int64_t> counted_steps(const std::vector<CompletenessRecord>& rows, RunId run) {
  std::set<std::int64_t> steps;
  for (const CompletenessRecord& row : rows)
    if (const auto step = counted_step(row); step && row.run == run) steps.insert(*step);
  return steps;
}

}  // namespace ulpscope::reports
