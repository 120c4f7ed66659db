#include "reports/run_file/sqlite.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

// Invalid UTF-8 is replaced rather than refused: a name must never cost a recording.
std::string dump(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

// A tensor in a blob of ranges: int32 id, float32 magnitude, flags.
constexpr std::size_t range_bytes = 9;
constexpr unsigned flag_not_finite = 1;
constexpr unsigned flag_overflowed = 2;

std::uint64_t little_endian(const unsigned char* data, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(data[i]) << (8 * i);
  return value;
}

}  // namespace

Database::Database(const std::string& file_name, int flags) {
  // One thread at a time: a lock for every column of every row would be two fifths of what reading a file takes.
  const int code = sqlite3_open_v2(file_name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    std::string message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    const int system = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
    if (system != 0)
      message = std::strerror(system);  // "Permission denied" says more than "unable to open database file"
    const int extended = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : code;
    sqlite3_close_v2(handle_);
    throw SqliteError(extended, message);
  }
  sqlite3_extended_result_codes(handle_, 1);
}

void Database::fail() const { throw SqliteError(sqlite3_extended_errcode(handle_), sqlite3_errmsg(handle_)); }

void Database::distrust() {
  constexpr int longest_value = 64 << 20;
  for (const auto& [option, value] : {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1), std::pair(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
                                      std::pair(SQLITE_DBCONFIG_ENABLE_VIEW, 0), std::pair(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)})
    if (sqlite3_db_config(handle_, option, value, nullptr) != SQLITE_OK) fail();
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value);
  execute("PRAGMA cell_size_check = ON");
}

void Database::limit_work(std::int64_t instructions) {
  constexpr int between_looks = 1000;
  if (!work_left_) work_left_ = std::make_unique<std::int64_t>();
  *work_left_ = instructions / between_looks;
  sqlite3_progress_handler(
      handle_, between_looks, [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; }, work_left_.get());
}

void Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::string Database::text(const char* sql) {
  Statement statement(*this, sql);
  std::string value;
  if (!statement.step()) throw SqliteError(SQLITE_CORRUPT, fmt::format("no answer to {}", sql));
  statement.read(0, value);
  return value;
}

std::int64_t Database::integer(const char* sql) {
  Statement statement(*this, sql);
  std::int64_t value = 0;
  if (!statement.step()) throw SqliteError(SQLITE_CORRUPT, fmt::format("no answer to {}", sql));
  statement.read(0, value);
  return value;
}

Statement::Statement(const Database& database, const std::string& sql) : database_(&database) {
  check(sqlite3_prepare_v2(database.handle(), sql.c_str(), static_cast<int>(sql.size() + 1), &handle_, nullptr));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_->fail();
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail();
  return false;
}

void Statement::reset() { sqlite3_reset(handle_); }

void Statement::bind_null(int index) { check(sqlite3_bind_null(handle_, index + 1)); }
void Statement::bind(int index, std::int64_t value) { check(sqlite3_bind_int64(handle_, index + 1, value)); }

void Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  check(sqlite3_bind_text64(handle_, index + 1, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int index, const Number& value) {
  if (!value) return bind_null(index);
  if (std::isnan(*value)) return bind(index, "nan");
  if (std::isinf(*value)) return bind(index, *value > 0 ? "inf" : "-inf");
  check(sqlite3_bind_double(handle_, index + 1, *value));
}

void Statement::bind(int index, const std::vector<std::string>& value) { bind(index, dump(json(value))); }
void Statement::bind(int index, const std::vector<std::int64_t>& value) { bind(index, dump(json(value))); }

void Statement::bind(int index, const std::vector<Signature>& value) {
  json array = json::array();
  for (const Signature& s : value) {
    array.push_back({{"shape", s.shape}, {"format", s.format}});
    if (s.tensor) array.back()["tensor"] = static_cast<std::int64_t>(*s.tensor);
  }
  bind(index, dump(array));
}

void Statement::bind(int index, const ExponentHistogram& value) {
  std::string blob;
  blob.reserve(4 + 8 * value.counts.size());
  append_little_endian(blob, static_cast<std::uint32_t>(value.first), 4);
  for (const std::uint64_t count : value.counts) append_little_endian(blob, count, 8);
  check(sqlite3_bind_blob64(handle_, index + 1, blob.data(), blob.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int index, const TensorRanges& value) {
  std::string blob;
  blob.reserve(range_bytes * value.size());
  for (const TensorRange& range : value) {
    append_little_endian(blob, static_cast<std::uint32_t>(static_cast<std::int64_t>(range.tensor)), 4);
    append_little_endian(blob, std::bit_cast<std::uint32_t>(range.greatest_magnitude), 4);
    append_little_endian(blob, (range.not_finite ? flag_not_finite : 0u) | (range.overflowed ? flag_overflowed : 0u), 1);
  }
  // An empty blob, not NULL.
  check(sqlite3_bind_blob64(handle_, index + 1, blob.data(), blob.size(), SQLITE_TRANSIENT));
}

void Statement::bad_value(int index) const {
  constexpr std::size_t shown = 60;
  const std::string_view held = text(index);
  throw BadValue(index, fmt::format("column {} holds {}", sqlite3_column_name(handle_, index),
                                    is_null(index) ? "nothing" : fmt::format("\"{}{}\"", held.substr(0, shown), held.size() > shown ? "…" : "")));
}

std::string_view Statement::text(int index) const {
  const unsigned char* data = sqlite3_column_text(handle_, index);
  const int bytes = sqlite3_column_bytes(handle_, index);
  return data == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
}

void Statement::read(int index, std::int64_t& value) {
  if (sqlite3_column_type(handle_, index) != SQLITE_INTEGER) bad_value(index);
  value = sqlite3_column_int64(handle_, index);
}

void Statement::read(int index, bool& value) {
  std::int64_t number = 0;
  read(index, number);
  if (number != 0 && number != 1) bad_value(index);
  value = number == 1;
}

void Statement::read(int index, std::string& value) {
  if (sqlite3_column_type(handle_, index) != SQLITE_TEXT) bad_value(index);
  value = text(index);
}

void Statement::read(int index, Number& value) {
  switch (sqlite3_column_type(handle_, index)) {
    case SQLITE_NULL:
      value.reset();
      return;
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      value = sqlite3_column_double(handle_, index);
      return;
    default:
      break;
  }
  const std::string_view word = text(index);
  if (word == "nan")
    value = std::numeric_limits<double>::quiet_NaN();
  else if (word == "inf")
    value = std::numeric_limits<double>::infinity();
  else if (word == "-inf")
    value = -std::numeric_limits<double>::infinity();
  else
    bad_value(index);
}

void Statement::read(int index, std::vector<std::string>& value) {
  try {
    value = json::parse(text(index)).get<std::vector<std::string>>();
  } catch (const json::exception&) {
    bad_value(index);
  }
}

void Statement::read(int index, std::vector<std::int64_t>& value) {
  try {
    value = json::parse(text(index)).get<std::vector<std::int64_t>>();
  } catch (const json::exception&) {
    bad_value(index);
  }
}

void Statement::read(int index, std::vector<Signature>& value) {
  try {
    value.clear();
    for (const json& entry : json::parse(text(index))) {
      value.push_back({entry.at("shape").get<std::vector<std::int64_t>>(), entry.at("format").get<std::string>(), {}});
      if (entry.contains("tensor")) value.back().tensor = TensorId{entry["tensor"].get<std::int64_t>()};
    }
  } catch (const json::exception&) {
    bad_value(index);
  }
}

void Statement::read(int index, ExponentHistogram& value) {
  const auto* data = static_cast<const unsigned char*>(sqlite3_column_blob(handle_, index));
  const int bytes = sqlite3_column_bytes(handle_, index);
  if (data == nullptr || bytes < 4 || (bytes - 4) % 8 != 0) bad_value(index);
  value.first = static_cast<std::int32_t>(static_cast<std::uint32_t>(little_endian(data, 4)));
  value.counts.clear();
  for (int i = 4; i < bytes; i += 8) value.counts.push_back(little_endian(data + i, 8));
}

void Statement::read(int index, TensorRanges& value) {
  if (sqlite3_column_type(handle_, index) != SQLITE_BLOB) bad_value(index);
  const auto* data = static_cast<const unsigned char*>(sqlite3_column_blob(handle_, index));
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(handle_, index));
  if (bytes % range_bytes != 0) bad_value(index);
  std::vector<TensorRange> list(bytes / range_bytes);
  for (TensorRange& range : list) {
    range.tensor = TensorId{static_cast<std::int32_t>(little_endian(data, 4))};
    range.greatest_magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(data + 4, 4)));
    range.not_finite = (data[8] & flag_not_finite) != 0;
    range.overflowed = (data[8] & flag_overflowed) != 0;
    data += range_bytes;
  }
  value = TensorRanges(std::move(list));
}

}  // namespace ulpscope::reports
