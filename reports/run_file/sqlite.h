// SQLite with destructors and exceptions; and how each C++ type is kept in a column.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// What SQLite answered, in its own words.
class SqliteError : public Error {
 public:
  SqliteError(int error_code, const std::string& message) : Error(message), code(error_code) {}
  int primary() const { return code & 0xff; }
  int code;  ///< extended result code
};

/// A column of a row that was read holds something else than the schema says.
class BadValue : public SqliteError {
 public:
  BadValue(int index, const std::string& message) : SqliteError(SQLITE_CORRUPT, message), column(index) {}
  int column;  ///< from 0
};

/// One connection, used by one thread at a time.
class Database {
 public:
  /// flags as sqlite3_open_v2's. Throws SqliteError.
  Database(const std::string& file_name, int flags);
  ~Database() { sqlite3_close_v2(handle_); }
  Database(Database&& other) noexcept : handle_(other.handle_), work_left_(std::move(other.work_left_)) { other.handle_ = nullptr; }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle() const { return handle_; }
  /// Runs statements that return nothing of interest.
  void execute(const char* sql);
  /// First column of the first row as text, as integer. Throws if there is no row.
  std::string text(const char* sql);
  std::int64_t integer(const char* sql);
  void set_busy_timeout(double seconds) { sqlite3_busy_timeout(handle_, static_cast<int>(seconds * 1000)); }
  /// For files from anywhere: no view, trigger or function that the file brings along is run, damaged pages are noticed, and no
  /// value is longer than any that is written here.
  void distrust();
  /// From now on statements take at most so many instructions of SQLite's virtual machine, then they fail (SQLITE_INTERRUPT).
  void limit_work(std::int64_t instructions);
  [[noreturn]] void fail() const;

 private:
  sqlite3* handle_ = nullptr;
  std::unique_ptr<std::int64_t> work_left_;  ///< at a place of its own: SQLite holds its address
};

/// A prepared statement. Parameters and columns count from 0.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(Statement&& other) noexcept : database_(other.database_), handle_(other.handle_) {
    other.handle_ = nullptr;
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// True if there is a row.
  bool step();
  void reset();

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value);
  void bind(int index, bool value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { bind(index, std::string_view(value)); }
  void bind(int index, const Number& value);
  void bind(int index, const std::vector<std::string>& value);
  void bind(int index, const std::vector<std::int64_t>& value);
  void bind(int index, const std::vector<Signature>& value);
  void bind(int index, const ExponentHistogram& value);
  void bind(int index, const TensorRanges& value);
  template <class Enum>
  requires std::is_enum_v<Enum>
  void bind(int index, Enum value) {
    if constexpr (sizeof(Enum) == 1) {
      bind(index, name(value));  // a word
    } else {
      bind(index, static_cast<std::int64_t>(value));  // an id
    }
  }
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  void bind_null(int index);

  /// Reads a column. Throws BadValue if it holds something else than the schema says.
  void read(int index, std::int64_t& value);
  void read(int index, bool& value);
  void read(int index, std::string& value);
  void read(int index, Number& value);
  void read(int index, std::vector<std::string>& value);
  void read(int index, std::vector<std::int64_t>& value);
  void read(int index, std::vector<Signature>& value);
  void read(int index, ExponentHistogram& value);
  void read(int index, TensorRanges& value);
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read(int index, Enum& value) {
    if constexpr (sizeof(Enum) == 1) {
      const std::optional<Enum> parsed = parse<Enum>(text(index));
      if (!parsed) bad_value(index);
      value = *parsed;
    } else {
      std::int64_t id = 0;
      read(index, id);
      value = static_cast<Enum>(id);
    }
  }
  template <class T>
  void read(int index, std::optional<T>& value) {
    value.reset();
    if (!is_null(index)) read(index, value.emplace());
  }

 private:
  bool is_null(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_NULL; }
  std::string_view text(int index) const;
  void check(int code) const;
  [[noreturn]] void bad_value(int index) const;

  const Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace ulpscope::reports
