// Ctrl-C, on the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;

class InterruptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_interrupt_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream text(folder_ + "/text.txt");
    for (int i = 0; i < 300; ++i) text << "some text, line " << i << '\n';
    std::ofstream(folder_ + "/long.toml")
        << "[model]\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\n[data]\npath = 'text.txt'\n"
           "[train]\nsteps = 100000000\nbatch = 2\n[run]\nthreads = 1\n";
  }
  void TearDown() override {
    if (child_ > 0) kill(child_, SIGKILL);
    std::filesystem::remove_all(folder_);
  }

  void start(const std::string& experiment = "long.toml", bool ignore_interrupt = false) {
    ASSERT_EQ(pipe(err_), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(err_[1], STDERR_FILENO);
      if (ignore_interrupt) signal(SIGINT, SIG_IGN);  // as a shell does for its background jobs
      const std::string toml = folder_ + "/" + experiment, out = output();
      execl(ULPSCOPE_PROGRAM, "ulpscope", "run", toml.c_str(), "-o", out.c_str(), nullptr);
      _exit(127);
    }
    close(err_[1]);
  }
  std::string output() const { return folder_ + "/long.ulp"; }

  /// Waits until a viewer could see steps of the run.
  bool wait_for_steps() const {
    for (int i = 0; i < 600; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      try {
        const reports::RunFileReader file(output());
        if (!file.runs().empty() && !file.steps(file.runs()[0].id, {.limit = 1}).empty()) return true;
      } catch (const std::exception&) {  // not there yet
      }
    }
    return false;
  }
  /// A run whose steps take seconds, and that is in the first of them.
  bool start_slowly() {
    std::ofstream(folder_ + "/slow.toml")
        << "[model]\ncontext = 256\nwidth = 256\nlayers = 8\nheads = 4\n[data]\npath = 'text.txt'\n"
           "[train]\nsteps = 3\nbatch = 16\n[run]\nthreads = 1\nmodes = ['fp32']\ntiming_steps = 0\n";
    start("slow.toml");
    if (!wait_for_words("recorded in")) return false;
    // The run's row is written just before its first step.
    for (int i = 0; i < 600; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      try {
        if (!reports::RunFileReader(output()).runs().empty()) return true;
      } catch (const std::exception&) {  // not there yet
      }
    }
    return false;
  }
  /// Reads what the program says until `words` are among it.
  bool wait_for_words(const std::string& words) {
    char buffer[512];
    while (said_.find(words) == std::string::npos) {
      const ssize_t n = read(err_[0], buffer, sizeof(buffer));
      if (n <= 0) return false;
      said_.append(buffer, static_cast<std::size_t>(n));
    }
    return true;
  }
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    char buffer[512];
    for (ssize_t n = 0; (n = read(err_[0], buffer, sizeof(buffer))) > 0;)
      said_.append(buffer, static_cast<std::size_t>(n));
    close(err_[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string folder_, said_;
  int err_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST_F(InterruptTest, EndsAfterTheStepWithTheFileComplete) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::filesystem::remove(output());
    said_.clear();
    start();
    ASSERT_TRUE(wait_for_steps());
    kill(child_, signal);
    EXPECT_EQ(wait(), 128 + signal);
    EXPECT_THAT(said_, HasSubstr("long.ulp"));
    EXPECT_THAT(said_, HasSubstr("interrupted"));
    EXPECT_FALSE(std::filesystem::exists(output() + "-wal")) << "closed: one file remains";
    const reports::RunFileReader file(output());
    EXPECT_FALSE(file.live());
    const auto runs = file.runs();
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].status, reports::RunStatus::interrupted);
    EXPECT_FALSE(runs[0].ended.empty());
    const auto steps = file.steps(runs[0].id);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back().step + 1, static_cast<std::int64_t>(steps.size())) << "no step is missing";
    EXPECT_EQ(file.memory(runs[0].id, reports::MemoryKind::peak).size(), 1u);
  }
}

TEST_F(InterruptTest, TwiceEndsAtOnceAndTheFileStaysReadable) {
  ASSERT_TRUE(start_slowly());
  kill(child_, SIGINT);
  ASSERT_TRUE(wait_for_words("once more ends at once"));
  kill(child_, SIGINT);
  EXPECT_EQ(wait(), 130);
  const reports::RunFileReader file(output());
  ASSERT_EQ(file.runs().size(), 1u);
  EXPECT_EQ(file.runs()[0].status, reports::RunStatus::running) << "cut short, not ended in order";
  EXPECT_FALSE(file.live());
}

/// The kernel sends SIGHUP when a terminal closes, and its shell sends it once more: no haste is meant.
TEST_F(InterruptTest, AClosedTerminalEndsAfterTheStepHoweverOftenItIsSaid) {
  ASSERT_TRUE(start_slowly());
  kill(child_, SIGHUP);
  ASSERT_TRUE(wait_for_words("once more ends at once"));
  kill(child_, SIGHUP);
  EXPECT_EQ(wait(), 129);
  EXPECT_EQ(reports::RunFileReader(output()).runs().at(0).status, reports::RunStatus::interrupted) << "ended in order";
}

TEST_F(InterruptTest, AnIgnoredSignalStaysIgnored) {
  start("long.toml", true);
  ASSERT_TRUE(wait_for_steps());
  kill(child_, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "it still runs";
  kill(child_, SIGTERM);
  EXPECT_EQ(wait(), 143);
  EXPECT_EQ(reports::RunFileReader(output()).runs().at(0).status, reports::RunStatus::interrupted);
}

}  // namespace
}  // namespace ulpscope::profiler
