// Rows of `completeness` about hardware counters: what writes and what reads them.
#pragma once

#include <optional>

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

}  // namespace ulpscope::reports
