// Memory by category at the peak, over one step, and why it did not halve.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/report_runs.h"

namespace ulpscope::reports {

/// After a node of a step.
struct MemoryPoint {
  std::int64_t position = 0;  ///< of the node, in execution order
  std::int64_t bytes = 0;
  std::string node{};
  std::string phase{};
};

struct ModeMemory {
  std::size_t run = 0;  ///< in Report::runs: the one with the mode's greatest peak
  std::optional<MemoryRecord> peak{};       ///< the greatest; none: not recorded
  std::optional<MemoryRecord> predicted{};  ///< by the memory plan, before the first step
  Number ratio{};       ///< of the peak, without observation, to fp32's of the same setting
  std::vector<std::string> why{};  ///< why it did not halve, by category, the greatest part first [computed from the peaks]; empty: fp32, or it did
  /// Over one step, thinned by its least and greatest: allocated bytes where they were sampled [counted], else those of results that are
  /// still to be read [computed from the plan]: without weights, optimizer state, gaps and workspace.
  std::vector<MemoryPoint> curve{};
  Provenance curve_provenance = Provenance::unknown;
};

struct MemorySection {
  std::vector<ModeMemory> modes{};  ///< by mode, those with a peak or a plan
};

/// Bytes of a peak without what was held to observe.
std::optional<std::int64_t> bytes_without_observation(const MemoryRecord& row);

MemorySection memory_section(const std::vector<ReportRun>& runs, const Comparison& comparison, std::int64_t buckets = 150);

}  // namespace ulpscope::reports
