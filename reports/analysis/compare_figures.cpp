#include "reports/analysis/compare_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

template <class Get>
std::vector<double> known_values(const std::vector<const RunResult*>& runs, Get&& get) {
  std::vector<double> values;
  for (const RunResult* run : runs) {
    const Number value = get(*run);
    if (value) values.push_back(*value);
  }
  return values;
}

// Mean and spread over seeds.
Figure over_seeds(const std::vector<double>& values) {
  Figure figure{.value = mean(values), .spread = standard_deviation(values), .samples = std::ssize(values)};
  if (figure.value) figure.provenance = Provenance::computed;
  return figure;
}

template <class Get>
Figure total(const std::vector<const RunResult*>& runs, Get&& get) {
  if (runs.empty()) return {};
  std::int64_t sum = 0;
  Provenance provenance = Provenance::counted;
  for (const RunResult* run : runs) {
    const Count count = get(*run);
    if (!count) return {};
    sum += *count;
    if (run->steps_from == Provenance::inferred) provenance = Provenance::inferred;
  }
  return {.value = static_cast<double>(sum), .samples = std::ssize(runs), .provenance = provenance};
}

// A value if the seeds agree, else only a range.
Figure agreed(const std::vector<double>& low, const std::vector<double>& high) {
  if (low.empty() || high.empty()) return {};
  Figure figure{.low = *std::min_element(low.begin(), low.end()),
                .high = *std::max_element(high.begin(), high.end()),
                .samples = std::ssize(low),
                .provenance = Provenance::counted};
  if (*figure.low == *figure.high) figure.value = figure.low;
  return figure;
}

void fill_scale(ModeResult& mode, const std::vector<const RunResult*>& runs) {
  const auto first = known_values(runs, [](const RunResult& run) { return run.scale_first; });
  const auto last = known_values(runs, [](const RunResult& run) { return run.scale_last; });
  mode.scale_first = agreed(first, first);
  mode.scale_last = agreed(last, last);
  mode.scale_range = agreed(known_values(runs, [](const RunResult& run) { return run.scale_least; }),
                            known_values(runs, [](const RunResult& run) { return run.scale_greatest; }));
}

void fill_time(ModeResult& mode, const std::vector<const RunResult*>& runs) {
  std::vector<double> seconds;
  for (const RunResult* run : runs) seconds.insert(seconds.end(), run->step_seconds.begin(), run->step_seconds.end());
  if (seconds.empty()) return;
  const Provenance recorded = runs.front()->run.time_provenance;
  const Provenance provenance = mode.emulated ? Provenance::emulated : recorded;
  mode.step_seconds = {.value = median(seconds),
                       .low = quantile(seconds, 0.25),
                       .high = quantile(seconds, 0.75),
                       .samples = std::ssize(seconds),
                       .provenance = provenance};
  const Number tokens = median(known_values(runs, [](const RunResult& run) { return run.tokens_per_step; }));
  if (tokens && *mode.step_seconds.value > 0.0)
    mode.tokens_per_second = {
        .value = *tokens / *mode.step_seconds.value, .samples = std::ssize(seconds), .provenance = provenance};
}

void fill_memory(ModeResult& mode, const std::vector<const RunResult*>& runs) {
  const RunResult* greatest = nullptr;
  std::int64_t known = 0;
  for (const RunResult* run : runs) {
    if (!run->peak) continue;
    ++known;
    if (greatest == nullptr || *run->peak->total_bytes > *greatest->peak->total_bytes) greatest = run;
  }
  if (greatest == nullptr) return;
  const MemoryRecord& peak = *greatest->peak;
  const auto figure = [&](const Count& bytes, Provenance provenance) -> Figure {
    if (!bytes) return {};
    return {.value = static_cast<double>(*bytes), .samples = known, .provenance = provenance};
  };
  const Count& looking = peak.bytes[static_cast<std::size_t>(MemoryCategory::observation)];
  mode.peak_bytes = figure(*peak.total_bytes - looking.value_or(0), peak.provenance);
  // The allocator counts bytes, not what they are for: the split is the memory plan's.
  for (std::size_t i = 0; i < peak.bytes.size(); ++i)
    mode.peak_by_category[i] = figure(peak.bytes[i], Provenance::computed);
}

Figure ratio(const Figure& above, const Figure& below) {
  if (!above.value || !below.value || *below.value == 0.0) return {};
  // Divided here, so computed; but it is no better than what it is made of.
  Provenance provenance = Provenance::computed;
  for (const Provenance weaker :
       {Provenance::inferred, Provenance::projected, Provenance::emulated, Provenance::unknown})
    if (above.provenance == weaker || below.provenance == weaker) provenance = weaker;
  return {.value = *above.value / *below.value, .provenance = provenance};
}

// The held-out loss if every pair has one, else the final loss.
std::vector<SeedPair> pair_by_seed(const ModeResult& mode, const ModeResult& reference, std::string& metric) {
  struct Both {
    const RunResult* reference;
    const RunResult* mode;
  };
  std::vector<Both> both;
  for (const RunResult& run : mode.runs) {
    const auto twin = std::find_if(reference.runs.begin(), reference.runs.end(),
                                   [&](const RunResult& other) { return other.run.seed == run.run.seed; });
    if (twin != reference.runs.end() && run.complete() && twin->complete()) both.push_back({&*twin, &run});
  }
  const bool held_out = !both.empty() && std::all_of(both.begin(), both.end(), [](const Both& pair) {
    return pair.reference->held_out_loss && pair.mode->held_out_loss;
  });
  metric = held_out ? "held-out loss" : "final loss";
  std::vector<SeedPair> pairs;
  for (const Both& pair : both) {
    const Number a = held_out ? pair.reference->held_out_loss : pair.reference->final_loss;
    const Number b = held_out ? pair.mode->held_out_loss : pair.mode->final_loss;
    if (a && b) pairs.push_back({pair.mode->run.seed, *a, *b});
  }
  return pairs;
}

bool applied_nothing(const RunResult& run) { return run.steps > 0 && run.applied == 0 && run.skipped == run.steps; }

// A run in which every step was skipped still holds the weights it began with: its loss says nothing of the mode.
std::string nothing_applied(const std::vector<const RunResult*>& runs) {
  std::vector<const RunResult*> idle;
  for (const RunResult* run : runs)
    if (applied_nothing(*run)) idle.push_back(run);
  if (idle.empty()) return "";
  const Figure scale = agreed(known_values(idle, [](const RunResult& run) { return run.scale_least; }),
                              known_values(idle, [](const RunResult& run) { return run.scale_greatest; }));
  std::string words;
  if (scale.low && scale.high)
    words = *scale.low == *scale.high ? fmt::format(" (loss scale {:g})", *scale.low)
                                      : fmt::format(" (loss scale {:g} to {:g})", *scale.low, *scale.high);
  const std::string of_seeds =
      idle.size() == runs.size() ? "" : fmt::format(" under {} of {} seeds", idle.size(), runs.size());
  return fmt::format("no step was applied{}: every step was skipped{}", of_seeds, words);
}

}  // namespace

std::vector<const RunResult*> runs_that_count(const ModeResult& mode) {
  std::vector<const RunResult*> complete;
  std::vector<const RunResult*> begun;
  for (const RunResult& run : mode.runs) {
    if (run.complete()) complete.push_back(&run);
    if (run.steps > 0) begun.push_back(&run);
  }
  return complete.empty() ? begun : complete;
}

void fill_own_figures(ModeResult& mode) {
  const std::vector<const RunResult*> runs = runs_that_count(mode);
  mode.seeds = {.value = static_cast<double>(runs.size()), .provenance = Provenance::counted};
  mode.final_loss = over_seeds(known_values(runs, [](const RunResult& run) { return run.final_loss; }));
  mode.best_loss = over_seeds(known_values(runs, [](const RunResult& run) { return run.best_loss; }));
  mode.held_out_loss = over_seeds(known_values(runs, [](const RunResult& run) { return run.held_out_loss; }));
  mode.applied = total(runs, [](const RunResult& run) { return run.applied; });
  mode.skipped = total(runs, [](const RunResult& run) { return run.skipped; });
  mode.overflows = total(runs, [](const RunResult& run) { return run.overflows; });
  fill_scale(mode, runs);
  fill_time(mode, runs);
  fill_memory(mode, runs);
}

void fill_against_reference(ModeResult& mode, const ModeResult* reference, bool same_setting) {
  const std::string idle = nothing_applied(runs_that_count(mode));
  if (reference == nullptr) {
    mode.judgement.reason = idle.empty() ? "there is no fp32 run to hold it against" : idle;
    return;
  }
  if (same_setting) {
    mode.speed = ratio(reference->step_seconds, mode.step_seconds);
    mode.memory_ratio = ratio(mode.peak_bytes, reference->peak_bytes);
  }
  if (reference == &mode) {
    mode.judgement.verdict = Verdict::reference;
    return;
  }
  const std::vector<SeedPair> pairs = pair_by_seed(mode, *reference, mode.metric);
  const bool held_out = mode.metric == "held-out loss";
  std::vector<const RunResult*> complete;
  for (const RunResult& run : reference->runs)
    if (run.complete()) complete.push_back(&run);
  mode.judgement =
      judge(pairs,
            known_values(complete, [&](const RunResult& run) { return held_out ? run.held_out_loss : run.final_loss; }),
            mode.metric);
  const std::string idle_reference = nothing_applied(runs_that_count(*reference));
  if (!idle.empty() || !idle_reference.empty()) {
    mode.judgement.verdict = Verdict::undecided;
    mode.judgement.reason = idle.empty() ? "in fp32 " + idle_reference : idle;
  }
  const Judgement& judgement = mode.judgement;
  mode.distance = {.value = judgement.difference,
                   .spread = judgement.reference_spread,
                   .low = judgement.low,
                   .high = judgement.high,
                   .samples = judgement.pairs};
  if (judgement.difference) mode.distance.provenance = Provenance::computed;
}

Judgement judge_sums(const ModeResult& mode, const ModeResult& against, const ModeResult* reference, std::string& metric) {
  const std::string other = against.sums.empty() ? against.mode + " with plain sums" : against.mode;
  const std::vector<SeedPair> pairs = pair_by_seed(mode, against, metric);
  const bool held_out = metric == "held-out loss";
  std::vector<double> noise;
  if (reference != nullptr)
    for (const RunResult& run : reference->runs)
      if (const Number loss = held_out ? run.held_out_loss : run.final_loss; run.complete() && loss) noise.push_back(*loss);
  Judgement judgement = judge(pairs, noise, metric, other);
  const std::string idle = nothing_applied(runs_that_count(mode));
  if (std::ssize(noise) < least_pairs && judgement.verdict != Verdict::undecided) {
    judgement.verdict = Verdict::undecided;
    judgement.reason = fmt::format("{} {:+.3g} against {}; there are {} fp32 seeds to tell the noise by", metric, judgement.difference.value_or(0.0), other,
                                   noise.empty() ? "no" : fmt::format("only {}", noise.size()));
  }
  if (!idle.empty()) {
    judgement.verdict = Verdict::undecided;
    judgement.reason = idle;
  }
  return judgement;
}

void fill_against_plain_sums(ModeResult& mode, const ModeResult& plain, const ModeResult* reference) {
  std::string metric;
  Judgement& judgement = mode.against_plain;
  judgement = judge_sums(mode, plain, reference, metric);
  mode.sums_distance = {.value = judgement.difference, .spread = judgement.reference_spread, .low = judgement.low,
                        .high = judgement.high, .samples = judgement.pairs};
  if (judgement.difference) mode.sums_distance.provenance = Provenance::computed;
  mode.notes.push_back(fmt::format("what {}'s sums change: {}: {}", mode.sums, name(judgement.verdict), judgement.reason));
}

const std::vector<FigureInfo>& comparison_figures() {
  using M = const ModeResult&;
  using F = const Figure&;
  static const std::vector<FigureInfo> figures{
      {"seeds", "seeds", "steps", "", FigureStyle::count, "runs the figures are over",
       [](M m) -> F { return m.seeds; }},
      {"final_loss", "final loss", "loss", "", FigureStyle::loss,
       "mean over the last 10 recorded steps whose loss is finite, NaN if a run ended in numbers that are not; mean and standard "
       "deviation over seeds",
       [](M m) -> F { return m.final_loss; }},
      {"best_loss", "best loss", "loss", "", FigureStyle::loss,
       "least training loss of a step; mean and standard deviation over seeds", [](M m) -> F { return m.best_loss; }},
      {"held_out_loss", "held-out loss", "loss", "", FigureStyle::loss,
       "last evaluation; mean and standard deviation over seeds", [](M m) -> F { return m.held_out_loss; }},
      {"distance", "distance from fp32", "loss", "", FigureStyle::difference,
       "mean difference paired by seed, its 95 % interval, and the standard deviation between fp32 seeds",
       [](M m) -> F { return m.distance; }},
      {"sums_distance", "from plain sums", "loss", "", FigureStyle::difference,
       "emulated sums: mean difference from the same mode with plain sums, paired by seed, its 95 % interval, and the standard "
       "deviation between fp32 seeds",
       [](M m) -> F { return m.sums_distance; }},
      {"steps_applied", "steps applied", "steps", "", FigureStyle::count, "all seeds together",
       [](M m) -> F { return m.applied; }},
      {"steps_skipped", "steps skipped", "steps", "", FigureStyle::count, "all seeds together",
       [](M m) -> F { return m.skipped; }},
      {"overflows", "overflows", "steps", "", FigureStyle::count,
       "steps with a gradient that was not finite, all seeds together", [](M m) -> F { return m.overflows; }},
      {"loss_scale_first", "loss scale, first", "steps", "", FigureStyle::scale, "of the first step",
       [](M m) -> F { return m.scale_first; }},
      {"loss_scale_range", "loss scale, range", "steps", "", FigureStyle::scale,
       "least and greatest of all steps and seeds", [](M m) -> F { return m.scale_range; }},
      {"loss_scale_last", "loss scale, last", "steps", "", FigureStyle::scale,
       "of the last step; a range if seeds differ", [](M m) -> F { return m.scale_last; }},
      {"step_seconds", "step time", "time", "s", FigureStyle::seconds,
       "median and quartiles of the timing phase, in which one seed is timed", [](M m) -> F { return m.step_seconds; }},
      {"tokens_per_second", "tokens/s", "time", "1/s", FigureStyle::rate, "tokens of a step by its median time",
       [](M m) -> F { return m.tokens_per_second; }},
      {"speed", "× fp32's speed", "time", "", FigureStyle::ratio, "fp32's median step time by this mode's",
       [](M m) -> F { return m.speed; }},
      {"peak_bytes", "peak", "memory", "B", FigureStyle::bytes, "the allocator's peak, without what was held to observe; greatest of the seeds",
       [](M m) -> F { return m.peak_bytes; }},
      {"memory_ratio", "× fp32's peak", "memory", "", FigureStyle::ratio, "peak by fp32's peak",
       [](M m) -> F { return m.memory_ratio; }},
      {"peak_weights_bytes", "weights", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[0]; }},
      {"peak_master_weights_bytes", "master weights", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[1]; }},
      {"peak_gradients_bytes", "gradients", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[2]; }},
      {"peak_optimizer_state_bytes", "optimizer state", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[3]; }},
      {"peak_activations_bytes", "activations", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[4]; }},
      {"peak_casts_bytes", "casts", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[5]; }},
      {"peak_workspace_bytes", "workspace", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[6]; }},
      {"peak_inputs_bytes", "inputs", "peak by category", "B", FigureStyle::bytes,
       "batch, constants, scalars of the step", [](M m) -> F { return m.peak_by_category[7]; }},
      {"peak_gaps_bytes", "gaps", "peak by category", "B", FigureStyle::bytes, "alignment and placement, at the peak",
       [](M m) -> F { return m.peak_by_category[8]; }},
      {"peak_observation_bytes", "observation", "peak by category", "B", FigureStyle::bytes, "at the peak",
       [](M m) -> F { return m.peak_by_category[9]; }},
      {"peak_buffers_bytes", "buffers", "peak by category", "B", FigureStyle::bytes,
       "running statistics and their committed values", [](M m) -> F { return m.peak_by_category[10]; }},
  };
  return figures;
}

}  // namespace ulpscope::reports
