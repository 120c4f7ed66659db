#include "reports/analysis/break_even.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "reports/analysis/sweep.h"
#include "reports/analysis/time_parts.h"

namespace ulpscope::reports {
namespace {

struct Batch {
  const TimeReport* report;
  std::int64_t batch;
  const ModeTime* fp32;
};

const ModeTime* mode_of(const TimeReport& report, std::string_view mode) {
  const auto found = std::find_if(report.modes.begin(), report.modes.end(), [&](const ModeTime& m) { return m.run.mode == mode; });
  return found == report.modes.end() ? nullptr : &*found;
}

std::int64_t examples(const RunRecord& run) { return run.batch.value_or(0) * run.micro_batches.value_or(1); }

/// What differs besides the batch; empty: nothing.
std::string difference(const RunRecord& a, const RunRecord& b) {
  if (a.device != b.device || a.device_kind != b.device_kind) return "device";
  if (a.model != b.model || a.model_json != b.model_json) return "model";
  if (a.context != b.context) return "context";
  if (a.optimizer != b.optimizer) return "optimizer";
  if (a.threads != b.threads) return "number of threads";
  return "";
}

std::vector<Batch> sorted(const std::vector<TimeReport>& reports) {
  if (reports.size() < 2) throw UsageError("a break-even needs run files of two batches or more");
  std::vector<Batch> batches;
  for (const TimeReport& report : reports) {
    const ModeTime* fp32 = mode_of(report, "fp32");
    if (fp32 == nullptr) throw UsageError(fmt::format("there is no fp32 run in {}: nothing can be held against it", report.file));
    if (!fp32->run.batch) throw UsageError(fmt::format("{} does not say its batch", report.file));
    batches.push_back({&report, examples(fp32->run), fp32});
    if (const std::string what = difference(batches.front().fp32->run, fp32->run); !what.empty())
      throw UsageError(fmt::format("{} and {} differ in their {}: a break-even needs runs that differ in the batch alone", batches.front().report->file, report.file, what));
  }
  std::stable_sort(batches.begin(), batches.end(), [](const Batch& a, const Batch& b) { return a.batch < b.batch; });
  for (std::size_t i = 1; i < batches.size(); ++i)
    if (batches[i].batch == batches[i - 1].batch)
      throw UsageError(fmt::format("{} and {} both have a batch of {}: give runs of different batches", batches[i - 1].report->file, batches[i].report->file, batches[i].batch));
  return batches;
}

Number spread(const Figure& f) {
  if (!f.low || !f.high) return std::nullopt;
  return (*f.high - *f.low) / 1.349;
}

/// Why two times are not held against each other; empty: they are.
std::string not_comparable(const ModeTime& mode, const ModeTime& fp32) {
  if (mode.step_from != fp32.step_from)
    return fmt::format("its steps are {}, fp32's {}", mode.step_from == StepSource::timing_phase ? "timed" : "recorded",
                       fp32.step_from == StepSource::timing_phase ? "timed" : "recorded");
  const std::int64_t samples = std::min(mode.step.samples.value_or(0), fp32.step.samples.value_or(0));
  if (samples < fewest_steps) return fmt::format("{} steps are too few to know their noise: {} are needed", samples, fewest_steps);
  return "";
}

BreakEvenPoint point_of(const Batch& batch, const ModeTime* mode) {
  BreakEvenPoint p{.file = batch.report->file, .batch = batch.batch, .reference = batch.fp32->step};
  if (batch.fp32->device) p.busy = batch.fp32->device->busy.value;
  if (mode == nullptr) return p;
  p.seconds = mode->step;
  p.speed.value = time_parts::ratio(p.reference.value, p.seconds.value);
  if (p.speed.value) p.speed.provenance = mode->emulated || batch.fp32->emulated ? Provenance::emulated : Provenance::computed;
  if (mode->emulated) {
    p.verdict = AgainstFp32::emulated;
    return p;
  }
  if (!mode->invalid.empty() || !batch.fp32->invalid.empty()) {
    p.verdict = AgainstFp32::invalid;
    return p;
  }
  p.why = not_comparable(*mode, *batch.fp32);
  if (!p.why.empty()) return p;
  const Number own = spread(p.seconds), other = spread(p.reference);
  if (!p.speed.value || !own || !other) return p;
  p.noise = std::hypot(*own, *other);
  const double gained = *p.reference.value - *p.seconds.value;
  p.verdict = std::abs(gained) <= noise_factor * *p.noise ? AgainstFp32::undecided : gained > 0.0 ? AgainstFp32::faster : AgainstFp32::slower;
  return p;
}

double lost(const BreakEvenPoint& p) { return *p.seconds.value - *p.reference.value; }

/// Between two decided points: where the medians first change sides, by the straight line through both differences.
double crossing_batch(const std::vector<BreakEvenPoint>& points, std::size_t from, std::size_t to) {
  const bool slower_first = lost(points[from]) > 0.0;
  std::size_t i = from + 1;
  while (i < to && (lost(points[i]) > 0.0) == slower_first) ++i;
  const BreakEvenPoint &a = points[i - 1], &b = points[i];
  return static_cast<double>(a.batch) + lost(a) / (lost(a) - lost(b)) * static_cast<double>(b.batch - a.batch);
}

/// Every change of sides between points that are decided; those within the noise lie inside a range.
void infer(BreakEvenMode& mode) {
  const auto decided = [](const BreakEvenPoint& p) { return p.verdict == AgainstFp32::faster || p.verdict == AgainstFp32::slower; };
  std::vector<BreakEvenPoint> points;
  std::copy_if(mode.points.begin(), mode.points.end(), std::back_inserter(points), [&](const BreakEvenPoint& p) { return decided(p) || p.verdict == AgainstFp32::undecided; });
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!decided(points[i])) continue;
    if (last && points[*last].verdict != points[i].verdict) {
      BreakEvenCrossing crossing{.batch = {}, .to = points[i].verdict};
      crossing.batch.value = crossing_batch(points, *last, i);
      crossing.batch.low = static_cast<double>(points[*last].batch);
      crossing.batch.high = static_cast<double>(points[i].batch);
      crossing.batch.provenance = Provenance::inferred;
      mode.crossings.push_back(crossing);
    }
    last = i;
  }
  if (mode.crossings.size() == 1 && mode.crossings.front().to == AgainstFp32::faster) mode.batch = mode.crossings.front().batch;
}

/// "at ~12 it becomes faster (slower at 8, faster at 16)"
std::string words(const BreakEvenCrossing& c) {
  const bool gains = c.to == AgainstFp32::faster;
  return fmt::format("at ~{:.0f} it becomes {} ({} at {:.0f}, {} at {:.0f})", *c.batch.value, name(c.to), gains ? "slower" : "faster", *c.batch.low, name(c.to), *c.batch.high);
}

std::string words(const BreakEvenMode& mode) {
  const auto& points = mode.points;
  const auto all = [&](AgainstFp32 verdict) { return std::all_of(points.begin(), points.end(), [&](const BreakEvenPoint& p) { return p.verdict == verdict; }); };
  const auto span = fmt::format("{} to {}", points.front().batch, points.back().batch);
  if (mode.batch.value)
    return fmt::format("break-even at batch ~{:.0f}, by interpolation: slower than fp32 at {:.0f}, faster at {:.0f}", *mode.batch.value, *mode.batch.low, *mode.batch.high);
  if (!mode.crossings.empty()) {
    std::vector<std::string> list;
    for (const BreakEvenCrossing& c : mode.crossings) list.push_back(words(c));
    if (list.size() == 1) return fmt::format("no batch from which on it is faster than fp32, but one from which on it is not, by interpolation: {}", list.front());
    return fmt::format("there is no single break-even, from {} it changes sides {} times, by interpolation: {}", span, list.size(), fmt::join(list, ", "));
  }
  if (all(AgainstFp32::emulated)) return "emulated on this processor: from its times no break-even is inferred";
  if (all(AgainstFp32::faster)) return fmt::format("faster than fp32 at every batch from {}: a break-even lies below", span);
  if (all(AgainstFp32::slower)) return fmt::format("slower than fp32 at every batch from {}: a break-even, if there is one, lies above", span);
  return fmt::format("undecided: from {} no change from slower to faster stands out of twice the noise", span);
}

/// "batch 8 to 64", with the micro-batches of which it is made where all have as many.
std::string title(const std::vector<Batch>& batches) {
  const RunRecord& first = batches.front().fp32->run;
  const bool alike = std::all_of(batches.begin(), batches.end(), [&](const Batch& b) { return b.fp32->run.micro_batches.value_or(1) == first.micro_batches.value_or(1); });
  RunRecord run = first;
  run.batch.reset();
  run.micro_batches.reset();
  return fmt::format("{}, batches {} to {}{}", time_parts::experiment_text(run), batches.front().batch, batches.back().batch,
                     alike && first.micro_batches.value_or(1) > 1 ? fmt::format(" in {} micro-batches", *first.micro_batches) : "");
}

void add_launch_bound(BreakEvenMode& mode) {
  // From the smallest batch on: what lies beyond one that is not so, or not known, says nothing of those before it.
  for (const BreakEvenPoint& p : mode.points) {
    const bool no_gain = p.verdict == AgainstFp32::slower || p.verdict == AgainstFp32::undecided;
    if (!no_gain || !p.busy || *p.busy >= launch_bound_below) return;
    mode.launch_bound_up_to = p.batch;
  }
}

}  // namespace

std::string_view name(AgainstFp32 value) {
  switch (value) {
    case AgainstFp32::faster:
      return "faster";
    case AgainstFp32::slower:
      return "slower";
    case AgainstFp32::undecided:
      return "undecided";
    case AgainstFp32::emulated:
      return "emulated";
    case AgainstFp32::invalid:
      return "invalid";
    case AgainstFp32::unknown:
      break;
  }
  return "unknown";
}

BreakEven break_even(const std::vector<TimeReport>& reports) {
  const std::vector<Batch> batches = sorted(reports);
  BreakEven result{.experiment = title(batches), .device = batches.front().fp32->run.device};
  std::vector<std::string> names;
  for (const Batch& b : batches)
    for (const ModeTime& m : b.report->modes)
      if (m.run.mode != "fp32" && std::find(names.begin(), names.end(), m.run.mode) == names.end()) names.push_back(m.run.mode);
  for (const std::string& name : names) {
    BreakEvenMode mode{.mode = name};
    for (const Batch& b : batches) mode.points.push_back(point_of(b, mode_of(*b.report, name)));
    infer(mode);
    add_launch_bound(mode);
    mode.text = words(mode);
    if (mode.launch_bound_up_to)
      mode.text += fmt::format("; up to batch {} the GPU is busy for less than {:.0f} % of the step: stay with fp32 or tf32, there is no reason of speed", *mode.launch_bound_up_to, 100.0 * launch_bound_below);
    result.modes.push_back(std::move(mode));
  }
  for (const Batch& b : batches)
    for (const ModeTime& m : b.report->modes)
      if (!m.invalid.empty()) result.notes.push_back(fmt::format("{} at batch {}: {}", m.run.mode, b.batch, m.invalid));
  for (const BreakEvenMode& mode : result.modes)
    for (const BreakEvenPoint& p : mode.points)
      if (!p.why.empty()) result.notes.push_back(fmt::format("{} at batch {}: {}", mode.mode, p.batch, p.why));
  const bool recorded = std::any_of(batches.begin(), batches.end(), [](const Batch& b) { return b.fp32->step_from == StepSource::recorded_steps; });
  if (recorded) result.notes.push_back("steps without a timing phase were timed while they were recorded");
  return result;
}

}  // namespace ulpscope::reports
