// ulpscope report, as it is typed.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "reports/export/html/page.h"
#include "tests/profiler/support/report_fixture.h"

namespace ulpscope::profiler {
namespace {

using testing::HasSubstr;

using ReportCommand = ReportFixture;

TEST_F(ReportCommand, WritesAPage) {
  if (!reports::can_write_html()) GTEST_SKIP() << "this build has no Vega";
  const Answer answer = ulpscope({"report", in("a.ulp"), "--html", in("a.html")});
  EXPECT_EQ(answer.code, exit_ok) << answer.err;
  EXPECT_THAT(read(in("a.html")), testing::StartsWith("<!DOCTYPE html>"));
  refused(ulpscope({"report", in("a.ulp"), "--html", in("a.html")}), "--force");
  EXPECT_EQ(ulpscope({"report", in("a.ulp"), "--html", in("a.html"), "--force"}).code, exit_ok);
}

TEST_F(ReportCommand, WithoutAFormItSaysWhichThereAre) { refused(ulpscope({"report", in("a.ulp")}), "--html"); }

TEST_F(ReportCommand, ARunFileIsNeverWrittenOver) {
  if (!reports::can_write_html()) GTEST_SKIP() << "this build has no Vega";
  reports::make_run_file(in("b.ulp"), {reports::made_up("fp32", 0, 2.0)});
  const std::string before = read(in("b.ulp"));
  refused(ulpscope({"report", in("a.ulp"), "--html", in("b.ulp"), "--force"}), "run file");
  refused(ulpscope({"report", in("a.ulp"), "--html", in("a.ulp"), "--force"}), "a.ulp");
  EXPECT_EQ(read(in("b.ulp")), before);
}

TEST_F(ReportCommand, WhatIsNoRunFileIsSaidInALineAndNothingIsWritten) {
  std::ofstream(in("words.txt")) << "no run file";
  if (!reports::can_write_html()) GTEST_SKIP() << "this build has no Vega";
  refused(ulpscope({"report", in("words.txt"), "--html", in("x.html")}), "words.txt");
  refused(ulpscope({"report", in("none.ulp"), "--html", in("x.html")}), "none.ulp");
  refused(ulpscope({"report", in("a.ulp"), "--html", in("no/folder/x.html")}), "--html");
  refused(ulpscope({"report", "--html", in("x.html")}), "RUN");
  refused(ulpscope({"report", in("a.ulp"), "--htm", in("x.html")}), "--html");
  EXPECT_FALSE(std::filesystem::exists(in("x.html")));
}

TEST_F(ReportCommand, TwoFormsDoNotShareAPlace) {
  refused(ulpscope({"report", in("a.ulp"), "--md", in("x"), "--json", in("./x")}), "the same file");
  refused(ulpscope({"report", in("a.ulp"), "--md", in("x"), "--csv", in("x")}), "named for another form");
  refused(ulpscope({"report", in("a.ulp"), "--md", in("x"), "--csv", in("x/tables/")}), "named for another form");
  EXPECT_FALSE(std::filesystem::exists(in("x"))) << "nothing was begun";
  EXPECT_EQ(ulpscope({"report", in("a.ulp"), "--md", in("y"), "--csv", in("yy")}).code, exit_ok);
}

TEST_F(ReportCommand, ALinkIsFollowedToWhereNothingIsYet) {
  std::filesystem::create_directory(in("there"));
  std::filesystem::create_symlink("there/real.json", in("link.json"));
  EXPECT_EQ(ulpscope({"report", in("a.ulp"), "--json", in("link.json")}).code, exit_ok);
  EXPECT_TRUE(std::filesystem::is_symlink(in("link.json")));
  EXPECT_TRUE(std::filesystem::is_regular_file(in("there/real.json")));
}

TEST_F(ReportCommand, APipeThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  refused(ulpscope({"report", in("a.ulp"), "--md", in("pipe")}), "a pipe that nobody reads");
}

}  // namespace
}  // namespace ulpscope::profiler
