// SQLite exports of Nsight Systems (nsys export --type sqlite). Tables are there as far as they were recorded, and their columns differ between versions:
// what is there is read by its name, what is not is said. Times are nanoseconds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "kernels/error.h"
#include "profiler/import/trace_launches.h"
#include "reports/run_file/sqlite.h"

namespace ulpscope::profiler {
namespace {

using reports::Database;

constexpr const char* kernel_table = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::int64_t push_pop_range = 59, start_end_range = 60;   // NVTX_EVENTS.eventType
constexpr std::int64_t most_int32 = 2147483647;
/// Nanoseconds: no clock of a trace is beyond these (1896 and 2116, counted from 1970), and a difference of two moments fits in 64 bits.
constexpr std::int64_t earliest = -(std::int64_t{1} << 61), latest = std::int64_t{1} << 62;

/// From the first to the last moment; nothing: it ends before it begins, or no clock says so.
std::optional<std::int64_t> duration_of(std::int64_t start, std::int64_t end) {
  if (start < earliest || end > latest || end < start) return std::nullopt;
  return end - start;
}

/// globalPid and globalTid: 24 bits of thread, 24 of process, 8 of virtual machine, 8 of hardware. Process and machine; below 0: unknown.
std::int32_t process_of(std::optional<std::int64_t> global) { return global ? static_cast<std::int32_t>((*global >> 24) & most_int32) : -1; }

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

/// A statement whose values may be of any type.
class Query {
 public:
  Query(const Database& database, const std::string& file, const std::string& table, const std::string& sql) : database_(database), file_(file), table_(table) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK) refuse();
  }
  ~Query() { sqlite3_finalize(handle_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool step() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) {
      ++row_;
      return true;
    }
    if (code != SQLITE_DONE) refuse();
    return false;
  }
  std::int64_t row() const { return row_; }
  int type(int i) const { return sqlite3_column_type(handle_, i); }
  std::optional<std::int64_t> whole(int i) const { return i >= 0 && type(i) == SQLITE_INTEGER ? std::optional<std::int64_t>(sqlite3_column_int64(handle_, i)) : std::nullopt; }
  std::optional<double> number(int i) const { return i >= 0 && (type(i) == SQLITE_INTEGER || type(i) == SQLITE_FLOAT) ? std::optional(sqlite3_column_double(handle_, i)) : std::nullopt; }
  std::optional<std::string> text(int i) const {
    if (i < 0 || type(i) != SQLITE_TEXT) return std::nullopt;
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, i));   // UTF-8, whatever the file is in
    return bytes == nullptr ? std::nullopt : std::optional(std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, i))));
  }

 private:
  [[noreturn]] void refuse() const {
    throw UsageError(fmt::format("{}: {}{}: {}", file_, table_.empty() ? "list of tables" : "table " + table_, row_ > 0 ? fmt::format(", after row {}", row_) : "", sqlite3_errmsg(database_.handle())));
  }
  const Database& database_;
  const std::string& file_;
  std::string table_;
  sqlite3_stmt* handle_ = nullptr;
  std::int64_t row_ = 0;
};

/// Rows of a table: the columns that are wanted, as far as it has them.
class Rows {
 public:
  Rows(const Database& database, const std::string& file, const std::string& table, const std::vector<std::string>& columns, const std::set<std::string>& there) {
    std::vector<std::string> list;
    for (const std::string& column : columns) {
      index_.push_back(there.contains(column) ? static_cast<int>(list.size()) : -1);
      if (there.contains(column)) list.push_back(quoted(column));
    }
    query_ = std::make_unique<Query>(database, file, table, fmt::format("SELECT {} FROM {}", list.empty() ? "1" : fmt::format("{}", fmt::join(list, ", ")), quoted(table)));
  }
  bool step() { return query_->step(); }
  std::int64_t row() const { return query_->row(); }
  std::optional<std::int64_t> whole(std::size_t column) const { return query_->whole(index_[column]); }
  std::optional<double> number(std::size_t column) const { return query_->number(index_[column]); }
  std::optional<std::string> text(std::size_t column) const { return query_->text(index_[column]); }

 private:
  std::vector<int> index_;
  std::unique_ptr<Query> query_;
};

class Nsight {
 public:
  Nsight(const std::string& path, Trace& trace) : path_(path), trace_(trace), database_(open(path)) {
    find_tables();
  }

  void read() {
    if (!has(kernel_table) && !has("NVTX_EVENTS") && !has("StringIds"))
      throw UsageError(fmt::format("{}: that is no export of Nsight Systems: it has neither {} nor NVTX_EVENTS nor StringIds (a run file of ulpscope needs no import)", path_, kernel_table));
    strings();
    devices();
    reserve();
    kernels();
    transfers("CUPTI_ACTIVITY_KIND_MEMCPY", WorkKind::copy);
    transfers("CUPTI_ACTIVITY_KIND_MEMSET", WorkKind::set);
    {
      LaunchMatcher matcher(trace_);
      for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) launches(table, matcher);
      matcher.finish();
    }
    if (!has("CUPTI_ACTIVITY_KIND_RUNTIME") && !has("CUPTI_ACTIVITY_KIND_DRIVER")) trace_.missing.emplace_back("CUPTI_ACTIVITY_KIND_RUNTIME: which call launched a kernel is unknown");
    ranges();
    rest();
  }

 private:
  static Database open(const std::string& path) {
    try {
      Database database(path, SQLITE_OPEN_READONLY);
      database.distrust();
      return database;
    } catch (const reports::SqliteError& error) {
      throw UsageError(fmt::format("{}: {}", path, error.what()));
    }
  }

  bool has(const std::string& table) const { return tables_.contains(table); }

  /// Plain tables alone: a view of the file is not run.
  void find_tables() {
    {
      Query list(database_, path_, "", "SELECT name, sql FROM sqlite_master WHERE type = 'table'");
      while (list.step()) {
        const std::string name = list.text(0).value_or(""), sql = list.text(1).value_or("");
        if (!name.starts_with("sqlite_") && !sql.starts_with("CREATE VIRTUAL")) tables_[name];
      }
    }
    for (auto& [name, columns] : tables_) {
      Query list(database_, path_, name, fmt::format("PRAGMA table_info({})", quoted(name)));
      while (list.step()) columns.insert(list.text(1).value_or(""));
    }
  }

  /// The rows of a table that must have some columns; what it lacks of the others is said. Null: there is no such table.
  std::unique_ptr<Rows> rows(const std::string& table, const std::vector<std::string>& needed, const std::vector<std::string>& welcome) {
    if (!has(table)) return nullptr;
    read_.insert(table);
    const std::set<std::string>& there = tables_.at(table);
    for (const std::string& column : needed)
      if (!there.contains(column)) throw UsageError(fmt::format("{}: table {} has no column \"{}\"; it has {}", path_, table, column, fmt::join(there, ", ")));
    std::vector<std::string> lacks, all = needed;
    for (const std::string& column : welcome) {
      if (!there.contains(column)) lacks.push_back(column);
      all.push_back(column);
    }
    if (!lacks.empty()) trace_.missing.push_back(fmt::format("{}: its version lacks {}", table, fmt::join(lacks, ", ")));
    return std::make_unique<Rows>(database_, path_, table, all, there);
  }

  void broken(const std::string& table, std::int64_t row, const std::string& what) {
    if (trace_.broken++ == 0) trace_.first_broken = fmt::format("table {}, row {}: {}", table, row, what);
  }

  void strings() {
    const auto list = rows("StringIds", {"id", "value"}, {});
    if (!list) {
      trace_.missing.emplace_back("StringIds: names are unknown");
      return;
    }
    while (list->step()) {
      const auto id = list->whole(0);
      const auto value = list->text(1);
      if (!id || !value) broken("StringIds", list->row(), "no id, or no text");
      else strings_[*id] = trace_.names.id(*value);
    }
  }

  /// Of the first of these columns that holds a name: an id in StringIds, or the text itself.
  std::optional<std::uint32_t> name(const Rows& row, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) {
      if (const auto text = row.text(i)) return trace_.names.id(*text);
      if (const auto id = row.whole(i)) {
        const auto found = strings_.find(*id);
        if (found != strings_.end() && !trace_.names[found->second].empty()) return found->second;
      }
    }
    return std::nullopt;
  }

  std::int64_t count(const std::string& table) {
    Query query(database_, path_, table, fmt::format("SELECT count(*) FROM {}", quoted(table)));
    return query.step() ? query.whole(0).value_or(0) : 0;
  }

  /// At once: as it grows, a list needs twice its memory.
  void reserve() {
    std::int64_t all = 0;
    for (const char* table : {kernel_table, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) all += has(table) ? count(table) : 0;
    trace_.work.reserve(static_cast<std::size_t>(all));
  }

  /// Which GPU CUDA calls so in which process: TARGET_INFO_CUDA_DEVICE says it, in versions that have it.
  void devices() {
    std::multimap<std::int64_t, std::pair<std::int64_t, std::int64_t>> cuda_of_gpu;   // pid and CUDA's number
    if (const auto list = rows("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId"}, {"pid"}))
      while (list->step())
        if (list->whole(0) && list->whole(1)) cuda_of_gpu.emplace(*list->whole(0), std::pair(list->whole(2).value_or(-1), *list->whole(1)));
    const auto list = rows("TARGET_INFO_GPU", {"id", "name"}, {"totalMemory", "smCount", "clockRate", "computeMajor", "computeMinor", "memoryBandwidth"});
    if (!list) {
      trace_.missing.emplace_back("TARGET_INFO_GPU: which GPU it was is unknown");
      return;
    }
    while (list->step()) {
      const auto id = list->whole(0);
      const auto name = list->text(1);
      if (!id || !name) {
        broken("TARGET_INFO_GPU", list->row(), "no id, or no name");
        continue;
      }
      TraceDevice device{.id = *id, .name = *name, .facts = {}};
      constexpr std::array<const char*, 6> facts{"memory_bytes", "multiprocessors", "clock_mhz", "compute_major", "compute_minor", "bandwidth_gbs"};
      for (std::size_t i = 0; i < facts.size(); ++i)
        if (const auto value = list->number(2 + i); value && *value > 0.0 && std::isfinite(*value)) device.facts[facts[i]] = i == 2 ? *value / 1e6 : i == 5 ? *value / 1e9 : *value;
      for (auto [at, end] = cuda_of_gpu.equal_range(*id); at != end; ++at) {
        std::tie(device.pid, device.id) = at->second;
        trace_.devices.push_back(device);
      }
      if (!cuda_of_gpu.contains(*id)) trace_.devices.push_back(std::move(device));
    }
  }

  /// Start, end, device, stream, correlation, process: what every piece of work has. False: it was left out.
  bool common(const std::string& table, const Rows& row, TraceWork& work, WorkShape& shape) {
    const auto start = row.whole(0), end = row.whole(1);
    if (!start || !end) {
      broken(table, row.row(), fmt::format("{} is no whole number", start ? "end" : "start"));
      return false;
    }
    const auto duration = duration_of(*start, *end);
    if (!duration) {
      ++trace_.negative;
      return false;
    }
    work.start = *start;
    work.duration = *duration;
    shape.device = small(row.whole(2), 0);
    shape.stream = small(row.whole(3), 0);
    work.correlation = row.whole(4).value_or(-1);
    shape.process = process_of(row.whole(5));
    return true;
  }

  static std::int32_t small(std::optional<std::int64_t> value, std::int32_t otherwise) { return value && *value >= 0 && *value <= most_int32 ? static_cast<std::int32_t>(*value) : otherwise; }

  void kernels() {
    const auto list = rows(kernel_table, {"start", "end"}, {"deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"});
    if (!list) {
      trace_.missing.push_back(fmt::format("{}: no kernel was recorded", kernel_table));
      return;
    }
    while (list->step()) {
      TraceWork work;
      WorkShape shape;
      if (!common(kernel_table, *list, work, shape)) continue;
      const auto named = name(*list, 6, 7);
      if (!named) {
        broken(kernel_table, list->row(), "its name is not in StringIds");
        continue;
      }
      shape.name = *named;
      shape.registers = small(list->whole(8), -1);
      shape.static_shared = small(list->whole(9), -1);
      shape.dynamic_shared = small(list->whole(10), -1);
      for (std::size_t i = 0; i < 3; ++i) {
        shape.grid[i] = small(list->whole(11 + i), 0);
        shape.block[i] = small(list->whole(14 + i), 0);
      }
      work.shape = trace_.shapes.id(shape);
      trace_.work.push_back(work);
    }
  }

  /// CUPTI's numbers (CUpti_ActivityMemcpyKind).
  static std::string copy_name(std::optional<std::int64_t> kind) {
    switch (kind.value_or(0)) {
      case 1: return "Memcpy HtoD";
      case 2: return "Memcpy DtoH";
      case 8: return "Memcpy DtoD";
      case 9: return "Memcpy HtoH";
      case 10: return "Memcpy PtoP";
      default: return "Memcpy";
    }
  }

  void transfers(const std::string& table, WorkKind kind) {
    const auto list = rows(table, {"start", "end"}, {"deviceId", "streamId", "correlationId", "globalPid", "bytes", kind == WorkKind::copy ? "copyKind" : "memKind"});
    if (!list) return;
    while (list->step()) {
      TraceWork work;
      WorkShape shape{.kind = kind};
      if (!common(table, *list, work, shape)) continue;
      shape.bytes = list->whole(6).value_or(-1);
      shape.name = trace_.names.id(kind == WorkKind::copy ? copy_name(list->whole(7)) : "Memset");
      work.shape = trace_.shapes.id(shape);
      trace_.work.push_back(work);
    }
  }

  void launches(const std::string& table, LaunchMatcher& matcher) {
    const auto list = rows(table, {"start", "correlationId"}, {"globalTid"});
    if (!list) return;
    while (list->step()) {
      const auto start = list->whole(0), correlation = list->whole(1);
      if (!start || !correlation) broken(table, list->row(), "start or correlationId is no whole number");
      else matcher.offer({*correlation, *start, list->whole(2).value_or(0), process_of(list->whole(2))});
    }
  }

  void ranges() {
    const auto list = rows("NVTX_EVENTS", {"start"}, {"end", "eventType", "text", "textId", "globalTid"});
    if (!list) {
      trace_.missing.emplace_back("NVTX_EVENTS: no ranges were recorded");
      return;
    }
    while (list->step()) {
      const std::int64_t type = list->whole(2).value_or(push_pop_range);
      const auto start = list->whole(0), end = list->whole(1);
      if ((type != push_pop_range && type != start_end_range) || (!end && start)) {
        ++trace_.ignored[type == push_pop_range || type == start_end_range ? "NVTX ranges without an end" : fmt::format("NVTX events of type {}", type)];
        continue;
      }
      const auto named = name(*list, 3, 4);
      if (!start || !named) broken("NVTX_EVENTS", list->row(), !start ? "start is no whole number" : "it has no text");
      else if (!duration_of(*start, *end)) ++trace_.negative;
      else trace_.ranges.push_back({*start, *end, list->whole(5).value_or(0), *named, false, process_of(list->whole(5))});
    }
  }

  void rest() {
    for (const auto& [table, columns] : tables_) {
      if (read_.contains(table) || table.starts_with("ENUM_")) continue;
      trace_.ignored["table " + table] = count(table);
    }
  }

  const std::string& path_;
  Trace& trace_;
  Database database_;
  std::map<std::string, std::set<std::string>> tables_;   ///< with the names of their columns
  std::set<std::string> read_;
  std::unordered_map<std::int64_t, std::uint32_t> strings_;
};

}  // namespace

Trace read_nsight(const std::string& path) {
  Trace trace;
  trace.format = "Nsight Systems SQLite export";
  Nsight(path, trace).read();
  return trace;
}

}  // namespace ulpscope::profiler
