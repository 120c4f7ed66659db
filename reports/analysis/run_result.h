// What one run came to, from its rows in the run file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// The final loss is the mean over this many last recorded steps.
inline constexpr std::size_t final_steps = 10;
/// A run that ends in this many skipped steps whose loss is not finite has diverged; in fewer, the scaler did its work.
inline constexpr std::int64_t fatal_skips = 3;

struct RunResult {
  std::string file{};
  RunRecord run{};
  bool cut_off = false;    ///< still "running", but nobody writes the file any more
  std::int64_t steps = 0;  ///< recorded
  /// Unknown if steps were lost on the way to the file.
  Count applied{};
  Count skipped{};
  Count overflows{};  ///< steps with a gradient that was not finite
  Provenance steps_from = Provenance::counted;  ///< of these three: inferred where a log does not say what was skipped

  /// Mean training loss of the last 10 recorded steps; losses that are not finite are left out, unless the run ended in
  /// them. NaN if gradients that were not finite ended the run: it came to nothing.
  Number final_loss{};
  Number last_finite_loss{};                         ///< training loss of the last recorded step that has a finite one
  std::optional<std::int64_t> last_finite_step{};    ///< that step: iteration
  Number best_loss{};      ///< least finite training loss of a step
  Number held_out_loss{};  ///< last evaluation; NaN (if there was one) like final_loss
  Number best_held_out_loss{};

  // Iterations, from 0, as in the run file; what is said to people counts steps from 1 (iteration 0 is step 1).
  std::int64_t losses_unknown = 0;     ///< steps whose row has none
  std::int64_t losses_not_finite = 0;  ///< steps
  std::int64_t losses_skipped = 0;     ///< of them, steps that were skipped: nothing came of their loss
  std::optional<std::int64_t> first_not_finite{};
  /// First step of the non-finite losses that the run ended in. Skipped ones are none, unless they are the last 3 or more.
  std::optional<std::int64_t> diverged_at{};
  std::optional<std::int64_t> stopped_at{};   ///< step whose gradients, not finite, ended the run
  std::optional<std::int64_t> ran_away_at{};  ///< step from which the loss, still finite, counted as run away
  bool came_back = false;                     ///< of ran_away_at: the final loss is no higher than the first on record

  Number scale_first{};
  Number scale_least{};
  Number scale_greatest{};
  Number scale_last{};

  std::vector<double> step_seconds{};  ///< wall time of the timing phase, without warm-up
  Number tokens_per_step{};
  std::optional<MemoryRecord> peak{};  ///< the row with the greatest total

  /// It ended in numbers that are not finite. A loss that ran away is a result like others.
  bool diverged() const { return diverged_at.has_value() || stopped_at.has_value(); }
  /// It did, or its loss ran away, or a step with a loss that is not finite was applied.
  bool went_astray() const { return diverged() || ran_away_at || losses_not_finite > losses_skipped; }
  /// Ended as planned, or ended by its own loss: what it came to can be held against other runs.
  bool complete() const { return run.status == RunStatus::finished || diverged(); }
};

RunResult summarise_run(const RunFileReader& reader, const RunRecord& run);

/// "steps are missing from the recording: 3 of 20 are there", "2 of 20 steps have no loss on record", or nothing: every step up to
/// the last that was made is known.
std::optional<std::string> missing_note(const RunResult& result);
/// "interrupted after 12 of 200 steps: …", or nothing for a run that finished, all of its steps on record.
std::optional<std::string> status_note(const RunResult& result);
/// The final loss for people: "none" of a run that ended in numbers that are not finite (divergence_note says the last that was), "unknown".
std::string final_loss_words(const RunResult& result, const std::function<std::string(double)>& number);
/// Steps counted from 1: "diverged: the loss is not finite from step 37 on; the last finite one is 2.31, in step 36", "diverged: a gradient that
/// is not finite ended it in step 37; the last finite loss is 2.31, in step 37", "diverged: the loss ran away, said in step 37" (with what it came back to, if it did), "the loss was not finite in 2 steps, first in
/// step 5, and recovered" (or ", and it was skipped"), or nothing.
std::optional<std::string> divergence_note(const RunResult& result);

}  // namespace ulpscope::reports
