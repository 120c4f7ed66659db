#include "reports/analysis/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/files.h"

namespace ulpscope::reports {

Report make_report(const std::vector<const RunFileReader*>& readers, const ReportOptions& options) {
  const std::vector<const RunFileReader*> files = distinct_files(readers).readers;
  Report report{.modes = compare(readers)};
  const std::vector<Setting>& settings = report.modes.settings;
  const bool one = std::all_of(settings.begin(), settings.end(), [&](const Setting& s) { return s.experiment == settings.front().experiment; });
  report.title = settings.size() == 1 ? settings.front().experiment : one ? fmt::format("{}, on {} devices", settings.front().experiment, settings.size()) : fmt::format("{} experiments or devices", settings.size());
  report.files = report.modes.files;
  report.runs = report_runs(report.modes, files);
  std::int64_t runs = 0;
  for (const RunFileReader* reader : files) runs += std::ssize(reader->runs());
  const auto pause = [&] {
    if (options.between) options.between();
  };
  for (const RunFileReader* reader : files) {
    if (std::none_of(report.runs.begin(), report.runs.end(), [&](const ReportRun& run) { return run.reader == reader; })) continue;
    pause();
    report.diagnoses.push_back(diagnose(*reader, {.most_rows = std::max<std::int64_t>(1, options.diagnosis_rows / std::max<std::int64_t>(1, runs))}));
    pause();
    report.time.push_back(time_report(*reader));
  }
  const auto section = [&](auto& place, auto&& make) {
    pause();
    place = make();
  };
  section(report.verdict, [&] { return verdict_section({files, report.modes, report.runs, report.diagnoses, report.time}, options.verdict); });
  section(report.curves, [&] { return curves_section(report.runs, options.buckets); });
  section(report.scale, [&] { return scale_section(report.runs, report.curves, report.diagnoses); });
  section(report.numerics, [&] { return numerics_section(report.runs, options.numerics); });
  section(report.overflows, [&] { return overflows_section(report.runs, report.diagnoses); });
  section(report.memory, [&] { return memory_section(report.runs, report.modes); });
  section(report.origin, [&] { return origin_section(files); });
  return report;
}

}  // namespace ulpscope::reports
