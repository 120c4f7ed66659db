#include "reports/analysis/diagnosis/imported_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/normality.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

/// Skips that a search for the scale can take at most: half of fp32's exponents, as for runs of one's own.
constexpr std::int64_t longest_search = 64;
/// A scale below 1 makes gradients smaller than they are: no search ends there.
constexpr double hopeless_scale = 1.0;
/// Good steps after which frameworks raise the scale: DeepSpeed's 1000 is the least of them (kernels/scaling/policies.h).
constexpr double least_interval = 1000.0;
/// The mean of the last losses against the least mean of as many in a row: a single low batch is no level. By how much it grew at least to have run away.
constexpr double run_away = 2.0;
constexpr std::size_t end_window = 10;

/// The rows of a log, told in order. What is counted in rows is said to be.
struct LogStory {
  StepStory steps;
  std::int64_t rows = 0;
  std::int64_t rises = 0;              ///< of the loss scale
  std::int64_t bad_norms = 0;          ///< gradient norms that are not finite
  std::int64_t trailing_bad_norms = 0; ///< rows that the log ends in, each with such a norm
  std::optional<std::int64_t> first_of_end{};   ///< step of the first of these rows
  bool norms = false, losses = false, scales = false;
  Number least_loss{}, last_loss{};   ///< means of end_window finite losses in a row: the least, and the last (of fewer where there are no more)
};

/// Takes a finite loss into the window.
void take_loss(double loss, std::vector<double>& window, LogStory& story) {
  if (window.size() == end_window) window.erase(window.begin());
  window.push_back(loss);
  story.last_loss = mean(window);
  if (window.size() == end_window && (!story.least_loss || *story.last_loss < *story.least_loss)) story.least_loss = story.last_loss;
}

LogStory tell(const Evidence& e) {
  LogStory story{.steps = tell_steps(e)};
  std::optional<double> scale;
  std::vector<double> last;
  bool end_known = false;
  for (const StepRecord& step : e.steps()) {
    ++story.rows;
    story.losses = story.losses || step.loss;
    story.norms = story.norms || step.gradient_norm;
    story.scales = story.scales || step.loss_scale;
    if (step.loss_scale && scale && *step.loss_scale > *scale) ++story.rises;
    if (step.loss_scale) scale = step.loss_scale;
    const bool bad_norm = step.gradient_norm && !std::isfinite(*step.gradient_norm);
    story.bad_norms += bad_norm ? 1 : 0;
    story.trailing_bad_norms = bad_norm ? story.trailing_bad_norms + 1 : step.gradient_norm ? 0 : story.trailing_bad_norms;
    const bool bad_row = bad_norm || (step.loss && !std::isfinite(*step.loss)) || step.skipped;
    if (!bad_row) end_known = false;
    if (bad_row && !end_known) story.first_of_end = step.step;
    end_known = bad_row;
    if (step.loss && std::isfinite(*step.loss)) take_loss(*step.loss, last, story);
  }
  // What a step ended with is known from its event alone, where no later row says a scale.
  std::int64_t last_scaled = -1;
  for (const StepRecord& step : e.steps())
    if (step.loss_scale) last_scaled = step.step;
  for (const EventRecord& event : e.events())
    if (event.kind == event_kind::scale_change && event.value && event.step >= last_scaled) story.steps.scale_last = event.value;
  return story;
}

std::string rows(const Imported& log, std::int64_t n) { return counted(n, log.every_step ? "step" : "row"); }
/// A step as the log's reader knows it: by its number, or by how far down it stands.
std::string place(const Imported& log, std::int64_t iteration) { return fmt::format("{} {}", log.numbered ? "step" : "entry", shown(iteration)); }

Cause fatal_cause(Kind kind, std::optional<std::int64_t> step, std::string what) {
  Cause cause;
  cause.kind = kind;
  cause.gravity = Gravity::fatal;
  cause.step = step;
  cause.what = std::move(what);
  return cause;
}

bool still_searching(const StepStory& s) {
  return s.steps > 0 && s.leading == s.steps && s.leading <= longest_search && s.scale_last.value_or(HUGE_VAL) >= hopeless_scale && !s.stopped;
}

/// Why the run is lost; nothing: it is not, as far as the log tells.
std::optional<Cause> fatal(const LogStory& story, const Imported& log) {
  const StepStory& s = story.steps;
  const Number scale = s.scale_last;
  if (s.stopped)
    return fatal_cause(Kind::scale_floor, story.first_of_end, "the loss scale was at the lowest value that its policy allows, a step overflowed still, and that ended the run (the log says so)");
  const bool in_skips = s.trailing_bad_losses > 0 && s.trailing_bad_losses <= s.trailing && s.trailing < skips_in_a_row;
  if (s.trailing_bad_losses > 0 && !in_skips && !still_searching(s))
    return fatal_cause(Kind::unknown, story.first_of_end, fmt::format("the loss is not finite in the last {}", rows(log, s.trailing_bad_losses)));
  if (s.trailing >= skips_in_a_row && !still_searching(s)) {
    const bool low = scale && *scale <= hopeless_scale;
    std::string what = fmt::format("the log ends in {} that were skipped one after the other", rows(log, s.trailing));
    if (low) what += fmt::format(", with a loss scale of {}: a scale that low leaves nothing to search, the gradients are not finite whatever it is", scale_amount(*scale));
    else if (scale) what += fmt::format("; the loss scale has come down to {}", scale_amount(*scale));
    return fatal_cause(low ? Kind::scale_floor : Kind::unknown, story.first_of_end, std::move(what));
  }
  if (story.trailing_bad_norms >= skips_in_a_row && !still_searching(s))
    return fatal_cause(Kind::unknown, story.first_of_end, fmt::format("the gradient norm is not finite in the last {}", rows(log, story.trailing_bad_norms)));
  return std::nullopt;
}

/// More skips than a scale that grows and falls explains; a loss that ran away.
std::optional<Cause> damage(const LogStory& story, const Imported& log) {
  const StepStory& s = story.steps;
  const double after = static_cast<double>(s.steps - s.leading);
  const double due = std::max(static_cast<double>(story.rises), after / least_interval);
  Cause cause;
  cause.gravity = Gravity::damage;
  if (log.every_step && log.skips_known() && static_cast<double>(s.later) > 2.0 + 2.0 * due) {
    cause.kind = Kind::gradient_too_large_for_scale;
    cause.what = fmt::format("{} of {} after the first good one were skipped, and the loss scale rose {} in them: one skip for each rise is how a scale works, more are not",
                             s.later, counted(s.steps - s.leading, "step"), story.rises == 1 ? "once" : fmt::format("{} times", story.rises));
    if (s.scale_last) cause.what += fmt::format("; it ends at {}", scale_amount(*s.scale_last));
    return cause;
  }
  if (story.least_loss && story.last_loss && *story.least_loss > 0.0 && *story.last_loss > run_away * *story.least_loss && story.rows > 2 * static_cast<std::int64_t>(end_window)) {
    cause.kind = Kind::unknown;
    cause.what = fmt::format("the loss is finite and has run away: {} in the mean over the last {} losses, {} in the least mean of as many in a row", amount(*story.last_loss), end_window, amount(*story.least_loss));
    return cause;
  }
  return std::nullopt;
}

/// A held-out loss that is not finite, where the last training loss before it is.
std::optional<Cause> held_out(const Evidence& e, const Imported& log) {
  for (const EvaluationRecord& evaluation : e.evaluations()) {
    if (!evaluation.loss || std::isfinite(*evaluation.loss)) continue;
    const StepRecord* last = nullptr;
    for (const StepRecord& step : e.steps())
      if (step.step < evaluation.step && step.loss) last = &step;
    if (last == nullptr || !std::isfinite(*last->loss)) continue;
    Cause cause;
    cause.kind = Kind::held_out_not_finite;
    cause.gravity = Gravity::damage;
    cause.step = last->step;
    cause.what = fmt::format("the held-out loss is {} behind {}, where the training loss is {}: the training goes on, and what it is judged by is worth nothing. In which formats it is evaluated "
                             "(fp16_full_eval, bf16_full_eval) the log does not say",
                             amount(*evaluation.loss), place(log, last->step), amount(*last->loss));
    return cause;
  }
  return std::nullopt;
}

std::vector<std::string> reasons(const LogStory& story, const Imported& log) {
  const StepStory& s = story.steps;
  std::vector<std::string> list;
  if (!log.skips_known()) return list;
  const char* from = log.skips == SkipSource::inferred ? "inferred" : "counted";
  if (s.leading > 0)
    list.push_back(fmt::format("search for the loss scale{}: {} skipped{} [{}]", s.scale_first ? fmt::format(" {}{}", scale_amount(*s.scale_first), s.scale_last && s.later == 0 ? " -> " + scale_amount(*s.scale_last) : "") : "",
                               rows(log, s.leading), s.leading < s.steps ? "" : " so far", from));
  if (s.steps > s.leading) list.push_back(fmt::format("{}skipped: {} in {} [{}]", list.empty() ? "" : "later ", s.later, rows(log, s.steps - s.leading), from));
  if (story.rises > 0) list.push_back(fmt::format("the scale rose {} [counted]", story.rises == 1 ? "once" : fmt::format("{} times", story.rises)));
  return list;
}

std::string normal_words(const LogStory& story, const Imported& log) {
  const StepStory& s = story.steps;
  if (still_searching(s))
    return fmt::format("nothing was trained so far: all of {} were skipped. The search for the loss scale may take that{}", rows(log, s.steps),
                       s.scale_last ? fmt::format(" (it has come down to {})", scale_amount(*s.scale_last)) : "");
  std::string text = fmt::format("normal, as far as the log tells: {}", rows(log, story.rows));
  std::vector<std::string> parts;
  if (story.losses) parts.emplace_back(s.bad_losses == 0 ? "every loss finite" : fmt::format("{} {} not finite, and finite again afterwards", s.bad_losses, s.bad_losses == 1 ? "loss" : "losses"));
  if (story.norms) parts.emplace_back(story.bad_norms == 0 ? "every gradient norm finite" : fmt::format("{} not finite, and finite again afterwards", counted(story.bad_norms, "gradient norm")));
  if (log.skips_known()) parts.push_back(s.skips == 0 ? "none skipped" : fmt::format("{} skipped", s.skips));
  for (const std::string& part : parts) text += ", " + part;
  if (!log.skips_known()) text += "; which were skipped is unknown";
  return text;
}

void add_notes(const LogStory& story, const Imported& log, RunDiagnosis& run) {
  const StepStory& s = story.steps;
  for (const std::string& note : imported_notes(run.run)) run.notes.push_back(note);
  if (!log.numbered) run.notes.emplace_back("the log does not number its steps: its entries are counted");
  else if (!log.every_step && story.rows > 0) run.notes.emplace_back("the log has no row for each step: what happened between its rows is unknown");
  std::string silent;
  if (!story.losses) silent += "losses";
  if (!story.scales) silent += silent.empty() ? "the loss scale" : ", the loss scale";
  if (!story.norms) silent += silent.empty() ? "gradient norms" : ", gradient norms";
  if (!silent.empty()) run.notes.push_back(fmt::format("unknown, for the log does not say it: {}", silent));
  if (s.trailing > 0 && s.trailing < skips_in_a_row && run.outcome != Outcome::fatal && s.leading < s.steps)
    run.notes.push_back(fmt::format("the log ends in {} that {} skipped: whether the run gets over it is unknown; {} in a row would be no accident", rows(log, s.trailing), s.trailing == 1 ? "was" : "were", skips_in_a_row));
  if (log.hides_losses && story.losses) run.notes.emplace_back("this trainer hides losses that are not finite (logging_nan_inf_filter): a finite loss here proves nothing, a gradient norm does");
  run.notes.emplace_back("unknown, for a log cannot say it: which operation, where a value leaves its range, flushed gradients, lost updates, head-room, and what mends it (ulpscope run records all that)");
}

}  // namespace

RunDiagnosis diagnose_imported(const Evidence& e, const Imported& log) {
  RunDiagnosis run{.run = e.run()};
  const LogStory story = tell(e);
  run.steps = story.rows;
  if (log.trace || (story.rows == 0 && !story.steps.stopped)) {
    run.verdict = log.trace ? "unknown: a trace says when kernels ran, and nothing of numbers" : "no step is recorded";
    for (const std::string& note : imported_notes(run.run)) run.notes.push_back(note);
    return run;
  }
  run.skipped = log.skips_known() ? story.steps.skips : 0;
  run.reasons = reasons(story, log);
  if (auto cause = fatal(story, log)) {
    run.outcome = Outcome::fatal;
    run.verdict = fmt::format("fatal ({}){}: {}", name(cause->kind), cause->step ? ", " + place(log, *cause->step) : "", cause->what);
    run.causes.push_back(std::move(*cause));
  } else if (auto harm = damage(story, log); harm || (harm = held_out(e, log))) {
    run.outcome = Outcome::damaged;
    run.verdict = fmt::format("damaged ({}): {}", name(harm->kind), harm->what);
    run.causes.push_back(std::move(*harm));
  } else {
    run.outcome = still_searching(story.steps) ? Outcome::untrained : Outcome::not_observed;
    run.verdict = normal_words(story, log);
  }
  add_notes(story, log, run);
  return run;
}

}  // namespace ulpscope::reports
