// How a run file begins and ends: created with its schema, put into write-ahead mode, and taken out of it.
#pragma once

#include <string>

#include "reports/run_file/file_lock.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"

namespace ulpscope::reports {

/// A new run file and the lock that says it is being written. The connection closes before the lock is given up.
struct CreatedFile {
  FileLock lock;
  std::string file_name;  ///< absolute
  Database database;
};

/// Throws UsageError in one line (see RunFileWriter).
CreatedFile create_run_file(const std::string& path, const WriterOptions& options);

/// An existing run file of this schema that nobody writes, in write-ahead mode again. Throws UsageError in one line.
CreatedFile reopen_run_file(const std::string& path, const WriterOptions& options);

/// Folds the write-ahead log into the file and leaves write-ahead mode. If a reader is in the way for longer than
/// `patience` seconds, the file stays in write-ahead mode and a note in completeness says so. Throws SqliteError.
void leave_write_ahead_mode(CreatedFile& file, double patience);

}  // namespace ulpscope::reports
