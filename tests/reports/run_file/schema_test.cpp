// The schema, the list of columns and the documentation say the same.
#include "reports/run_file/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "reports/run_file/insert.h"
#include "reports/run_file/sqlite.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class Schema : public Scratch {
 protected:
  Schema() : database_(in("a.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) { database_.execute(schema_sql()); }

  std::set<std::string> columns_in_file(const std::string& table) {
    Statement statement(database_, "SELECT name FROM pragma_table_info('" + table + "')");
    std::set<std::string> names;
    while (statement.step()) {
      statement.read(0, name_);
      names.insert(name_);
    }
    return names;
  }

  template <class R>
  void check(const std::string& readme) {
    SCOPED_TRACE(Table<R>::name);
    std::set<std::string> in_code;
    R record{};
    Table<R>::columns(record, [&in_code](const char* column, auto&) { in_code.insert(column); });
    EXPECT_EQ(columns_in_file(Table<R>::name), in_code);
    const std::size_t begin = readme.find("### " + std::string(Table<R>::name) + "\n");
    ASSERT_NE(begin, std::string::npos) << "README.md has no section for the table";
    const std::string section = readme.substr(begin, readme.find("\n### ", begin) - begin);
    for (const std::string& column : in_code)
      EXPECT_NE(section.find("`" + column + "`"), std::string::npos) << "README.md does not explain " << column;
  }

  template <std::size_t... I>
  void check_all(const std::string& readme, std::index_sequence<I...>) {
    (check<std::variant_alternative_t<I, Record>>(readme), ...);
  }

  Database database_;
  std::string name_;
};

TEST_F(Schema, CodeFileAndReadmeAgree) {
  const std::string readme = read(ULPSCOPE_SOURCE_DIR "/reports/run_file/README.md");
  check_all(readme, std::make_index_sequence<std::variant_size_v<Record>>());
}

TEST_F(Schema, HasEveryTableAndNoOther) {
  std::set<std::string> listed(table_names().begin(), table_names().end());
  Statement statement(database_, "SELECT name FROM sqlite_schema WHERE type = 'table'");
  std::set<std::string> there;
  while (statement.step()) {
    statement.read(0, name_);
    there.insert(name_);
  }
  EXPECT_EQ(there, listed);
  EXPECT_EQ(listed.size(), std::variant_size_v<Record>);
}

TEST_F(Schema, SaysWhoseFileItIs) {
  EXPECT_EQ(database_.integer("PRAGMA application_id"), application_id);
  EXPECT_EQ(database_.integer("PRAGMA user_version"), schema_version);
}

// The questions a viewer asks all the time must not walk through whole tables.
TEST_F(Schema, CommonQuestionsUseAnIndex) {
  for (const char* sql :
       {"SELECT * FROM step WHERE run = 1 AND step >= 5 ORDER BY step",
        "SELECT * FROM kernel WHERE run = 1 AND start_ns > 5 ORDER BY start_ns",
        "SELECT * FROM tensor_stats WHERE run = 1 AND tensor = 2 ORDER BY step",
        "SELECT * FROM tensor_stats WHERE run = 1 AND step >= 2", "SELECT * FROM event WHERE run = 1 AND step >= 2",
        "SELECT * FROM memory WHERE run = 1 AND kind = 'peak'", "SELECT * FROM node_timing WHERE run = 1 AND node = 2",
        "SELECT * FROM node WHERE plan = 1"}) {
    Statement statement(database_, std::string("EXPLAIN QUERY PLAN ") + sql);
    ASSERT_TRUE(statement.step());
    statement.read(3, name_);
    EXPECT_NE(name_.find("SEARCH"), std::string::npos) << sql << ": " << name_;
  }
}

}  // namespace
}  // namespace ulpscope::reports
