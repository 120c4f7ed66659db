#include "reports/run_file/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "reports/run_file/columns.h"
#include "reports/run_file/file_lock.h"
#include "reports/run_file/insert.h"
#include "reports/run_file/limits.h"
#include "reports/run_file/open.h"
#include "reports/run_file/place.h"
#include "reports/run_file/schema.h"
#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {

/// A connection for one call: given back to the reader if the file is at rest, closed if a writer is at work.
class RunFileReader::Lease {
 public:
  explicit Lease(const RunFileReader& reader) : reader_(&reader), live_(reader.live()) {
    if (live_) reader.connection_.reset();
    connection_ = reader.connection_ ? std::move(reader.connection_) : open_run_file(reader.path_, reader.file_name_);
  }
  ~Lease() {
    if (!live_) reader_->connection_ = std::move(connection_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Database& database() { return *connection_; }

 private:
  const RunFileReader* reader_;
  bool live_;
  std::unique_ptr<Database> connection_;
};

template <class Body>
auto RunFileReader::guarded(Body&& body) const {
  try {
    Lease lease(*this);
    lease.database().limit_work(work_of_a_read(file_bytes()));
    return body(lease.database());
  } catch (const SqliteError& error) {
    connection_.reset();
    throw_unreadable(path_, error);
  }
}

namespace {

/// The columns of a table; those that a file of an older schema lacks are read as unknown.
template <class R>
std::string columns_of(int schema) {
  std::string list = column_list<R>();
  constexpr std::string_view since_2 = "buffers_bytes";
  if (const std::size_t at = list.find(since_2); schema < 2 && at != std::string::npos) list.replace(at, since_2.size(), "NULL");
  return list;
}

/// "table step, run 1, step 7": by the whole numbers of the row that tell it from others, among the first `known` columns.
template <class R>
std::string place_of(const R& row, int known) {
  constexpr std::array<std::string_view, 9> telling{"plan", "run", "id", "step", "tensor", "micro_batch", "node", "position", "repetition"};
  std::string place = fmt::format("table {}", Table<R>::name);
  int index = 0;
  Table<R>::columns(row, [&](const char* column, const auto& member) {
    using T = std::remove_cvref_t<decltype(member)>;
    if (index++ >= known || std::find(telling.begin(), telling.end(), column) == telling.end()) return;
    if constexpr (std::is_same_v<T, std::int64_t> || (std::is_enum_v<T> && sizeof(T) == 8))
      place += fmt::format(", {} {}", column, static_cast<std::int64_t>(member));
  });
  return place;
}

/// Of the columns of a table, in their order.
template <class R>
std::vector<Limits> limits_of_columns() {
  std::vector<Limits> list;
  const R row{};
  Table<R>::columns(row, [&](const char* column, const auto& member) {
    list.push_back(limits_of(Table<R>::name, column, std::is_same_v<std::remove_cvref_t<decltype(member)>, Number>));
  });
  return list;
}

template <class R>
void check_numbers(const R& row, const std::vector<Limits>& limits) {
  Count elements;
  if constexpr (requires { row.elements; }) elements = row.elements;
  int index = 0;
  Table<R>::columns(row, [&](const char* column, const auto& member) {
    if (const auto why = impossible_member(limits[static_cast<std::size_t>(index)], member, elements))
      throw BadValue(index, fmt::format("column {} holds {}", column, *why));
    ++index;
  });
}

}  // namespace

template <class R>
std::vector<R> RunFileReader::select(const std::string& rest, const std::vector<std::int64_t>& parameters) const {
  return guarded([&](Database& database) {
    Statement statement(database, fmt::format("SELECT {} FROM {} {}", columns_of<R>(schema_), Table<R>::name, rest));
    for (std::size_t i = 0; i < parameters.size(); ++i) statement.bind(static_cast<int>(i), parameters[i]);
    const std::vector<Limits> limits = limits_of_columns<R>();
    std::vector<R> rows;
    while (statement.step()) {
      R& row = rows.emplace_back();
      int index = 0;
      try {
        Table<R>::columns(row, [&](const char*, auto& member) { statement.read(index++, member); });
        check_numbers(row, limits);
      } catch (const BadValue& error) {
        throw SqliteError(error.code, fmt::format("{}: {}", place_of(row, index == error.column + 1 ? error.column : index), error.what()));
      }
    }
    return rows;
  });
}

namespace {

std::int64_t number(RunId run) { return static_cast<std::int64_t>(run); }
std::int64_t number(PlanId plan) { return static_cast<std::int64_t>(plan); }

std::vector<std::int64_t> parameters(RunId run, const StepRange& range) {
  // From 0 on is everything: a negative step is seen, and refused.
  return {number(run), range.first == 0 ? INT64_MIN : range.first, range.end, range.limit};
}

}  // namespace

RunFileReader::RunFileReader(const std::string& path)
    : path_(path), file_name_(place_of(path)) {
  if (path.empty()) throw UsageError("a run file needs a name, such as gpt.ulp");
  schema_ = guarded([this](Database& database) { return check_run_file(path_, file_name_, database); });
}

RunFileReader::~RunFileReader() = default;
RunFileReader::RunFileReader(RunFileReader&&) noexcept = default;

bool RunFileReader::live() const { return FileLock::held(file_name_); }

std::int64_t RunFileReader::file_bytes() const {
  std::int64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file_name_ + suffix, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::optional<ExperimentRecord> RunFileReader::experiment() const {
  std::vector<ExperimentRecord> rows = select<ExperimentRecord>("ORDER BY rowid DESC LIMIT 1", {});
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

std::vector<MachineRecord> RunFileReader::machines() const { return select<MachineRecord>("ORDER BY id", {}); }
std::vector<RunRecord> RunFileReader::runs() const { return select<RunRecord>("ORDER BY id", {}); }

std::vector<NodeRecord> RunFileReader::nodes(PlanId plan) const {
  return select<NodeRecord>("WHERE plan = ? ORDER BY position, id", {number(plan)});
}
std::vector<EdgeRecord> RunFileReader::edges(PlanId plan) const {
  return select<EdgeRecord>("WHERE plan = ? ORDER BY to_node, to_input", {number(plan)});
}
std::vector<TensorRecord> RunFileReader::tensors(PlanId plan) const {
  return select<TensorRecord>("WHERE plan = ? ORDER BY id", {number(plan)});
}

namespace {
constexpr const char* in_range = "WHERE run = ? AND step >= ? AND step < ? ORDER BY {} LIMIT ?";
std::string ordered(const char* by) { return fmt::format(fmt::runtime(in_range), by); }
}  // namespace

std::vector<StepRecord> RunFileReader::steps(RunId run, const StepRange& range) const {
  return select<StepRecord>(ordered("step"), parameters(run, range));
}
std::vector<EvaluationRecord> RunFileReader::evaluations(RunId run) const {
  return select<EvaluationRecord>("WHERE run = ? ORDER BY step, split", {number(run)});
}
std::vector<TimingSample> RunFileReader::timing_samples(RunId run) const {
  return select<TimingSample>("WHERE run = ? ORDER BY repetition", {number(run)});
}
std::vector<NodeTiming> RunFileReader::node_timings(RunId run) const {
  return select<NodeTiming>("WHERE run = ? ORDER BY node, step", {number(run)});
}
std::vector<KernelRecord> RunFileReader::kernels(RunId run, const StepRange& range) const {
  if (range.first <= 0 && range.end == INT64_MAX)  // also those of no known step
    return select<KernelRecord>("WHERE run = ? ORDER BY start_ns LIMIT ?", {number(run), range.limit});
  return select<KernelRecord>(ordered("start_ns"), parameters(run, range));
}
std::vector<DeviceSample> RunFileReader::device_samples() const {
  if (schema_ < 4) return {};
  return select<DeviceSample>("ORDER BY rowid", {});
}
std::vector<TensorStatsRecord> RunFileReader::tensor_stats(RunId run, const StepRange& range) const {
  return select<TensorStatsRecord>(ordered("step, tensor, micro_batch"), parameters(run, range));
}
std::vector<std::int64_t> RunFileReader::observed_steps(RunId run) const {
  return guarded([&](Database& database) {
    Statement statement(database,
                        "WITH RECURSIVE observed(step) AS (SELECT min(step) FROM tensor_stats WHERE run = ?1 UNION ALL "
                        "SELECT (SELECT min(step) FROM tensor_stats WHERE run = ?1 AND step > observed.step) FROM observed WHERE step IS NOT NULL) "
                        "SELECT step FROM observed WHERE step IS NOT NULL");
    statement.bind(0, number(run));
    std::vector<std::int64_t> steps;
    while (statement.step()) statement.read(0, steps.emplace_back());
    return steps;
  });
}
std::vector<TensorStatsRecord> RunFileReader::tensor_history(RunId run, TensorId tensor) const {
  return select<TensorStatsRecord>("WHERE run = ? AND tensor = ? ORDER BY step, micro_batch",
                                   {number(run), static_cast<std::int64_t>(tensor)});
}
std::vector<RangeRecord> RunFileReader::ranges(RunId run, const StepRange& range) const {
  if (schema_ < 3) return {};
  return select<RangeRecord>(ordered("step"), parameters(run, range));
}
std::vector<EventRecord> RunFileReader::events(RunId run, const StepRange& range) const {
  return select<EventRecord>(ordered("step, rowid"), parameters(run, range));
}
std::vector<MemoryRecord> RunFileReader::memory(RunId run, std::optional<MemoryKind> kind) const {
  if (!kind) return select<MemoryRecord>("WHERE run = ? ORDER BY step, position", {number(run)});
  // The word is one of ours, not the user's.
  return select<MemoryRecord>(fmt::format("WHERE run = ? AND kind = '{}' ORDER BY step, position", name(*kind)),
                              {number(run)});
}
std::vector<MendRecord> RunFileReader::mends() const { return select<MendRecord>("ORDER BY id", {}); }
std::vector<CompletenessRecord> RunFileReader::completeness() const {
  return select<CompletenessRecord>("ORDER BY run, kind, subject", {});
}

std::int64_t RunFileReader::rows(const std::string& table) const {
  const std::vector<std::string>& names = table_names();
  if (std::find(names.begin(), names.end(), table) == names.end())
    throw UsageError(fmt::format("a run file has no table \"{}\"; it has {}", table, fmt::join(names, ", ")));
  if (schema_ < 3 && table == Table<RangeRecord>::name) return 0;
  if (schema_ < 4 && table == Table<DeviceSample>::name) return 0;
  return guarded([&](Database& database) { return database.integer(("SELECT count(*) FROM " + table).c_str()); });
}

}  // namespace ulpscope::reports
