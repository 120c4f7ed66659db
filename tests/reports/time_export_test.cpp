// The time report as text, JSON and CSV: the same numbers in each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "reports/export/text.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

class TimeForms : public Scratch {
 protected:
  TimeReport report() {
    fp16_.forged.run.steps_planned = 2;
    fp16_.forged.step(1.0, true, 65536.0);
    fp16_.forged.step(1.0, false, 32768.0);
    return time_report(write_times(in("a.ulp"), {&fp32_, &fp16_}), {});
  }
  static std::string form(const char* name, const TimeReport& report) {
    std::ostringstream out;
    make_exporter(name)->write(report, out);
    return out.str();
  }
  ForgedTime fp32_ = timed_fp32();
  ForgedTime fp16_ = timed_fp16();
};

/// The line that begins so, its blanks made one.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(start)) continue;
    std::string tight;
    for (const char c : line)
      if (c != ' ' || (!tight.empty() && tight.back() != ' ')) tight += c;
    return tight;
  }
  return "no line " + start;
}

TEST_F(TimeForms, TextShowsTheFigures) {
  const std::string text = form("text", report());
  EXPECT_EQ(line_of(text, "seconds are"), "seconds are measured emulated");
  EXPECT_EQ(line_of(text, "step"), "step 10 ms 12.5 ms");
  EXPECT_EQ(line_of(text, "between nodes"), "between nodes, idle 2 ms 3.75 ms");
  EXPECT_EQ(line_of(text, "  matrix products"), "matrix products 6 ms 75 % 5 ms 57 %");
  EXPECT_EQ(line_of(text, "  casts of weights"), "casts of weights - 1 ms");
  EXPECT_EQ(line_of(text, "  other casts"), "other casts - 0 s");
  EXPECT_EQ(line_of(text, "  a step more"), "a step more than fp32 - 1.75 ms");
  EXPECT_EQ(line_of(text, "  skipped steps"), "skipped steps - 12.5 ms");
  EXPECT_EQ(line_of(text, "  master weights kept"), "master weights kept - 2 KiB");
  EXPECT_EQ(line_of(text, "  bound, these free"), "bound, these free - 2.50 x");
  EXPECT_EQ(line_of(text, "  bound, so fast"), "bound, so fast - 1.43 x");
  EXPECT_EQ(line_of(text, "  came to"), "came to - 0.80 x");
  EXPECT_THAT(text, HasSubstr("    with relu y.relu\n"));
  EXPECT_THAT(text, HasSubstr("say nothing of a GPU"));
}

TEST_F(TimeForms, JsonHasTheNumbersOfTheText) {
  const TimeReport r = report();
  const auto json = nlohmann::json::parse(form("json", r));
  EXPECT_EQ(json["kind"], "ulpscope time");
  const auto& fp16 = json["modes"][1];
  EXPECT_EQ(fp16["step"]["seconds"]["value"], 12.5e-3);
  EXPECT_EQ(fp16["step"]["seconds"]["provenance"], "emulated");
  EXPECT_EQ(fp16["step"]["between"]["value"].get<double>(), *r.modes[1].between.value);
  EXPECT_EQ(fp16["bound"]["products_ideal"]["value"].get<double>(), *r.modes[1].bound.ideal.value);
  EXPECT_EQ(fp16["ledger"][0]["item"], "weight_casts");
  EXPECT_EQ(fp16["ledger"][0]["seconds"]["value"], 1e-3);
  EXPECT_EQ(fp16["step"]["device_seconds"]["value"], nullptr);
  EXPECT_EQ(fp16["device_use"], nullptr);
  EXPECT_EQ(fp16["reasons"][0]["reason"], "emulated");
  const auto& product = json["modes"][0]["nodes"][0];
  EXPECT_EQ(product["name"], "y");
  EXPECT_EQ(product["members"][0]["name"], "y.relu");
  EXPECT_EQ(product["tensor_cores"]["value"], "none");
  EXPECT_EQ(json["modes"][0]["nodes"].size(), r.modes[0].nodes.size());
}

TEST_F(TimeForms, CsvHasThemToo) {
  const std::string csv = form("csv", report());
  for (const char* line : {"\r\nfp32,0,step,,,,seconds,0.01,s/step,measured,", "\r\nfp32,0,node,y,linear,forward,seconds,0.006,s/step,measured,", "\r\nfp16,0,ledger,skipped_steps,,,count,1,,counted,",
                           "\r\nfp16,0,bound,,,,products_free,2.5,,computed,", "\r\nfp16,0,reason,emulated,", "\r\nfp16,0,step,,,,device_seconds,,s/step,,"})
    EXPECT_THAT(csv, HasSubstr(line));
}

TEST_F(TimeForms, UnknownIsNeverZero) {
  ForgedTime bare("fp16", 3);
  const TimeReport r = time_report(write_times(in("b.ulp"), {&bare}), {});
  const std::string text = form("text", r);
  EXPECT_EQ(line_of(text, "step"), "step unknown");
  EXPECT_EQ(line_of(text, "nodes "), "nodes unknown");
  EXPECT_EQ(line_of(text, "  matrix products"), "matrix products unknown");
  EXPECT_EQ(line_of(text, "  casts of weights"), "casts of weights unknown");
  EXPECT_EQ(line_of(text, "  bound, these free"), "bound, these free unknown");
  EXPECT_THAT(text, HasSubstr("no times of nodes are in the file"));
  const auto json = nlohmann::json::parse(form("json", r));
  EXPECT_EQ(json["modes"][0]["step"]["seconds"]["value"], nullptr);
  EXPECT_EQ(json["modes"][0]["nodes"][0]["seconds"]["value"], nullptr);
}

TEST_F(TimeForms, EightyColumnsWhateverTheNames) {
  std::vector<ForgedTime> modes;
  std::int64_t id = 1;
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16", "bf16_pure"}) {
    ForgedTime t(mode, id++);
    for (NodeRecord& node : t.forged.nodes)
      if (node.name == "sgd" || node.name == "w.update") node.name = "a.very.long.name.of.a.parameter.that.somebody.thought.of.update";
    t.timed("y", 123456.789e-6);
    t.timed("unscale_check", 98765.4321);
    t.forged.run.device_kind = "cuda";
    t.forged.run.device = "NVIDIA H200";
    t.kernel("void cutlass::Kernel<\x1b[31m a long template name of a kernel that goes on and on and on>(Params)", 1, std::nullopt, 10, 12345);
    t.kernel("gemm", 1, t.id("y"), 10, 1234567);
    for (const double s : {1.23456789, 2.3456789, 1e-9}) t.sample(s, false, s);
    modes.push_back(t);
  }
  std::vector<const ForgedTime*> all;
  for (const ForgedTime& t : modes) all.push_back(&t);
  std::ostringstream out;
  TextExporter text;
  text.top_nodes = 0;
  text.write(time_report(write_times(in("c.ulp"), all), {}), out);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), line.starts_with("Time of ") ? 400u : 80u) << line;
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST_F(TimeForms, TopLimitsTheText) {
  std::ostringstream out;
  TextExporter text;
  text.top_nodes = 1;
  text.write(report(), out);
  EXPECT_THAT(out.str(), HasSubstr("1 of 3 launches, 75 % of the time of all"));
  EXPECT_THAT(out.str(), Not(HasSubstr("w.update")));
}

}  // namespace
}  // namespace ulpscope::reports
