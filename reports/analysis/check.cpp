#include "reports/analysis/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/missing_runs.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {
namespace {

/// "values overflowed in 2 of 3 observed steps, first in y in step 5"; empty: in none. What a shadow or a rehearsal did is not the run's.
std::string tensor_overflows(const RunFileReader& reader, const RunRecord& run) {
  std::set<std::int64_t> observed, overflowed;
  const TensorStatsRecord* first = nullptr;
  const std::vector<TensorStatsRecord> rows = reader.tensor_stats(run.id);
  for (const TensorStatsRecord& row : rows) {
    if (row.observation != "sampled" && row.observation != "replay") continue;
    observed.insert(row.step);
    if (row.overflowed.value_or(0) == 0) continue;
    overflowed.insert(row.step);
    if (first == nullptr || row.step < first->step) first = &row;
  }
  if (first == nullptr) return "";
  std::string tensor = fmt::format("tensor {}", static_cast<std::int64_t>(first->tensor));
  if (run.plan)
    for (TensorRecord& t : reader.tensors(*run.plan))
      if (t.id == first->tensor) tensor = std::move(t.name);
  return fmt::format("values overflowed in {} of {} observed steps, first in {} in step {}", overflowed.size(), observed.size(), tensor,
                     first->step + 1);
}

class Checker {
 public:
  Checker(const CheckRule& rule, CheckResult& result) : rule_(rule), result_(result) {}

  void run(const RunResult& run, const RunFileReader& reader) {
    if (rule_.name == "overflow") overflow(run, reader);
    if (rule_.name == "skip-rate") skip_rate(run);
    if (rule_.name == "divergence") divergence(run);
    if (rule_.name == "incomplete")
      if (const auto note = missing_note(run)) add(run, *note);
    if (rule_.name == "unfinished")
      if (const auto note = status_note(run)) add(run, *note);
  }

  void mode(const ModeResult& mode, const std::string& file) {
    const Verdict verdict = mode.judgement.verdict;
    const bool found = (rule_.name == "undecided" && verdict == Verdict::undecided) ||
                       (rule_.name == "worse" && verdict == Verdict::worse);
    if (found) result_.findings.push_back({file, rule_.name, mode.mode, std::nullopt, fmt::format("{}: {}", name(verdict), mode.judgement.reason)});
    if (rule_.name == "non-standard" && !mode.non_standard.empty())
      result_.findings.push_back({file, rule_.name, mode.mode, std::nullopt, fmt::format("{}", fmt::join(mode.non_standard, "; "))});
  }

  /// What the diagnosis makes of a run: a line for it, however many causes there are.
  void diagnosed(const RunDiagnosis& run, const std::string& file) {
    if (rule_.name != "fatal" && rule_.name != "damage") return;
    const auto counts = [&](const Cause& c) { return c.gravity == Gravity::fatal || (rule_.name == "damage" && c.gravity == Gravity::damage); };
    const auto worst = std::find_if(run.causes.begin(), run.causes.end(), counts);   // the gravest comes first
    std::string text;
    if (worst != run.causes.end()) {
      const std::int64_t more = std::count_if(run.causes.begin(), run.causes.end(), counts) - 1;
      text = fmt::format("{}: {}{}{}{}", name(worst->gravity), worst->node.empty() || worst->what.starts_with(worst->node) ? "" : worst->node + ": ", worst->what,
                         worst->step ? fmt::format(", step {}", *worst->step + 1) : "", more > 0 ? fmt::format("; and {} more", more) : "");
    } else if (run.outcome == Outcome::not_observed) {
      text = "unknown: no step was observed (observe.every)";
    } else {
      return;
    }
    result_.findings.push_back({file, rule_.name, run.run.mode, run.run.seed, std::move(text)});
  }

  /// A run that the experiment has, and the recording has not.
  void missing(const MissingRuns& runs, const std::string& file) {
    const bool about_runs = rule_.name == "incomplete" || rule_.name == "unfinished";
    const bool about_steps = rule_.name == "overflow" || rule_.name == "divergence" || rule_.name == "skip-rate" ||
                             rule_.name == "damage" || rule_.name == "fatal";
    if (!about_runs && !about_steps) return;
    const std::string text = fmt::format("{} of {} {} not in the recording, the first being seed {}", runs.missing,
                                         runs.planned == 1 ? "1 run" : fmt::format("{} runs", runs.planned),
                                         runs.missing == 1 ? "is" : "are", runs.first_seed);
    result_.findings.push_back({file, rule_.name, runs.mode, std::nullopt, about_steps ? "unknown: " + text : text});
  }

  void gaps(const RunFileReader& reader) {
    if (rule_.name != "incomplete" && rule_.name != "unfinished") return;
    for (const CompletenessRecord& row : reader.completeness()) {
      if (row.kind == "note" && row.subject == "timing" && !row.run) {   // of the phase as a whole: it was cut short
        result_.findings.push_back({reader.path(), rule_.name, "", std::nullopt, fmt::format("the timing phase: {}", row.detail)});
        continue;
      }
      if (rule_.name == "unfinished") continue;
      if (row.kind != "dropped" && row.kind != "lost" && row.kind != "fault" && row.kind != "refused") continue;
      if (lacks_counters(row) || withheld(row)) continue;
      const RunRecord* of = nullptr;
      const std::vector<RunRecord> runs = reader.runs();
      for (const RunRecord& run : runs)
        if (row.run && run.id == *row.run) of = &run;
      std::string text = fmt::format("{} {}", row.subject, row.kind);
      if (row.count) text += fmt::format(": {}", *row.count);
      if (!row.detail.empty()) text += fmt::format(" ({})", row.detail);
      result_.findings.push_back({reader.path(), rule_.name, of != nullptr ? of->mode : "",
                                  of != nullptr ? std::optional(of->seed) : std::nullopt, std::move(text)});
    }
  }

 private:
  /// What this machine does not give: no kernel was traced at all, or a value of the GPU cannot be read (a virtual GPU, MIG, no libcupti). The
  /// run goes on without it, and nothing that was recorded has a gap. A trace of which a part was refused may have one.
  static bool withheld(const CompletenessRecord& row) {
    return row.kind == "refused" && (row.subject == "kernel trace" || row.subject.starts_with("GPU state"));
  }

  void add(const RunResult& run, std::string text) {
    result_.findings.push_back({run.file, rule_.name, run.run.mode, run.run.seed, std::move(text)});
  }

  void unknown(const RunResult& run) { add(run, fmt::format("unknown: {}", missing_note(run).value_or("it has no step"))); }

  void divergence(const RunResult& run) {
    if (run.went_astray()) return add(run, *divergence_note(run));
    if (missing_note(run)) unknown(run);
  }

  void overflow(const RunResult& run, const RunFileReader& reader) {
    const std::string inside = tensor_overflows(reader, run.run);
    if (!run.overflows) return inside.empty() ? unknown(run) : add(run, inside);
    if (*run.overflows == 0) return inside.empty() ? void() : add(run, inside);
    add(run, fmt::format("a gradient was not finite in {} of {} steps{}{}", *run.overflows, run.steps,
                         run.skipped && *run.skipped > 0 && scales(run)
                             ? fmt::format("; {} {} skipped", *run.skipped, *run.skipped == 1 ? "was" : "were")
                             : "",
                         inside.empty() ? "" : "; " + inside));
  }

  /// Without a loss scaler no step is skipped: a gradient that is not finite ends the run.
  static bool scales(const RunResult& run) { return run.run.loss_scaling != "none"; }

  void skip_rate(const RunResult& run) {
    if (!run.skipped) return unknown(run);
    if (run.steps == 0 || !scales(run)) return;
    const double rate = static_cast<double>(*run.skipped) / static_cast<double>(run.steps);
    if (rate > *rule_.limit) add(run, fmt::format("{} of {} steps {} skipped: {:.3g}, more than {:g}", *run.skipped, run.steps, *run.skipped == 1 ? "was" : "were", rate, *rule_.limit));
  }

  const CheckRule& rule_;
  CheckResult& result_;
};

CheckRule parse_rule(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const auto& all = check_rules();
  const auto info = std::find_if(all.begin(), all.end(), [&](const CheckRuleInfo& r) { return name == r.name; });
  if (info == all.end()) {
    std::vector<std::string> names;
    for (const CheckRuleInfo& rule : all) names.push_back(std::string(rule.name) + (rule.takes_limit ? "=X" : ""));
    throw UsageError(fmt::format("--fail-on {}: there is no such rule; rules: {}", word, fmt::join(names, ", ")));
  }
  CheckRule rule{name, std::nullopt};
  if (!info->takes_limit) {
    if (equals != std::string::npos) throw UsageError(fmt::format("--fail-on {}: {} takes no number", word, name));
    return rule;
  }
  double limit = -1.0;
  const char* const begin = word.data() + std::min(word.size(), equals == std::string::npos ? word.size() : equals + 1);
  const auto [end, error] = std::from_chars(begin, word.data() + word.size(), limit);
  if (error != std::errc() || end != word.data() + word.size() || !(limit >= 0.0 && limit <= 1.0))
    throw UsageError(fmt::format("--fail-on {}: {} takes a share from 0 to 1: {}=0.1", word, name, name));
  rule.limit = limit;
  return rule;
}

}  // namespace

const std::vector<CheckRuleInfo>& check_rules() {
  static const std::vector<CheckRuleInfo> rules{
      {"overflow", "a step had a gradient that was not finite, or a value overflowed in an observed step"},
      {"damage", "diagnose finds a fault that makes results wrong, or a fatal one"},
      {"fatal", "diagnose finds a fault that the run cannot go on with"},
      {"divergence", "a loss of a step that was applied was not finite, or it ran away, or a gradient ended the run"},
      {"skip-rate", "more than this share of the steps was skipped: skip-rate=0.1", true},
      {"undecided", "a mode has no verdict against fp32"},
      {"worse", "a mode's loss is worse than fp32's"},
      {"unfinished", "a run failed, was interrupted or cut off, or never began"},
      {"incomplete", "steps or runs are missing, records were dropped or lost, or the profiler had a fault"},
      {"non-standard", "a knob that reproduces faults was on"}};
  return rules;
}

std::vector<CheckRule> parse_check_rules(const std::vector<std::string>& words) {
  std::vector<CheckRule> rules;
  for (const std::string& list : words) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      const CheckRule rule = parse_rule(list.substr(begin, end - begin));
      const auto same = std::find_if(rules.begin(), rules.end(), [&](const CheckRule& r) { return r.name == rule.name; });
      if (same == rules.end()) rules.push_back(rule);
      else *same = rule;   // the last counts
      begin = end + 1;
    }
  }
  return rules;
}

CheckResult check(const std::vector<const RunFileReader*>& readers, const std::vector<CheckRule>& rules) {
  if (readers.empty()) throw UsageError("check needs at least one run file");
  CheckResult result{.files = {}, .rules = rules, .runs = 0, .findings = {}};
  for (const RunFileReader* reader : readers) {
    const Comparison comparison = compare({reader});
    result.files.push_back(reader->path());
    for (const ModeResult& mode : comparison.modes) result.runs += std::ssize(mode.runs);
    const std::vector<MissingRuns> absent = missing_runs(*reader);
    const bool looks_closer = std::any_of(rules.begin(), rules.end(), [](const CheckRule& r) { return r.name == "damage" || r.name == "fatal"; });
    const std::vector<RunDiagnosis> diagnosed = looks_closer ? diagnose(*reader).runs : std::vector<RunDiagnosis>{};
    for (const CheckRule& rule : rules) {
      Checker checker(rule, result);
      for (const ModeResult& mode : comparison.modes) {
        for (const RunResult& run : mode.runs) checker.run(run, *reader);
        checker.mode(mode, reader->path());
      }
      for (const RunDiagnosis& run : diagnosed) checker.diagnosed(run, reader->path());
      for (const MissingRuns& runs : absent) checker.missing(runs, reader->path());
      checker.gaps(*reader);
    }
  }
  return result;
}

}  // namespace ulpscope::reports
