// JSON, CSV, Markdown, HTML and text of the same run say the same, and each is valid whatever the names and numbers are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/export/fields.h"
#include "reports/export/html/page.h"
#include "reports/export/report_json.h"
#include "reports/export/report_markdown.h"
#include "reports/export/text.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/report_forms.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;
using nlohmann::json;

double number(const std::string& text) { return text == "NaN" ? nan_number : text == "Infinity" ? inf_number : text == "-Infinity" ? -inf_number : std::stod(text); }
double number(const json& value) { return value.is_string() ? number(value.get<std::string>()) : value.get<double>(); }
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class ReportForms : public Scratch {
 protected:
  void SetUp() override {
    forge_everything(in("a.ulp"));
    reader_ = std::make_unique<RunFileReader>(in("a.ulp"));
    report_ = make_report({reader_.get()});
    std::ostringstream json_out, markdown_out;
    write_report_json(report_, json_out);
    write_markdown(report_, markdown_out);
    json_ = json::parse(json_out.str());
    markdown_ = markdown_out.str();
    tables_ = tables_of(report_);
    if (!can_write_html()) return;
    std::ostringstream html;
    write_html(report_, html);
    const std::string page = html.str(), begin = "id=\"data\">";
    const std::size_t at = page.find(begin) + begin.size();
    html_ = json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  /// The cells of a row of the tables of modes in Markdown that begins with this label.
  std::vector<std::string> markdown_row(const std::string& label) const {
    const std::size_t at = markdown_.find("| " + label + " |", markdown_.find("### Modes"));
    if (at > markdown_.find("### Loss scale")) return {};
    std::istringstream line(markdown_.substr(at, markdown_.find('\n', at) - at));
    std::vector<std::string> cells;
    for (std::string cell; std::getline(line, cell, '|');)
      if (!cell.empty()) cells.push_back(cell.substr(1, cell.size() - 2));
    return cells;
  }
  static int validate(const std::vector<std::string>& documents) {
    if (std::string_view(ULPSCOPE_PYTHON).empty()) return 77;
    std::string command = std::string(ULPSCOPE_PYTHON) + " -B " + ULPSCOPE_SOURCE + "/tests/reports/validate_report.py " + ULPSCOPE_SOURCE + "/docs/report.schema.json";
    for (const std::string& document : documents) command += " " + document;
    const int status = std::system(command.c_str());
    return status < 0 ? 1 : WEXITSTATUS(status);
  }

  std::unique_ptr<RunFileReader> reader_;
  Report report_{};
  json json_, html_;
  std::string markdown_;
  std::map<std::string, Records> tables_;
};

TEST_F(ReportForms, EveryFigureOfEveryModeIsTheSame) {
  std::size_t compared = 0, in_markdown = 0;
  for (const auto& row : tables_.at("modes.csv")) {
    for (const json& mode : json_.at("comparison").at("modes")) {
      if (mode.at("mode") != row.at("mode")) continue;
      const json& figure = mode.at("figures").at(row.at("figure"));
      for (const char* part : {"value", "spread", "low", "high"}) {
        ASSERT_EQ(figure.at(part).is_null(), row.at(part).empty()) << row.at("figure") << ' ' << part;
        if (row.at(part).empty()) continue;
        EXPECT_TRUE(same(number(figure.at(part)), number(row.at(part)))) << row.at("figure") << ' ' << part;
        ++compared;
      }
      if (!row.at("provenance").empty()) {
        EXPECT_EQ(figure.at("provenance"), row.at("provenance"));
      }
    }
  }
  EXPECT_GT(compared, 40u);
  // In Markdown and in text rounded, with what the number is.
  std::ostringstream text;
  TextExporter().write(report_.modes, text);
  const std::size_t modes = report_.modes.modes.size();
  for (const FigureInfo& info : comparison_figures()) {
    const std::vector<std::string> cells = markdown_row(info.label);
    if (cells.empty()) continue;
    ASSERT_EQ(cells.size(), modes + 1) << info.label;
    for (std::size_t m = 0; m < modes; ++m) {
      const Figure& figure = info.get(report_.modes.modes[m]);
      if (!figure.value || info.style == FigureStyle::bytes || info.style == FigureStyle::seconds) continue;
      const std::string shown = cells[m + 1].substr(0, cells[m + 1].find_first_of(" ["));
      if (std::isfinite(*figure.value)) {
        EXPECT_NEAR(number(shown), *figure.value, 6e-3 * std::fabs(*figure.value) + 1e-9) << info.label;
      } else {
        EXPECT_EQ(shown, std::isnan(*figure.value) ? "NaN" : "inf") << info.label;
      }
      EXPECT_THAT(cells[m + 1], HasSubstr(std::string(name(figure.provenance)) + "\\]")) << info.label;
      if (info.style == FigureStyle::loss || info.style == FigureStyle::count) {
        EXPECT_THAT(text.str(), HasSubstr(shown)) << info.label;
      }
      ++in_markdown;
    }
  }
  EXPECT_GT(in_markdown, 12u);
}

TEST_F(ReportForms, TheVerdictIsTheSame) {
  const std::string sentence = report_.verdict.sentence;
  EXPECT_EQ(json_.at("verdict").at("sentence"), sentence);
  EXPECT_EQ(tables_.at("verdict.csv").at(1).at("text"), sentence);
  EXPECT_THAT(markdown_, HasSubstr("**" + markdown_escaped(sentence) + "**"));
  EXPECT_EQ(json_.at("verdict").at("caveats").size(), report_.verdict.caveats.size());
  for (const std::string& caveat : report_.verdict.caveats) EXPECT_THAT(markdown_, HasSubstr("> " + markdown_escaped(caveat)));
  const std::size_t verdict = markdown_.find("**"), modes = markdown_.find("### Modes"), time = markdown_.find("### Time"), origin = markdown_.find("### Completeness");
  EXPECT_TRUE(verdict < modes && modes < time && time < origin) << "in the order in which a reader asks";
}

TEST_F(ReportForms, OverflowsAreTheSameStepsAndTextsCountFromOne) {
  const Records& rows = tables_.at("overflows.csv");
  ASSERT_EQ(rows.size(), 3u);
  ASSERT_EQ(json_.at("overflows").at("events").size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& event = json_.at("overflows").at("events").at(i);
    EXPECT_EQ(event.at("step"), 3);
    EXPECT_EQ(rows[i].at("step"), "3");
    EXPECT_EQ(event.at("loss_scale"), 65536);
    EXPECT_EQ(rows[i].at("loss_scale"), "65536");
    EXPECT_EQ(event.at("node").is_null() ? "" : event.at("node").get<std::string>(), rows[i].at("node"));
  }
  EXPECT_EQ(rows[0].at("node"), evil_name);
  EXPECT_EQ(rows[0].at("cause"), json_.at("overflows").at("causes").at(json_.at("overflows").at("events").at(0).at("cause").get<std::size_t>()).at("kind"));
  EXPECT_THAT(markdown_, HasSubstr("| fp16, seed 0 | 4 | linear " + markdown_escaped(evil_name)));
  EXPECT_THAT(markdown_, HasSubstr("verified"));
  if (html_.is_null()) return;
  ASSERT_EQ(html_.at("scale").size(), json_.at("loss_scale").size());
  for (std::size_t r = 0; r < html_.at("scale").size(); ++r)
    EXPECT_EQ(html_.at("scale").at(r).at("overflows").at(0).at(0).get<int>() - 1, json_.at("loss_scale").at(r).at("overflows").at(0).at("step").get<int>());
}

TEST_F(ReportForms, CurvesAreTheSameToTheLastBit) {
  std::size_t at = 0;
  const Records& rows = tables_.at("curves.csv");
  for (const json& run : json_.at("curves").at("runs")) {
    const json& of = json_.at("runs").at(run.at("run").get<std::size_t>());
    const json& loss = run.at("loss");
    for (std::size_t i = 0; i < loss.at("steps").size(); ++i) {
      while (at < rows.size() && rows[at].at("curve") != "loss") ++at;
      ASSERT_LT(at, rows.size());
      EXPECT_EQ(rows[at].at("mode"), of.at("mode"));
      EXPECT_EQ(std::stoll(rows[at].at("seed")), of.at("seed").get<std::int64_t>());
      EXPECT_EQ(std::stoll(rows[at].at("step")), loss.at("steps").at(i).get<std::int64_t>());
      EXPECT_EQ(number(rows[at].at("value")), loss.at("values").at(i).get<double>());
      ++at;
    }
  }
  ASSERT_EQ(tables_.at("curve_gaps.csv").size() > 0, true);
  const auto gap = tables_.at("curve_gaps.csv");
  EXPECT_EQ(std::count_if(gap.begin(), gap.end(), [](const auto& row) { return row.at("curve") == "loss" && row.at("kind") == "NaN" && row.at("first_step") == "5"; }), 1);
  if (html_.is_null()) return;
  for (std::size_t r = 0; r < html_.at("curves").size(); ++r) {
    const json& page = html_.at("curves").at(r).at("loss");
    const json& loss = json_.at("curves").at("runs").at(r).at("loss");
    ASSERT_EQ(page.at("x").size(), loss.at("steps").size());
    for (std::size_t i = 0; i < page.at("x").size(); ++i) {
      EXPECT_EQ(page.at("x").at(i).get<int>() - 1, loss.at("steps").at(i).get<int>());
      EXPECT_NEAR(page.at("y").at(i).get<double>(), loss.at("values").at(i).get<double>(), 1e-5);
    }
  }
}

TEST_F(ReportForms, MemoryTimeAndCompletenessAreTheSame) {
  std::map<std::string, std::string> peaks;
  for (const auto& row : tables_.at("memory.csv"))
    if (row.at("kind") == "peak" && row.at("category") == "total") peaks[row.at("mode")] = row.at("bytes");
  EXPECT_EQ(peaks.at("fp16"), "17000001");
  for (std::size_t i = 0; i < json_.at("memory").size(); ++i) {
    const json& mode = json_.at("memory").at(i);
    EXPECT_EQ(std::to_string(mode.at("peak").at("total_bytes").get<std::int64_t>()), peaks.at(json_.at("runs").at(mode.at("run").get<std::size_t>()).at("mode")));
    if (html_.is_null()) continue;
    std::int64_t sum = 0;
    for (const json& part : html_.at("memory").at(i).at("parts")) sum += part.at(1).get<std::int64_t>();
    EXPECT_EQ(sum, mode.at("peak").at("total_bytes").get<std::int64_t>());
  }
  EXPECT_THAT(markdown_, HasSubstr("| fp16 | 16.21 MiB \\[counted\\] |"));
  for (const auto& row : tables_.at("time_steps.csv"))
    for (const json& mode : json_.at("time").at(0).at("modes")) {
      if (mode.at("mode") != row.at("mode") || row.at("figure") != "seconds") continue;
      EXPECT_EQ(number(row.at("value")), mode.at("step").at("seconds").at("value").get<double>());
      EXPECT_EQ(row.at("provenance"), mode.at("step").at("seconds").at("provenance"));
    }
  std::size_t nodes = 0;
  for (const json& mode : json_.at("time").at(0).at("modes")) nodes += mode.at("nodes").size();
  EXPECT_EQ(tables_.at("time_nodes.csv").size(), nodes);
  const auto& missed = tables_.at("completeness.csv").back();
  EXPECT_EQ(missed.at("seconds"), "0.25");
  EXPECT_EQ(missed.at("detail"), "queue, \"full\"");
  EXPECT_EQ(json_.at("origin").at(0).at("summary").at("completeness").back().at("seconds"), 0.25);
  EXPECT_EQ(tables_.at("runs.csv").back().at("held_out_loss"), "Infinity");
  EXPECT_EQ(json_.at("comparison").at("modes").at(1).at("runs").at(2).at("held_out_loss"), "Infinity");
  EXPECT_THAT(markdown_, HasSubstr("| dropped | tensor\\_stats | 7 | 250 ms |"));
}

TEST_F(ReportForms, TheDictionaryHasEveryColumnWithItsMeaning) {
  std::ostringstream out;
  write_data_dictionary(out);
  std::set<std::string> described;
  for (const auto& row : records(csv_lines(out.str()))) {
    EXPECT_FALSE(row.at("meaning").empty()) << row.at("file") << ' ' << row.at("column");
    EXPECT_TRUE(described.insert(row.at("file") + " " + row.at("column")).second) << "twice";
  }
  for (const ReportTable& table : report_tables()) {
    EXPECT_TRUE(described.contains(std::string(table.file) + " "));
    for (const TableColumn& column : table.columns) EXPECT_TRUE(described.contains(std::string(table.file) + " " + column.name));
  }
  for (const char* file : {"runs.csv", "layers.csv", "tensors.csv", "histograms.csv", "causes.csv", "scale_overflows.csv", "memory_step.csv", "time_nodes.csv", "time_ledger.csv", "fp32_bands.csv", "machines.csv"})
    EXPECT_FALSE(tables_.at(file).empty()) << file << ": the forged run has something for it";
}

TEST_F(ReportForms, NamesAreTextInMarkdown) {
  EXPECT_EQ(markdown_escaped("a|b`c<d>&*_[x](y)\\\x01\n@me #8"), "a\\|b\\`c&lt;d&gt;&amp;\\*\\_\\[x\\](y)\\\\? &#64;me &#35;8");
  EXPECT_EQ(markdown_escaped("https://a.b www.c.d"), "https&#58;//a.b www&#46;c.d") << "no links";
  EXPECT_EQ(markdown_escaped("- x"), "\\- x");
  EXPECT_EQ(markdown_escaped("12. x"), "12\\. x");
  EXPECT_EQ(markdown_escaped("---"), "\\---");
  EXPECT_EQ(markdown_escaped("-1.5"), "-1.5");
  EXPECT_EQ(markdown_escaped("2.25"), "2.25");
  EXPECT_EQ(markdown_escaped("µ \xff"), "µ \xef\xbf\xbd");
  EXPECT_THAT(markdown_, Not(HasSubstr("<script")));
  EXPECT_THAT(markdown_, Not(HasSubstr("`b`")));
  // Every row of a table has as many cells as its head, and what is folded is closed.
  std::istringstream lines(markdown_);
  std::size_t cells = 0, open = 0, closed = 0;
  for (std::string line; std::getline(lines, line);) {
    open += line.starts_with("<details>") ? 1 : 0;
    closed += line.starts_with("</details>") ? 1 : 0;
    if (!line.starts_with('|')) {
      cells = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == '\\')
        ++i;
      else if (line[i] == '|')
        ++bars;
    if (cells == 0) cells = bars;
    EXPECT_EQ(bars, cells) << line;
  }
  EXPECT_EQ(open, closed);
  EXPECT_GT(open, 4u);
}

// A spreadsheet takes words that begin so for a formula; numbers stay numbers.
TEST_F(ReportForms, NoFieldOfCsvIsAFormula) {
  for (const char* words : {"=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\tx", "- item"}) EXPECT_EQ(csv_lines(csv_quoted(words) + "\r\n").at(0).at(0), std::string("'") + words);
  for (const char* number : {"-1.5", "-1e-300", "-Infinity", "+2", "-0", "1", "", "NaN", "layer-1", "'x"}) EXPECT_EQ(csv_quoted(number), number);
}

TEST_F(ReportForms, DocumentsAreAsTheSchemaSays) {
  std::vector<std::string> documents{in("all.json")};
  write(documents[0], json_.dump());
  // One run alone, and one that was cut off before its first step ended: nearly everything is unknown.
  ForgedRun cut("fp16", 1);
  cut.small_model();
  cut.run.status = RunStatus::running;
  const RunFileReader empty = forge(in("b.ulp"), {&cut});
  const RunFileReader made = make_run_file(in("c.ulp"), {made_up("fp32", 0, 2.0), made_up("bf16", 0, inf_number)});
  for (const RunFileReader* reader : {&empty, &made}) {
    std::ostringstream out;
    write_report_json(make_report({reader}), out);
    documents.push_back(in(std::to_string(documents.size()) + ".json"));
    write(documents.back(), out.str());
  }
  const int code = validate(documents);
  if (code == 77) GTEST_SKIP() << "Python or python3-jsonschema is not there: scripts/setup installs them";
  ASSERT_EQ(code, 0);
  const auto refused = [&](const char* why, auto&& spoil) {
    json document = json_;
    spoil(document);
    write(in("bad.json"), document.dump());
    EXPECT_EQ(validate({in("bad.json")}), 1) << why;
  };
  refused("a section is missing", [](json& d) { d.erase("verdict"); });
  refused("a member nobody knows", [](json& d) { d.at("runs").at(0)["extra"] = 1; });
  refused("a word that is no provenance", [](json& d) { d.at("comparison").at("modes").at(0).at("figures").at("final_loss").at("provenance") = "guessed"; });
  refused("a number in words", [](json& d) { d.at("comparison").at("modes").at(0).at("figures").at("final_loss").at("value") = "nan"; });
  write(in("bare.json"), "{\"kind\": NaN}");
  EXPECT_EQ(validate({in("bare.json")}), 1) << "NaN is no JSON";
}

}  // namespace
}  // namespace ulpscope::reports
