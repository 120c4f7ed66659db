// `ulpscope report` called from a test: a run file with two modes, what the program says and how it ends.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"
#include "tests/profiler/support/answer.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::profiler {

class ReportFixture : public reports::Scratch {
 protected:
  void SetUp() override { reports::make_run_file(in("a.ulp"), {reports::made_up("fp32", 0, 2.0), reports::made_up("bf16", 0, 2.0)}); }
  /// One line that says what is wrong.
  static void refused(const Answer& answer, const std::string& words) {
    EXPECT_EQ(answer.code, exit_usage);
    EXPECT_THAT(answer.err, testing::HasSubstr(words));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
    EXPECT_EQ(answer.out, "");
  }
};

}  // namespace ulpscope::profiler
