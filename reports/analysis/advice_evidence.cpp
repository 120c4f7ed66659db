// What a run file says of its modes: loss, range, rounding, memory, and times where they were measured on the device that is asked about.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/advice.h"
#include "reports/analysis/advice_words.h"
#include "reports/analysis/calibration.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/likeness.h"
#include "reports/analysis/mends.h"
#include "reports/analysis/statistics.h"
#include "reports/hardware/table.h"

namespace ulpscope::reports {
namespace {

void note(std::vector<std::string>& notes, std::string text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
}

/// Up to its first full stop.
std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

std::string plain_name(const std::string& mode) { return mode.substr(0, mode.find('@')); }

enum class Bucket : std::uint8_t { overflow, flushed, lost, other };

Bucket bucket_of(Kind kind) {
  switch (kind) {
    case Kind::activation_too_large:
    case Kind::weight_too_large:
    case Kind::gradient_too_large_for_scale:
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
    case Kind::reduction_too_long:
    case Kind::divisor_overflowed:
    case Kind::norm_overflowed:
    case Kind::clip_overflowed:
    case Kind::unscale_overflowed:
    case Kind::update_overflowed:
    case Kind::scale_floor: return Bucket::overflow;
    case Kind::gradient_below_range: return Bucket::flushed;
    case Kind::update_lost:
    case Kind::weight_decay_lost:
    case Kind::beta_vanished:
    case Kind::sum_stuck:
    case Kind::no_master_weights: return Bucket::lost;
    default: return Bucket::other;
  }
}

Trouble& finding_of(ModeEvidence& e, Bucket bucket) {
  switch (bucket) {
    case Bucket::overflow: return e.overflow;
    case Bucket::flushed: return e.flushed;
    case Bucket::lost: return e.lost;
    case Bucket::other: break;
  }
  return e.other;
}

/// The first that is found is kept: causes come gravest first.
void find(Trouble& finding, Provenance provenance, std::string words) {
  if (finding.known != Known::found) finding = {Known::found, provenance, std::move(words)};
}

void looked(ModeEvidence& e, Provenance provenance) {
  for (Trouble* finding : {&e.overflow, &e.flushed, &e.lost, &e.other})
    if (finding->known == Known::unknown) *finding = {Known::clean, provenance, ""};
}

bool harms(const Cause& cause) { return cause.gravity == Gravity::fatal || cause.gravity == Gravity::damage; }

std::string scale_words(const Number& scale) { return scale ? fmt::format("{:.4g}", *scale) : std::string("any"); }

/// everywhere: kinds of damage that fp32 has, too; they are no matter of precision.
void add_diagnosis(ModeEvidence& e, const RunDiagnosis& run, const std::set<Kind>& everywhere) {
  for (const Cause& cause : run.causes) {
    if (!harms(cause)) continue;
    const Bucket bucket = bucket_of(cause.kind);
    if (bucket == Bucket::other && cause.gravity == Gravity::damage && everywhere.contains(cause.kind)) continue;
    find(finding_of(e, bucket), Provenance::counted, first_sentence(cause.what));
  }
  if (e.mode.starts_with("fp16") && e.scaling_known && !e.scaled)
    for (const LayerRoom& layer : run.layers)
      if (layer.flushed.value_or(0.0) > 0.0) find(e.flushed, Provenance::counted, fmt::format("{:.3g} % of {}'s that are not 0", 100.0 * *layer.flushed, layer.layer.empty() ? "a layer" : layer.layer));
  if (run.window && !run.window->exists())
    find(e.no_scale, run.window->provenance,
         fmt::format("{} needs {} at least, {} at most {}", run.window->lowest_layer, scale_words(run.window->model.lowest), run.window->highest_layer, scale_words(run.window->model.highest)));
  if (!run.observed.empty()) looked(e, Provenance::counted);
}

void add_weights(ModeEvidence& e, const RunRecord& run) {
  const auto attributes = nlohmann::json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("weights") || !attributes["weights"].is_object()) return;
  const auto& weights = attributes["weights"];
  if (!weights.contains("in_16_bits") || !weights["in_16_bits"].is_number_integer() || weights["in_16_bits"].get<std::int64_t>() <= 0) return;
  e.weights_in_16_bits = true;
  if (weights.contains("file") && weights["file"].is_string()) e.weights_words = weights["file"].get<std::string>();
}

/// Of the tensors of one run.
Figure shadow_error(const RunFileReader& reader, RunId run) {
  std::vector<double> errors;
  for (const TensorStatsRecord& row : reader.tensor_stats(run))
    if (row.shadow_error) errors.push_back(*row.shadow_error);
  if (errors.empty()) return {};
  return {.value = median(errors), .high = *std::max_element(errors.begin(), errors.end()), .samples = std::ssize(errors), .provenance = Provenance::computed};
}

void add_runs(ModeEvidence& e, const ModeResult& mode) {
  std::int64_t ended = 0;
  for (const RunResult& result : mode.runs) {
    ended += result.complete() ? 1 : 0;
    if ((result.diverged() || result.ran_away_at) && e.diverged.empty()) e.diverged = fmt::format("seed {}: {}", result.run.seed, divergence_note(result).value_or("diverged"));
    add_weights(e, result.run);
  }
  e.trained = ended > 0;
  if (!e.trained) e.unfinished = fmt::format("its run did not end: {}", status_note(mode.runs.front()).value_or("it is still under way"));
  e.from = fmt::format("{} of {} seed{} on {}", ended, mode.runs.size(), mode.runs.size() == 1 ? "" : "s", mode.device.empty() ? "an unknown device" : mode.device);
  e.scaling_known = !mode.loss_scaling.empty();
  e.scaled = !mode.loss_scaling.empty() && mode.loss_scaling != "none" && mode.loss_scaling != "fixed:1";  // times 1 is not scaled
  e.verdict = mode.judgement.verdict;
  e.verdict_words = mode.judgement.reason;
  e.pairs = mode.judgement.pairs;
  e.distance = mode.distance;
  e.skipped = mode.skipped;
  if (mode.applied.value && mode.skipped.value) e.steps = {.value = *mode.applied.value + *mode.skipped.value, .provenance = Provenance::counted};
  e.non_standard = mode.non_standard;
}

/// How --accumulate names the matrix units of this generation.
std::string unit_of(const Gpu& gpu) {
  std::string unit = gpu.architecture;
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return unit == "volta" ? "v100" : unit;
}

/// Of the first setting, a mode once.
std::vector<const ModeResult*> chosen(const Comparison& comparison, const GpuProjection* there, std::vector<std::string>& notes) {
  const std::string unit = there == nullptr ? "" : unit_of(there->gpu);
  const auto rank = [&](const ModeResult& m) { return m.sums.empty() ? 1 : m.sums == unit ? 0 : 2; };
  std::vector<const ModeResult*> list;
  for (const ModeResult& mode : comparison.modes) {
    if (mode.tag != comparison.modes.front().tag || mode.runs.empty()) continue;
    const auto known = std::find_if(list.begin(), list.end(), [&](const ModeResult* m) { return plain_name(m->mode) == plain_name(mode.mode); });
    if (known == list.end()) list.push_back(&mode);
    else if (rank(mode) < rank(**known)) *known = &mode;
  }
  for (const ModeResult* mode : list)
    if (!mode->sums.empty()) note(notes, fmt::format("{}: its numbers are those of a run with the sums of {}'s matrix units, emulated", plain_name(mode->mode), mode->sums));
  if (comparison.settings.size() > 1) note(notes, "the file holds runs that are not alike: those of the first setting are weighed");
  return list;
}

std::set<Kind> damage_in_fp32(const Diagnosis& diagnosis, std::vector<std::string>& notes) {
  std::set<Kind> kinds;
  for (const RunDiagnosis& run : diagnosis.runs)
    if (run.run.mode == "fp32")
      for (const Cause& cause : run.causes)
        if (cause.gravity == Gravity::damage && bucket_of(cause.kind) == Bucket::other) kinds.insert(cause.kind);
  for (const Kind kind : kinds) note(notes, fmt::format("{} is in fp32, too: it is held against no mode (ulpscope diagnose)", name(kind)));
  return kinds;
}

void add_mends(ModeEvidence& e, const std::set<RunId>& runs, const Mends& mends) {
  for (const MendsOfRun& of : mends.runs)
    for (const MendTrial& trial : of.trials)
      if (e.mend.empty() && runs.contains(of.run.id) && trial.record.status == MendStatus::verified && trial.remains.empty())
        e.mend = trial.ulpscope.empty() ? trial.record.change : fmt::format("{} ({})", trial.record.change, trial.ulpscope);
}

void add_prediction(ModeEvidence& e, const ModePrediction& p) {
  e.scaled = p.scaled;
  e.non_standard = p.non_standard;
  for (const Foreseen& f : p.foreseen) {
    if (f.gravity != Gravity::fatal && f.gravity != Gravity::damage) continue;
    const bool gradients = f.kind == name(Kind::gradient_below_range);
    const bool lost = f.kind == name(Kind::update_lost) || f.kind == name(Kind::weight_decay_lost) || f.kind == name(Kind::sum_stuck) || f.kind == name(Kind::beta_vanished);
    find(gradients ? e.flushed : f.overflow ? e.overflow : lost ? e.lost : e.other, Provenance::projected, first_sentence(f.what));
  }
  if (p.forecast == Forecast::no_scale) find(e.no_scale, Provenance::projected, p.verdict);
  if (e.mode.starts_with("fp16") && !e.scaled && p.flushed.value_or(0.0) > 0.0) find(e.flushed, Provenance::projected, fmt::format("{:.3g} % of a layer's that are not 0", 100.0 * *p.flushed));
  looked(e, Provenance::projected);
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

Number cast_share(const RunFileReader& reader, RunId run) {
  for (const MemoryRecord& row : reader.memory(run, MemoryKind::predicted)) {
    const Count& casts = row.bytes[static_cast<std::size_t>(MemoryCategory::casts)];
    if (casts && row.total_bytes && *row.total_bytes > 0) return static_cast<double>(*casts) / static_cast<double>(*row.total_bytes);
  }
  return std::nullopt;
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
  explicit Timed(const RunFileReader& of) : reader(&of) {
    std::vector<std::string> left_out;
    runs = measured_runs(of, left_out);
    if (!runs.empty()) report = time_report(of);
  }
};

/// What is read of the files, whatever device is asked about: once.
class Sources {
 public:
  Sources(const AdviceInput& input, std::vector<std::string>& notes)
      : reader_(*input.reader), comparison_(compare({&reader_})), diagnosis_(diagnose(reader_)), tried_(mends(reader_)), everywhere_(damage_in_fp32(diagnosis_, notes)) {}

  const Comparison& comparison() const { return comparison_; }
  const ModeEvidence& of(const ModeResult& result) {
    const auto [place, fresh] = modes_.try_emplace(&result);
    if (fresh) place->second = read(result);
    return place->second;
  }
  const Timed& timed(const RunFileReader& reader) {
    const auto known = timed_.find(&reader);
    return known != timed_.end() ? known->second : timed_.emplace(&reader, Timed(reader)).first->second;
  }

 private:
  ModeEvidence read(const ModeResult& result) const {
    ModeEvidence e{.mode = plain_name(result.mode)};
    add_runs(e, result);
    std::set<RunId> runs;
    for (const RunResult& run : result.runs) runs.insert(run.run.id);
    for (const RunDiagnosis& run : diagnosis_.runs)
      if (runs.contains(run.run.id)) add_diagnosis(e, run, everywhere_);
    add_mends(e, runs, tried_);
    e.error = shadow_error(reader_, result.runs.front().run.id);
    e.cast_share = cast_share(reader_, result.runs.front().run.id);
    return e;
  }

  const RunFileReader& reader_;
  Comparison comparison_;
  Diagnosis diagnosis_;
  Mends tried_;
  std::set<Kind> everywhere_;
  std::map<const ModeResult*, ModeEvidence> modes_;
  std::map<const RunFileReader*, Timed> timed_;
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
      e.no_time = p.no_time;
      e.memory = p.memory;
      e.plan_bytes = p.plan_bytes;
      e.fits = p.fits;
      e.largest_batch = p.largest_batch;
      e.batch_capped = p.batch_capped;
      if (p.step.value) e.launch_share = p.limited[static_cast<std::size_t>(Limit::launch)];
    }
  const Likeness like = likeness(input.reader->runs().front());
  TimedFrom from;
  add_measured(modes, from, sources.timed(*input.reader), like, there.gpu, notes);
  for (const RunFileReader* other : input.measured) add_measured(modes, from, sources.timed(*other), like, there.gpu, notes);
  drop_other_kind(modes, from, notes);
}

std::vector<ModeEvidence> gather(Sources& sources, const AdviceInput& input, const GpuProjection* there, std::vector<std::string>& notes) {
  std::vector<ModeEvidence> modes;
  for (const ModeResult* result : chosen(sources.comparison(), there, notes)) modes.push_back(sources.of(*result));
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
        if (ModeEvidence& e = of(p.mode); e.from.empty()) add_prediction(e, p);
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
    note(advice.notes, fmt::format("GPUs of the table: {}", fmt::join(names, ", ")));
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
