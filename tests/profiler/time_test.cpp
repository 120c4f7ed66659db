// ulpscope time: the command, and that it knows every operation of the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "engine/graph/operator.h"
#include "profiler/cli/program.h"
#include "reports/analysis/time_category.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::profiler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(TimeCategories, EveryOperatorOfTheEngineHasOne) {
  for (const std::string& name : engine::operators().names()) {
    EXPECT_NE(reports::time_category(name), reports::TimeCategory::other) << name;
    EXPECT_EQ(reports::is_product(reports::time_category(name)), engine::operators().find(name).product) << name;
  }
}

class TimeCommand : public reports::Scratch {
 protected:
  int call(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    return run_program(std::move(arguments), out_, err_);
  }
  std::string file() {
    const reports::ForgedTime fp32 = reports::timed_fp32(), fp16 = reports::timed_fp16();
    reports::write_times(in("a.ulp"), {&fp32, &fp16});
    return in("a.ulp");
  }
  std::ostringstream out_, err_;
};

TEST_F(TimeCommand, PrintsTextJsonAndCsv) {
  const std::string path = file();
  ASSERT_EQ(call({"time", path, "--mode", "fp16", "--top", "1"}), exit_ok) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("fp16 seed 0, nodes from the clock around them in 4 steps"));
  ASSERT_EQ(call({"time", path, "--json", "--csv", in("t.csv")}), exit_ok) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("{\n  \"kind\": \"ulpscope time\""));
  EXPECT_THAT(read(in("t.csv")), StartsWith("mode,seed,section,"));
}

TEST_F(TimeCommand, WrongUseIsOneLine) {
  const std::string path = file();
  const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
    EXPECT_EQ(call(arguments), exit_usage);
    EXPECT_THAT(err_.str(), HasSubstr(words));
    EXPECT_EQ(err_.str().find('\n') + 1, err_.str().size()) << err_.str();
    EXPECT_EQ(out_.str(), "");
  };
  refused({"time", path, "--mode", "fp17"}, "there is no run of mode fp17");
  refused({"time", path, "--seed", "9"}, "there is no run of seed 9");
  refused({"time", path, "--top", "-1"}, "--top -1");
  refused({"time", in("none.ulp")}, "none.ulp");
  refused({"time", path, "--csv", path}, "--csv " + path);
  write(in("t.csv"), "mine");
  refused({"time", path, "--csv", in("t.csv")}, "--force");
  EXPECT_EQ(read(in("t.csv")), "mine");
  refused({"time", path, "--jsn"}, "--json");
}

}  // namespace
}  // namespace ulpscope::profiler
