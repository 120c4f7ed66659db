#include "reports/analysis/projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/error.h"
#include "reports/analysis/sums.h"

namespace ulpscope::reports {
namespace {

Figure projected(double value, double low, double high) {
  Figure figure;
  figure.value = value;
  figure.low = low;
  figure.high = high;
  figure.provenance = Provenance::projected;
  return figure;
}

double calls_of(const PlannedLaunch& launch, std::int64_t micro_batches) { return launch.phase == Phase::update ? 1.0 : static_cast<double>(micro_batches); }

/// Greatest batch whose peak fits: doubled until it does not, then halved in between. The peak grows with the batch. That there is no plan
/// at a batch does not say that it would not fit: nothing is said then.
void find_batch(ModeProjection& mode, const PlannedMode& planned, const Gpu& gpu, const ProjectionInput& input) {
  if (!input.peak_at || !planned.batch || gpu.memory_gb <= 0.0) return;
  const double room = gpu.least_memory_bytes() - context_bytes.high;
  const auto fits = [&](std::int64_t batch) {
    const Count bytes = input.peak_at(planned.mode, batch);
    return bytes ? std::optional<bool>(static_cast<double>(*bytes) <= room) : std::nullopt;
  };
  if (!fits(*planned.batch)) return;
  std::int64_t good = 0, bad = 1;
  for (;;) {
    const std::optional<bool> one = fits(bad);
    if (!one) return;
    if (!*one) break;
    good = bad;
    if (good >= input.most_batch) {
      mode.batch_capped = true;
      mode.largest_batch = good;
      return;
    }
    bad = bad > input.most_batch / 2 ? input.most_batch : 2 * bad;
  }
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    const std::optional<bool> one = fits(middle);
    if (!one) return;
    (*one ? good : bad) = middle;
  }
  mode.largest_batch = good;
}

void add_memory(ModeProjection& mode, const PlannedMode& planned, const Gpu& gpu) {
  mode.plan_bytes = planned.peak_bytes;
  if (!planned.peak_bytes) return;
  const double plan = static_cast<double>(*planned.peak_bytes);
  mode.memory = projected(plan + context_bytes.likely, plan + context_bytes.low, plan + context_bytes.high);
  if (gpu.memory_gb <= 0.0 && !gpu.memory_bytes) return;
  mode.fits = plan + context_bytes.high <= gpu.least_memory_bytes() ? Fits::yes : plan + context_bytes.low > gpu.greatest_memory_bytes() ? Fits::no : Fits::maybe;
}

/// Each against each.
void add_ratios(std::vector<ModeProjection>& modes, const Attainable& attainable) {
  for (ModeProjection& mode : modes)
    for (const ModeProjection& other : modes) {
      if (!mode.step.value || !other.step.value) continue;
      const Figure ratio = ratio_of_steps(other.parts, mode.parts, attainable);
      if (&mode != &other) mode.beside.emplace(other.mode, ratio);
      if (other.mode == "fp32") mode.speed = ratio;
    }
}

}  // namespace

std::string_view name(Fits fits) {
  constexpr std::string_view names[] = {"yes", "no", "maybe", "unknown"};
  return names[static_cast<std::size_t>(fits)];
}

std::vector<PlannedMode> planned_modes(const RunFileReader& reader, const std::vector<std::string>& modes) {
  std::set<RunId> trials;
  for (const MendRecord& mend : reader.mends())
    if (mend.trial) trials.insert(*mend.trial);
  std::vector<PlannedMode> found;
  std::vector<std::string> names;
  for (const RunRecord& run : reader.runs()) {
    if (trials.contains(run.id) || !run.plan || std::find(names.begin(), names.end(), run.mode) != names.end()) continue;
    PlannedMode planned{.mode = run.mode, .micro_batches = run.micro_batches.value_or(1), .batch = run.batch, .parameters = run.parameters, .remark = sums_remark(run)};
    for (const MemoryRecord& row : reader.memory(run.id, MemoryKind::predicted))
      if (row.total_bytes) planned.peak_bytes = row.total_bytes;
    planned.plan = time_parts::read_plan(reader, run);
    if (planned.plan.nodes.empty()) continue;
    for (const StepRecord& step : reader.steps(run.id, {.limit = 1})) planned.tokens = step.tokens;
    names.push_back(run.mode);
    if (modes.empty() || std::find(modes.begin(), modes.end(), run.mode) != modes.end()) found.push_back(std::move(planned));
  }
  if (names.empty()) throw UsageError(fmt::format("{}: no run in it has a plan", reader.path()));
  for (const std::string& mode : modes)
    if (std::find(names.begin(), names.end(), mode) == names.end())
      throw UsageError(fmt::format("{} has no run in mode {}; it has {}", reader.path(), mode, fmt::join(names, ", ")));
  return found;
}

ModeProjection project_mode(const PlannedMode& planned, const Gpu& gpu, const Attainable& attainable) {
  ModeProjection mode{.mode = planned.mode, .there = how_it_runs(gpu, planned.mode)};
  const bool runs = mode.there.support == Support::native || mode.there.support == Support::no_gain || mode.there.support == Support::no_effect;
  std::array<double, 3> limited{};
  double low = 0.0, likely = 0.0, high = 0.0;
  std::int64_t unknown = 0;
  for (const PlannedLaunch& launch : planned_launches(planned.plan)) {
    const double calls = calls_of(launch, planned.micro_batches);
    mode.launches += static_cast<std::int64_t>(calls);
    ProjectedLaunch node{.name = launch.name, .operation = launch.operation, .format = launch.format, .calls = calls};
    const auto work = runs && launch.complete ? work_on(launch, gpu) : std::nullopt;
    const LaunchSeconds seconds = work ? seconds_of(*work, gpu, attainable) : LaunchSeconds{};
    if (!seconds.known) {
      ++unknown;
    } else {
      node.seconds = projected(calls * seconds.seconds.likely, calls * seconds.seconds.low, calls * seconds.seconds.high);
      node.limit = seconds.limit;
      low += calls * seconds.seconds.low;
      likely += calls * seconds.seconds.likely;
      high += calls * seconds.seconds.high;
      mode.parts.push_back(*parts_of(*work, gpu, calls));
      limited[static_cast<std::size_t>(seconds.limit)] += calls * seconds.seconds.likely;
      mode.limited_launches[static_cast<std::size_t>(seconds.limit)] += static_cast<std::int64_t>(calls);
      if (seconds.limit != Limit::launch) mode.carried[static_cast<std::size_t>(seconds.work)][static_cast<std::size_t>(seconds.size)] += calls * seconds.seconds.likely;
    }
    mode.nodes.push_back(std::move(node));
  }
  std::stable_sort(mode.nodes.begin(), mode.nodes.end(), [](const ProjectedLaunch& a, const ProjectedLaunch& b) { return a.seconds.value.value_or(-1.0) > b.seconds.value.value_or(-1.0); });
  if (!runs || unknown > 0) mode.parts.clear();
  if (!runs) {
    mode.no_time = fmt::format("{}: {}", name(mode.there.support), mode.there.why);
  } else if (unknown > 0) {
    mode.no_time = fmt::format("FLOPs, bytes or a rate are not known of {} of {} launches", unknown, mode.nodes.size());
  } else if (likely > 0.0) {
    mode.step = projected(likely, low, high);
    for (std::size_t i = 0; i < limited.size(); ++i) mode.limited[i] = limited[i] / likely;
    if (planned.tokens) {
      const double tokens = static_cast<double>(*planned.tokens);
      mode.tokens_per_second = projected(tokens / likely, tokens / high, tokens / low);
    }
  }
  return mode;
}

Projection project(const ProjectionInput& input, const std::vector<std::pair<std::string, Gpu>>& asked, const std::vector<MeasuredRun>& measured) {
  Projection out{.file = input.file, .experiment = input.experiment, .plan_from = input.plan_from, .notes = input.notes};
  if (!input.modes.empty()) out.batch = input.modes.front().batch;
  for (const PlannedMode& planned : input.modes)
    if (!planned.remark.empty()) out.notes.push_back(fmt::format("{}: in {} {}; projected are the GPUs' own products", planned.mode, input.file, planned.remark));
  std::vector<const MeasuredRun*> runs;
  for (const MeasuredRun& run : measured) {
    runs.push_back(&run);
    out.calibrated_by.push_back(fmt::format("{}, {} on {}: {} launch{}{}", run.file, run.run.mode, run.gpu.name, run.samples.size(), run.samples.size() == 1 ? "" : "es",
                                            run.near_floor > 0 ? fmt::format(", and {} that take{} as long as any launch", run.near_floor, run.near_floor == 1 ? "s" : "") : ""));
  }
  for (const auto& [words, gpu] : asked) {
    GpuProjection there{.asked = words, .gpu = gpu, .attainable = fitted(gpu, runs)};
    for (const PlannedMode& planned : input.modes) {
      ModeProjection mode = project_mode(planned, gpu, there.attainable);
      add_memory(mode, planned, gpu);
      find_batch(mode, planned, gpu, input);
      there.modes.push_back(std::move(mode));
    }
    add_ratios(there.modes, there.attainable);
    for (const MeasuredRun& run : measured)
      if (run.file == input.file && run.gpu.name == gpu.name && run.step_seconds) there.measured.emplace_back(run.run.mode, *run.step_seconds);
    out.gpus.push_back(std::move(there));
  }
  return out;
}

std::vector<CheckedProjection> check_projections(const std::vector<MeasuredRun>& measured) {
  std::vector<CheckedProjection> out;
  if (measured.size() < 2) return out;
  for (const MeasuredRun& run : measured) {
    if (!run.step_seconds || *run.step_seconds <= 0.0) continue;
    std::vector<const MeasuredRun*> others;
    for (const MeasuredRun& other : measured)
      if (&other != &run) others.push_back(&other);
    const PlannedMode planned{.mode = run.run.mode, .plan = run.plan, .micro_batches = run.run.micro_batches.value_or(1)};
    CheckedProjection checked{.file = run.file, .mode = run.run.mode, .gpu = run.gpu.name, .measured = *run.step_seconds};
    checked.projected = project_mode(planned, run.gpu, fitted(run.gpu, others)).step;
    if (checked.projected.value) {
      checked.error = *checked.projected.value / checked.measured - 1.0;
      checked.within = *checked.projected.low <= checked.measured && checked.measured <= *checked.projected.high;
    }
    out.push_back(std::move(checked));
  }
  return out;
}

}  // namespace ulpscope::reports
