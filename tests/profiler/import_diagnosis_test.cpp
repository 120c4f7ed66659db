// What diagnose, compare, check and others make of a training log.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/profiler/import_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ImportDiagnosis : public ImportFixture {
 protected:
  /// A log of one row for each step: scale, skipped; the loss is 2 where it is not said.
  struct Row {
    double scale;
    bool skipped = false;
    double loss = 2.0;
    double norm = 1.0;
  };
  std::string diagnose(const std::vector<Row>& rows) const {
    std::string text = "step,loss,loss_scale,grad_norm,skipped\n";
    for (std::size_t i = 0; i < rows.size(); ++i)
      text += fmt_row(i, rows[i]);
    const Answer answer = import(file("log.csv", text));
    EXPECT_EQ(answer.code, 0) << answer.err;
    return diagnosis();
  }
  static std::string fmt_row(std::size_t i, const Row& r) {
    std::ostringstream line;
    line.precision(17);
    line << i << ',' << r.loss << ',' << r.scale << ',' << r.norm << ',' << (r.skipped ? 1 : 0) << '\n';
    return line.str();
  }
};

TEST_F(ImportDiagnosis, ASearchForTheScaleIsNormal) {
  std::vector<Row> rows;
  double scale = 4294967296.0;
  for (int i = 0; i < 12; ++i, scale /= 2) rows.push_back({scale, true, 2.0, HUGE_VAL});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("nothing was trained so far: all of 12 steps were skipped"), HasSubstr("may take that"), Not(HasSubstr("fatal"))));
  for (int i = 0; i < 30; ++i) rows.push_back({scale});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("normal, as far as the log tells: 42 steps"), HasSubstr("search for the loss scale 2^32 -> 2^20: 12 steps skipped [counted]"), HasSubstr("later skipped: 0 in 30 steps")));
}

TEST_F(ImportDiagnosis, AFloorAndACollapseAreFatal) {
  std::vector<Row> rows(20, Row{8.0});
  for (double scale = 8.0; scale >= 1.0; scale /= 2) rows.push_back({scale, true, 2.0, NAN});
  rows.push_back({1.0, true, 2.0, NAN});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("fatal (scale_floor), step 21"), HasSubstr("with a loss scale of 1: a scale that low")));
  // Two skips at the end are no accident yet.
  rows.assign(20, Row{8.0});
  rows.push_back({8.0, true, 2.0, NAN});
  rows.push_back({4.0, true, 2.0, NAN});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("normal, as far as the log tells"), HasSubstr("whether the run gets over it is unknown")));
  // A search that goes on below 1 finds nothing.
  rows.clear();
  for (double scale = 4.0; scale >= 0.25; scale /= 2) rows.push_back({scale, true, 2.0, NAN});
  EXPECT_THAT(diagnose(rows), HasSubstr("fatal (scale_floor)"));
}

// The loss of training is finite beside it, and where it is not, that is what is told.
TEST_F(ImportDiagnosis, AHeldOutLossThatIsNotFinite) {
  const auto of = [&](const char* last, const char* held_out) {
    std::string text = "step,loss,eval_loss\n";
    for (int i = 0; i < 20; ++i) text += std::to_string(i) + (i < 19 ? ",2,\n" : "," + std::string(last) + "," + held_out + "\n");
    EXPECT_EQ(import(file("log.csv", text)).code, 0);
    return diagnosis();
  };
  EXPECT_THAT(of("2.5", "inf"), AllOf(HasSubstr("damaged (held_out_not_finite): the held-out loss is inf behind step 20, where the training loss is 2.5"), Not(HasSubstr("normal"))));
  EXPECT_THAT(of("2.5", "2.25"), AllOf(HasSubstr("normal, as far as the log tells"), Not(HasSubstr("held_out_not_finite"))));
  EXPECT_THAT(of("nan", "nan"), AllOf(HasSubstr("fatal (unknown), step 20"), Not(HasSubstr("held_out_not_finite"))));
}

TEST_F(ImportDiagnosis, NotFiniteForGoodIsFatalOnceIsNot) {
  std::vector<Row> rows(20, Row{8.0});
  rows.push_back({8.0, false, NAN, NAN});
  EXPECT_THAT(diagnose(rows), HasSubstr("fatal (unknown), step 21: the loss is not finite in the last 1 step"));
  rows.insert(rows.end(), 20, Row{8.0});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("normal, as far as the log tells"), HasSubstr("1 loss not finite, and finite again afterwards")));
  rows.assign(20, Row{8.0});
  rows.insert(rows.end(), 3, Row{8.0, false, 2.0, HUGE_VAL});
  EXPECT_THAT(diagnose(rows), HasSubstr("fatal (unknown), step 21: the gradient norm is not finite in the last 3 steps"));
}

TEST_F(ImportDiagnosis, TooManySkipsAndALossThatRunsAwayAreDamage) {
  std::vector<Row> rows;
  for (int i = 0; i < 200; ++i) rows.push_back({1024.0, i % 10 == 5});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("damaged (gradient_too_large_for_scale): 20 of 200 steps"), HasSubstr("rose 0 times")));
  // One skip for each rise: that is how a scale works.
  rows.clear();
  for (int i = 0; i < 200; ++i) rows.push_back({i % 10 < 5 ? 1024.0 : 2048.0, i % 10 == 9});
  EXPECT_THAT(diagnose(rows), HasSubstr("normal, as far as the log tells"));
  rows.clear();
  for (int i = 0; i < 60; ++i) rows.push_back({8.0, false, i < 40 ? 2.0 : 50.0});
  EXPECT_THAT(diagnose(rows), AllOf(HasSubstr("damaged (unknown): the loss is finite and has run away"), HasSubstr("50")));
  // One low batch is no level that the loss came from.
  rows.clear();
  for (int i = 0; i < 60; ++i) rows.push_back({8.0, false, i == 30 ? 0.5 : 2.0});
  EXPECT_THAT(diagnose(rows), HasSubstr("normal, as far as the log tells"));
}

TEST_F(ImportDiagnosis, SkipsThatNobodyLoggedAreInferredOrUnknown) {
  ASSERT_EQ(import(file("log.csv", "step,loss,scale\n1,2,8\n2,2,8\n3,2,4\n4,2,4\n")).code, 0);
  auto rows = steps();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[1].skipped);
  EXPECT_TRUE(!rows[0].skipped && !rows[2].skipped && !rows[3].skipped);
  EXPECT_THAT(diagnosis(), AllOf(HasSubstr("[inferred]"), HasSubstr("inferred from falls of the loss scale")));
  const std::string figures = ulpscope({"compare", in("run.ulp"), "--json"}).out;
  EXPECT_THAT(figures, HasSubstr("\"inferred\""));
  // Rows every ten steps say nothing of the steps between them.
  ASSERT_EQ(import(file("log.csv", "step,loss,scale\n10,2,8\n20,2,4\n30,2,4\n")).code, 0);
  for (const auto& row : steps()) EXPECT_FALSE(row.skipped);
  EXPECT_THAT(diagnosis(), AllOf(HasSubstr("which were skipped is unknown"), HasSubstr("no row for each step"), Not(HasSubstr("none skipped"))));
  const nlohmann::json compared = nlohmann::json::parse(ulpscope({"compare", in("run.ulp"), "--json"}).out);
  const Answer checked = ulpscope({"check", in("run.ulp"), "--fail-on", "skip-rate=0.1,overflow"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(flat(checked.out), HasSubstr("unknown: the log does not say which steps were applied"));
}

TEST_F(ImportDiagnosis, ARunThatDeepSpeedEnded) {
  ASSERT_EQ(import(file("ds.log",
                        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 2, reducing to 1\n"
                        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n"
                        "    raise Exception(\"Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\")\n"
                        "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n"))
                .code,
            0);
  EXPECT_THAT(diagnosis(), AllOf(HasSubstr("fatal (scale_floor), entry 1"), HasSubstr("the log says so")));
  EXPECT_THAT(flat(ulpscope({"compare", in("run.ulp")}).out), HasSubstr("diverged"));
}

TEST_F(ImportDiagnosis, OtherCommandsSayThatTheyCannot) {
  ASSERT_EQ(import(file("log.csv", "step,loss,scale\n1,2,8\n2,2,8\n")).code, 0);
  for (const char* command : {"info", "compare", "time", "diagnose"}) {
    const Answer answer = ulpscope({command, in("run.ulp")});
    EXPECT_LE(answer.code, 1) << command << answer.err;
    EXPECT_THAT(answer.err, Not(HasSubstr("exception"))) << command;
  }
  EXPECT_THAT(flat(ulpscope({"info", in("run.ulp")}).out), AllOf(HasSubstr("another program; imported by"), HasSubstr("ulpscope did not run it")));
  EXPECT_THAT(flat(ulpscope({"time", in("run.ulp")}).out), HasSubstr("no step was timed"));
  // A fault, so that there is something to mend.
  ASSERT_EQ(import(file("log.csv", "step,loss,scale\n1,2,8\n2,nan,8\n")).code, 0);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", in("run.ulp"), "--resume"}, {"mend", in("run.ulp")}, {"scale", in("run.ulp")},
                                                  {"diagnose", in("run.ulp"), "--capsule", in("c")}, {"export", in("run.ulp"), "-o", in("w")}, {"project", in("run.ulp"), "--gpu", "t4"}}) {
    const Answer answer = ulpscope(command);
    EXPECT_NE(answer.code, 0) << command[0];
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << command[0] << answer.err;
  }
}

TEST_F(ImportDiagnosis, WhatCannotBeTrainedAgainIsNotMended) {
  for (const char* rows : {"1,2,8\n2,nan,8\n", "1,2,8\n2,2,8\n"}) {
    ASSERT_EQ(import(file("log.csv", std::string("step,loss,scale\n") + rows)).code, 0);
    const Answer answer = ulpscope({"mend", in("run.ulp")});
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.err, AllOf(HasSubstr("training log (imported from "), HasSubstr("cannot be mended: it cannot be trained again here")));
  }
  const std::string event = R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1.0, "dur": 2.0})";
  ASSERT_EQ(import(file("trace.json", "{\"traceEvents\": [" + event + "]}")).code, 0);
  EXPECT_THAT(ulpscope({"mend", in("run.ulp")}).err, HasSubstr("its trace (imported from "));
}

TEST_F(ImportDiagnosis, OnlyNamedRunsAreHeldAgainstEachOther) {
  const std::string a = file("a.csv", "step,loss\n1,2\n2,2\n"), b = file("b.csv", "step,loss\n1,2\n2,2.5\n");
  const auto as = [&](const std::string& path, const std::string& to, std::vector<std::string> more) {
    std::vector<std::string> arguments{"import", path, "-o", in(to), "--force"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ASSERT_EQ(ulpscope(arguments).code, 0);
  };
  as(a, "a.ulp", {"--mode", "fp32"});
  as(b, "b.ulp", {"--mode", "fp16"});
  EXPECT_THAT(flat(ulpscope({"compare", in("a.ulp"), in("b.ulp")}).out), HasSubstr("not alike and not held against each other: they differ in data"));
  as(a, "a.ulp", {"--mode", "fp32", "--model", "gpt", "--data", "text"});
  as(b, "b.ulp", {"--mode", "fp16", "--model", "gpt", "--data", "text"});
  EXPECT_THAT(flat(ulpscope({"compare", in("a.ulp"), in("b.ulp")}).out), AllOf(HasSubstr("final loss 2.0000 2.2500"), HasSubstr("its mode is as the user said")));
  EXPECT_EQ(ulpscope({"import", a, "--mode", "fp15"}).code, 2);
  EXPECT_EQ(ulpscope({"import", a, "-o", a}).code, 2);
  EXPECT_EQ(ulpscope({"import", a, "-o", in("a.ulp")}).code, 2);   // it is there
}

}  // namespace
}  // namespace ulpscope::profiler
