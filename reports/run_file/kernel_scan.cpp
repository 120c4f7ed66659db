#include "reports/run_file/kernel_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "reports/run_file/columns.h"
#include "reports/run_file/insert.h"
#include "reports/run_file/limits.h"
#include "reports/run_file/open.h"
#include "reports/run_file/place.h"
#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {
namespace {

constexpr std::int64_t page = 100'000;  // rows

/// A connection for one short read.
template <class Body>
auto reading(const RunFileReader& reader, Body&& body) {
  try {
    const std::unique_ptr<Database> database = open_run_file(reader.path(), place_of(reader.path()));
    database->limit_work(work_of_a_read(reader.file_bytes()));
    return body(*database);
  } catch (const SqliteError& error) {
    throw_unreadable(reader.path(), error);
  }
}

template <class T>
void check(const char* column, const Limits& limits, const T& value, std::int64_t row) {
  if (const auto why = impossible_member(limits, value, std::nullopt)) throw SqliteError(SQLITE_CORRUPT, fmt::format("table kernel, row {}: column {} holds {}", row, column, *why));
}

Limits limits(const char* column) { return limits_of("kernel", column, false); }

}  // namespace

KernelScan scan_kernels(const RunFileReader& reader, RunId run, std::int64_t most, const std::function<void(const KernelSpan&)>& visit) {
  const Limits of_step = limits("step"), of_node = limits("node"), of_duration = limits("duration_ns"), of_pipe = limits_of("kernel", "tensor_pipe", true);
  KernelScan scan;
  KernelSpan span;
  std::int64_t start = std::numeric_limits<std::int64_t>::min(), row = start;
  for (bool whole = true; whole && !scan.more;) {
    std::int64_t rows = 0;
    reading(reader, [&](Database& database) {
      Statement select(database,
                       "SELECT rowid, start_ns, duration_ns, stream, step, node, name, tensor_pipe FROM kernel "
                       "WHERE run = ? AND (start_ns > ? OR (start_ns = ? AND rowid > ?)) AND start_ns >= ? ORDER BY start_ns, rowid LIMIT ?");
      const std::array<std::int64_t, 6> parameters{static_cast<std::int64_t>(run), start, start, row, start, page};
      for (std::size_t i = 0; i < parameters.size(); ++i) select.bind(static_cast<int>(i), parameters[i]);
      for (; select.step(); ++rows) {
        if (scan.kernels == most) {
          scan.more = true;
          break;
        }
        select.read(0, span.row);
        select.read(1, span.start_ns);
        select.read(2, span.duration_ns);
        select.read(3, span.stream);
        select.read(4, span.step);
        select.read(5, span.node);
        select.read(6, span.name);
        select.read(7, span.tensor_pipe);
        check("duration_ns", of_duration, span.duration_ns, span.row);
        check("step", of_step, span.step, span.row);
        check("node", of_node, span.node, span.row);
        check("tensor_pipe", of_pipe, span.tensor_pipe, span.row);
        start = span.start_ns;
        row = span.row;
        ++scan.kernels;
        visit(span);
      }
      return 0;
    });
    whole = rows == page;
  }
  return scan;
}

std::optional<KernelRecord> kernel_at(const RunFileReader& reader, RunId run, std::int64_t row) {
  return reading(reader, [&](Database& database) -> std::optional<KernelRecord> {
    Statement select(database, fmt::format("SELECT {} FROM kernel WHERE rowid = ? AND run = ?", column_list<KernelRecord>()));
    select.bind(0, row);
    select.bind(1, static_cast<std::int64_t>(run));
    if (!select.step()) return std::nullopt;
    KernelRecord record;
    int index = 0;
    Table<KernelRecord>::columns(record, [&](const char*, auto& member) { select.read(index++, member); });
    return record;
  });
}

}  // namespace ulpscope::reports
