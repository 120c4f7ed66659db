#include "profiler/experiment/past.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "profiler/experiment/checkpoints.h"
#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/run_record.h"
#include "profiler/experiment/timing.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

using reports::RunFileReader;
using reports::RunStatus;

reports::ExperimentRecord recorded(const RunFileReader& file) {
  auto record = file.experiment();
  if (!record)
    throw UsageError(fmt::format("{}: the recording was cut off before its experiment was written down: run it again with --force",
                                 file.path()));
  return std::move(*record);
}

Experiment parsed(const RunFileReader& file) {
  const reports::ExperimentRecord record = recorded(file);
  Settings settings;
  settings.add_text(record.configuration, file.path());
  Experiment experiment = settings.build();
  experiment.name = record.name;
  return experiment;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line, table; std::getline(in, line);) {
    if (line.starts_with("[")) table = line;
    lines.push_back(line.starts_with("[") ? line : table + " " + line);
  }
  return lines;
}

void refuse_other_experiment(const RunFileReader& file, const Experiment& experiment) {
  const std::string there = comparable_toml(parsed(file)), here = comparable_toml(experiment);
  if (there == here) return;
  const std::vector<std::string> a = lines_of(there), b = lines_of(here);
  std::vector<std::string> only_here;
  for (const std::string& line : b)
    if (std::find(a.begin(), a.end(), line) == a.end()) only_here.push_back(line);
  throw UsageError(fmt::format("{} holds another experiment: it does not have {}", file.path(),
                               only_here.empty() ? "these settings" : fmt::format("{}", fmt::join(only_here, ", "))));
}

std::string member(const std::string& document, const char* key) {
  const auto parsed = nlohmann::json::parse(document, nullptr, false);
  if (!parsed.is_object() || !parsed.contains(key)) return "unknown";
  return parsed[key].is_string() ? parsed[key].get<std::string>() : parsed[key].dump();
}

/// What may change a bit, by name.
std::vector<std::pair<std::string, std::string>> environment(const reports::MachineRecord& machine, const reports::RunRecord& run) {
  return {{"processor", machine.processor},
          {"instruction set", member(run.kernel_choices_json, "instruction_set")},
          {"library of the matrix products", member(run.kernel_choices_json, "matmul")},
          {"threads", member(run.kernel_choices_json, "threads")},
          {"ulpscope", fmt::format("{} {}", member(run.versions_json, "ulpscope"), member(run.versions_json, "commit"))},
          {"compiler", member(run.versions_json, "compiler")}};
}

std::vector<std::string> differences(const RunFileReader& file, const Runner& runner) {
  std::vector<std::string> found;
  const auto machines = file.machines();
  const auto here_machine = runner.machine();
  for (const reports::RunRecord& run : file.runs()) {
    const auto machine = std::find_if(machines.begin(), machines.end(), [&](const auto& m) { return m.id == run.machine; });
    const auto there = environment(machine == machines.end() ? reports::MachineRecord{} : *machine, run);
    const auto here = environment(here_machine, runner.record_now());
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (there[i].second == here[i].second) continue;
      std::string words = fmt::format("{} {}, here {}", here[i].first, there[i].second, here[i].second);
      if (std::find(found.begin(), found.end(), words) == found.end()) found.push_back(std::move(words));
    }
  }
  return found;
}

/// Whether rows 0 to `steps` - 1 are all there: a power cut can lose the last of those that were written.
bool whole(const std::vector<reports::StepRecord>& steps, std::int64_t count) {
  return std::count_if(steps.begin(), steps.end(), [&](const auto& s) { return s.step < count; }) == count;
}

constexpr std::int64_t steps_at_a_time = 256;   ///< a step can have thousands of rows

/// From the rows themselves, which a kill leaves as they are.
PastCounts counts_of(const RunFileReader& file, reports::RunId run, std::int64_t kept) {
  PastCounts counts;
  for (std::int64_t first = 0; first < kept; first += steps_at_a_time) {
    const reports::StepRange range{.first = first, .end = std::min(first + steps_at_a_time, kept)};
    std::set<std::int64_t> observed, shadow;
    for (const auto& row : file.tensor_stats(run, range)) {
      if (row.observation == "shadow") {
        shadow.insert(row.step);
        continue;
      }
      if (row.observation == "sampled") observed.insert(row.step);
      ++counts.rows;
    }
    counts.observed += std::ssize(observed);
    counts.shadow += std::ssize(shadow);
    counts.ranges += std::ssize(file.ranges(run, range));
  }
  for (const auto& event : file.events(run, {.first = 0, .end = kept})) {
    const std::string what = event.kind == reports::event_kind::replay ? member(event.detail_json, "what") : "";
    counts.replays += what == "same" || what == "differs" ? 1 : 0;
  }
  for (const auto& note : file.completeness()) {
    if (note.run != run || note.kind != "note" || note.subject != "checkpoints") continue;
    counts.checkpoints += note.count.value_or(0);
    counts.checkpoint_seconds += note.seconds.value_or(0.0);
  }
  return counts;
}

class PastReader {
 public:
  PastReader(const RunFileReader& file, const Runner& runner) : file_(file), runner_(runner), checkpoints_(file.path()) {}

  Past read() {
    for (const reports::RunRecord& run : file_.runs()) add(run);
    for (const RunInfo& run : runner_.runs())
      if (!past_.runs.contains(run.id)) open_ = true;
    if (!open_ && timed()) throw UsageError(fmt::format("{} has ended: every run in it is finished or failed, there is nothing to resume", file_.path()));
    past_.rewind.timing = true;
    return std::move(past_);
  }

 private:
  void add(const reports::RunRecord& record) {
    const std::vector<RunInfo> planned = runner_.runs();
    const auto run = std::find_if(planned.begin(), planned.end(), [&](const RunInfo& r) { return r.id == record.id; });
    if (run == planned.end()) return;   // a trial
    PastRun past;
    past.record = record;
    if (member(record.data_json, "fingerprint") != member(runner_.record_now().data_json, "fingerprint") && !record.data_json.empty())
      throw UsageError(fmt::format("{}: the data are no longer what they were when it was recorded ({}): going on would mix two", file_.path(), record.data));
    const bool failed = record.status == RunStatus::failed;
    past.ended = record.status == RunStatus::finished || (failed && !checkpoints_.has(record.id));
    if (past.ended) {
      for (const auto& row : file_.memory(record.id, reports::MemoryKind::peak))
        past.peak_bytes = std::max(past.peak_bytes, row.total_bytes.value_or(0));
    } else {
      open_ = true;
      go_on(*run, past);
    }
    past_.runs.emplace(record.id, std::move(past));
  }

  void go_on(const RunInfo& run, PastRun& past) {
    std::string remark;
    past.state = checkpoints_.load(runner_.label(run), &remark);
    const std::string who = fmt::format("{}, seed {}", run.mode.name, run.seed);
    if (!remark.empty()) past_.remarks.push_back(fmt::format("{}: {}", who, remark));
    const std::vector<reports::StepRecord> steps = file_.steps(run.id);
    if (past.state && !whole(steps, past.state->iteration)) {
      past_.remarks.push_back(fmt::format("{}: rows of steps before its checkpoint are missing: it begins again", who));
      past.state.reset();
    } else if (past.state) {
      past_.remarks.push_back(past.state->iteration < run.steps
                                  ? fmt::format("{}: goes on at step {}", who, past.state->iteration + 1)
                                  : fmt::format("{}: goes on after its last step", who));
    } else if (!steps.empty()) {
      past_.remarks.push_back(fmt::format("{}: there is no checkpoint of it: it begins again", who));
    }
    const std::int64_t kept = past.state ? past.state->iteration : 0;
    for (const reports::StepRecord& step : steps) {
      if (step.step >= kept || !step.loss) continue;
      past.watch.see(step.step, *step.loss, step.skipped, false, step.learning_rate.value_or(1.0));
      past.replays.wanted(static_cast<float>(*step.loss), step.finite);
    }
    if (kept > 0) past.counts = counts_of(file_, run.id, kept);
    past_.rewind.runs.push_back({run.id, kept});
  }

  std::int64_t timing_steps() const { return runner_.experiment().run.timing_steps; }

  /// Whether the first finished run of every mode was timed, or it was said why not.
  bool timed() const {
    if (timing_steps() == 0) return true;
    const auto notes = file_.completeness();
    std::set<std::string> seen;
    for (const auto& [id, past] : past_.runs) {
      if (past.record.status != RunStatus::finished || !seen.insert(past.record.mode).second) continue;
      const bool said = std::any_of(notes.begin(), notes.end(), [&, run = id](const auto& n) { return n.run == run && n.subject == "timing"; });
      if (!said && std::ssize(file_.timing_samples(id)) < warm_up_steps + timing_steps()) return false;
    }
    return true;
  }

  const RunFileReader& file_;
  const Runner& runner_;
  Checkpoints checkpoints_;
  Past past_;
  bool open_ = false;
};

}  // namespace

Experiment recorded_experiment(const std::string& run_file) {
  const RunFileReader file(run_file);
  if (file.live()) throw UsageError(fmt::format("{} is being written by another process", file.path()));
  return parsed(file);
}

Past read_past(const std::string& run_file, const Runner& runner, bool accept_different_bits) {
  const RunFileReader file(run_file);
  recorded(file);
  refuse_other_experiment(file, runner.experiment());
  const std::vector<std::string> other = differences(file, runner);
  if (!other.empty() && !accept_different_bits)
    throw UsageError(fmt::format("{} was recorded where other bits may come out: {}; --accept-different-bits goes on all the same",
                                 run_file, fmt::join(other, "; ")));
  Past past = PastReader(file, runner).read();
  past.differences = other;
  const auto machines = file.machines();
  if (!machines.empty()) past.machine = machines.back().id;
  if (!other.empty() || machines.empty())
    past.machine = static_cast<reports::MachineId>(static_cast<std::int64_t>(past.machine) + (machines.empty() ? 0 : 1));
  return past;
}

}  // namespace ulpscope::profiler
