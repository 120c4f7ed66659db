// Prepared INSERT statements, one for each table, made from columns.h.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/run_file/columns.h"
#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {

/// "a, b, c" and "?, ?, ?" for the columns of a record.
template <class R>
std::string column_list() {
  std::string list;
  R record{};
  Table<R>::columns(record,
                    [&list](const char* column, auto&) { list += (list.empty() ? "" : ", ") + std::string(column); });
  return list;
}

template <class R>
std::string insert_sql() {
  std::string marks;
  R record{};
  Table<R>::columns(record, [&marks](const char*, auto&) { marks += marks.empty() ? "?" : ", ?"; });
  return "INSERT OR REPLACE INTO " + std::string(Table<R>::name) + " (" + column_list<R>() + ") VALUES (" + marks + ")";
}

class Inserter {
 public:
  explicit Inserter(const Database& database) : database_(&database), statements_(std::variant_size_v<Record>) {}

  /// Inserts a row, or replaces the row with the same key. Throws SqliteError.
  void insert(const Record& record) {
    std::visit([&](const auto& row) { insert_row(statements_[record.index()], row); }, record);
  }

 private:
  template <class R>
  void insert_row(std::optional<Statement>& slot, const R& row) {
    if (!slot) slot.emplace(*database_, insert_sql<R>());
    slot->reset();
    int index = 0;
    Table<R>::columns(row, [&](const char*, const auto& member) { slot->bind(index++, member); });
    slot->step();
    slot->reset();  // a statement left open would keep the transaction from ending
  }
  void insert_row(std::optional<Statement>& slot, const EventRecord& event) {
    if (!event.detail_json.empty()) return insert_row<EventRecord>(slot, event);
    EventRecord row = event;
    row.detail_json = to_json(event.detail);
    insert_row<EventRecord>(slot, row);
  }

  const Database* database_;
  std::vector<std::optional<Statement>> statements_;
};

}  // namespace ulpscope::reports
