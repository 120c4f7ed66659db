// Fields of the tables of a report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/report.h"
#include "reports/export/numbers.h"
#include "reports/export/report_tables.h"

namespace ulpscope::reports::table_parts {

inline std::string field(const Number& value, FigureStyle style = FigureStyle::loss) { return exact(value, style); }
inline std::string field(const Count& value) { return value ? std::to_string(*value) : ""; }
inline std::string field(std::int64_t value) { return std::to_string(value); }
inline std::string field(bool value) { return value ? "1" : "0"; }
inline std::string scale_field(const Number& value) { return exact(value, FigureStyle::scale); }
/// What a number is; "" if it is unknown.
inline std::string is(bool known, Provenance provenance) { return known ? std::string(name(provenance)) : ""; }

/// tag, mode, seed: the first columns wherever rows are of runs.
inline std::vector<std::string> of_run(const Report& report, std::size_t run) {
  const ReportRun& r = report.runs[run];
  return {r.tag, r.mode, field(r.run.seed)};
}
inline std::vector<std::string> of_run(const Report& report, std::size_t run, std::vector<std::string> more) {
  std::vector<std::string> all = of_run(report, run);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
inline std::vector<TableColumn> run_columns(std::vector<TableColumn> more) {
  std::vector<TableColumn> all{{"tag", "", "", "setting, where there are several (settings.csv)"}, {"mode", "", "", "precision mode"}, {"seed", "", "", "of the run"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
inline constexpr TableColumn provenance_column{"provenance", "", "", "what the number is: measured, counted, computed, recomputed, inferred, emulated, projected, unknown"};
inline constexpr TableColumn step_column{"step", "", "counted", "iteration, from 0"};

}  // namespace ulpscope::reports::table_parts
