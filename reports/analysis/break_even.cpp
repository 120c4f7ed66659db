#include "reports/analysis/break_even.h"

#include <fmt/format.h>

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

BreakEvenPoint point_of(const Batch& batch, const ModeTime* mode) {
  BreakEvenPoint p{.file = batch.report->file, .batch = batch.batch, .reference = batch.fp32->step};
  if (batch.fp32->device) p.busy = batch.fp32->device->busy.value;
  if (mode == nullptr) return p;
  p.seconds = mode->step;
  p.speed = time_parts::ratio(p.reference.value, p.seconds.value);
  if (mode->emulated) {
    p.verdict = AgainstFp32::emulated;
    return p;
  }
  if (!mode->invalid.empty() || !batch.fp32->invalid.empty()) {
    p.verdict = AgainstFp32::invalid;
    return p;
  }
  const Number own = spread(p.seconds), other = spread(p.reference);
  if (!p.speed || !own || !other) return p;
  p.noise = std::hypot(*own, *other);
  const double gained = *p.reference.value - *p.seconds.value;
  p.verdict = std::abs(gained) <= noise_factor * *p.noise ? AgainstFp32::undecided : gained > 0.0 ? AgainstFp32::faster : AgainstFp32::slower;
  return p;
}

double lost(const BreakEvenPoint& p) { return *p.seconds.value - *p.reference.value; }

/// The first pair of neighbours between which the medians change from slower to faster, both sides of it decided somewhere.
void infer(BreakEvenMode& mode) {
  const std::vector<BreakEvenPoint>& all = mode.points;
  const auto usable = [](const BreakEvenPoint& p) { return p.verdict == AgainstFp32::faster || p.verdict == AgainstFp32::slower || p.verdict == AgainstFp32::undecided; };
  std::vector<BreakEvenPoint> points;
  std::copy_if(all.begin(), all.end(), std::back_inserter(points), usable);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (!(lost(points[i - 1]) > 0.0) || lost(points[i]) > 0.0) continue;
    std::size_t below = i, above = i;
    while (below > 0 && points[below - 1].verdict != AgainstFp32::slower) --below;
    while (above < points.size() && points[above].verdict != AgainstFp32::faster) ++above;
    if (below == 0 || above == points.size()) continue;
    const BreakEvenPoint &a = points[i - 1], &b = points[i];
    const double share = lost(a) / (lost(a) - lost(b));
    mode.batch.value = static_cast<double>(a.batch) + share * static_cast<double>(b.batch - a.batch);
    mode.batch.low = static_cast<double>(points[below - 1].batch);
    mode.batch.high = static_cast<double>(points[above].batch);
    mode.batch.provenance = Provenance::inferred;
    return;
  }
}

std::string words(const BreakEvenMode& mode) {
  const auto& points = mode.points;
  const auto all = [&](AgainstFp32 verdict) { return std::all_of(points.begin(), points.end(), [&](const BreakEvenPoint& p) { return p.verdict == verdict; }); };
  const auto span = fmt::format("{} to {}", points.front().batch, points.back().batch);
  if (mode.batch.value)
    return fmt::format("break-even at batch ~{:.0f}, by interpolation: slower than fp32 at {:.0f}, faster at {:.0f}", *mode.batch.value, *mode.batch.low, *mode.batch.high);
  if (all(AgainstFp32::emulated)) return "emulated on this processor: from its times no break-even is inferred";
  if (all(AgainstFp32::faster)) return fmt::format("faster than fp32 at every batch from {}: a break-even lies below", span);
  if (all(AgainstFp32::slower)) return fmt::format("slower than fp32 at every batch from {}: a break-even, if there is one, lies above", span);
  return fmt::format("undecided: from {} no change from slower to faster stands out of twice the noise", span);
}

void add_launch_bound(BreakEvenMode& mode) {
  for (const BreakEvenPoint& p : mode.points)
    if (p.verdict != AgainstFp32::faster && p.verdict != AgainstFp32::emulated && p.busy && *p.busy < launch_bound_below) mode.launch_bound_up_to = p.batch;
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
  BreakEven result{.experiment = batches.front().report->experiment, .device = batches.front().fp32->run.device};
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
  return result;
}

}  // namespace ulpscope::reports
