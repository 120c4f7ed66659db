// Ctrl-C in commands that run a step and record nothing (replay, and diagnose --predict), and in one that writes much: import.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cli/program.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/predict/predict.h"

namespace ulpscope::profiler {
namespace {

using testing::HasSubstr;

class InterruptedCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_interrupted_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_ + "/tmp");
    std::ofstream text(folder_ + "/text.txt");
    for (int i = 0; i < 3000; ++i) text << "some text, line " << i << '\n';
    std::ofstream(folder_ + "/slow.toml")   // a step takes some time
        << "[model]\ncontext = 256\nwidth = 128\nlayers = 4\nheads = 4\n[data]\npath = 'text.txt'\n"
           "[train]\nsteps = 1\nbatch = 8\n[run]\nthreads = 1\nmodes = ['fp32', 'fp16']\ntiming_steps = 0\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  struct Ended {
    int code = 0;
    std::string out, err;
  };
  std::string text_of(const std::string& name) const {
    std::ifstream file(in(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Whether the process catches the signal by now.
  static bool catches(pid_t process, int signal) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigCgt:")) return ((std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1) != 0;
    return false;
  }
  /// signal: sent once the program catches it; 0: none.
  Ended program(const std::vector<std::string>& arguments, int signal) const {
    const pid_t child = fork();
    if (child == 0) {
      dup2(open(in("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      dup2(open(in("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      setenv("TMPDIR", in("tmp").c_str(), 1);
      std::vector<char*> words{const_cast<char*>("ulpscope")};
      for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      execv(ULPSCOPE_PROGRAM, words.data());
      _exit(127);
    }
    int status = 0;
    if (signal != 0) {
      while (!catches(child, signal) && waitpid(child, &status, WNOHANG) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kill(child, signal);
    }
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text_of("out"), text_of("err")};
  }
  void expect_interrupted(const std::vector<std::string>& arguments) const {
    for (const int signal : {SIGINT, SIGTERM}) {
      const Ended ended = program(arguments, signal);
      EXPECT_EQ(ended.code, 128 + signal) << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("\ninterrupted; nothing was "));
      EXPECT_EQ(ended.out, "");
      EXPECT_TRUE(std::filesystem::is_empty(in("tmp"))) << "the folder for temporary files goes";
    }
  }
  std::string folder_;
};

TEST_F(InterruptedCommand, AnImportLeavesWhatWasThere) {
  {
    std::ofstream log(in("long.csv"));
    log << "step,loss\n";
    for (int i = 1; i <= 400000; ++i) log << i << ",2.5\n";
    std::ofstream(in("short.csv")) << "step,loss\n1,2\n";
  }
  ASSERT_EQ(program({"import", in("short.csv"), "-o", in("run.ulp")}, 0).code, 0);
  const auto before = std::filesystem::file_size(in("run.ulp"));
  const Ended ended = program({"import", in("long.csv"), "-o", in("run.ulp"), "--force"}, SIGINT);
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("interrupted; nothing was written"));
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::filesystem::file_size(in("run.ulp")), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

TEST_F(InterruptedCommand, Predict) { expect_interrupted({"diagnose", "--predict", in("slow.toml")}); }

TEST_F(InterruptedCommand, Replay) {
  ASSERT_EQ(program({"run", in("slow.toml"), "-o", in("a.ulp"), "--modes", "fp32", "--observe-every", "0"}, 0).code, 0);
  const Ended made = program({"diagnose", in("a.ulp"), "--capsule", in("c"), "--step", "1"}, 0);
  ASSERT_EQ(made.code, 0) << made.err;
  expect_interrupted({"replay", in("c"), "--modes", "all"});
}

TEST_F(InterruptedCommand, APredictionIsStoppedInTheMiddleOfItsStep) {
  Settings settings;
  settings.add_file(in("slow.toml"));
  for (const int after : {0, 1, 20}) {
    int asked = 0;
    EXPECT_THROW(predict(settings, "", std::nullopt, [&] { return asked++ == after; }), Interrupted);
    EXPECT_EQ(asked, after + 1);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
