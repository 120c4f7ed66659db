// What one run came to, from its rows in the run file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// The final loss is the mean over this many last recorded steps.
inline constexpr std::size_t final_steps = 10;

struct RunResult {
  std::string file{};
  RunRecord run{};
  bool cut_off = false;    ///< still "running", but nobody writes the file any more
  std::int64_t steps = 0;  ///< recorded
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t overflows = 0;  ///< steps with a gradient that was not finite

  /// Mean training loss of the last 10 recorded steps; skipped steps whose loss is not finite are left out, unless the
  /// run ended in them.
  Number final_loss{};
  Number best_loss{};      ///< least finite training loss of a step
  Number held_out_loss{};  ///< last evaluation
  Number best_held_out_loss{};

  std::int64_t losses_not_finite = 0;              ///< steps
  std::optional<std::int64_t> first_not_finite{};  ///< step
  std::optional<std::int64_t> diverged_at{};       ///< first step of the non-finite losses that the run ended in

  Number scale_first{};
  Number scale_least{};
  Number scale_greatest{};
  Number scale_last{};

  std::vector<double> step_seconds{};  ///< wall time of the timing phase, without warm-up
  Number tokens_per_step{};
  std::optional<MemoryRecord> peak{};  ///< the row with the greatest total

  bool diverged() const { return diverged_at.has_value(); }
  /// Ended as planned, or ended by its own loss: what it came to can be held against other runs.
  bool complete() const { return run.status == RunStatus::finished || diverged(); }
};

RunResult summarise_run(const RunFileReader& reader, const RunRecord& run);

/// "interrupted after 12 of 200 steps: …", or nothing for a run that finished.
std::optional<std::string> status_note(const RunResult& result);
/// "diverged: the loss is not finite from step 37 on", "the loss was not finite in 2 steps, first in step 5, and
/// recovered", or nothing.
std::optional<std::string> divergence_note(const RunResult& result);

}  // namespace ulpscope::reports
