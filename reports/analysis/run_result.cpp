#include "reports/analysis/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/analysis/imported.h"
#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

void take_losses(const std::vector<StepRecord>& steps, std::optional<std::int64_t> stopped_at, RunResult& result) {
  std::optional<std::int64_t> streak, skips;  // of non-finite losses, so far unbroken; skipped ones before it
  std::int64_t skipped = 0;
  for (const StepRecord& step : steps) {
    result.losses_unknown += step.loss ? 0 : 1;
    if (!step.loss) continue;
    if (std::isfinite(*step.loss)) {
      streak.reset();
      skips.reset();
      skipped = 0;
      result.last_finite_loss = step.loss;
      result.last_finite_step = step.step;
      if (!result.best_loss || *step.loss < *result.best_loss) result.best_loss = step.loss;
      continue;
    }
    ++result.losses_not_finite;
    if (!result.first_not_finite) result.first_not_finite = step.step;
    const bool harmless = step.skipped && step.step != stopped_at;  // no weight was changed by it
    result.losses_skipped += harmless ? 1 : 0;
    if (harmless && !streak) {
      if (!skips) skips = step.step;
      ++skipped;
    } else if (!streak) {
      streak = step.step;
    }
  }
  result.diverged_at = streak || skipped < fatal_skips ? streak : skips;

  std::vector<double> last;
  for (auto step = steps.rbegin(); step != steps.rend() && last.size() < final_steps; ++step) {
    if (!step->loss) continue;
    if (!std::isfinite(*step->loss) && !result.diverged()) continue;
    last.push_back(*step->loss);
  }
  result.final_loss = mean(last);
  if (!result.best_loss) result.best_loss = result.final_loss;  // never finite
}

void take_scale(const std::vector<StepRecord>& steps, RunResult& result) {
  for (const StepRecord& step : steps) {
    if (!step.loss_scale) continue;
    const double scale = *step.loss_scale;
    if (!result.scale_first) result.scale_first = scale;
    result.scale_least = std::min(result.scale_least.value_or(scale), scale);
    result.scale_greatest = std::max(result.scale_greatest.value_or(scale), scale);
    result.scale_last = scale;
  }
}

void take_evaluations(const std::vector<EvaluationRecord>& evaluations, RunResult& result) {
  for (const EvaluationRecord& evaluation : evaluations) {
    if (evaluation.split != "held_out" || !evaluation.loss) continue;
    result.held_out_loss = evaluation.loss;
    if (!result.best_held_out_loss || *evaluation.loss < *result.best_held_out_loss ||
        std::isnan(*result.best_held_out_loss))
      result.best_held_out_loss = evaluation.loss;
  }
}

void take_timing(const std::vector<TimingSample>& samples, RunResult& result) {
  std::vector<double> tokens;
  for (const TimingSample& sample : samples) {
    if (sample.warm_up || !sample.wall_seconds) continue;
    result.step_seconds.push_back(*sample.wall_seconds);
    if (sample.tokens) tokens.push_back(static_cast<double>(*sample.tokens));
  }
  result.tokens_per_step = median(tokens);
}

// A gap between the steps, or an end that may be missing: then no count of steps is true.
bool steps_lost(const RunFileReader& reader, const RunRecord& run, const std::vector<StepRecord>& steps) {
  const auto rows = static_cast<std::int64_t>(steps.size());
  if (!steps.empty() && rows != steps.back().step + 1) return true;
  if (steps.empty() && run.status == RunStatus::running && !reader.live()) return true;  // cut off before its first row
  if (run.status == RunStatus::finished && rows < run.steps_planned.value_or(1)) return true;
  if (run.steps_planned && rows == *run.steps_planned) return false;
  const std::vector<CompletenessRecord> gaps = reader.completeness();
  return std::any_of(gaps.begin(), gaps.end(), [&](const CompletenessRecord& gap) {
    return gap.kind == "lost" && gap.subject == "step" && (!gap.run || *gap.run == run.id);
  });
}

Number first_loss(const std::vector<StepRecord>& steps) {
  const auto found = std::find_if(steps.begin(), steps.end(), [](const StepRecord& s) { return s.loss && std::isfinite(*s.loss); });
  return found == steps.end() ? std::nullopt : found->loss;
}

/// Of a log that another program wrote: what it says, and no more.
void count_imported_steps(const Imported& log, const std::vector<StepRecord>& steps, RunResult& result) {
  if (log.trace || !log.skips_known()) return;
  if (log.skips == SkipSource::inferred) result.steps_from = Provenance::inferred;
  result.skipped = std::count_if(steps.begin(), steps.end(), [](const StepRecord& s) { return s.skipped; });
  result.overflows = std::count_if(steps.begin(), steps.end(), [](const StepRecord& s) { return !s.finite; });
  if (log.every_step) result.applied = static_cast<std::int64_t>(steps.size()) - *result.skipped;
}

void count_steps(const std::vector<StepRecord>& steps, RunResult& result) {
  result.applied = steps.empty() ? 0 : steps.back().applied;
  result.skipped = 0;
  result.overflows = 0;
  for (const StepRecord& step : steps) {
    *result.skipped += step.skipped ? 1 : 0;
    *result.overflows += step.finite ? 0 : 1;
  }
}

/// "first" is the first loss on record that is finite.
void take_events(const std::vector<EventRecord>& events, const Number& first, RunResult& result) {
  for (const EventRecord& event : events) {
    if (event.kind == event_kind::stop) result.stopped_at = event.step;
    if (event.kind == event_kind::divergence && event.value && std::isfinite(*event.value) && !result.ran_away_at)
      result.ran_away_at = event.step;
  }
  result.came_back = result.ran_away_at && first && result.final_loss && *result.final_loss <= *first;
  if (!result.stopped_at) return;
  result.ran_away_at.reset();  // the stop says more
  result.final_loss = std::numeric_limits<double>::quiet_NaN();
  if (result.held_out_loss) result.held_out_loss = result.final_loss;
}

}  // namespace

RunResult summarise_run(const RunFileReader& reader, const RunRecord& run) {
  RunResult result{.file = reader.path(), .run = run};
  result.cut_off = run.status == RunStatus::running && !reader.live();
  const std::vector<StepRecord> steps = reader.steps(run.id);
  result.steps = static_cast<std::int64_t>(steps.size());
  if (const auto log = imported(run)) count_imported_steps(*log, steps, result);
  else if (!steps_lost(reader, run, steps)) count_steps(steps, result);
  const std::vector<EventRecord> events = reader.events(run.id);
  const auto stop = std::find_if(events.begin(), events.end(), [](const EventRecord& e) { return e.kind == event_kind::stop; });
  take_losses(steps, stop == events.end() ? std::nullopt : std::optional(stop->step), result);
  take_scale(steps, result);
  take_evaluations(reader.evaluations(run.id), result);
  take_events(events, first_loss(steps), result);
  take_timing(reader.timing_samples(run.id), result);
  for (const MemoryRecord& row : reader.memory(run.id, MemoryKind::peak))
    if (row.total_bytes && (!result.peak || *row.total_bytes > *result.peak->total_bytes)) result.peak = row;
  return result;
}

std::optional<std::string> missing_note(const RunResult& result) {
  if (result.applied && result.losses_unknown == 0) return std::nullopt;
  if (result.applied) return fmt::format("{} of {} step{} ha{} no loss on record", result.losses_unknown, result.steps, result.steps == 1 ? "" : "s", result.losses_unknown == 1 ? "s" : "ve");
  if (const auto log = imported(result.run)) return log->trace ? "a trace says nothing of which steps were applied" : "the log does not say which steps were applied";
  if (result.run.status == RunStatus::finished && result.run.steps_planned && result.steps < *result.run.steps_planned)
    return fmt::format("steps are missing from the recording: {} of {} are there", result.steps, *result.run.steps_planned);
  return "steps are missing from the recording";
}

std::optional<std::string> status_note(const RunResult& result) {
  if (result.run.status == RunStatus::finished) {
    const bool cut = result.run.steps_planned && result.steps < *result.run.steps_planned;
    return cut || result.steps == 0 ? missing_note(result) : std::nullopt;
  }
  const std::string_view word = result.cut_off ? "cut off" : name(result.run.status);
  std::string note = result.run.steps_planned
                         ? fmt::format("{} after {} of {} step{}", word, result.steps, *result.run.steps_planned, *result.run.steps_planned == 1 ? "" : "s")
                         : fmt::format("{} after {} step{}", word, result.steps, result.steps == 1 ? "" : "s");
  if (!result.run.message.empty()) note += ": " + result.run.message;
  return note;
}

std::string final_loss_words(const RunResult& result, const std::function<std::string(double)>& number) {
  if (!result.final_loss) return "unknown";
  return result.diverged() && !std::isfinite(*result.final_loss) ? "none" : number(*result.final_loss);
}

// People count steps from 1: iteration 0 is step 1.
std::optional<std::string> divergence_note(const RunResult& result) {
  const auto last = [&](const char* what) {
    return result.last_finite_step ? fmt::format("; the last finite {} is {:.5g}, in step {}", what, *result.last_finite_loss, *result.last_finite_step + 1)
                                   : std::string("; no loss on record is finite");
  };
  if (result.stopped_at)
    return fmt::format("diverged: a gradient that is not finite ended it in step {}{}", *result.stopped_at + 1, last("loss"));
  if (result.diverged())
    return fmt::format("diverged: the loss is not finite from step {} on{}", *result.diverged_at + 1, last("one"));
  if (result.ran_away_at)
    return fmt::format("diverged: the loss ran away, said in step {}{}", *result.ran_away_at + 1,
                       result.came_back ? fmt::format("; it came back, to {:.4g} at the end", *result.final_loss) : "");
  if (result.losses_not_finite == 0) return std::nullopt;
  const bool one = result.losses_not_finite == 1;
  const char* const end = result.losses_skipped < result.losses_not_finite ? "recovered" : one ? "it was skipped" : "all were skipped";
  return fmt::format("the loss was not finite in {} step{}, first in step {}, and {}", result.losses_not_finite, one ? "" : "s",
                     *result.first_not_finite + 1, end);
}

}  // namespace ulpscope::reports
