// Opening a run file for reading, and saying in one line why it cannot be read.
#pragma once

#include <memory>
#include <string>

#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {

/// A read-only connection. Throws UsageError that names `path`.
std::unique_ptr<Database> open_run_file(const std::string& path, const std::string& file_name);

/// Checks that it is a run file, whole, and of a version that can be read; returns the schema version.
int check_run_file(const std::string& path, const std::string& file_name, Database& database);

/// "gpt.ulp: damaged or cut off: …" or, if the system said no, its reason.
[[noreturn]] void throw_unreadable(const std::string& path, const SqliteError& error);

}  // namespace ulpscope::reports
