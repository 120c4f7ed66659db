#include "reports/run_file/create.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "reports/run_file/insert.h"
#include "reports/run_file/open.h"
#include "reports/run_file/place.h"
#include "reports/run_file/schema.h"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;

void check_options(const std::string& path, const WriterOptions& options) {
  if (path.empty()) throw UsageError("a run file needs a name, such as gpt.ulp");
  if (options.overwrite && options.append) throw UsageError("a run file is either overwritten or added to");
  if (options.queue_capacity < 1) throw UsageError("the queue of a run file holds at least 1 record");
  if (!(options.commit_seconds > 0.0 && options.commit_seconds <= 1.0))
    throw UsageError(
        fmt::format("a run file is committed every {} s; valid are more than 0 and at most 1", options.commit_seconds));
  if (!(options.busy_seconds >= 0.0 && options.busy_seconds <= 3600.0))
    throw UsageError(fmt::format("a run file waits {} s for others; valid are 0 to 3600", options.busy_seconds));
}

bool is_run_file(const std::string& file_name) {
  try {
    Database database(file_name, SQLITE_OPEN_READONLY);
    return database.integer("PRAGMA application_id") == application_id;
  } catch (const SqliteError&) {
    return false;
  }
}

void check_replaceable(const std::string& path, const std::string& file_name) {
  std::error_code error;
  if (fs::file_size(file_name, error) > 0 && !is_run_file(file_name))
    throw UsageError(fmt::format("{} is not a run file of ulpscope and is not overwritten: choose another name", path));
}

// Refuses before anything is touched: a run file is the result of hours.
void check_place(const std::string& path, const std::string& file_name, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::status(file_name, error);
  if (status.type() == fs::file_type::directory) throw UsageError(fmt::format("cannot write {}: it is a folder", path));
  if (fs::is_symlink(fs::symlink_status(file_name, error)))  // place_of follows the others
    throw UsageError(fmt::format("cannot write {}: it is a link that leads to no file", path));
  if (fs::exists(status)) {
    if (status.type() != fs::file_type::regular)
      throw UsageError(fmt::format("cannot write {}: it is not a plain file", path));
    if (FileLock::held(file_name)) throw UsageError(fmt::format("{} is being written by another process", path));
    check_replaceable(path, file_name);
    if (!overwrite)
      throw UsageError(fmt::format("{} exists already: choose another name, or ask for it to be overwritten", path));
  }
  const fs::path folder = fs::path(file_name).parent_path();
  if (!fs::is_directory(folder, error))
    throw UsageError(error == std::errc::permission_denied
                         ? fmt::format("cannot write {}: {}", path, error.message())
                         : fmt::format("cannot write {}: there is no folder {}", path, folder.string()));
}

void remove_with_logs(const std::string& file_name) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((file_name + suffix).c_str());
}

void enter_write_ahead_mode(const std::string& path, Database& database) {
  if (database.text("PRAGMA journal_mode = WAL") != "wal")
    throw UsageError(
        fmt::format("cannot write {}: the file system of its folder has no shared memory, which a run "
                    "file that can be followed needs: choose a folder on a local disk",
                    path));
  // A commit then costs no wait for the disk: a kill of the process loses nothing that was committed; a power cut may
  // lose the last moments but leaves the file whole.
  database.execute("PRAGMA synchronous = NORMAL");
}

/// The file with its tables and first records, under a name of its own. All that it needs when it is at its place, a log too,
/// finds room here first.
void make_aside(const std::string& path, const std::string& aside, const WriterOptions& options) {
  remove_with_logs(aside);   // of a kill
  Database database(aside, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  database.set_busy_timeout(options.busy_seconds);
  database.execute("PRAGMA synchronous = OFF");  // nothing to lose yet
  database.execute("BEGIN EXCLUSIVE");
  database.execute(schema_sql());
  database.execute("COMMIT");
  enter_write_ahead_mode(path, database);
  database.execute("BEGIN IMMEDIATE");
  {
    Inserter inserter(database);
    for (const Record& record : options.first) inserter.insert(record);
  }
  database.execute("COMMIT");
  // On the disk before the old file goes.
  if (options.overwrite) database.execute("PRAGMA synchronous = FULL");
  database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

void put_in_place(const std::string& path, const std::string& file_name, const std::string& aside, bool overwrite) {
  std::error_code error;
  if (fs::exists(file_name, error)) {  // it may have come in between
    check_replaceable(path, file_name);
    if (!overwrite) throw UsageError(fmt::format("{} exists already: choose another name, or ask for it to be overwritten", path));
  }
  // The old log first: beside the new file it would be taken for its log.
  for (const char* suffix : {"-wal", "-shm", "-journal"})
    if (unlink((file_name + suffix).c_str()) != 0 && errno != ENOENT)
      throw UsageError(fmt::format("cannot overwrite {}: {}", path, std::strerror(errno)));
  if (std::rename(aside.c_str(), file_name.c_str()) != 0)
    throw UsageError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

/// Reading is what makes the memory that is shared with readers: a full disk shows here.
void try_reading(Database& database) { database.integer("SELECT count(*) FROM run"); }

}  // namespace

void check_output(const std::string& path, bool overwrite) {
  check_options(path, {.overwrite = overwrite});
  check_place(path, place_of(path), overwrite);
}

CreatedFile create_run_file(const std::string& path, const WriterOptions& options) {
  check_options(path, options);
  const std::string file_name = place_of(path);
  check_place(path, file_name, options.overwrite);
  std::optional<FileLock> lock = FileLock::take(file_name);
  if (!lock) throw UsageError(fmt::format("{} is being written by another process", path));
  const std::string aside = file_name + "-new";
  try {
    make_aside(path, aside, options);
    put_in_place(path, file_name, aside, options.overwrite);
    CreatedFile file{std::move(*lock), file_name, Database(file_name, SQLITE_OPEN_READWRITE)};
    file.database.set_busy_timeout(options.busy_seconds);
    enter_write_ahead_mode(path, file.database);
    try_reading(file.database);
    return file;
  } catch (const SqliteError& error) {
    remove_with_logs(aside);
    throw UsageError(fmt::format("cannot write {}: {}", path, error.what()));
  } catch (...) {
    remove_with_logs(aside);
    throw;
  }
}

CreatedFile reopen_run_file(const std::string& path, const WriterOptions& options) {
  check_options(path, options);
  const std::string file_name = place_of(path);
  const auto check = [&] {
    const std::unique_ptr<Database> database = open_run_file(path, file_name);
    const int version = check_run_file(path, file_name, *database);
    if (version != schema_version)
      throw UsageError(
          fmt::format("{} has schema {}: this program adds to files of schema {} only", path, version, schema_version));
  };
  check();  // before anything is made beside it
  std::optional<FileLock> lock = FileLock::take(file_name);
  if (!lock) throw UsageError(fmt::format("{} is being written by another process", path));
  check();  // it may have been replaced in between
  const Rewind plan = options.rewind ? options.rewind() : Rewind{};
  try {
    CreatedFile file{std::move(*lock), file_name, Database(file_name, SQLITE_OPEN_READWRITE)};
    file.database.set_busy_timeout(options.busy_seconds);
    file.database.distrust();
    enter_write_ahead_mode(path, file.database);
    try_reading(file.database);
    if (!plan.empty()) rewind(file.database, plan);
    return file;
  } catch (const SqliteError& error) {
    throw UsageError(fmt::format("cannot add to {}: {}", path, error.what()));
  }
}

void leave_write_ahead_mode(CreatedFile& file, double patience) {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + std::chrono::duration<double>(patience);
  Database& database = file.database;
  database.set_busy_timeout(0.05);
  for (;;) {
    try {
      database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      if (database.text("PRAGMA journal_mode = DELETE") == "delete") return;
    } catch (const SqliteError& error) {
      if (error.primary() != SQLITE_BUSY && error.primary() != SQLITE_LOCKED) throw;
    }
    if (clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Inserter(database).insert(CompletenessRecord{
      .kind = "note",
      .subject = "run_file",
      .detail = "a reader held the file when it was closed: it stayed in write-ahead mode; nothing is missing"});
}

}  // namespace ulpscope::reports
