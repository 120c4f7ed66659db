#include "reports/analysis/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::reports {

Report make_report(const std::vector<const RunFileReader*>& readers, const ReportOptions& options) {
  std::vector<const RunFileReader*> files;
  for (const RunFileReader* reader : readers)
    if (std::none_of(files.begin(), files.end(), [&](const RunFileReader* known) { return known->path() == reader->path(); })) files.push_back(reader);
  Report report{.modes = compare(files)};
  const std::vector<Setting>& settings = report.modes.settings;
  report.title = settings.size() == 1 ? settings.front().experiment : fmt::format("{} experiments or devices", settings.size());
  report.files = report.modes.files;
  report.runs = report_runs(report.modes, files);
  for (const RunFileReader* reader : files) {
    if (std::none_of(report.runs.begin(), report.runs.end(), [&](const ReportRun& run) { return run.reader == reader; })) continue;
    report.diagnoses.push_back(diagnose(*reader, {.most_rows = options.numerics.rows}));
    report.time.push_back(time_report(*reader));
  }
  report.verdict = verdict_section(report.modes, report.runs, report.diagnoses);
  report.curves = curves_section(report.runs, options.buckets);
  report.scale = scale_section(report.runs, report.curves, report.diagnoses);
  report.numerics = numerics_section(report.runs, options.numerics);
  report.overflows = overflows_section(report.runs, report.diagnoses);
  report.memory = memory_section(report.runs, report.modes);
  report.origin = origin_section(files);
  return report;
}

}  // namespace ulpscope::reports
