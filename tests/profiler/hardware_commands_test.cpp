// The commands hardware and project, as they are typed.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "tests/profiler/tiny_experiment.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Answer {
  int code = 0;
  std::string out, err;
};
/// In a process of its own: the table is read once in each.
Answer ulpscope(std::vector<std::string> arguments) {
  const std::string file = testing::TempDir() + "ulpscope_answer_" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a command that hangs has no answer
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

/// half_l4 with another name and one more line.
std::string own(const std::string& name, const std::string& line = "") {
  std::string text = half_l4;
  text.replace(text.find("'Half L4'"), 9, "'" + name + "'");
  return text + line + "\n";
}

std::string one_line(const Answer& answer) {
  EXPECT_EQ(answer.code, 2) << answer.out;
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  return answer.err;
}

TEST_F(HardwareCommands, NoGpuThatIsAddedTakesOverABuiltInOne) {
  const auto add = [&](const std::string& text) { return one_line(ulpscope({"hardware", "--add", file("own.toml", text)})); };
  EXPECT_THAT(add(own("mine", "also = ['t4']")), HasSubstr("\"t4\" means the built-in T4"));
  EXPECT_THAT(add(own("mine", "device = 'Tesla T4'")), HasSubstr("the built-in T4"));
  EXPECT_THAT(add(own("l 4")), HasSubstr("(L4)"));
  EXPECT_THAT(add(own("T 4")), HasSubstr("(T4)"));
  // Nor one that was put there by hand.
  std::filesystem::create_directories(in("config/ulpscope/gpus"));
  file("config/ulpscope/gpus/hand.toml", own("mine", "also = ['t4']"));
  const Answer t4 = ulpscope({"hardware", "t4"});
  EXPECT_THAT(t4.out, StartsWith("T4, Turing"));
  EXPECT_THAT(t4.err, AllOf(HasSubstr("left out: "), HasSubstr("hand.toml"), HasSubstr("the built-in T4")));
}

TEST_F(HardwareCommands, ADeviceIsOneGpus) {
  const std::string device = "device = 'NVIDIA Own 1'";
  ASSERT_EQ(ulpscope({"hardware", "--add", file("own.toml", own("A", device))}).code, 0);
  EXPECT_THAT(one_line(ulpscope({"hardware", "--add", file("own.toml", own("B", device))})), HasSubstr("B: the device \"NVIDIA Own 1\" is that of A"));
  EXPECT_EQ(ulpscope({"hardware", "--add", file("own.toml", own("A", device))}).code, 0) << "replaced";
  file("config/ulpscope/gpus/b.toml", own("B", device));
  EXPECT_THAT(ulpscope({"hardware", "a"}).err, AllOf(HasSubstr("left out: "), HasSubstr("b.toml: B: the device")));
}

/// What `time` says of a run in bf16 beside fp32 on a device.
nlohmann::json bf16_on(const std::string& path, const std::string& device) {
  reports::ForgedTime fp32("fp32", 1), bf16("bf16", 2);
  for (reports::ForgedTime* run : {&fp32, &bf16}) {
    run->forged.run.device = device;
    run->forged.run.device_kind = "cuda";
    run->forged.run.time_provenance = reports::Provenance::measured;
    for (const char* node : {"y", "unscale_check", "w.update"}) run->timed(node, 1e-3);
    run->sample(3e-3);
  }
  reports::write_times(path, {&fp32, &bf16});
  const Answer answer = ulpscope({"time", path, "--json"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  return nlohmann::json::parse(answer.out)["modes"][1];
}

// Its matrix units follow from its capability, their rate does not.
TEST_F(HardwareCommands, ARateThatIsNotGivenIsUnknownInTime) {
  ASSERT_EQ(ulpscope({"hardware", "--add", file("own.toml", "[[gpu]]\nname = 'Own'\ncompute_capability = '8.9'\nsms = 29\nboost_mhz = 2040\nmemory_gb = 12\nbandwidth_gbs = 150\n"
                                                            "fma = { fp32 = 128 }\ndevice = 'NVIDIA Own 1'\n")}).code, 0);
  const nlohmann::json own = bf16_on(in("own.ulp"), "NVIDIA Own 1");
  const auto cores = [](const nlohmann::json& mode) {
    for (const auto& node : mode["nodes"])
      if (node["node"] == "y" || node["name"] == "y") return node["tensor_cores"]["value"].get<std::string>();
    return std::string("no such node");
  };
  EXPECT_EQ(cores(own), "unknown");
  EXPECT_TRUE(own["bound"]["factor"]["value"].is_null()) << own["bound"];
  EXPECT_THAT(own["bound"]["factor_from"].get<std::string>(), HasSubstr("unknown, as this device's peak in bf16 is"));
  const nlohmann::json t4 = bf16_on(in("t4.ulp"), "Tesla T4");
  EXPECT_EQ(cores(t4), "no");
  EXPECT_EQ(t4["bound"]["factor"]["value"], 1.0);
}

TEST_F(HardwareCommands, EachHasAFileOfItsOwnAndTheSameNameReplaces) {
  const auto sms = [&](const std::string& name) { return nlohmann::json::parse(ulpscope({"hardware", name, "--json"}).out)["gpus"][0]["sms"]; };
  int count = 0;
  for (const char* name : {"My GPU", "My-GPU", "Gr Ü 3", "Gr Ä 3"}) {
    std::string text = own(name);
    text.replace(text.find("29"), 2, std::to_string(10 + ++count));
    const Answer added = ulpscope({"hardware", "--add", file("own.toml", text)});
    EXPECT_EQ(added.code, 0) << added.err;
    EXPECT_THAT(added.out, Not(HasSubstr("replaced")));
  }
  count = 10;
  for (const char* name : {"My GPU", "My-GPU", "Gr Ü 3", "Gr Ä 3"}) EXPECT_EQ(sms(name), ++count) << name;
  const Answer again = ulpscope({"hardware", "--add", file("own.toml", own("My-GPU"))});
  EXPECT_THAT(again.out, HasSubstr("replaced"));
  EXPECT_EQ(sms("My-GPU"), 29);
  EXPECT_EQ(sms("My GPU"), 11);
  EXPECT_THAT(one_line(ulpscope({"hardware", "my gpu"})), AllOf(HasSubstr("My GPU"), HasSubstr("My-GPU"), HasSubstr("which?")));
}

TEST_F(HardwareCommands, WhatIsNoPlainFileIsLeftOut) {
  std::filesystem::create_directories(in("config/ulpscope/gpus/folder.toml"));
  ASSERT_EQ(mkfifo(in("config/ulpscope/gpus/x.toml").c_str(), 0600), 0);
  const Answer table = ulpscope({"hardware", "t4"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.err, AllOf(HasSubstr("folder.toml: no plain file\n"), HasSubstr("x.toml: no plain file\n")));
  EXPECT_THAT(one_line(ulpscope({"hardware", "--add", in("config")})), HasSubstr("is a folder"));
}

TEST_F(HardwareCommands, EightyColumnsWhateverIsInTheFile) {
  const std::string longest(60, 'n'), path = in("config/") + std::string(90, 'f');
  std::filesystem::create_directories(path);
  setenv("XDG_CONFIG_HOME", path.c_str(), 1);
  const auto narrow = [](const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80) << line;
  };
  const std::string most = "compute_capability = '99.9'\nsms = 4096\nboost_mhz = 10000\nmemory_gb = 4096\nbandwidth_gbs = 1e6\npower_w = 1e5\nl2_mb = 1e5\n"
                           "fma = { fp32 = 1048576, tf32 = 1048576, fp16 = 1048576, bf16 = 1048576, fp8 = 1048576, fp16_sums_fp16 = 1048576 }\n"
                           "unverified = { memory_gb = 'x', bandwidth_gbs = 'x', power_w = 'x', fp32 = 'x', fp8 = 'x' }\nnote = '" + std::string(200, 'o') + "'\n";
  const std::string least = "compute_capability = '8.9'\nsms = 1\nboost_mhz = 100\nmemory_gb = 0.5\nbandwidth_gbs = 1\nfma = { fp32 = 128, tf32 = 1, fp16 = 1 }\n";
  narrow(ulpscope({"hardware", "--add", file("most.toml", "[[gpu]]\nname = '" + longest + "'\narchitecture = '" + longest + "'\n" + most)}).out);
  narrow(ulpscope({"hardware", "--add", file("least.toml", "[[gpu]]\nname = 'least'\n" + least)}).out);
  const Answer table = ulpscope({"hardware"});
  narrow(table.out);
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);) {
    // Eleven cells after the name, a blank before each.
    if (!line.starts_with("nnn") && !line.starts_with("least")) continue;
    std::istringstream cells(line.substr(line.find(' ')));
    EXPECT_EQ(std::distance(std::istream_iterator<std::string>(cells), {}), 11) << line;
    EXPECT_THAT(line, Not(HasSubstr(" 0 "))) << "a small figure is not none";
  }
  const Answer card = ulpscope({"hardware", "least"});
  EXPECT_THAT(card.out, HasSubstr("0.0256 TFLOP/s"));
  narrow(card.out);
  const Answer projected = ulpscope({"project", in("tiny.toml"), "--gpu", "least," + longest});
  EXPECT_EQ(projected.code, 0) << projected.err;
  narrow(projected.out);
}

TEST_F(HardwareCommands, AVariantThatIsTakenIsSaid) {
  const Answer a100 = ulpscope({"hardware", "a100"});
  EXPECT_THAT(a100.out, StartsWith("A100 SXM 80GB"));
  EXPECT_THAT(a100.err, HasSubstr("\"a100\" is taken for A100 SXM 80GB; there are also A100 SXM 40GB, A100 PCIe 40GB, A100 PCIe 80GB\n"));
  EXPECT_EQ(ulpscope({"hardware", "T4"}).err, "");
  EXPECT_THAT(ulpscope({"project", in("tiny.toml"), "--gpu", "gh200"}).out, HasSubstr("\"gh200\" is taken for GH200 96GB"));
  EXPECT_THAT(ulpscope({"hardware", "b200"}).out, HasSubstr("126.5 MiB"));
  EXPECT_THAT(one_line(ulpscope({"hardware", ""})), HasSubstr("\"\" is no GPU's name"));
}

TEST_F(HardwareCommands, OneMistakeIsOneLine) {
  const auto add = [&](const std::string& text) { return one_line(ulpscope({"hardware", "--add", file("own.toml", text)})); };
  EXPECT_THAT(add(own("A") + "[[gpu]]\nname = 'B'\n"), HasSubstr("one [[gpu]] table in a file, this has 2"));
  std::string wrong = own("A");
  EXPECT_THAT(add(wrong.replace(wrong.find("fp32 = 128"), 10, "fp32 = nan")), HasSubstr("from 1 to 1048576\n"));
}

TEST_F(HardwareCommands, OptionsOfProjectMayComeBeforeTheFile) {
  const Answer first = ulpscope({"project", "--gpu", "t4", in("tiny.toml"), "--json"});
  ASSERT_EQ(first.code, 0) << first.err;
  const Answer all = ulpscope({"project", "--modes", "fp32,fp16", "--gpu", "t4,l4", "--gpu", "a30", "--modes", "bf16", in("tiny.toml"), "--json"});
  ASSERT_EQ(all.code, 0) << all.err;
  const auto json = nlohmann::json::parse(all.out);
  ASSERT_EQ(json["gpus"].size(), 3u);
  EXPECT_EQ(json["gpus"][2]["modes"].size(), 3u);
  // Neither is a run file: each is read, not taken for one more of the list.
  EXPECT_THAT(one_line(ulpscope({"project", "--measured", in("none.ulp"), in("tiny.toml"), "--gpu", "t4"})), HasSubstr("none.ulp"));
  EXPECT_THAT(one_line(ulpscope({"project", "--check", in("none.ulp"), in("tiny.toml")})), HasSubstr("--check stands alone"));
}

TEST_F(HardwareCommands, NoBatchIsNamedThatRunRefuses) {
  const Answer projected = ulpscope({"project", in("tiny.toml"), "--gpu", "gb200", "--modes", "fp32", "--json"});
  const auto mode = nlohmann::json::parse(projected.out)["gpus"][0]["modes"][0];
  EXPECT_EQ(mode["largest_batch"], 65536);
  EXPECT_EQ(mode["largest_batch_capped"], true);
  EXPECT_EQ(ulpscope({"plan", in("tiny.toml"), "--set", "train.batch=65537"}).code, 2);
}

TEST_F(HardwareCommands, ARunCountsOnceHoweverOftenItIsNamed) {
  reports::ForgedTime run("fp32");
  run.forged.run.device = "Tesla T4";
  run.forged.run.device_kind = "cuda";
  for (const char* node : {"y", "unscale_check", "w.update"}) run.timed(node, 1e-3);
  run.sample(3e-3);
  const std::string path = in("t4.ulp");
  reports::write_times(path, {&run});
  std::filesystem::create_symlink(path, in("same.ulp"));
  const Answer projected = ulpscope({"project", path, "--gpu", "l4", "--measured", path, "--measured", in("same.ulp"), "--json"});
  ASSERT_EQ(projected.code, 0) << projected.err;
  EXPECT_EQ(nlohmann::json::parse(projected.out)["fitted_to"].size(), 1u);
  EXPECT_THAT(one_line(ulpscope({"project", "--check", path + "," + in("same.ulp")})), HasSubstr("these files have 1"));
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
  EXPECT_THAT(refused({"project", "--gpu", "t4", "h100", in("tiny.toml")}), HasSubstr("one argument too many"));
  EXPECT_THAT(refused({"project", in("none.ulp"), "--gpu", "t4"}), HasSubstr("none.ulp"));
  EXPECT_THAT(refused({"project", in("text.txt"), "--gpu", "t4"}), HasSubstr("text.txt"));
}

}  // namespace
}  // namespace ulpscope::profiler
