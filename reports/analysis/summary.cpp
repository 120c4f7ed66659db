#include "reports/analysis/summary.h"

#include <algorithm>

#include "reports/run_file/schema.h"

namespace ulpscope::reports {

Summary summarise(const RunFileReader& reader) {
  Summary summary{
      .file = reader.path(), .bytes = reader.file_bytes(), .schema = reader.schema(), .live = reader.live()};
  summary.experiment = reader.experiment();
  summary.machines = reader.machines();
  for (const RunRecord& run : reader.runs()) {
    summary.runs.push_back(summarise_run(reader, run));
    for (const EventRecord& event : reader.events(run.id)) ++summary.events[event.kind];
  }
  summary.cut_off = !summary.live && (!summary.experiment || std::any_of(summary.runs.begin(), summary.runs.end(),
                                                                         [](const RunResult& r) { return r.cut_off; }));
  for (const std::string& table : table_names()) summary.rows.emplace_back(table, reader.rows(table));
  summary.completeness = reader.completeness();
  return summary;
}

std::string status_text(const RunResult& result) {
  return std::string(result.cut_off ? "cut off" : name(result.run.status));
}

}  // namespace ulpscope::reports
