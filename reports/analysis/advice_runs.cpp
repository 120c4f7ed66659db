#include "reports/analysis/advice_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "reports/analysis/statistics.h"
#include "reports/analysis/steps_to_read.h"

namespace ulpscope::reports::advice_parts {
namespace {

/// Up to its first full stop.
std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

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

constexpr std::int64_t most_rows = 20'000;  // of statistics, of a run

/// Of the tensors of one run.
Figure shadow_error(const RunFileReader& reader, RunId run) {
  std::vector<double> errors;
  for (const std::int64_t step : steps_to_read(reader, run, most_rows))
    for (const TensorStatsRecord& row : reader.tensor_stats(run, {.first = step, .end = step + 1}))
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
  // A log of another program may show a scale without saying which policy moves it. Times 1 is not scaled.
  const bool shown = mode.scale_first.value.value_or(1.0) != 1.0 || mode.scale_last.value.value_or(1.0) != 1.0;
  const bool said = !mode.loss_scaling.empty() && mode.loss_scaling != "unknown";
  e.scaling_known = said || shown;
  e.scaled = said ? mode.loss_scaling != "none" && mode.loss_scaling != "fixed:1" : shown;
  e.verdict = mode.judgement.verdict;
  e.verdict_words = mode.judgement.reason;
  e.pairs = mode.judgement.pairs;
  e.distance = mode.distance;
  e.skipped = mode.skipped;
  if (mode.applied.value && mode.skipped.value) e.steps = {.value = *mode.applied.value + *mode.skipped.value, .provenance = Provenance::counted};
  e.non_standard = mode.non_standard;
}


/// A run, in which file.
using RunKey = std::pair<std::string, RunId>;

std::set<RunKey> runs_of(const ModeResult& mode) {
  std::set<RunKey> runs;
  for (const RunResult& run : mode.runs) runs.emplace(run.file, run.run.id);
  return runs;
}

void add_mends(ModeEvidence& e, const std::set<RunKey>& runs, const RunFileReader& reader, const Mends& mends) {
  for (const MendsOfRun& of : mends.runs)
    for (const MendTrial& trial : of.trials)
      if (e.mend.empty() && runs.contains({reader.path(), of.run.id}) && trial.record.status == MendStatus::verified && trial.remains.empty())
        e.mend = trial.ulpscope.empty() ? trial.record.change : fmt::format("{} ({})", trial.record.change, trial.ulpscope);
}

Number cast_share(const RunFileReader& reader, RunId run) {
  for (const MemoryRecord& row : reader.memory(run, MemoryKind::predicted)) {
    const Count& casts = row.bytes[static_cast<std::size_t>(MemoryCategory::casts)];
    if (casts && row.total_bytes && *row.total_bytes > 0) return static_cast<double>(*casts) / static_cast<double>(*row.total_bytes);
  }
  return std::nullopt;
}


const RunFileReader& reader_of(const RunSources& sources, const std::string& file) {
  for (const RunFileReader* reader : sources.readers)
    if (reader->path() == file) return *reader;
  throw Error(fmt::format("no reader of {}", file));
}

}  // namespace

void note(std::vector<std::string>& notes, std::string text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
}

std::set<Kind> damage_in_fp32(const Comparison& comparison, const std::string& tag, const std::vector<Diagnosis>& diagnoses, std::vector<std::string>& notes) {
  std::set<Kind> kinds;
  for (const ModeResult& mode : comparison.modes) {
    if (mode.tag != tag || mode.mode != "fp32") continue;
    const std::set<RunKey> runs = runs_of(mode);
    for (const Diagnosis& file : diagnoses)
      for (const RunDiagnosis& run : file.runs)
        for (const Cause& cause : run.causes)
          if (runs.contains({file.file, run.run.id}) && cause.gravity == Gravity::damage && bucket_of(cause.kind) == Bucket::other) kinds.insert(cause.kind);
  }
  for (const Kind kind : kinds) note(notes, fmt::format("{} is in fp32, too: it is held against no mode (ulpscope diagnose)", name(kind)));
  return kinds;
}

ModeEvidence evidence_of_runs(const ModeResult& mode, const RunSources& sources) {
  ModeEvidence e{.mode = plain_name(mode.mode)};
  add_runs(e, mode);
  const std::set<RunKey> runs = runs_of(mode);
  for (const Diagnosis& file : *sources.diagnoses)
    for (const RunDiagnosis& run : file.runs)
      if (runs.contains({file.file, run.run.id})) add_diagnosis(e, run, sources.everywhere);
  for (std::size_t i = 0; i < sources.readers.size(); ++i) add_mends(e, runs, *sources.readers[i], sources.mends[i]);
  const RunResult& first = mode.runs.front();
  e.error = shadow_error(reader_of(sources, first.file), first.run.id);
  e.cast_share = cast_share(reader_of(sources, first.file), first.run.id);
  return e;
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

}  // namespace ulpscope::reports::advice_parts
