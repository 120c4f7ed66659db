// What a run file says of its modes: loss, range, rounding, memory, and times where they were measured on the device that is asked about.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "kernels/error.h"
#include "reports/analysis/advice.h"
#include "reports/analysis/advice_runs.h"
#include "reports/analysis/advice_words.h"
#include "reports/analysis/calibration.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/likeness.h"
#include "reports/analysis/mends.h"
#include "reports/hardware/table.h"

namespace ulpscope::reports {
namespace {

using advice_parts::note;
using advice_parts::plain_name;

/// How --accumulate names the matrix units of this generation.
std::string unit_of(const Gpu& gpu) {
  std::string unit = gpu.architecture;
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return unit == "volta" ? "v100" : unit;
}

/// Of one setting, a mode once.
std::vector<const ModeResult*> chosen(const Comparison& comparison, const std::string& tag, const GpuProjection* there, std::vector<std::string>& notes) {
  const std::string unit = there == nullptr ? "" : unit_of(there->gpu);
  const auto rank = [&](const ModeResult& m) { return m.sums.empty() ? 1 : m.sums == unit ? 0 : 2; };
  std::vector<const ModeResult*> list;
  for (const ModeResult& mode : comparison.modes) {
    if (mode.tag != tag || mode.runs.empty()) continue;
    const auto known = std::find_if(list.begin(), list.end(), [&](const ModeResult* m) { return plain_name(m->mode) == plain_name(mode.mode); });
    if (known == list.end()) list.push_back(&mode);
    else if (rank(mode) < rank(**known)) *known = &mode;
  }
  for (const ModeResult* mode : list)
    if (!mode->sums.empty()) note(notes, fmt::format("{}: its numbers are those of a run with the sums of {}'s matrix units, emulated", plain_name(mode->mode), mode->sums));
  return list;
}

/// Of the launches of a plan the cast that writes most, and what a cast before its source is expanded would write.
std::string greatest_cast(const time_parts::Plan& plan) {
  const NodeRecord* greatest = nullptr;
  for (const NodeRecord& node : plan.nodes)
    if (node.operation == "cast" && node.materialised && node.bytes_written && (greatest == nullptr || *node.bytes_written > *greatest->bytes_written)) greatest = &node;
  if (greatest == nullptr) return "";
  std::string words = fmt::format("{} writes {}", greatest->name, advice_parts::gb(static_cast<double>(*greatest->bytes_written)));
  const auto source = plan.feeds.find({greatest->id, 0});
  if (source == plan.feeds.end() || !plan.index.contains(source->second.from)) return words;
  const NodeRecord& before = plan.node(source->second.from);
  if (before.operation != "expand" || before.inputs.empty() || greatest->outputs.empty()) return words;
  const Count narrow = time_parts::tensor_bytes(before.inputs.front().shape, greatest->outputs.front().format);
  return narrow ? fmt::format("{}; cast before {} expands it: {}", words, before.name, advice_parts::gb(static_cast<double>(*narrow))) : words;
}

void add_plan(ModeEvidence& e, const PlannedMode& planned) {
  e.batch = planned.batch;
  e.parameters = planned.parameters;
  e.cast_words = greatest_cast(planned.plan);
}

/// Whether the table means the same by both.
bool same_device(const std::string& device, const Gpu& gpu) {
  const Gpu* entry = gpu_table().of_device(device);
  const Gpu* asked = gpu_table().of_device(gpu.name);
  return device == gpu.name || (entry != nullptr && (entry->name == gpu.name || (asked != nullptr && asked->name == entry->name)));
}

/// Steps that were timed on GPUs.
struct Timed {
  const RunFileReader* reader;
  std::vector<MeasuredRun> runs{};
  TimeReport report{};  ///< empty: there are no such runs
  /// made: of this file and others, or null.
  Timed(const RunFileReader& of, const std::vector<TimeReport>* made) : reader(&of) {
    std::vector<std::string> left_out;
    const auto known = made == nullptr ? nullptr : find_report(*made);
    if (known != nullptr) report = *known;
    else report = time_report(of);
    runs = measured_runs(of, report, left_out);
  }

 private:
  const TimeReport* find_report(const std::vector<TimeReport>& made) const {
    const auto found = std::find_if(made.begin(), made.end(), [&](const TimeReport& t) { return t.file == reader->path(); });
    return found == made.end() ? nullptr : &*found;
  }
};

/// What is read of the files, whatever device is asked about: once.
class Sources {
 public:
  Sources(const AdviceInput& input, std::vector<std::string>& notes) : made_(input.made) {
    if (made_ == nullptr) {
      from_.readers = {input.reader};
      own_.emplace(compare(from_.readers));
      own_diagnoses_.push_back(diagnose(*input.reader));
      if (own_->settings.size() > 1) note(notes, "the file holds runs that are not alike: those of the first setting are weighed");
    } else {
      from_.readers = made_->readers;
    }
    from_.diagnoses = made_ == nullptr ? &own_diagnoses_ : made_->diagnoses;
    for (const RunFileReader* reader : from_.readers) from_.mends.push_back(mends(*reader));
    from_.everywhere = advice_parts::damage_in_fp32(comparison(), tag(), *from_.diagnoses, notes);
  }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  const Comparison& comparison() const { return made_ == nullptr ? *own_ : *made_->comparison; }
  std::string tag() const { return made_ == nullptr ? own_->modes.front().tag : made_->tag; }
  const ModeEvidence& of(const ModeResult& result) {
    const auto [place, fresh] = modes_.try_emplace(&result);
    if (fresh) place->second = advice_parts::evidence_of_runs(result, from_);
    return place->second;
  }
  const Timed& timed(const RunFileReader& reader) {
    const auto known = timed_.find(&reader);
    return known != timed_.end() ? known->second : timed_.emplace(&reader, Timed(reader, made_ == nullptr ? nullptr : made_->times)).first->second;
  }

 private:
  const AdviceSources* made_;
  std::optional<Comparison> own_{};
  std::vector<Diagnosis> own_diagnoses_{};
  advice_parts::RunSources from_{};
  std::map<const ModeResult*, ModeEvidence> modes_{};
  std::map<const RunFileReader*, Timed> timed_{};
};

/// From what the measured step of a mode is.
using TimedFrom = std::map<std::string, StepSource>;

/// Steps that were timed on this device, in a run of the same experiment. The timing phase comes before recorded steps.
void add_measured(std::vector<ModeEvidence>& modes, TimedFrom& from, const Timed& timed, const Likeness& like, const Gpu& gpu, std::vector<std::string>& notes) {
  for (const MeasuredRun& run : timed.runs) {
    if (!run.step_seconds || !same_device(run.run.device, gpu)) continue;
    if (const auto differ = differences(like, likeness(run.run)); !differ.empty()) {
      note(notes, fmt::format("{}: {} is another experiment ({}): its times are used for the projection alone", timed.reader->path(), run.run.mode, fmt::join(differ, ", ")));
      continue;
    }
    const auto time = std::find_if(timed.report.modes.begin(), timed.report.modes.end(), [&](const ModeTime& m) { return m.run.id == run.run.id; });
    const auto mode = std::find_if(modes.begin(), modes.end(), [&](const ModeEvidence& e) { return e.mode == run.run.mode; });
    if (time == timed.report.modes.end() || mode == modes.end() || !time->step.value) continue;
    if (mode->measured.value && (from[mode->mode] == StepSource::timing_phase || time->step_from != StepSource::timing_phase)) continue;
    mode->measured = time->step;
    mode->measured.provenance = Provenance::measured;
    from[mode->mode] = time->step_from;
  }
}

/// Recorded steps have the recording going on in them: beside modes with a timing phase they are no measure.
void drop_other_kind(std::vector<ModeEvidence>& modes, const TimedFrom& from, std::vector<std::string>& notes) {
  const auto phase = [](const auto& of) { return of.second == StepSource::timing_phase; };
  if (std::none_of(from.begin(), from.end(), phase)) return;
  for (ModeEvidence& e : modes) {
    const auto of = from.find(e.mode);
    if (of == from.end() || phase(*of)) continue;
    e.measured = {};
    note(notes, fmt::format("{} has no timing phase, others have: its recorded steps are not held against theirs", e.mode));
  }
}

void add_device(std::vector<ModeEvidence>& modes, Sources& sources, const AdviceInput& input, const GpuProjection& there, std::vector<std::string>& notes) {
  for (ModeEvidence& e : modes)
    for (const ModeProjection& p : there.modes) {
      if (p.mode != e.mode) continue;
      e.projected = p.step;
      e.beside = p.beside;
      e.no_time = p.no_time;
      e.memory = p.memory;
      e.plan_bytes = p.plan_bytes;
      e.fits = p.fits;
      e.largest_batch = p.largest_batch;
      e.batch_capped = p.batch_capped;
      if (p.step.value) e.launch_share = p.limited[static_cast<std::size_t>(Limit::launch)];
    }
  const std::string tag = sources.tag();
  const std::vector<ModeResult>& all = sources.comparison().modes;
  const auto own = std::find_if(all.begin(), all.end(), [&](const ModeResult& m) { return m.tag == tag && !m.runs.empty(); });
  const Likeness like = likeness(own == all.end() || input.made == nullptr ? input.reader->runs().front() : own->runs.front().run);
  TimedFrom from;
  add_measured(modes, from, sources.timed(*input.reader), like, there.gpu, notes);
  for (const RunFileReader* other : input.measured) add_measured(modes, from, sources.timed(*other), like, there.gpu, notes);
  drop_other_kind(modes, from, notes);
}

std::vector<ModeEvidence> gather(Sources& sources, const AdviceInput& input, const GpuProjection* there, std::vector<std::string>& notes) {
  std::vector<ModeEvidence> modes;
  for (const ModeResult* result : chosen(sources.comparison(), sources.tag(), there, notes)) modes.push_back(sources.of(*result));
  const auto of = [&](const std::string& mode) -> ModeEvidence& {
    const auto known = std::find_if(modes.begin(), modes.end(), [&](const ModeEvidence& e) { return e.mode == mode; });
    if (known != modes.end()) return *known;
    modes.push_back({.mode = mode});
    return modes.back();
  };
  for (const PlannedMode& planned : input.planned) add_plan(of(planned.mode), planned);
  if (input.predicted)
    for (const ModePrediction& p : input.predicted->modes)
      if (p.asked)
        if (ModeEvidence& e = of(p.mode); e.from.empty()) advice_parts::add_prediction(e, p);
  if (there != nullptr) add_device(modes, sources, input, *there, notes);
  return modes;
}

}  // namespace

std::vector<ModeEvidence> gather_evidence(const AdviceInput& input, const GpuProjection* there, std::vector<std::string>& notes) {
  Sources sources(input, notes);
  return gather(sources, input, there, notes);
}

Advice advise(const AdviceInput& input) {
  const RunFileReader& reader = *input.reader;
  if (reader.runs().empty()) throw UsageError(fmt::format("there is no run in {}", reader.path()));
  Advice advice{.file = reader.path()};
  advice.experiment = time_parts::experiment_text(reader.runs().front());
  Sources sources(input, advice.notes);
  if (input.projection.gpus.empty()) {
    advice.devices.push_back(advise_numerics(gather(sources, input, nullptr, advice.notes)));
    std::vector<std::string> names;
    for (const Gpu& gpu : gpu_table().gpus()) names.push_back(gpu.name);
    if (input.made == nullptr) note(advice.notes, fmt::format("GPUs of the table: {}", fmt::join(names, ", ")));
  }
  for (const GpuProjection& there : input.projection.gpus) {
    DeviceAdvice device = advise_on(there.gpu, gather(sources, input, &there, advice.notes));
    device.asked = there.asked;
    advice.devices.push_back(std::move(device));
  }
  for (const std::string& run : input.projection.calibrated_by) note(advice.notes, "the projection is fitted to " + run);
  if (!input.projection.gpus.empty() && input.projection.calibrated_by.empty()) note(advice.notes, "no measured run on a GPU: what share of a peak is reached is assumed in every projected time");
  for (const std::string& words : input.projection.notes) note(advice.notes, words);
  return advice;
}

}  // namespace ulpscope::reports
