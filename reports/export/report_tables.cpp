#include "reports/export/report_tables.h"

#include <fmt/format.h>

#include "kernels/error.h"
#include "reports/export/fields.h"

namespace ulpscope::reports {
namespace {

void line(const std::vector<std::string>& fields, std::ostream& out) {
  const char* before = "";
  for (const std::string& field : fields) {
    out << before << csv_quoted(field);
    before = ",";
  }
  out << "\r\n";
}

}  // namespace

const std::vector<ReportTable>& report_tables() {
  static const std::vector<ReportTable> all = [] {
    std::vector<ReportTable> tables;
    for (const auto& part : {table_parts::result_tables, table_parts::machine_tables, table_parts::curve_tables, table_parts::numerics_tables, table_parts::resource_tables})
      for (ReportTable& table : part()) tables.push_back(std::move(table));
    return tables;
  }();
  return all;
}

void write_table(const ReportTable& table, const Report& report, std::ostream& out) {
  std::vector<std::string> head;
  for (const TableColumn& column : table.columns) head.emplace_back(column.name);
  line(head, out);
  table.fill(report, [&](const std::vector<std::string>& fields) {
    if (fields.size() != table.columns.size()) throw Error(fmt::format("{}: a row of {} fields, and {} columns", table.file, fields.size(), table.columns.size()));
    line(fields, out);
  });
}

void write_data_dictionary(std::ostream& out) {
  line({"file", "column", "unit", "provenance", "meaning"}, out);
  for (const ReportTable& table : report_tables()) {
    line({table.file, "", "", "", table.what}, out);
    for (const TableColumn& column : table.columns) line({table.file, column.name, column.unit, column.provenance, column.meaning}, out);
  }
}

}  // namespace ulpscope::reports
