#include "reports/run_file/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "reports/run_file/file_lock.h"
#include "reports/run_file/schema.h"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;

bool has_bytes(const std::string& file_name) {
  std::error_code error;
  const auto bytes = fs::file_size(file_name, error);
  return !error && bytes > 0;
}

// The header through SQLite's own descriptor: a second one, when closed, would release this process's locks on the
// file.
struct Header {
  std::array<unsigned char, 100> bytes{};
  std::int64_t file_size = 0;
  bool read = false;

  explicit Header(Database& database) {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return;
    if (file == nullptr || file->pMethods == nullptr) return;
    sqlite3_int64 size = 0;
    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK) return;
    file_size = size;
    read = size >= 100 && file->pMethods->xRead(file, bytes.data(), 100, 0) == SQLITE_OK;
  }
  // https://www.sqlite.org/fileformat2.html, "The Database Header"; numbers are big-endian.
  std::uint32_t u32(std::size_t at) const {
    return static_cast<std::uint32_t>(bytes[at]) << 24 | static_cast<std::uint32_t>(bytes[at + 1]) << 16 |
           static_cast<std::uint32_t>(bytes[at + 2]) << 8 | bytes[at + 3];
  }
  bool magic() const { return read && std::memcmp(bytes.data(), "SQLite format 3", 16) == 0; }
  bool write_ahead() const { return bytes[18] == 2; }
  std::int64_t page_size() const {
    const int size = bytes[16] << 8 | bytes[17];
    return size == 1 ? 65536 : size;
  }
  std::int64_t pages() const { return u32(28); }
};

// Without a log and without a writer, a file in write-ahead mode is whole as it is; told so, SQLite needs no shared
// memory beside it, and a folder that cannot be written is no obstacle.
std::string immutable_uri(const std::string& file_name) {
  std::string uri = "file:";
  for (const char c : file_name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                       std::string_view("/-_.~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

bool left_in_write_ahead_mode(Database& database, const std::string& file_name) {
  const Header header(database);
  return header.magic() && header.write_ahead() && !has_bytes(file_name + "-wal") && !FileLock::held(file_name);
}

void check_file(const std::string& path, const std::string& file_name) {
  std::error_code error;
  const fs::file_status status = fs::status(file_name, error);
  if (status.type() == fs::file_type::not_found) throw UsageError(fmt::format("{}: there is no such file", path));
  if (status.type() == fs::file_type::none) throw UsageError(fmt::format("cannot read {}: {}", path, error.message()));
  if (status.type() == fs::file_type::directory) throw UsageError(fmt::format("{} is a folder, not a run file", path));
  if (status.type() != fs::file_type::regular) throw UsageError(fmt::format("{} is not a plain file", path));
}

std::int64_t bytes_of(const std::string& file_name) {
  std::int64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto size = fs::file_size(file_name + suffix, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

/// A view or a virtual table of a table's name computes its rows when it is read, without an end if it likes; so does a
/// generated column.
void check_tables(const std::string& path, const Database& database) {
  const auto refuse = [&](const std::string& what) { throw UsageError(fmt::format("{}: the run file is damaged: {}", path, what)); };
  Statement objects(database, "SELECT lower(name), type, rootpage FROM sqlite_schema WHERE type IN ('table', 'view')");
  while (objects.step()) {
    std::string name, type;
    std::optional<std::int64_t> page;
    objects.read(0, name);
    objects.read(1, type);
    objects.read(2, page);
    if (std::find(table_names().begin(), table_names().end(), name) == table_names().end()) continue;
    if (type != "table" || page.value_or(0) <= 0) refuse(fmt::format("\"{}\" is a {}, not a table", name, type == "view" ? "view" : "virtual table"));
    Statement columns(database, fmt::format("PRAGMA table_xinfo({})", name));
    while (columns.step()) {
      std::int64_t hidden = 0;
      columns.read(6, hidden);
      if (hidden != 0) refuse(fmt::format("table \"{}\" has a generated column", name));
    }
  }
}

}  // namespace

std::int64_t work_of_a_read(std::int64_t file_bytes) { return 10'000'000 + 16 * file_bytes; }

void throw_unreadable(const std::string& path, const SqliteError& error) {
  if (error.primary() == SQLITE_CANTOPEN || error.primary() == SQLITE_PERM || error.primary() == SQLITE_READONLY) {
    throw UsageError(
        fmt::format("cannot read {}: {}. A recording that was cut off needs its \"-wal\" file and a folder "
                    "that can be written: copy both to one",
                    path, error.what()));
  }
  if (error.primary() == SQLITE_BUSY || error.primary() == SQLITE_LOCKED)
    throw UsageError(fmt::format("cannot read {}: another program keeps it locked", path));
  if (error.primary() == SQLITE_INTERRUPT)
    throw UsageError(fmt::format("{}: the run file is damaged: reading a table does not come to an end", path));
  throw UsageError(fmt::format("{}: the run file is damaged or cut off: {}", path, error.what()));
}

std::unique_ptr<Database> open_run_file(const std::string& path, const std::string& file_name) {
  check_file(path, file_name);
  try {
    auto database = std::make_unique<Database>(file_name, SQLITE_OPEN_READONLY);
    if (left_in_write_ahead_mode(*database, file_name))
      database = std::make_unique<Database>(immutable_uri(file_name), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    database->set_busy_timeout(2.0);
    database->distrust();
    database->limit_work(work_of_a_read(bytes_of(file_name)));
    return database;
  } catch (const SqliteError& error) {
    throw UsageError(fmt::format("cannot read {}: {}", path, error.what()));
  }
}

int check_run_file(const std::string& path, const std::string& file_name, Database& database) {
  const Header header(database);
  const bool log = has_bytes(file_name + "-wal");
  if (header.file_size == 0 && !log)
    throw UsageError(fmt::format("{} is empty: not a run file, or one cut off before its first record", path));
  if (!header.magic() && !log) throw UsageError(fmt::format("{} is not a run file of ulpscope", path));
  if (!log && header.magic() && header.file_size < header.page_size() * header.pages())
    throw UsageError(fmt::format("{}: the run file is cut off: {} of {} bytes are there", path, header.file_size,
                                 header.page_size() * header.pages()));
  try {
    if (database.integer("PRAGMA application_id") != application_id)
      throw UsageError(fmt::format("{} is not a run file of ulpscope, but another SQLite database", path));
    const std::int64_t version = database.integer("PRAGMA user_version");
    if (version > schema_version) {
      std::string producer = "a newer version";
      try {
        producer = database.text("SELECT producer_version FROM experiment");
      } catch (const SqliteError&) {  // a table may change its columns; the message does without
      }
      throw UsageError(fmt::format("{} was written by ulpscope {}, schema {}; this program reads up to schema {}", path,
                                   producer, version, schema_version));
    }
    if (version < 1) throw UsageError(fmt::format("{}: the run file has no schema version: it is damaged", path));
    check_tables(path, database);
    return static_cast<int>(version);
  } catch (const SqliteError& error) {
    if (error.primary() == SQLITE_NOTADB) throw UsageError(fmt::format("{} is not a run file of ulpscope", path));
    throw_unreadable(path, error);
  }
}

}  // namespace ulpscope::reports
