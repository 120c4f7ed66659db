// The SQL of a run file. README.md explains every table and column.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::reports {

/// PRAGMA user_version of the files written here. Raised with every change of the schema; README.md says by which
/// rules.
inline constexpr int schema_version = 4;
/// PRAGMA application_id, "ulps": tells a run file from any other SQLite database.
inline constexpr int application_id = 0x756c7073;

/// Creates every table and index, application_id and user_version. To be run in one transaction.
const char* schema_sql();

/// Every table, in the order of README.md.
const std::vector<std::string>& table_names();

}  // namespace ulpscope::reports
