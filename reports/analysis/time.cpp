#include "reports/analysis/time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/imported.h"
#include "reports/analysis/statistics.h"
#include "reports/analysis/sums.h"
#include "reports/analysis/time_parts.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {
namespace {

using namespace time_parts;

Figure figure_of(const std::vector<double>& seconds, Provenance provenance) {
  Figure f = figure(median(seconds), provenance);
  f.spread = standard_deviation(seconds);
  if (seconds.size() > 1) {
    f.low = quantile(seconds, 0.25);
    f.high = quantile(seconds, 0.75);
  }
  if (!seconds.empty()) f.samples = std::ssize(seconds);
  return f;
}

template <class Row>
std::vector<double> known(const std::vector<Row>& rows, Number Row::*member) {
  std::vector<double> list;
  for (const Row& row : rows)
    if (row.*member) list.push_back(*(row.*member));
  return list;
}

Provenance wall_provenance(const ModeTime& mode) {
  return mode.emulated ? Provenance::emulated : mode.run.time_provenance == Provenance::unknown ? Provenance::measured : mode.run.time_provenance;
}

void add_steps(ModeTime& mode, const RunFileReader& reader) {
  std::vector<TimingSample> samples = reader.timing_samples(mode.run.id);
  std::erase_if(samples, [](const TimingSample& s) { return s.warm_up; });
  std::vector<StepRecord> steps = reader.steps(mode.run.id);
  const std::set<std::int64_t> counted = counted_steps(reader.completeness(), mode.run.id);   // each of their nodes was waited for
  std::erase_if(steps, [&](const StepRecord& s) { return s.skipped || s.step == 0 || counted.contains(s.step); });
  std::vector<double> wall = known(samples, &TimingSample::wall_seconds);
  mode.step_from = StepSource::timing_phase;
  if (wall.empty()) {
    wall = known(steps, &StepRecord::wall_seconds);
    mode.step_from = wall.empty() ? StepSource::none : StepSource::recorded_steps;
  }
  mode.step = figure_of(wall, wall_provenance(mode));
  std::vector<double> device = known(samples, &TimingSample::device_seconds);
  if (device.empty()) device = known(steps, &StepRecord::device_seconds);
  mode.device_step = figure_of(device, Provenance::measured);
  if (mode.step_from == StepSource::recorded_steps) mode.notes.emplace_back("there is no timing phase: the step is the median of recorded steps, with recording going on");
  if (mode.step_from == StepSource::none) mode.notes.emplace_back("no step was timed");
}

/// What cannot be, and what does not add up.
void add_doubts(ModeTime& mode) {
  if (mode.step.value && mode.nodes_sum.value) {
    const double between = *mode.step.value - *mode.nodes_sum.value;
    if (between >= 0.0) {
      mode.between = figure(between, of_both(mode.step.provenance, mode.nodes_sum.provenance));
      mode.between_share = ratio(mode.between.value, mode.step.value);
    } else if (!mode.device) {   // no time is negative: what lies between them is not known
      mode.notes.push_back(fmt::format("nodes add up to more than the step: they were timed in {} sampled steps of the recorded phase, the step was not", mode.sampled_steps.value_or(0)));
    }
  }
  if (std::string sums = sums_remark(mode.run); !sums.empty()) mode.notes.push_back(std::move(sums));
  if (mode.nodes_from == NodeSource::none)
    mode.notes.emplace_back("no times of nodes are in the file: it is an older one, or timing was off");
  else if (mode.untimed > 0)
    mode.notes.push_back(fmt::format("{} of {} launches have no time: they are in no sum", mode.untimed, mode.nodes.size()));
  if (mode.device && mode.device->without_node > 0)
    mode.notes.push_back(fmt::format("{} of {} kernels belong to no known node", mode.device->without_node, mode.device->kernels));
}

int mode_rank(const std::string& mode) {
  static const std::array<std::string, 8> order{"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32", "fp16_pure", "bf16_pure"};
  return static_cast<int>(std::find(order.begin(), order.end(), mode) - order.begin());
}

/// One run of each mode on each device.
std::vector<RunRecord> chosen_runs(const RunFileReader& reader, const TimeOptions& options) {
  std::set<RunId> trials;
  for (const MendRecord& mend : reader.mends())
    if (mend.trial) trials.insert(*mend.trial);
  std::vector<RunRecord> runs = reader.runs();
  std::erase_if(runs, [&](const RunRecord& run) { return trials.contains(run.id); });
  if (runs.empty()) throw UsageError(fmt::format("there is no run in {}", reader.path()));
  std::set<std::string> modes;
  std::set<std::int64_t> seeds;
  for (const RunRecord& run : runs) modes.insert(run.mode);
  if (!options.mode.empty() && !modes.contains(options.mode)) throw UsageError(fmt::format("there is no run of mode {} in {}; there are {}", options.mode, reader.path(), fmt::join(modes, ", ")));
  for (const RunRecord& run : runs)
    if (options.mode.empty() || run.mode == options.mode) seeds.insert(run.seed);
  if (options.seed && !seeds.contains(*options.seed)) throw UsageError(fmt::format("there is no run of seed {} in {}; there are {}", *options.seed, reader.path(), fmt::join(seeds, ", ")));
  std::map<RunId, bool> timed;
  for (const RunRecord& run : runs) timed[run.id] = !reader.timing_samples(run.id).empty();
  const auto better = [&](const RunRecord& a, const RunRecord& b) {
    // Asked for, then timed, then the least seed.
    const auto rank = [&](const RunRecord& run) { return std::tuple(options.seed && run.seed == *options.seed ? 0 : 1, timed.at(run.id) ? 0 : 1, run.seed, run.id); };
    return rank(a) < rank(b);
  };
  std::vector<RunRecord> chosen;
  for (const RunRecord& run : runs) {
    const auto twin = std::find_if(chosen.begin(), chosen.end(), [&](const RunRecord& c) { return c.mode == run.mode && c.device == run.device && c.device_kind == run.device_kind; });
    if (twin == chosen.end()) chosen.push_back(run);
    else if (better(run, *twin)) *twin = run;
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const RunRecord& a, const RunRecord& b) { return std::pair(mode_rank(a.mode), a.mode) < std::pair(mode_rank(b.mode), b.mode); });
  return chosen;
}

std::string run_name(const std::vector<RunRecord>& runs, const std::optional<RunId>& id) {
  if (!id) return "";
  for (const RunRecord& run : runs)
    if (run.id == *id) return fmt::format("{}, seed {}: ", run.mode, run.seed);
  return fmt::format("run {}: ", static_cast<std::int64_t>(*id));
}

/// What bears on times: all that was dropped or refused, what watching cost, and notes on timing, traces and counters.
std::vector<std::string> recording_notes(const RunFileReader& reader) {
  std::vector<std::string> notes;
  const std::vector<RunRecord> runs = reader.runs();
  for (const CompletenessRecord& row : reader.completeness()) {
    const auto about = [&](std::string_view word) { return row.subject.find(word) != std::string::npos; };
    if (row.kind == "note" && !about("timing") && !about("trace") && !about("kernel") && !about("counter") && !about("CUPTI")) continue;
    std::string words = run_name(runs, row.run) + (row.kind == "note" ? row.subject : row.kind == "observation_cost" ? fmt::format("watching ({}) cost", row.subject) : fmt::format("{} {}", row.subject, row.kind));
    if (row.count) words += fmt::format(": {}", *row.count);
    if (row.seconds) words += fmt::format(": {:.3g} s, {}", *row.seconds, name(row.provenance));
    if (!row.detail.empty()) words += row.kind == "note" && !row.count && !row.seconds ? ": " + row.detail : fmt::format(" ({})", row.detail);
    notes.push_back(std::move(words));
  }
  return notes;
}

}  // namespace

namespace time_parts {

std::string experiment_text(const RunRecord& run) {
  if (const auto other = imported_words(run)) return *other;
  std::string words = fmt::format("{} on {}", run.model.empty() ? "a model" : run.model, run.data.empty() ? "no data" : run.data);
  if (run.steps_planned) words += fmt::format(", {} step{}", *run.steps_planned, *run.steps_planned == 1 ? "" : "s");
  if (run.batch) words += fmt::format(", batch {}", *run.batch);
  if (run.micro_batches && *run.micro_batches != 1) words += fmt::format(" × {} micro-batches", *run.micro_batches);
  if (run.context && *run.context > 0) words += fmt::format(", context {}", *run.context);
  return words;
}

}  // namespace time_parts

std::string_view name(TensorCores value) {
  switch (value) {
    case TensorCores::not_a_product:
      return "not_a_product";
    case TensorCores::none:
      return "none";
    case TensorCores::yes:
      return "yes";
    case TensorCores::no:
      return "no";
    case TensorCores::unknown:
      break;
  }
  return "unknown";
}

std::string_view name(NodeSource source) { return source == NodeSource::kernels ? "kernels" : source == NodeSource::clock ? "node clock" : "none"; }
std::string_view name(StepSource source) { return source == StepSource::timing_phase ? "timing phase" : source == StepSource::recorded_steps ? "recorded steps" : "none"; }

TimeReport time_report(const RunFileReader& reader, const TimeOptions& options) {
  TimeReport report{.file = reader.path()};
  const std::vector<RunRecord> runs = chosen_runs(reader, options);
  report.experiment = time_parts::experiment_text(runs.front());
  const std::vector<DeviceSample> samples = reader.device_samples();
  std::vector<Plan> plans;
  for (const RunRecord& run : runs) {
    ModeTime mode{.run = run};
    mode.emulated = run.time_provenance == Provenance::emulated || (run.device_kind == "cpu" && run.mode != "fp32");
    plans.push_back(read_plan(reader, run));
    add_steps(mode, reader);
    add_nodes(mode, plans.back(), reader);
    add_rates(mode, plans.back());
    add_categories(mode);
    add_doubts(mode);
    add_trust(mode);
    add_condition(mode, samples);
    add_imported(mode, reader);
    report.modes.push_back(std::move(mode));
  }
  for (std::size_t i = 0; i < report.modes.size(); ++i) {
    ModeTime& mode = report.modes[i];
    const auto fp32 = std::find_if(report.modes.begin(), report.modes.end(), [&](const ModeTime& m) { return m.run.mode == "fp32" && m.run.device == mode.run.device && m.run.device_kind == mode.run.device_kind; });
    const ModeTime* reference = fp32 == report.modes.end() ? nullptr : &*fp32;
    const RunResult result = summarise_run(reader, mode.run);
    add_ledger(mode, plans[i], result, reference);
    add_bound(mode, plans[i], reference);
    add_reasons(mode, plans[i], result, reference);
    if (mode.run.mode != "fp32" && reference == nullptr) mode.notes.emplace_back("there is no fp32 run on this device in the file: nothing can be held against it");
  }
  std::erase_if(report.modes, [&](const ModeTime& mode) { return (!options.mode.empty() && mode.run.mode != options.mode) || (options.seed && mode.run.seed != *options.seed); });
  report.notes = recording_notes(reader);
  return report;
}

}  // namespace ulpscope::reports
