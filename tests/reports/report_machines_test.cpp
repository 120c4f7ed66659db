// Several machines in one report: every form says the same of them, and each has the answer of advise.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/export/html/page.h"
#include "reports/export/report_json.h"
#include "reports/export/report_markdown.h"
#include "reports/export/text.h"
#include "reports/export/word_tables.h"
#include "reports/hardware/table.h"
#include "tests/reports/forged_machines.h"
#include "tests/reports/report_forms.h"

namespace ulpscope::reports {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ReportOfMachines : public ForgedMachines {
 protected:
  static Report report_of(const std::vector<ForgedMachine>& machines) {
    std::vector<const RunFileReader*> views;
    for (const ForgedMachine& machine : machines) views.push_back(&file_of(machine));
    return make_report(views);
  }
  static std::string markdown(const Report& report) {
    std::ostringstream out;
    write_markdown(report, out);
    return out.str();
  }
};

TEST_F(ReportOfMachines, EveryFormHasTheMachinesSideBySideAndAnAnswerForEach) {
  const Report report = report_of({forged_a100(), forged_h100()});
  ASSERT_EQ(report.verdict.answers.size(), 2u);
  EXPECT_EQ(report.verdict.answers[0].advice.device, "A100 SXM 80GB");
  EXPECT_EQ(report.verdict.answers[1].tag, "B");

  // fp16 takes 10 ms on one and 5 ms on the other.
  const json document = report_json(report);
  const json& at = document.at("comparison").at("machines").at("modes").at(1).at("at").at(1);
  EXPECT_NEAR(at.at("step_ratio").at("value").get<double>(), 0.5, 1e-12);
  double in_table = 0.0;
  const auto tables = tables_of(report);
  for (const auto& row : tables.at("machines_compared.csv"))
    if (row.at("tag") == "B" && row.at("mode") == "fp16" && row.at("node").empty() && row.at("figure") == "step_ratio") in_table = std::stod(row.at("value"));
  EXPECT_EQ(in_table, at.at("step_ratio").at("value").get<double>());
  const std::string text = markdown(report);
  EXPECT_THAT(text, HasSubstr("fp16 on each machine"));
  EXPECT_THAT(text, HasSubstr("0.5 × \\[computed\\]"));

  // Answers: the same words in each form.
  const auto& answers = document.at("verdict").at("answers");
  ASSERT_EQ(answers.size(), 2u);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const VerdictAnswer& answer = report.verdict.answers[i];
    EXPECT_EQ(answers.at(i).at("sentence"), answer.sentence);
    EXPECT_EQ(answers.at(i).at("advice").at("reason"), answer.advice.reason);
    EXPECT_THAT(text, HasSubstr("**" + markdown_escaped(answer.sentence) + "**"));
    for (const ModeAdvice& mode : answer.advice.modes) {
      const auto& row = tables.at("answers.csv").at(rows++);
      EXPECT_EQ(row.at("gpu"), answer.advice.device);
      EXPECT_EQ(row.at("mode"), mode.evidence.mode);
      EXPECT_EQ(row.at("possible"), mode.refused.empty() ? "1" : "0");
    }
  }
  EXPECT_EQ(rows, tables.at("answers.csv").size());
  if (!can_write_html()) return;
  std::ostringstream page;
  write_html(report, page);
  EXPECT_THAT(page.str(), HasSubstr("Machines side by side"));
  EXPECT_THAT(page.str(), HasSubstr("0.5 × [computed]"));
  for (const VerdictAnswer& answer : report.verdict.answers) EXPECT_THAT(page.str(), HasSubstr("class=\"answer\">" + answer.sentence.substr(0, 20)));
}

// For GPUs that are named, whatever the runs were made on: what `ulpscope advise --gpu` says, and that it is projected.
TEST_F(ReportOfMachines, OnGpusThatAreNamedItIsTheProjectedAnswerOfAdvise) {
  const RunFileReader& reader = file_of(forged_cpu());
  const std::vector<std::pair<std::string, Gpu>> gpus{{"h100", gpu_table().named("h100")}, {"t4", gpu_table().named("t4")}};
  AdviceInput input{.reader = &reader, .planned = planned_modes(reader, {})};
  input.projection = project({.file = reader.path(), .modes = input.planned}, gpus, {});
  const Advice alone = advise(input);
  const Report report = make_report({&reader}, {.verdict = {.gpus = gpus}});
  ASSERT_EQ(report.verdict.answers.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(report.verdict.answers[i].advice.device, alone.devices.at(i).device);
    EXPECT_EQ(report.verdict.answers[i].advice.outcome, alone.devices.at(i).outcome);
    EXPECT_EQ(report.verdict.answers[i].advice.reason, alone.devices.at(i).reason);
  }
  EXPECT_THAT(report.verdict.caveats, testing::Contains(HasSubstr("emulated: fp16 was carried out in software")));
  EXPECT_THAT(report.verdict.caveats, testing::Contains(testing::StartsWith("projected: no step of fp32, fp16 was measured on H100 SXM")));
  EXPECT_THAT(markdown(report), HasSubstr("The modes: on T4"));
}

// With GPUs named the second machine has no answer of its own.
TEST_F(ReportOfMachines, OnGpusThatAreNamedNoMachinesModesAreRefusedWithoutAReason) {
  const Report report = make_report({&file_of(forged_a100()), &file_of(forged_h100())}, {.verdict = {.gpus = {{"h100", gpu_table().named("h100")}}}});
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  ASSERT_EQ(report.verdict.modes.size(), 4u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(report.verdict.modes[i + 2].label, "B" + report.verdict.modes[i].label.substr(1));
    EXPECT_EQ(report.verdict.modes[i + 2].possible, report.verdict.modes[i].possible);
    EXPECT_EQ(report.verdict.modes[i + 2].against, report.verdict.modes[i].against);
  }
  const auto tables = tables_of(report);
  for (const auto& row : tables.at("standing.csv")) EXPECT_TRUE(row.at("possible") == "1" || !row.at("against").empty()) << row.at("mode");
}

// A projected lead without its range, or that may be none, is not a lead.
TEST_F(ReportOfMachines, TheRunnerUpHasTheSameWordsInEveryForm) {
  const RunFileReader& reader = file_of(forged_cpu());
  Report report = make_report({&reader}, {.verdict = {.gpus = {{"h100", gpu_table().named("h100")}}}});
  ASSERT_EQ(report.verdict.answers.size(), 1u);
  DeviceAdvice& a = report.verdict.answers[0].advice;
  a.winner = "fp32";
  a.runner_up = "fp16";
  a.margin = {.value = 1.25, .low = 0.8, .high = 1.75, .provenance = Provenance::projected};
  const std::string words = "fp16: projection cannot tell which is faster: its step takes 1.25 x (0.80…1.75) as long as that of fp32 [projected]";
  std::ostringstream text;
  TextExporter().write(Advice{.file = "a.ulp", .devices = {a}}, text);
  std::istringstream pieces(text.str());
  std::string line;
  for (std::string word; pieces >> word;) line += word + " ";
  EXPECT_THAT(line, HasSubstr("runner-up " + words));
  EXPECT_THAT(markdown(report), HasSubstr(markdown_escaped("runner-up " + words)));
  if (can_write_html()) {
    std::ostringstream page;
    write_html(report, page);
    EXPECT_THAT(page.str(), HasSubstr("<li>runner-up " + words));
  }
  a.margin.low = 1.1;
  EXPECT_THAT(markdown(report), HasSubstr(markdown_escaped("runner-up fp16: its step takes 1.25 x (1.10…1.75) as long")));
}

// As on the page: by whether the answer is given.
TEST_F(ReportOfMachines, MarkdownSaysWhatWouldChangeAnAnswerAndWhatWouldDecideAnother) {
  Report report = report_of({forged_a100(), forged_h100()});
  std::vector<VerdictAnswer>& answers = report.verdict.answers;
  ASSERT_EQ(answers.size(), 2u);
  answers[0].would_change = {"another model"};
  answers[0].advice.outcome = AdviceOutcome::recommended;
  answers[1].would_change = {"more seeds"};
  answers[1].advice.outcome = AdviceOutcome::undecided;
  const std::string both = markdown(report);
  EXPECT_THAT(both, HasSubstr("What would change the answer:\n\n- A, on A100 SXM 80GB: another model\n\n"));
  EXPECT_THAT(both, HasSubstr("What would decide it:\n\n- B, on H100 SXM: more seeds\n\n"));
  answers[0].advice.outcome = AdviceOutcome::none;
  EXPECT_THAT(markdown(report), testing::Not(HasSubstr("What would change the answer")));
}

TEST_F(ReportOfMachines, WhatIsNotAlikeIsRefusedInWords) {
  ForgedMachine other = forged_h100();
  other.batch = 16;
  const Report report = report_of({forged_a100(), other});
  EXPECT_THAT(markdown(report), HasSubstr("is not compared with A: another batch"));
  EXPECT_EQ(report.verdict.answers.size(), 2u);
}

TEST_F(ReportOfMachines, OfOneDeviceThereIsNothingToCompare) {
  const Report report = report_of({forged_a100()});
  EXPECT_TRUE(machine_tables(report.modes, 10).empty());
  EXPECT_THAT(markdown(report), testing::Not(HasSubstr("on each machine")));
  EXPECT_TRUE(tables_of(report).at("machines_compared.csv").empty());
}

}  // namespace
}  // namespace ulpscope::reports
