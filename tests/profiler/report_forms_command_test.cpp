// ulpscope report --md, --json, --csv, --perfetto, as they are typed.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/export/report_tables.h"
#include "tests/profiler/support/report_fixture.h"

namespace ulpscope::profiler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

using ReportFormsCommand = ReportFixture;

TEST_F(ReportFormsCommand, WritesThemAllAtOnce) {
  const Answer answer = ulpscope({"report", in("a.ulp"), "--md", in("a.md"), "--json", in("a.json"), "--perfetto", in("a.trace"), "--csv", in("deep/tables")});
  ASSERT_EQ(answer.code, exit_ok) << answer.err;
  EXPECT_THAT(read(in("a.md")), StartsWith("## ulpscope: gpt on README.md"));
  EXPECT_THAT(read(in("a.json")), StartsWith("{\n\"kind\": \"ulpscope report\""));
  EXPECT_THAT(read(in("a.trace")), StartsWith("{\"displayTimeUnit\""));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(in("deep/tables"))) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, reports::report_tables().size() + 1) << "every table, the dictionary, and nothing left over";
  EXPECT_THAT(read(in("deep/tables/data_dictionary.csv")), StartsWith("file,column,unit,provenance,meaning\r\n"));
}

// The verdict is what `ulpscope advise` says of the same file and GPU.
TEST_F(ReportFormsCommand, TheAnswerIsThatOfAdvise) {
  const std::string run = in("tiny.ulp");
  ASSERT_EQ(ulpscope({"run", std::string(ULPSCOPE_SOURCE_DIR) + "/examples/cases/01.toml", "-o", run}).code, exit_ok);
  for (const char* gpu : {"h100", "t4"}) {
    const Answer advised = ulpscope({"advise", run, "--gpu", gpu, "--json"});
    ASSERT_EQ(advised.code, exit_ok) << advised.err;
    ASSERT_EQ(ulpscope({"report", run, "--gpu", gpu, "--json", in("r.json"), "--force"}).code, exit_ok);
    const auto device = nlohmann::json::parse(advised.out).at("devices").at(0);
    const auto report = nlohmann::json::parse(read(in("r.json")));
    ASSERT_EQ(report.at("verdict").at("answers").size(), 1u);
    EXPECT_EQ(report.at("verdict").at("answers").at(0).at("advice"), device) << gpu;
  }
  refused(ulpscope({"report", run, "--gpu", "nosuch", "--md", in("x.md")}), "no GPU \"nosuch\"");
  refused(ulpscope({"report", run, "--gpu", "", "--md", in("x.md")}), "--gpu: its value is empty; it takes ");
}

TEST_F(ReportFormsCommand, AFolderKeepsItsOtherFilesAndItsOwnAreReplacedOnlyByForce) {
  fs::create_directory(in("tables"));
  write(in("tables/notes.txt"), "mine");
  ASSERT_EQ(ulpscope({"report", in("a.ulp"), "--csv", in("tables")}).code, exit_ok);
  EXPECT_EQ(read(in("tables/notes.txt")), "mine");
  const std::string before = read(in("tables/runs.csv"));
  write(in("tables/runs.csv"), "edited");
  refused(ulpscope({"report", in("a.ulp"), "--csv", in("tables")}), "--force");
  EXPECT_EQ(read(in("tables/runs.csv")), "edited");
  ASSERT_EQ(ulpscope({"report", in("a.ulp"), "--csv", in("tables"), "--force"}).code, exit_ok);
  EXPECT_EQ(read(in("tables/runs.csv")), before);
  EXPECT_EQ(read(in("tables/notes.txt")), "mine");
}

TEST_F(ReportFormsCommand, WhatCannotBeWrittenIsSaidInALineAndNothingIs) {
  write(in("file"), "a file");
  refused(ulpscope({"report", in("a.ulp"), "--csv", in("file")}), "is no folder");
  refused(ulpscope({"report", in("a.ulp"), "--csv", in("file/below")}), "is no folder");
  refused(ulpscope({"report", in("a.ulp"), "--csv", ""}), "--csv");
  refused(ulpscope({"report", in("a.ulp"), "--json", in("a.ulp"), "--force"}), "--json");
  refused(ulpscope({"report", in("a.ulp"), "--perfetto", in("a.ulp"), "--force"}), "--perfetto");
  refused(ulpscope({"report", in("a.ulp"), "--md", in("none/a.md")}), "--md");
  refused(ulpscope({"report", in("a.ulp"), "--md", in("x"), "--json", in("x")}), "name the same file");
  refused(ulpscope({"report", in("a.ulp"), "--csv", in("t"), "--json", in("t/../t/runs.csv")}), "--json");
  refused(ulpscope({"report", in("none.ulp"), "--csv", in("t"), "--md", in("x"), "--perfetto", in("y")}), "none.ulp");
  refused(ulpscope({"report", in("a.ulp")}), "--csv");
  fs::create_directory(in("own"));
  fs::copy_file(in("a.ulp"), in("own/runs.csv"));
  refused(ulpscope({"report", in("own/runs.csv"), "--csv", in("own"), "--force"}), "--csv");
  for (const char* name : {"t", "x", "y"}) EXPECT_FALSE(fs::exists(in(name))) << name;
}

}  // namespace
}  // namespace ulpscope::profiler
