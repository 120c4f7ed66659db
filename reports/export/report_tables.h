// The tables of a report, for spreadsheets: one file of CSV each, and a data dictionary that says what every column means.
//
// RFC 4180 (CRLF, quotes where needed), UTF-8, one header line. Numbers read back as the same double; NaN and infinities are NaN, Infinity,
// -Infinity; unknown is empty. Steps are iterations, from 0, as in the run file. Truth is 1 or 0.
//
// To add a table: an entry in report_tables(). Everything else, the dictionary too, comes from it.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

struct TableColumn {
  const char* name;
  const char* unit;        ///< "" for words, counts and shares
  const char* provenance;  ///< what its numbers are; "column provenance" where rows differ; "" for words
  const char* meaning;
};

using TableRows = std::function<void(std::vector<std::string>)>;

struct ReportTable {
  const char* file;  ///< "runs.csv"
  const char* what;
  std::vector<TableColumn> columns;
  void (*fill)(const Report& report, const TableRows& row);  ///< calls row with as many fields as there are columns
};

/// In the order in which a reader asks.
const std::vector<ReportTable>& report_tables();

inline constexpr const char* data_dictionary = "data_dictionary.csv";

/// Throws Error if a row has another number of fields than the table has columns.
void write_table(const ReportTable& table, const Report& report, std::ostream& out);
/// file,column,unit,provenance,meaning; a row without a column says what the file holds.
void write_data_dictionary(std::ostream& out);

namespace table_parts {
// Parts of report_tables().
std::vector<ReportTable> result_tables();     ///< verdict, modes, runs, notes, where it comes from
std::vector<ReportTable> machine_tables();    ///< modes by device, machines side by side, sums of matrix units
std::vector<ReportTable> curve_tables();      ///< curves, bands, loss scale
std::vector<ReportTable> numerics_tables();   ///< layers, tensors, overflows, causes
std::vector<ReportTable> resource_tables();   ///< memory, time
}  // namespace table_parts

}  // namespace ulpscope::reports
