// The program's answers to wrong use: one line, exit code 2.
#include "profiler/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/cli/text.h"
#include "reports/run_file/writer.h"
#include "tests/sanitized.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

Result ulpscope(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  Result result;
  result.code = run_program(std::move(arguments), out, err);
  result.out = out.str();
  result.err = err.str();
  return result;
}

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_program_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    std::ofstream text(file("text.txt"));
    for (int i = 0; i < 300; ++i) text << "some text, line " << i << '\n';
    std::ofstream(file("tiny.toml"))
        << "[model]\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\n[data]\npath = 'text.txt'\n"
           "[train]\nsteps = 3\nbatch = 2\nevaluation_batches = 1\n[run]\nmodes = ['fp32', 'bf16']\n"
           "threads = 1\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  /// One line on err that starts with the program's name; nothing on out; exit code 2.
  std::string mistake(std::vector<std::string> arguments) const {
    const Result result = ulpscope(std::move(arguments));
    EXPECT_EQ(result.code, exit_usage) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, StartsWith("ulpscope: "));
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  std::string folder_;
};

TEST_F(ProgramTest, UnknownCommandAndFlags) {
  EXPECT_THAT(mistake({}), HasSubstr("Commands: run, plan, compare, report, view, diagnose, mend"));
  EXPECT_THAT(mistake({"comapre"}),
              AllOf(HasSubstr("unknown command comapre; did you mean compare?"), HasSubstr("devices")));
  EXPECT_THAT(mistake({"--versoin"}), HasSubstr("did you mean --version?"));
  EXPECT_THAT(mistake({"run", "--learning_rat", "1"}),
              HasSubstr("unknown flag --learning_rat; did you mean --learning_rate?"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--moeds=fp32"}),
              HasSubstr("unknown flag --moeds; did you mean --modes?"));
  EXPECT_THAT(mistake({"plan", file("tiny.toml"), "--mdoe", "fp16"}), HasSubstr("did you mean --mode?"));
  EXPECT_THAT(mistake({"plan", file("tiny.toml"), "second.toml"}), HasSubstr("one argument too many"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--steps"}), HasSubstr("--steps"));
  for (const std::vector<std::string>& empty : {std::vector<std::string>{"--data", ""}, {"--data="}, {"-o", ""}, {"--modes", ""}}) {
    std::vector<std::string> words{"run", file("tiny.toml"), "--steps", "2"};
    words.insert(words.begin() + 2, empty.begin(), empty.end());   // what follows is not taken for the value
    EXPECT_THAT(mistake(words), HasSubstr("its value is empty")) << empty.front();
  }
  EXPECT_THAT(mistake({"diagnose", file("tiny.toml"), "--mode", "bf16", "--predict", "--seed", "-1"}), HasSubstr("--seed -1: seeds are whole numbers from 0"));
  EXPECT_THAT(mistake({"info"}), HasSubstr("RUN"));
  EXPECT_THAT(mistake({"compare", "a.ulp", "--json", "--csv"}), HasSubstr("--json"));
}

TEST_F(ProgramTest, NoNameDrivesATerminal) {
  EXPECT_EQ(mistake({"run", "no\x1b[31mfile\n.toml"}).find('\x1b'), std::string::npos);
}

TEST_F(ProgramTest, UnknownNamesInTheExperiment) {
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--modes", "fp32,bf61"}), HasSubstr("did you mean \"bf16\"?"));
  EXPECT_THAT(mistake({"run", "--model", "gtp", "--data", file("text.txt")}),
              AllOf(HasSubstr("\"gpt\""), HasSubstr("mlp")));
  EXPECT_THAT(mistake({"plan", file("tiny.toml"), "--mode", "fp61"}), HasSubstr("fp16"));
  std::ofstream(file("bad.toml")) << "[train]\nstpes = 3\n";
  EXPECT_THAT(mistake({"run", file("bad.toml")}),
              HasSubstr("bad.toml:2: unknown key train.stpes; did you mean train.steps?"));
  EXPECT_THAT(mistake({"run", file("nowhere.toml")}), HasSubstr("No such file"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--set", "model.attention=flash"}), HasSubstr("fused, composed"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--keep-fp32", "no_such*"}),
              HasSubstr("--keep-fp32 no_such*: train.keep_fp32: 'no_such*'"));
  std::ofstream(file("keep.toml")) << "[data]\npath = 'text.txt'\n[train]\nkeep_fp32 = ['no_such*']\n";
  for (const char* command : {"run", "plan"})
    EXPECT_THAT(mistake({command, file("keep.toml")}), HasSubstr("keep.toml:4: train.keep_fp32: 'no_such*'"));
}

TEST_F(ProgramTest, DataThatIsMissingEmptyOrTooShort) {
  EXPECT_THAT(mistake({"run", "--model", "gpt"}), HasSubstr("there is no data"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--data", file("missing.txt")}), HasSubstr("missing.txt"));
  std::ofstream(file("empty.txt")).flush();
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--data", file("empty.txt")}), HasSubstr("empty.txt"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "--set", "model.context=100000"}), HasSubstr("100000"));
}

TEST_F(ProgramTest, OutputThatIsThereOrCannotBeWritten) {
  std::ofstream(file("there.ulp")) << "precious";
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", file("there.ulp")}),
              AllOf(HasSubstr("is not a run file"), Not(HasSubstr("--force"))))
      << "--force would not replace it";
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", "/dev/null"}),
              AllOf(HasSubstr("/dev/null: it is not a plain file"), Not(HasSubstr("--force"))));
  mistake({"run", file("tiny.toml"), "-o", file("there.ulp"), "--force"});  // not a run file: never replaced
  std::ifstream in(file("there.ulp"));
  std::string content;
  std::getline(in, content);
  EXPECT_EQ(content, "precious");
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", file("no/such/folder/a.ulp")}), HasSubstr("no/such/folder"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", folder_}), HasSubstr(folder_));
}

TEST_F(ProgramTest, ARunThatCannotBeginLeavesTheOldFile) {
  { reports::RunFileWriter(file("old.ulp")).close(); }
  const auto bytes = std::filesystem::file_size(file("old.ulp"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", file("old.ulp")}), HasSubstr("--force to replace it"));
  EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", file("old.ulp"), "--force", "--set", "train.batch=65536",
                       "--set", "model.context=500", "--set", "model.width=1024"}),
              AllOf(HasSubstr("a step in "), HasSubstr("iB of memory (activations "), HasSubstr(" are free: lower train.batch"),
                    HasSubstr("model.context"), HasSubstr("model.width")));
  EXPECT_EQ(std::filesystem::file_size(file("old.ulp")), bytes);
  EXPECT_FALSE(std::filesystem::exists(file("old.ulp-lock")));
  {
    reports::RunFileWriter writing(file("old.ulp"), {.append = true});
    EXPECT_THAT(mistake({"run", file("tiny.toml"), "-o", file("old.ulp")}), HasSubstr("is being written"));
    writing.close();
  }
  const Result run = ulpscope({"run", file("tiny.toml"), "-o", file("old.ulp"), "--force", "--timing-steps", "0"});
  EXPECT_EQ(run.code, exit_ok) << run.err;
}

/// The program as somebody who is not root, in a process of its own: the super-user may write anywhere. -1: not
/// possible here.
Result ulpscope_as_nobody(const std::string& toml, const std::string& out) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {-1, "", "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    if (::getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    execl(ULPSCOPE_PROGRAM, "ulpscope", "run", toml.c_str(), "-o", out.c_str(), nullptr);
    _exit(78);
  }
  close(pipe_ends[1]);
  Result result;
  char buffer[512];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;)
    result.err.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.code = WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 78 ? -1 : WEXITSTATUS(status);
  return result;
}

TEST_F(ProgramTest, AFolderThatMayNotBeWrittenOrEnteredIsFoundBeforeTraining) {
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  for (const int rights : {0555, 0000}) {
    std::filesystem::create_directory(file("locked"));
    std::filesystem::permissions(file("locked"), std::filesystem::perms(rights));
    const Result result = ulpscope_as_nobody(file("tiny.toml"), file("locked/a.ulp"));
    std::filesystem::permissions(file("locked"), std::filesystem::perms(0700));
    if (result.code == -1) GTEST_SKIP() << "an unprivileged user may not start " << ULPSCOPE_PROGRAM;
    EXPECT_EQ(result.code, exit_usage) << result.err;
    EXPECT_THAT(result.err,
                AllOf(StartsWith("ulpscope: cannot write "), HasSubstr("locked"), HasSubstr("Permission denied")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(ProgramTest, ARecordingWithGapsIsComparedAsFarAsItCanBeRead) {
#if ULPSCOPE_MAPS_A_FILE_FIRST
  GTEST_SKIP() << "libomp and the thread sanitizer end any program under a limit of file sizes";
#endif
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300 << 10, 300 << 10};  // room for the beginning, not for all steps
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string toml = file("tiny.toml"), out = file("gaps.ulp");
    execl(ULPSCOPE_PROGRAM, "ulpscope", "run", toml.c_str(), "-o", out.c_str(), "--modes", "fp32", "--steps", "6000",
          "--timing-steps", "0", nullptr);
    _exit(78);
  }
  close(pipe_ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), exit_fault) << said;
  EXPECT_THAT(said, AllOf(HasSubstr("recording failed"), HasSubstr("Comparison of"), HasSubstr("final loss")));
}

TEST_F(ProgramTest, WeightsThatCouldNotBeKeptAreMissed) {
  std::ofstream(file("w.ulp.weights")) << "no folder";
  const Result run = ulpscope({"run", file("tiny.toml"), "-o", file("w.ulp"), "--save-weights", "--modes", "fp32", "--timing-steps", "0"});
  EXPECT_EQ(run.code, exit_fault) << run.err;
  const Result check = ulpscope({"check", file("w.ulp"), "--fail-on", "incomplete"});
  EXPECT_EQ(check.code, exit_fault);
  EXPECT_THAT(check.out, HasSubstr("fp32, seed 0: weights lost (could not be kept"));
}

TEST_F(ProgramTest, RunFilesThatAreNone) {
  EXPECT_THAT(mistake({"compare", file("missing.ulp")}), HasSubstr("missing.ulp"));
  EXPECT_THAT(mistake({"info", file("text.txt")}), HasSubstr("text.txt"));
}

TEST_F(ProgramTest, RunCompareInfoFromTheExperimentFile) {
  const Result run = ulpscope({"run", file("tiny.toml"), "-o", file("a.ulp")});
  ASSERT_EQ(run.code, exit_ok) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("held-out loss"), HasSubstr("Try next:"), HasSubstr("undecided")));
  EXPECT_THAT(run.err, AllOf(HasSubstr("recorded in"), HasSubstr("step 3/3"), HasSubstr("tokens/s")));

  const Result text = ulpscope({"compare", file("a.ulp")});
  EXPECT_EQ(text.code, exit_ok);
  EXPECT_THAT(run.out, HasSubstr(text.out)) << "the run ends with the comparison";
  const Result json = ulpscope({"compare", file("a.ulp"), "--json", "-o", file("a.json")});
  EXPECT_EQ(json.code, exit_ok);
  EXPECT_EQ(json.out, "");
  std::ifstream in(file("a.json"));
  EXPECT_FALSE(nlohmann::json::parse(in, nullptr, false).is_discarded());
  EXPECT_EQ(ulpscope({"compare", file("a.ulp"), "--csv"}).code, exit_ok);
  EXPECT_THAT(mistake({"compare", file("a.ulp"), "--csv", "-o", file("a.json")}), HasSubstr("a.json is there already"));
  EXPECT_EQ(ulpscope({"compare", file("a.ulp"), "--csv", "-o", file("a.json"), "--force"}).code, exit_ok);
  EXPECT_FALSE(std::filesystem::exists(file("a.json.tmp")));
  for (const char* command : {"run", "plan"})
    EXPECT_THAT(mistake({command, file("a.ulp")}), AllOf(HasSubstr("a.ulp is a run file"), HasSubstr("--resume")));
  EXPECT_THAT(mistake({"compare", file("a.ulp"), "-o", file("no/such/x")}), HasSubstr("cannot write"));
  std::filesystem::copy_file(file("a.ulp"), file("b.ulp"));
  EXPECT_THAT(mistake({"compare", file("a.ulp"), "-o", file("b.ulp")}), HasSubstr("b.ulp: that is a run file"));
  EXPECT_EQ(std::filesystem::file_size(file("b.ulp")), std::filesystem::file_size(file("a.ulp")));
  std::filesystem::remove(file("b.ulp"));

  EXPECT_EQ(ulpscope({"check", file("a.ulp"), "--fail-on", "divergence,unfinished,skip-rate=1"}).code, exit_ok);
  const Result found = ulpscope({"check", file("a.ulp"), "--fail-on", "undecided", "--json"});
  EXPECT_EQ(found.code, exit_fault);
  EXPECT_EQ(nlohmann::json::parse(found.out)["ok"], false);
  EXPECT_THAT(mistake({"check", file("a.ulp")}), HasSubstr("--fail-on is missing"));
  EXPECT_THAT(mistake({"check", file("a.ulp"), "--fail-on", "overflows"}), HasSubstr("there is no such rule"));

  EXPECT_THAT(ulpscope({"info", file("a.ulp")}).out, HasSubstr("bf16"));
  EXPECT_FALSE(nlohmann::json::parse(ulpscope({"info", file("a.ulp"), "--json"}).out, nullptr, false).is_discarded());
  const Result config = ulpscope({"info", file("a.ulp"), "--config"});
  std::ofstream(file("again.toml")) << config.out;
  const Result again = ulpscope({"run", file("again.toml"), "-o", file("b.ulp"), "--set", "run.timing_steps=0"});
  EXPECT_EQ(again.code, exit_ok) << again.err;
}

TEST_F(ProgramTest, WithoutOutputANameIsMadeAndSaid) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const Result result = ulpscope({"run", "tiny.toml", "--bf16", "--tf32", "--steps", "2", "--timing-steps", "0"});
  std::string made;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().extension() == ".ulp") made = entry.path().filename().string();
  }
  // Short enough that some of them begin in the same second.
  for (int i = 0; i < 3; ++i) {
    const Result more = ulpscope({"run", "tiny.toml", "--modes", "fp32", "--steps", "1", "--timing-steps", "0"});
    EXPECT_EQ(more.code, exit_ok) << more.err;
  }
  std::filesystem::current_path(before);
  const std::filesystem::directory_iterator all(folder_);
  EXPECT_EQ(std::count_if(begin(all), end(all), [](const auto& entry) { return entry.path().extension() == ".ulp"; }),
            4)
      << "no run replaces another";
  ASSERT_EQ(result.code, exit_ok) << result.err;
  EXPECT_THAT(made, StartsWith("gpt-"));
  EXPECT_THAT(result.err, HasSubstr(made));
  EXPECT_THAT(result.out, HasSubstr("--modes fp32,bf16+tf32")) << "one mode alone cannot be compared";
}

TEST_F(ProgramTest, PlanRefusesPatternsThatMatchNothingAsRunDoes) {
  for (const char* command : {"plan", "run"})
    EXPECT_THAT(mistake({command, file("tiny.toml"), "--set", "observe.nodes=nope"}), HasSubstr("--set observe.nodes=nope: observe.nodes: \"nope\" matches no node"));
}

/// Names of files and nodes, wherever they are shown.
TEST_F(ProgramTest, NoNameOfAFileOrNodeDrivesATerminal) {
  std::ofstream(file("g\x1b[31m.toml")) << "model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1}\nnode = [{name = \"w\\u001b[31m\\u009b\", op = 'parameter', "
                                           "shape = [2], init = 1}, {name = \"h\\u001b[1m\", op = 'exp', inputs = \"w\\u001b[31m\\u009b\"}, "
                                           "{name = 'loss', op = 'sum', inputs = \"h\\u001b[1m\"}]\n";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", file("g\x1b[31m.toml"), "-o", file("o\x1b[32m.ulp"), "--timing-steps", "0"}, {"plan", file("g\x1b[31m.toml"), "--mode", "fp16"}}) {
    const Result result = ulpscope(words);
    EXPECT_EQ(result.code, exit_ok) << result.err;
    EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos) << words[0];
    EXPECT_EQ((result.out + result.err).find("\xc2\x9b"), std::string::npos) << words[0];
  }
}

TEST_F(ProgramTest, PlanReadsWellAt80Columns) {
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16", "bf16+tf32"}) {
    const Result result = ulpscope({"plan", file("tiny.toml"), "--mode", mode});
    ASSERT_EQ(result.code, exit_ok) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), text_width) << line;
    EXPECT_THAT(result.out, AllOf(HasSubstr("forward"), HasSubstr("backward"), HasSubstr("update"),
                                  HasSubstr("kept for backward")));
  }
  EXPECT_THAT(ulpscope({"plan", file("tiny.toml"), "--mode", "tf32"}).out, HasSubstr("multiplied in tf32"));
  const auto plan = nlohmann::json::parse(ulpscope({"plan", file("tiny.toml"), "--mode", "fp16", "--json"}).out);
  EXPECT_EQ(plan["mode"], "fp16");
  double flops = 0;
  for (const auto& node : plan["nodes"]) {
    flops += node["flops"].get<double>();
    EXPECT_FALSE(node["why"].get<std::string>().empty()) << node["name"];
  }
  double totals = 0;
  for (const auto& [phase, sums] : plan["totals"].items()) totals += sums["flops"].get<double>();
  EXPECT_EQ(flops, totals) << "every node is in a total";
}

TEST_F(ProgramTest, PlanSaysWhatCheckpointingSaves) {
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"plan", file("tiny.toml"), "--mode", "bf16"};
    words.insert(words.end(), more.begin(), more.end());
    return ulpscope(words);
  };
  const Result text = plan({"--recompute", "blocks"});
  ASSERT_EQ(text.code, exit_ok) << text.err;
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), text_width) << line;
  EXPECT_THAT(text.out, AllOf(HasSubstr("recomputed: activation checkpointing"), HasSubstr("Checkpointing of block0"),
                              HasSubstr("16-bit copies of weights: ")));
  EXPECT_THAT(plan({}).out, Not(HasSubstr("Checkpointing")));
  const auto memory = [](const Result& result) { return nlohmann::json::parse(result.out)["memory"]; };
  const auto with = memory(plan({"--recompute", "blocks", "--json"})), without = memory(plan({"--json"}));
  const auto& saved = with["savings"]["checkpointing"];
  EXPECT_EQ(saved["segments"][0], "block0");
  EXPECT_EQ(saved["peak_bytes"], with["persistent_bytes"].get<int>() + with["arena_bytes"].get<int>());
  EXPECT_EQ(saved["peak_bytes_without"], without["persistent_bytes"].get<int>() + without["arena_bytes"].get<int>());
  EXPECT_LT(saved["kept_bytes"], saved["kept_bytes_without"]);
  EXPECT_GT(saved["flops_again"], 0.0);
  EXPECT_FALSE(without["savings"].contains("checkpointing"));
  EXPECT_EQ(without["savings"]["weight_copies"].size(), 6u);
  for (const char* command : {"plan", "run"})
    EXPECT_THAT(mistake({command, file("tiny.toml"), "--recompute", "block"}),
                AllOf(HasSubstr("--recompute block: train.recompute: 'block' matches no node"), HasSubstr("nearest is 'blocks'")));
}

TEST_F(ProgramTest, HelpVersionDevices) {
  const Result version = ulpscope({"--version"});
  EXPECT_EQ(version.code, exit_ok);
  EXPECT_THAT(version.out, StartsWith("ulpscope 0."));
  const Result help = ulpscope({"--help"});
  EXPECT_EQ(help.code, exit_ok);
  for (const char* command : {"run", "plan", "compare", "check", "info", "devices"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const Result more = ulpscope({command, "--help"});
    EXPECT_EQ(more.code, exit_ok);
    EXPECT_THAT(more.out, HasSubstr(std::string("Usage: ulpscope ") + command));
    std::istringstream lines(more.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), text_width) << line;
  }
  EXPECT_THAT(ulpscope({"run", "--help"}).out,
              AllOf(HasSubstr("--learning_rate"), HasSubstr("train.scaler.interval"), HasSubstr("--set")));
  const Result devices = ulpscope({"devices"});
  EXPECT_EQ(devices.code, exit_ok);
  EXPECT_THAT(devices.out, AllOf(StartsWith("CPU "), HasSubstr("native"), HasSubstr("emulated")));
  EXPECT_FALSE(nlohmann::json::parse(ulpscope({"devices", "--json"}).out, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace ulpscope::profiler
