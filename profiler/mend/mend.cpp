#include "profiler/mend/mend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/past.h"
#include "profiler/mend/session.h"
#include "reports/analysis/imported.h"
#include "reports/run_file/schema.h"
#include "reports/run_file/writer.h"

namespace ulpscope::profiler {
namespace {

using reports::Outcome;
using reports::RunDiagnosis;

/// Hours of trials are not begun for a file that cannot take their results.
void check_file(const reports::RunFileReader& file) {
  if (file.live()) throw UsageError(fmt::format("{} is being written by another process", file.path()));
  if (file.schema() != reports::schema_version)
    throw UsageError(fmt::format("{} has schema {}: mends are added to files of schema {} only; run its experiment again", file.path(), file.schema(), reports::schema_version));
  if (access(file.path().c_str(), W_OK) != 0)
    throw UsageError(fmt::format("{} cannot be written, and mends are kept in it: {}", file.path(), std::strerror(errno)));
  // Every table has to be there, whole, for results to be added: reading says which is not.
  file.experiment();
  file.machines();
  file.mends();
  file.completeness();
  for (const std::string& table : reports::table_names()) file.rows(table);
}

/// What a run file says of itself.
std::string said_by(const reports::RunFileReader& file) {
  const reports::ExperimentRecord of = file.experiment().value_or(reports::ExperimentRecord{});
  return fmt::format("{}\n{}\n{}", of.name, of.created, of.configuration);
}

/// Trials take minutes, and somebody else may give the name to another file meanwhile, or write another one over it.
void check_same(const std::string& path, const MendResult& result) {
  if (!result.file) return;
  std::string fate = result.file->name.fate();
  if (fate.empty() && said_by(reports::RunFileReader(path)) != result.file->said) fate = "written over with another recording";
  if (!fate.empty()) throw Error(fmt::format("{} was {} during the trials", path, fate));
}

/// What another program trained is not there to be trained again.
void check_own(const reports::RunFileReader& file) {
  for (const reports::RunRecord& run : file.runs())
    if (const auto from = reports::imported(run))
      throw UsageError(fmt::format("{}: its {} (imported from {}) cannot be mended: it cannot be trained again here; ulpscope diagnose says what it shows", file.path(),
                                   from->trace ? "trace" : "training log", from->file));
}

bool faulty(const RunDiagnosis& run) { return run.outcome == Outcome::fatal || run.outcome == Outcome::damaged || !faults_of(run).empty(); }

std::string title(const RunDiagnosis& run) { return fmt::format("{} seed {}", run.run.mode, run.run.seed); }

/// The one that fares worst, the first of equals; null: none has a fault.
const RunDiagnosis* worst(const std::vector<RunDiagnosis>& runs) {
  const RunDiagnosis* chosen = nullptr;
  const auto rank = [](const RunDiagnosis& run) { return run.outcome == Outcome::fatal ? 2 : run.outcome == Outcome::damaged ? 1 : 0; };
  for (const RunDiagnosis& run : runs)
    if (faulty(run) && !faults_of(run).empty() && (chosen == nullptr || rank(run) > rank(*chosen))) chosen = &run;
  return chosen;
}

std::string nothing_to_mend(const std::vector<RunDiagnosis>& runs) {
  std::vector<std::string> words;
  for (const RunDiagnosis& run : runs) {
    std::string what(name(run.outcome));
    if (run.outcome == Outcome::not_observed) what = "not observed, and its steps went well";
    if (run.outcome == Outcome::untrained)
      what = "untrained: no step was applied so far, and nothing says that none will be; more steps, or a lower first loss scale (train.scaler.init), tell more";
    if (run.outcome == Outcome::harmless) what = "harmless: what left its format reaches nothing that counts";
    words.push_back(fmt::format("{} is {}", title(run), what));
  }
  return fmt::format("nothing to mend: {}", fmt::join(words, "; "));
}

std::string fingerprint(const std::string& data_json) {
  const auto parsed = nlohmann::json::parse(data_json, nullptr, false);
  return parsed.is_object() && parsed.contains("fingerprint") && parsed["fingerprint"].is_string() ? parsed["fingerprint"].get<std::string>() : "";
}

/// In one mode and with one seed, nothing but its training; what was looked at is looked at.
Experiment alone(Experiment experiment, const RunDiagnosis& run) {
  experiment.run.modes = {run.run.mode};
  experiment.run.seeds = 1;
  experiment.run.seed = run.run.seed;
  experiment.run.timing_steps = 0;
  experiment.run.checkpoint_every = -1;
  experiment.run.save_weights = false;
  experiment.run.output.clear();
  if (experiment.observe.every == 0 && !experiment.observe.replay) experiment.observe.replay = true;   // nothing would be seen
  return experiment;
}

/// The last checkpoint of a run that did not end, if it lies before the fault.
std::optional<engine::TrainerState> checkpoint_before(const std::string& run_file, const Runner& runner, const RunDiagnosis& run) {
  for (const RunInfo& info : runner.runs()) {
    if (info.id != run.run.id) continue;
    try {
      std::optional<engine::TrainerState> state = Checkpoints(run_file).load(runner.label(info));
      const std::vector<Fault> faults = faults_of(run);
      const bool before = state && state->iteration > 0 && std::all_of(faults.begin(), faults.end(), [&](const Fault& f) { return f.step.value_or(0) >= state->iteration; });
      if (before) return state;
    } catch (const Error&) {   // of something else, or damaged: the start will do
    }
  }
  return std::nullopt;
}

/// Faults that are told by comparing with fp32.
bool shows_beside_fp32(const RunDiagnosis& run) {
  const std::vector<Fault> faults = faults_of(run);
  return std::any_of(faults.begin(), faults.end(), [](const Fault& f) { return f.kind == reports::Kind::exact_zero_loss || f.kind == reports::Kind::no_gradient; });
}

/// The run is in fp32, or one of fp32 in the file has a fault, too.
bool fp32_fails(const reports::RunFileReader& file, const RunDiagnosis& chosen) {
  if (chosen.run.mode == "fp32") return true;
  const std::vector<reports::RunRecord> all = file.runs();
  if (std::none_of(all.begin(), all.end(), [](const reports::RunRecord& run) { return run.mode == "fp32"; })) return false;
  const std::vector<RunDiagnosis> runs = reports::diagnose(file, {.step = {}, .mode = "fp32", .seed = {}}).runs;
  return std::any_of(runs.begin(), runs.end(), faulty);
}

/// Of the search for nodes, and of all changes together, there is one result.
bool same_change(const reports::MendRecord& a, const reports::MendRecord& b) {
  return a.kind == b.kind && (a.change == b.change || a.kind == "keep_fp32" || a.kind == "together");
}

struct Kept {
  reports::MendRecord record;
  bool earlier = false;   ///< of an earlier mend
};

/// What was tried before, and was not come to this time, stays.
std::vector<Kept> with_earlier(const std::vector<reports::MendRecord>& now, const std::vector<reports::MendRecord>& before) {
  const auto tried = [](const reports::MendRecord& m) { return m.status != reports::MendStatus::not_tried; };
  std::vector<Kept> all;
  for (const reports::MendRecord& record : now) all.push_back({record});
  if (std::all_of(now.begin(), now.end(), tried)) return all;
  for (const reports::MendRecord& earlier : before) {
    if (!tried(earlier)) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Kept& k) { return same_change(k.record, earlier); });
    if (same == all.end()) all.push_back({earlier, true});
    else if (!tried(same->record)) *same = {earlier, true};
  }
  return all;
}

}  // namespace

MendResult mend(const std::string& run_file, const MendOptions& options, const std::function<bool()>& interrupted,
                const std::function<void(const std::string&)>& say) {
  const Budget budget(options.budget_seconds, interrupted);
  MendResult result;
  std::vector<RunDiagnosis> runs;
  {
    const reports::RunFileReader file(run_file);
    check_own(file);
    check_file(file);
    result.file = MendedFile{NamedFile(run_file), said_by(file)};
    runs = reports::diagnose(file, {.step = {}, .mode = options.mode, .seed = options.seed}).runs;
  }
  const RunDiagnosis* const chosen = worst(runs);
  if (chosen == nullptr) {
    result.notes.push_back(nothing_to_mend(runs));
    return result;
  }
  for (const RunDiagnosis& run : runs)
    if (&run != chosen && faulty(run)) result.notes.push_back(fmt::format("{} is {} too: --mode {} --seed {}", title(run), name(run.outcome), run.run.mode, run.run.seed));

  Runner runner(recorded_experiment(run_file));
  const std::string then = fingerprint(chosen->run.data_json);
  if (!then.empty() && then != fingerprint(runner.record_now().data_json))
    throw UsageError(fmt::format("{}: the data are no longer what they were when it was recorded ({}): trials would not be of the same experiment", run_file, chosen->run.data));
  Patient patient{*chosen, alone(runner.experiment(), *chosen), checkpoint_before(run_file, runner, *chosen), {}, {}, {}};
  patient.around = {scale_limits(reports::RunFileReader(run_file), *chosen), fp32_fails(reports::RunFileReader(run_file), *chosen)};
  if (chosen->skipped > 0 || chosen->outcome == reports::Outcome::fatal) patient.last_shown = last_shown(reports::RunFileReader(run_file).steps(chosen->run.id));
  // A change that leaves nothing to learn mends nothing: that shows beside fp32 alone.
  patient.fp32 = fp32_twin(reports::RunFileReader(run_file), chosen->run.seed, shows_beside_fp32(*chosen));
  Session session(patient, runner, budget, say);
  const Session::Baseline baseline = session.run_baseline();
  result.interrupted = budget.interrupted();
  result.machine_fault = session.machine_fault();
  const auto did_not_come_back = [&] {
    result.notes.insert(result.notes.begin(),
                        fmt::format("the fault did not come back: {} of {} in a run of the unchanged experiment on this machine, {}; no change is to be judged",
                                    session.faults().empty() ? std::string("nothing") : "not " + faults_of(*chosen).front().words(), title(*chosen), session.baseline_length()));
    return result;
  };
  if (baseline == Session::Baseline::does_not) return did_not_come_back();
  if (baseline == Session::Baseline::no_time && result.interrupted) return result;
  result.records = session.try_changes();
  result.interrupted = budget.interrupted();
  result.machine_fault = session.machine_fault();
  if (baseline == Session::Baseline::comes_back && !session.comes_back()) return did_not_come_back();
  result.run = chosen->run.id;
  result.stopped = !result.machine_fault.empty() ? result.machine_fault : budget.over() ? budget.why() : "";
  if (result.records.empty())
    result.notes.insert(result.notes.begin(), fmt::format("{}: {}: no change that could be run is known for this", title(*chosen), words(session.faults())));
  return result;
}

std::vector<reports::MendId> record_mends(const std::string& run_file, const MendResult& result) {
  if (!result.run || result.records.empty()) return {};
  check_same(run_file, result);
  std::int64_t next = 1;
  std::vector<reports::MendRecord> before;
  for (const reports::MendRecord& mend : reports::RunFileReader(run_file).mends()) {
    if (mend.run == result.run) before.push_back(mend);
    else next = std::max(next, static_cast<std::int64_t>(mend.id) + 1);
  }
  reports::RunFileWriter writer(run_file, {.append = true, .rewind = [&] {
                                             check_same(run_file, result);
                                             reports::Rewind rewind;
                                             rewind.mends = {*result.run};
                                             return rewind;
                                           }});
  std::vector<reports::MendId> earlier;
  for (Kept& kept : with_earlier(result.records, before)) {
    kept.record.id = static_cast<reports::MendId>(next++);
    if (kept.earlier) earlier.push_back(kept.record.id);
    writer.push(std::move(kept.record));
  }
  writer.close();
  return earlier;
}

}  // namespace ulpscope::profiler
