#include "reports/analysis/report_scale.h"

#include <algorithm>
#include <map>

namespace ulpscope::reports {
namespace {

constexpr std::int64_t page = 4096;

void add_overflows(const ReportRun& run, ScaleHistory& history) {
  std::map<std::int64_t, Number> changed;   // what the scale became
  for (const EventRecord& event : run.reader->events(run.run.id))
    if (event.kind == event_kind::scale_change) {
      changed[event.step] = event.value;
      ++history.changes;
    }
  for (StepRange range{.limit = page};;) {
    const std::vector<StepRecord> steps = run.reader->steps(run.run.id, range);
    for (const StepRecord& step : steps) {
      if (step.finite) continue;
      const auto change = changed.find(step.step);
      history.overflows.push_back({.step = step.step,
                                   .scale = step.loss_scale,
                                   .next = change == changed.end() ? Number() : change->second,
                                   .skipped = step.skipped});
    }
    if (std::ssize(steps) < page) return;
    range.first = steps.back().step + 1;
  }
}

}  // namespace

ScaleSection scale_section(const std::vector<ReportRun>& runs, const CurvesSection& curves, const std::vector<Diagnosis>& diagnoses) {
  ScaleSection section;
  for (const RunCurves& curve : curves.runs) {
    if (curve.series.loss_scale.points.empty()) continue;
    const ReportRun& run = runs[curve.run];
    ScaleHistory history{.run = curve.run, .scale = curve.series.loss_scale};
    add_overflows(run, history);
    if (const RunDiagnosis* diagnosis = diagnosis_of(run, diagnoses)) history.window = diagnosis->window;
    section.runs.push_back(std::move(history));
  }
  return section;
}

}  // namespace ulpscope::reports
