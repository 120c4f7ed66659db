// The page: one file, in the order of a reader's questions, valid whatever the names and numbers are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "reports/export/html/markup.h"
#include "reports/export/html/page.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

class HtmlReport : public Scratch {
 protected:
  void SetUp() override {
    if (!can_write_html()) GTEST_SKIP() << "this build has no Vega";
  }
  static std::string page_of(const RunFileReader& reader) {
    std::ostringstream out;
    write_html(make_report({&reader}), out);
    return out.str();
  }
  /// What stands in <script type="application/json" id="data">.
  static nlohmann::json data_of(const std::string& page) {
    const std::string begin = "id=\"data\">";
    const std::size_t at = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  /// The page without its scripts and styles.
  static std::string text_of(std::string page) {
    for (const char* tag : {"script", "style"})
      for (std::size_t at = page.find(std::string("<") + tag); at != std::string::npos; at = page.find(std::string("<") + tag, at)) {
        const std::string end = std::string("</") + tag + ">";
        page.erase(at, page.find(end, at) + end.size() - at);
      }
    return page;
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
    return n;
  }
};

TEST_F(HtmlReport, TextIsEscapedAndWhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(html::escaped("a<b>&\"c'\x01\x7f"), "a&lt;b&gt;&amp;&quot;c&#39;??");
  EXPECT_EQ(html::escaped("µ \xff \xc0\xaf \xed\xa0\x80 €"), "µ \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd €");
  const std::string json = html::script_json({{"name", "</script><!--\xff"}});
  EXPECT_THAT(json, Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::json::parse(json).at("name"), "</script><!--\xef\xbf\xbd");
}

TEST_F(HtmlReport, ANodeCalledScriptIsANameAndNothingElse) {
  const std::string evil = "<script>alert(1)</script>";
  ForgedRun run("fp16", 1);
  run.run.model = evil;
  run.run.data = "\"><img src=x onerror=alert(1)>";
  run.source("x", TensorRole::input, "fp32");
  run.node("linear", evil, {"x"}, "fp16");
  run.node("mean", "loss", {evil}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
  run.step(1.0, true, 65536.0);
  run.step(1.0, false, 32768.0);
  run.observe(0, {{evil, {.greatest = 70000.0, .overflowed = 1}}}, "replay");
  run.observe(1, {});
  for (TensorStatsRecord& row : run.stats) row.histogram = ExponentHistogram{-1, {3, 1}};
  const std::string page = page_of(forge(in("a.ulp"), {&run}));
  EXPECT_THAT(page, Not(HasSubstr(evil)));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(text_of(page), HasSubstr("&lt;script&gt;alert(1)&lt;"));
  EXPECT_EQ(count(page, "<script"), 3u) << "data, Vega, the page's own";
  EXPECT_EQ(count(page, "</script>"), 3u);
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data.at("maps")[0].at("layers")[0], evil);
  EXPECT_EQ(data.at("histograms")[0].at("tensor"), evil);
}

TEST_F(HtmlReport, SectionsComeInTheOrderOfAReadersQuestionsAndWhatIsEmulatedIsOnTop) {
  std::vector<MadeUpRun> runs;
  for (int seed = 0; seed < 3; ++seed) {
    runs.push_back(made_up("fp32", seed, 2.0 + 0.1 * seed));
    runs.push_back(made_up("fp16", seed, 2.0 + 0.1 * seed));
  }
  const std::string page = text_of(page_of(make_run_file(in("a.ulp"), runs)));
  std::size_t last = 0;
  for (const char* id : {"verdict", "modes", "loss", "scale", "numerics", "overflows", "memory", "time", "origin"}) {
    const std::size_t at = page.find(std::string("<section id=\"") + id + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
  const std::size_t emulated = page.find("emulated: fp16 was carried out in software");
  EXPECT_LT(page.find("<section id=\"verdict\""), emulated);
  EXPECT_LT(emulated, page.find("<section id=\"modes\""));
  EXPECT_THAT(page, HasSubstr("ulpscope run gpt.toml"));
  EXPECT_THAT(page, HasSubstr("ulpscope 0.1.0 (abc1234)"));
  // Every figure has a title and a table behind it.
  EXPECT_EQ(count(page, "<figure"), count(page, "class=\"behind\""));
  EXPECT_EQ(count(page, "<figure"), count(page, "<figcaption><h3>"));
}

TEST_F(HtmlReport, NothingIsFetched) {
  const std::string page = page_of(make_run_file(in("a.ulp"), {made_up("fp32", 0, 2.0)}));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::string text = text_of(page);
  for (const char* way : {"src=", "href=\"http", "url(", "@import", "<iframe", "<object"}) EXPECT_THAT(text, Not(HasSubstr(way)));
}

TEST_F(HtmlReport, WhatIsNotFiniteIsAGapAndNeverANumber) {
  MadeUpRun run = made_up("fp16", 0, 2.0);
  run.loss = [](std::int64_t i) { return i == 5 ? nan_number : i == 7 ? inf_number : 2.0; };
  run.held_out = nan_number;
  const nlohmann::json data = data_of(page_of(make_run_file(in("a.ulp"), {run})));
  const nlohmann::json& loss = data.at("curves")[0].at("loss");
  EXPECT_EQ(loss.at("gaps"), nlohmann::json::parse(R"([["NaN",6,6],["inf",8,8]])")) << "steps count from 1";
  EXPECT_EQ(loss.at("x").size(), 18u);
  for (const nlohmann::json& y : loss.at("y")) EXPECT_TRUE(y.is_number());
  EXPECT_EQ(data.at("curves")[0].at("held_out").at("gaps")[0][0], "NaN");
}

// Against time, too, a gap is as long as its steps; of very many some are drawn from all over the run, and the page says so.
TEST_F(HtmlReport, GapsHaveTheirTimesAndWhereTheyAreThinnedItIsSaid) {
  ForgedRun run("fp16", 1);
  run.small_model();
  for (int i = 0; i < 2000; ++i) {
    run.step(i < 10 || i % 2 == 0 ? 2.0 : nan_number);
    run.steps.back().wall_seconds = 0.5;
  }
  const std::string page = page_of(forge(in("a.ulp"), {&run}));
  const nlohmann::json loss = data_of(page).at("curves")[0].at("loss"), gaps = loss.at("gaps");
  ASSERT_LE(gaps.size(), html::most_gaps);
  EXPECT_EQ(gaps[0], nlohmann::json::parse(R"(["NaN",12,12,6,6])")) << "step 12 ends after 6 s";
  EXPECT_GT(gaps.back()[1].get<int>(), 1990);
  EXPECT_THAT(text_of(page), HasSubstr("fp16, seed 0: one in 3 of its 995 gaps is drawn"));
  // The line breaks at all of them: counted from 1, steps 12, 14, 16 … are gaps.
  ASSERT_EQ(loss.at("piece").size(), loss.at("x").size());
  std::set<int> broken;
  for (std::size_t i = 0; i < loss.at("x").size(); ++i) {
    const int x = loss.at("x")[i].get<int>();
    EXPECT_EQ(loss.at("piece")[i].get<int>(), x <= 11 ? 0 : (x - 11) / 2) << x;
    broken.insert(loss.at("piece")[i].get<int>());
  }
  EXPECT_GT(broken.size(), html::most_gaps) << "more pieces than gaps that are drawn";
  EXPECT_THAT(page, HasSubstr("curve.piece[i]"));
  EXPECT_THAT(page, HasSubstr("` (step ${curve.loss.x[i]})`")) << "a value of another step says so";
}

TEST_F(HtmlReport, OptionsAreNotBrokenBehindTheirDashes) {
  EXPECT_EQ(html::list({"run --modes tf32 (--timing-steps 9)"}), "<ul><li>run <span class=\"option\">--modes</span> tf32 (<span class=\"option\">--timing-steps</span> 9)</li></ul>\n");
  EXPECT_EQ(html::element("p", "a--b -- --- --1 --<x"), "<p>a--b -- --- --1 --&lt;x</p>") << "no options";
  EXPECT_EQ(html::element("title", "--gpu"), "<title>--gpu</title>");
}

TEST_F(HtmlReport, TenThousandStepsInFourModesAreBelowThreeMegabytes) {
  std::vector<MadeUpRun> runs;
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16"}) {
    MadeUpRun run = made_up(mode, 0, 2.0);
    run.run.steps_planned = 10000;
    run.steps = 10000;
    run.loss = [](std::int64_t i) { return i == 7777 ? 123.456 : 2.0 + std::sin(0.37 * static_cast<double>(i)) / 3.0; };
    if (run.run.mode == "fp16") {
      run.scale = [](std::int64_t i) { return i % 500 < 250 ? 65536.0 : 32768.0; };
      run.overflow = [](std::int64_t i) { return i % 5 == 0; };
    }
    runs.push_back(std::move(run));
  }
  const std::string page = page_of(make_run_file(in("a.ulp"), runs));
  EXPECT_LT(page.size(), 3'000'000u);
  const nlohmann::json data = data_of(page);
  for (const nlohmann::json& curve : data.at("curves")) {
    EXPECT_LE(curve.at("loss").at("x").size(), 1000u);
    const auto& x = curve.at("loss").at("x");
    const auto spike = std::find(x.begin(), x.end(), 7778);
    ASSERT_NE(spike, x.end()) << "no spike is lost";
    EXPECT_EQ(curve.at("loss").at("y")[static_cast<std::size_t>(spike - x.begin())], 123.456);
  }
  EXPECT_EQ(data.at("scale")[0].at("count"), 2000);
  EXPECT_LE(data.at("scale")[0].at("scale").at("x").size(), 200u);
}

}  // namespace
}  // namespace ulpscope::reports
