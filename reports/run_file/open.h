// Opening a run file for reading, and saying in one line why it cannot be read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {

/// What one read of a file of that size may take, in instructions of SQLite: several times what any table needs. Damaged pages
/// that lead to each other again and again need more.
std::int64_t work_of_a_read(std::int64_t file_bytes);

/// A read-only connection that trusts nothing in the file. Throws UsageError that names `path`.
std::unique_ptr<Database> open_run_file(const std::string& path, const std::string& file_name);

/// Checks that it is a run file, whole, its tables being tables, and of a version that can be read; returns the schema version.
int check_run_file(const std::string& path, const std::string& file_name, Database& database);

/// "gpt.ulp: damaged or cut off: …" or, if the system said no, its reason.
[[noreturn]] void throw_unreadable(const std::string& path, const SqliteError& error);

}  // namespace ulpscope::reports
