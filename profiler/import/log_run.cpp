#include "profiler/import/log_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

using reports::Provenance;
using reports::SkipSource;

constexpr reports::RunId run_id{1};

std::string counted(std::int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

/// Iterations, and what of them is known.
struct Steps {
  std::map<std::int64_t, LogRow> by_iteration;
  std::map<std::int64_t, reports::Number> held_out;   ///< steps done before → loss
  bool numbered = false;
  bool from_zero = false;
  bool scale_after = false;   ///< inferred: a row has the scale that its step ends with
  std::int64_t repeated = 0;   ///< rows that say again what another said of the same step
  std::int64_t unnumbered = 0, unnumbered_skips = 0;   ///< rows without a step among others that have one; of them those that say a step was skipped
};

/// Entries by their order, and none has a number; else rows without one are of no step that is known.
bool numbers_steps(const TrainingLog& log) {
  return std::any_of(log.rows.begin(), log.rows.end(), [](const LogRow& row) { return row.step.has_value(); });
}

template <class T>
bool put(std::optional<T>& into, const std::optional<T>& from) {
  const bool again = into && from;
  if (from) into = from;
  return again;
}

void add(Steps& steps, std::int64_t iteration, const LogRow& row) {
  LogRow& into = steps.by_iteration[iteration];
  into.line = row.line;
  const bool again = put(into.loss, row.loss);
  put(into.learning_rate, row.learning_rate);
  put(into.loss_scale, row.loss_scale);
  put(into.gradient_norm, row.gradient_norm);
  put(into.next_scale, row.next_scale);
  put(into.skipped, row.skipped);
  steps.repeated += again ? 1 : 0;
}

Steps number_steps(const TrainingLog& log) {
  Steps steps{.by_iteration = {}, .held_out = {}};
  steps.numbered = numbers_steps(log) || log.rows.empty();
  steps.from_zero = std::any_of(log.rows.begin(), log.rows.end(), [](const LogRow& row) { return row.step == 0 && row.of_a_step(); });
  std::int64_t next = 0;
  for (const LogRow& row : log.rows) {
    if (steps.numbered && !row.step) {
      ++steps.unnumbered;
      steps.unnumbered_skips += row.skipped.value_or(false) ? 1 : 0;
      continue;
    }
    const std::int64_t iteration = !steps.numbered ? next : steps.from_zero ? *row.step : *row.step - 1;
    // An evaluation comes after the steps that were done; it says a learning rate at most.
    const bool evaluation_alone = row.held_out_loss && !row.loss && !row.loss_scale && !row.gradient_norm && !row.skipped;
    if (row.held_out_loss) steps.held_out[std::max<std::int64_t>(0, steps.numbered ? iteration + 1 : evaluation_alone ? next : next + 1)] = row.held_out_loss;
    if (evaluation_alone || iteration < 0) continue;
    if (row.of_a_step()) add(steps, iteration, row);
    ++next;
  }
  return steps;
}

/// Entries that come every so many steps; skips between them lie in the steps that follow the last entry, as far as is known.
Steps number_by_interval(const TrainingLog& log, std::int64_t every, const std::string& file) {
  Steps steps{.by_iteration = {}, .held_out = {}, .numbered = true};
  std::int64_t done = 0, free = 0;
  for (const LogRow& row : log.rows) {
    if (row.held_out_loss && !row.loss) {
      steps.held_out[done] = row.held_out_loss;
      continue;
    }
    const bool entry = row.loss || (row.gradient_norm && !row.skipped);
    if (!entry && free >= done + every)
      throw UsageError(fmt::format("--every {}: {}: line {}: more steps were skipped since the last entry than lie between two entries", every, file, row.line));
    if (!entry) {
      add(steps, free++, row);
      continue;
    }
    done += every;
    free = done;
    add(steps, done - 1, row);
  }
  return steps;
}

/// In neighbouring rows alone: elsewhere it is not known in which step the scale fell.
bool infer_skips(Steps& steps) {
  bool any_scale = false, all = true;
  std::int64_t expected = 0;
  for (const auto& [iteration, row] : steps.by_iteration) {
    all = all && iteration == expected++ && row.loss_scale.has_value();
    any_scale = any_scale || row.loss_scale.has_value();
  }
  if (!any_scale || !all) return false;
  // Most write the scale of the step. Where the row that is not finite has the lower one already, the step ended with it.
  const auto bad = [](const LogRow& row) { return (row.gradient_norm && !std::isfinite(*row.gradient_norm)) || (row.loss && !std::isfinite(*row.loss)); };
  std::vector<std::pair<LogRow*, LogRow*>> falls;
  std::int64_t before = 0, after = 0;
  for (auto at = steps.by_iteration.begin(); at != steps.by_iteration.end(); ++at) {
    at->second.skipped = false;
    const auto next = std::next(at);
    if (next == steps.by_iteration.end() || *next->second.loss_scale >= *at->second.loss_scale) continue;
    falls.emplace_back(&at->second, &next->second);
    before += bad(at->second) && !bad(next->second) ? 1 : 0;
    after += bad(next->second) && !bad(at->second) ? 1 : 0;
  }
  steps.scale_after = after > before;
  for (const auto& [row, next] : falls) (steps.scale_after ? next : row)->skipped = true;
  return true;
}

/// A loss of 0 beside a gradient norm that is not finite: the trainer put it there. How many.
std::int64_t uncover_losses(Steps& steps) {
  std::int64_t count = 0;
  for (auto& [iteration, row] : steps.by_iteration) {
    if (row.loss != 0.0 || !row.gradient_norm || std::isfinite(*row.gradient_norm)) continue;
    row.loss = std::nan("");
    ++count;
  }
  return count;
}

SkipSource find_skips(Steps& steps) {
  const bool logged = std::any_of(steps.by_iteration.begin(), steps.by_iteration.end(), [](const auto& s) { return s.second.skipped.has_value(); });
  if (logged) return SkipSource::logged;
  return infer_skips(steps) ? SkipSource::inferred : SkipSource::unknown;
}

bool changes_its_scale(const Steps& steps) {
  reports::Number first;
  for (const auto& [iteration, row] : steps.by_iteration)
    for (const reports::Number& scale : {row.loss_scale, row.next_scale}) {
      if (scale && first && *scale != *first) return true;
      if (scale) first = scale;
    }
  return false;
}

void add_events(std::vector<reports::Record>& rows, std::int64_t iteration, const LogRow& row, const LogRow* next, SkipSource source) {
  const Provenance provenance = source == SkipSource::inferred ? Provenance::inferred : Provenance::counted;
  if (row.skipped.value_or(false)) rows.push_back(reports::EventRecord{.run = run_id, .step = iteration, .kind = reports::event_kind::skip, .provenance = provenance});
  const reports::Number after = row.next_scale ? row.next_scale : next != nullptr ? next->loss_scale : std::nullopt;
  if (row.loss_scale && after && *after != *row.loss_scale)
    rows.push_back(reports::EventRecord{.run = run_id, .step = iteration, .kind = reports::event_kind::scale_change, .value = after, .provenance = Provenance::counted});
}

void add_steps(const Steps& steps, SkipSource source, const TrainingLog& log, ImportedRun& out) {
  std::int64_t applied = 0;
  for (auto at = steps.by_iteration.begin(); at != steps.by_iteration.end(); ++at) {
    const auto& [iteration, row] = *at;
    const bool skipped = row.skipped.value_or(false);
    applied += skipped ? 0 : 1;
    out.rows.push_back(reports::StepRecord{.run = run_id,
                                           .step = iteration,
                                           .applied = applied,
                                           .loss = row.loss,
                                           .learning_rate = row.learning_rate,
                                           .loss_scale = row.loss_scale,
                                           .gradient_norm = row.gradient_norm,
                                           .finite = !skipped && (!row.gradient_norm || std::isfinite(*row.gradient_norm)),
                                           .skipped = skipped});
    const auto next = std::next(at);
    add_events(out.rows, iteration, row, next == steps.by_iteration.end() ? nullptr : &next->second, source);
  }
  for (const auto& [done, loss] : steps.held_out) out.rows.push_back(reports::EvaluationRecord{.run = run_id, .step = done, .loss = loss});
  if (log.stopped_at_floor)
    out.rows.push_back(reports::EventRecord{.run = run_id,
                                            .step = steps.by_iteration.empty() ? 0 : steps.by_iteration.rbegin()->first,
                                            .kind = reports::event_kind::stop,
                                            .detail_json = R"({"what":"the loss scale was at its floor and a step overflowed"})"});
}

/// A remark of the import: printed, and kept in the file.
void remark(ImportedRun& out, const char* kind, const std::string& subject, reports::Count count, const std::string& detail) {
  out.rows.push_back(reports::CompletenessRecord{.run = run_id, .kind = kind, .subject = subject, .count = count, .detail = detail});
  out.words.push_back(count ? fmt::format("{}: {}{}", subject, *count, detail.empty() ? "" : " (" + detail + ")") : fmt::format("{}: {}", subject, detail));
}

void add_remarks(const TrainingLog& log, const Steps& steps, SkipSource source, const LogOptions& options, std::int64_t zeros, ImportedRun& out) {
  if (zeros > 0) remark(out, "note", "losses of 0 read as NaN", zeros, "inferred: the gradient norm beside them is not finite, and this trainer writes 0 there");
  const std::int64_t norms = std::count_if(log.rows.begin(), log.rows.end(), [](const LogRow& row) { return row.hidden_norm; });
  if (norms > 0) remark(out, "note", "gradient norms of -1 read as not finite", norms, "inferred: no norm is negative, and DeepSpeed says -1 where it is inf or NaN");
  if (steps.unnumbered > 0)
    remark(out, "lost", "rows without a step", steps.unnumbered,
           fmt::format("left out: others have one, and of which step these are is unknown{}", steps.unnumbered_skips > 0 ? fmt::format("; {} of them say that a step was skipped", steps.unnumbered_skips) : ""));
  if (!steps.numbered) remark(out, "note", "numbers of steps", {}, "the log does not number them: its entries are counted as steps, in their order");
  if (options.every) remark(out, "note", "numbers of steps", {}, fmt::format("numbered by one entry every {} steps, as was said; in which of them a step was skipped is not known", *options.every));
  if (steps.from_zero) remark(out, "note", "numbers of steps", {}, "the log counts them from 0: its step n is shown as step n + 1");
  if (steps.repeated > 0) remark(out, "note", "rows of a step that was there before", steps.repeated, "the later row counts");
  if (source == SkipSource::inferred) remark(out, "note", "skipped steps", {}, steps.scale_after ? "inferred: a step whose row has a lower loss scale than the one before was skipped (such rows are not finite: the log writes the scale after the step)"
                                                                                               : "inferred: a step after which the loss scale is lower was skipped");
  if (log.told_step) {
    const std::int64_t told = *log.told_skips, lines = log.skips_before_told;
    const std::string count = fmt::format("{} of the first {} skipped, as DeepSpeed counts", told, counted(*log.told_step, "step"));
    remark(out, told > lines ? "lost" : "note", "steps and skips that DeepSpeed counted", {},
           told == lines ? count + "; the lines before it say as many" : fmt::format("{}; the lines before it say {}: {}", count, lines, told > lines ? "the others are not in this log" : "it counts from another step on"));
  }
  if (source == SkipSource::unknown && !steps.by_iteration.empty()) remark(out, "note", "skipped steps", {}, "unknown: the log does not say which steps were skipped");
  if (log.ranks_left_out > 0) remark(out, "note", "lines of other ranks", log.ranks_left_out, "they say the same again: left out");
  if (log.cut_off) remark(out, "lost", "the last line", 1, "it is cut off: left out");
  for (const auto& [what, count] : log.ignored) remark(out, "note", "not read: " + what, count, "");
  for (const std::string& note : log.notes) remark(out, "note", "log", {}, note);
}

}  // namespace

reports::RunRecord imported_run_record(const ImportedAs& as) {
  reports::RunRecord run;
  run.id = run_id;
  run.mode = as.mode.empty() ? "unknown" : as.mode;
  run.seed = as.seed;
  run.device = "unknown";
  run.model = as.model.empty() ? "unknown" : as.model;
  run.data = as.data.empty() ? "unknown" : as.data;
  // What is unknown is like nothing but itself: only names that the user gives make runs alike.
  std::error_code error;
  const std::string itself = std::filesystem::weakly_canonical(as.file, error).string();
  run.data_json = nlohmann::json{{"fingerprint", as.data.empty() ? "unknown, of " + itself : "named " + as.data}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  run.status = reports::RunStatus::finished;
  run.time_provenance = Provenance::unknown;
  return run;
}

ImportedRun run_of_log(const TrainingLog& log, const LogOptions& options, const ImportedAs& as) {
  const bool all_numbered = std::all_of(log.rows.begin(), log.rows.end(), [](const LogRow& row) { return row.step.has_value(); });
  if (options.every && all_numbered && !log.rows.empty()) throw UsageError(fmt::format("--every {}: {} numbers its steps itself", *options.every, as.file));
  Steps steps = options.every ? number_by_interval(log, *options.every, as.file) : number_steps(log);
  if (steps.by_iteration.empty() && steps.held_out.empty() && !log.stopped_at_floor) throw UsageError(fmt::format("{}: no step is in it", as.file));
  const SkipSource source = find_skips(steps);
  const std::int64_t zeros = log.hides_losses ? uncover_losses(steps) : 0;

  ImportedRun out{.run = imported_run_record(as), .rows = {}, .words = {}, .more = {}};
  // A scale that is 1 in every row scales nothing: Megatron says it of bf16 and fp32, too.
  const bool scaled = std::any_of(steps.by_iteration.begin(), steps.by_iteration.end(), [](const auto& s) { return s.second.loss_scale.value_or(1.0) != 1.0; });
  if (as.mode.empty() && scaled) out.run.mode = "fp16";
  const std::int64_t last = steps.by_iteration.empty() ? -1 : steps.by_iteration.rbegin()->first;
  const bool dense = steps.numbered && std::ssize(steps.by_iteration) == last + 1;
  if (dense) out.run.steps_planned = std::max(log.planned.value_or(last + 1), last + 1);
  const bool early = log.planned && log.reached && *log.reached < *log.planned;
  if (early) {
    out.run.status = reports::RunStatus::interrupted;
    out.run.message = fmt::format("the log ends after {} of {} planned steps", *log.reached, *log.planned);
  }
  // A log without a loss scale does not say that there was none.
  const auto of = [&](const char* program) { return scaled && log.format.find(program) != std::string::npos; };
  out.run.loss_scaling = of("DeepSpeed") ? "dynamic:deepspeed" : of("Megatron") && changes_its_scale(steps) ? "dynamic:megatron" : "unknown";
  out.run.attributes_json = reports::attributes_with({.format = log.format,
                                                      .file = as.file,
                                                      .mode_from = !as.mode.empty() ? "given" : scaled ? "inferred" : "unknown",
                                                      .skips = source,
                                                      .numbered = steps.numbered,
                                                      .every_step = dense,
                                                      .hides_losses = log.hides_losses,
                                                      .zeros_as_nan = zeros});
  out.words.push_back(fmt::format("{}: {} {}, {}", log.format, log.entries, log.entries == 1 ? "entry" : "entries", counted(std::ssize(steps.by_iteration), "step")));
  if (as.mode.empty()) out.words.push_back(scaled ? "mode: fp16 (inferred: the log says a loss scale; --mode says otherwise)" : "mode: unknown (--mode says it)");
  add_steps(steps, source, log, out);
  add_remarks(log, steps, source, options, zeros, out);
  return out;
}

}  // namespace ulpscope::profiler
