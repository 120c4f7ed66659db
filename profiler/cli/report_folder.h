// The folder of `ulpscope report --csv`.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/report.h"

namespace ulpscope::profiler {

/// Throws UsageError where the folder cannot be made or written, where something else has its name, and for what check_output_file()
/// refuses of its files. others: files that are written beside it. Files of other names do not matter.
void check_csv_folder(const std::string& folder, bool force, const std::vector<std::string>& read, const std::vector<std::string>& others);

/// Makes the folder, with those above it, and writes every table and the data dictionary. Throws UsageError, Error.
void write_csv_folder(const reports::Report& report, const std::string& folder);

}  // namespace ulpscope::profiler
