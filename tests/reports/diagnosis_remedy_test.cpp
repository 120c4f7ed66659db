// What is said of changes that were not run, and why.
#include <gtest/gtest.h>

#include "reports/analysis/diagnosis/remedy.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisRemedyTest : public Scratch {
 protected:
  /// A forward overflow of fp16, which asks for keep_fp32, bf16 and clamp; and data that are poisoned, which no run can mend.
  std::string status(const std::string& mend, const std::vector<MendRecord>& mends, bool data = false) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 3; ++i) run.step(nan_number, true, 65536.0);
    if (data)
      run.observe(0, {{"x", {.nan = 1}}, {"y", {.nan = 4}}, {"loss", {.elements = 1, .nan = 1}}}, "replay");
    else
      run.observe(0, {{"y", {.greatest = 7e4, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}}, "replay");
    const RunDiagnosis d = diagnose(forge(in("a.ulp"), {&run}, mends)).runs.at(0);
    for (const Remedy& remedy : d.causes.at(0).remedies)
      if (remedy.mend == mend) return remedy.status;
    return "no such remedy";
  }
  static MendRecord record(const std::string& kind, MendStatus status, const std::string& why) {
    return {.id = MendId{1}, .run = RunId{1}, .kind = kind, .change = "it", .status = status, .detail_json = R"({"why": ")" + why + "\"}"};
  }
};

TEST_F(DiagnosisRemedyTest, WhatWasNotTriedSaysWhy) {
  EXPECT_EQ(status("bf16", {}), not_tried) << "mend was not run";
  EXPECT_EQ(status("bf16", {record("bf16", MendStatus::not_tried, "the budget of 1 min was spent")}), "it: not tried (the budget of 1 min was spent)");
  EXPECT_EQ(status("clamp", {record("bf16", MendStatus::verified, "")}), not_asked_for) << "it was run, and made nothing of the kind";
  EXPECT_EQ(status("bf16", {record("bf16", MendStatus::verified, "")}), "it: verified");
  EXPECT_EQ(status("data", {}, true), cannot_be_tried);
  EXPECT_EQ(status("data", {record("bf16", MendStatus::refuted, "")}, true), cannot_be_tried);
  EXPECT_TRUE(mend_tries("keep_fp32"));
  for (const char* kind : {"", "data", "restart", "reset_buffers", "device", "observe", "cast_cache"}) EXPECT_FALSE(mend_tries(kind)) << kind;
}

}  // namespace
}  // namespace ulpscope::reports
