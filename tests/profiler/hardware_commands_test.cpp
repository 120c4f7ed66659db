// The commands hardware and project, as they are typed.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/cli/program.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Answer {
  int code = 0;
  std::string out, err;
};
/// In a process of its own: the table is read once in each.
Answer ulpscope(std::vector<std::string> arguments) {
  const std::string file = testing::TempDir() + "ulpscope_answer_" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream out(file + ".out"), err(file + ".err");
    const int code = run_program(std::move(arguments), out, err);
    out.close();
    err.close();
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto text = [&](const char* ending) {
    std::stringstream read;
    read << std::ifstream(file + ending).rdbuf();
    std::filesystem::remove(file + ending);
    return read.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text(".out"), text(".err")};
}

/// With a configuration folder of its own.
class HardwareCommands : public TinyExperiment {
 protected:
  void SetUp() override {
    TinyExperiment::SetUp();
    if (const char* before = std::getenv("XDG_CONFIG_HOME")) before_ = before;
    setenv("XDG_CONFIG_HOME", in("config").c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty()) unsetenv("XDG_CONFIG_HOME");
    else setenv("XDG_CONFIG_HOME", before_.c_str(), 1);
    TinyExperiment::TearDown();
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(in(name)) << text;
    return in(name);
  }
  std::string before_;
};

/// Half of an L4, made up.
constexpr const char* half_l4 =
    "[[gpu]]\nname = 'Half L4'\ncompute_capability = '8.9'\nsms = 29\nboost_mhz = 2040\nmemory_gb = 12\nbandwidth_gbs = 150\n"
    "fma = { fp32 = 128, tf32 = 256, fp16 = 512, bf16 = 512 }\n";

TEST_F(HardwareCommands, TheTableAndOneInFull) {
  const Answer table = ulpscope({"hardware"});
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* gpu : {"V100 SXM2 16GB", "T4 ", "L4 ", "L40S ", "GH200 96GB", "RTX 5090"}) EXPECT_THAT(table.out, HasSubstr(gpu));
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const Answer one = ulpscope({"hardware", "l4", "--json"});
  ASSERT_EQ(one.code, 0) << one.err;
  const auto json = nlohmann::json::parse(one.out);
  EXPECT_THAT(one.out, HasSubstr("\"sms\": 58"));
  EXPECT_THAT(one.out, Not(HasSubstr("L40"))) << "whole words";
  const Answer unknown = ulpscope({"hardware", "H300"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no GPU \"H300\""), HasSubstr("H200 SXM"), HasSubstr("--add")));
}

TEST_F(HardwareCommands, AGpuThatIsAddedIsKnownToEveryCommand) {
  const Answer added = ulpscope({"hardware", "--add", file("half.toml", half_l4)});
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_FALSE(std::filesystem::is_empty(in("config/ulpscope/gpus")));
  EXPECT_THAT(ulpscope({"hardware"}).out, HasSubstr("Half L4"));
  const Answer projected = ulpscope({"project", in("tiny.toml"), "--gpu", "half l4", "--json"});
  ASSERT_EQ(projected.code, 0) << projected.err;
  const auto json = nlohmann::json::parse(projected.out);
  EXPECT_EQ(json["gpus"][0]["modes"].size(), 3u);
  for (const auto& mode : json["gpus"][0]["modes"]) EXPECT_EQ(mode["step_seconds"]["provenance"], "projected");
}

TEST_F(HardwareCommands, AMistakeInAFileIsSaidWithItsPlaceAndNothingIsKept) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"[[gpu]]\nname = 'X'\nspeed = 3\n", "speed"},
      {"[[gpu]]\nname = 'X'\ncompute_capability = 'ten'\n", "compute_capability"},
      {"[[gpu]]\ncompute_capability = '8.9'\n", "name"},
      {"[[gpu]]\nname = 'X'\ncompute_capability = '7.5'\nsms = -4\nboost_mhz = 1590\nmemory_gb = 16\nbandwidth_gbs = 320\nfma = { fp32 = 64 }\n", "sms"},
      {"[[gpu]\n", "expected ']'"},
  };
  for (const auto& [text, word] : mistakes) {
    const Answer answer = ulpscope({"hardware", "--add", file("bad.toml", text)});
    EXPECT_EQ(answer.code, 2) << text;
    EXPECT_THAT(answer.err, AllOf(HasSubstr("bad.toml:"), HasSubstr(word))) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(in("config")) && !std::filesystem::is_empty(in("config"))) << "nothing is kept";
  EXPECT_EQ(ulpscope({"hardware", "--add", in("missing.toml")}).code, 2);
}

TEST_F(HardwareCommands, ProjectRefusesWhatItCannotProject) {
  const auto refused = [](std::vector<std::string> arguments) {
    const Answer answer = ulpscope(std::move(arguments));
    EXPECT_EQ(answer.code, 2);
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
    return answer.err;
  };
  EXPECT_THAT(refused({"project", in("tiny.toml")}), HasSubstr("--gpu"));
  EXPECT_THAT(refused({"project", in("tiny.toml"), "--gpu", "t4,foo"}), HasSubstr("\"foo\""));
  EXPECT_THAT(refused({"project", in("tiny.toml"), "--gpu", "t4", "--modes", "fp12"}), HasSubstr("fp12"));
  EXPECT_THAT(refused({"project", in("none.ulp"), "--gpu", "t4"}), HasSubstr("none.ulp"));
  EXPECT_THAT(refused({"project", in("text.txt"), "--gpu", "t4"}), HasSubstr("text.txt"));
}

}  // namespace
}  // namespace ulpscope::profiler
