// Standard output whose reader goes away, and a disk that is full: on the program itself, for every command that writes much or little.
#include "profiler/cli/standard_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StandardOutputTest : public TinyExperiment {
 protected:
  struct Ended {
    int code = 0;
    std::string err;
  };
  /// out: becomes the program's standard output, and is closed here. largest: bytes of a file that it may write.
  static Ended program(const std::vector<std::string>& arguments, int out, rlim_t largest = RLIM_INFINITY) {
    int err[2];
    if (pipe(err) != 0) return {-1, "no pipe"};
    const pid_t child = fork();
    if (child == 0) {
      dup2(out, STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      signal(SIGPIPE, SIG_DFL);
      signal(SIGXFSZ, SIG_DFL);
      const rlimit files{largest, RLIM_INFINITY};
      if (largest != RLIM_INFINITY) setrlimit(RLIMIT_FSIZE, &files);
      std::vector<char*> words{const_cast<char*>("ulpscope")};
      for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      execv(ULPSCOPE_PROGRAM, words.data());
      _exit(127);
    }
    close(out);
    close(err[1]);
    Ended ended;
    char buffer[512];
    for (ssize_t n = 0; (n = read(err[0], buffer, sizeof(buffer))) > 0;) ended.err.append(buffer, static_cast<std::size_t>(n));
    close(err[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ended;
  }
  /// The end of a pipe that nobody reads.
  static int without_reader() {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    close(ends[0]);
    return ends[1];
  }
  std::vector<std::vector<std::string>> commands() const {
    return {{"plan", in("tiny.toml")}, {"plan", in("tiny.toml"), "--json"}, {"tensor-core", "--json"}, {"hardware"}, {"hardware", "--json"}, {"--help"}, {"run", "--help"},
            {"time", in("a.ulp")},     {"compare", in("a.ulp")},            {"compare", in("a.ulp"), "--json"}, {"info", in("a.ulp")}, {"project", in("tiny.toml"), "--gpu", "a100"}};
  }
  void SetUp() override {
    TinyExperiment::SetUp();
    ASSERT_EQ(program({"run", in("tiny.toml"), "-o", in("a.ulp"), "--steps", "2", "--seeds", "1"}, open("/dev/null", O_WRONLY)).code, 0);
  }
};

TEST_F(StandardOutputTest, AReaderThatGoesAwayIsNoFaultOfAnyCommand) {
  for (const auto& command : commands()) {
    const Ended ended = program(command, without_reader());
    EXPECT_EQ(ended.code, 0) << command[0];
    EXPECT_EQ(ended.err, "") << command[0];
  }
  // The code is the command's, as if all had been read.
  EXPECT_EQ(program({"check", in("a.ulp"), "--fail-on", "undecided"}, without_reader()).code, exit_fault);
  EXPECT_EQ(program({"plan", "nowhere.toml"}, without_reader()).code, exit_usage);
}

TEST_F(StandardOutputTest, AFullDiskIsAFaultOfEveryCommand) {
  for (const auto& command : commands()) {
    const Ended ended = program(command, open("/dev/full", O_WRONLY));
    EXPECT_EQ(ended.code, exit_fault) << command[0];
    EXPECT_EQ(ended.err, "ulpscope: standard output could not be written: No space left on device\n") << command[0];
  }
}

TEST_F(StandardOutputTest, AFileThatMayNotGrowIsAFault) {
  const Ended ended = program({"plan", in("tiny.toml")}, open(in("out").c_str(), O_WRONLY | O_CREAT, 0600), 100);
  EXPECT_EQ(ended.code, exit_fault);
  EXPECT_EQ(ended.err, "ulpscope: standard output could not be written: File too large\n");
}

TEST_F(StandardOutputTest, EverythingArrivesInOrder) {
  const std::string path = in("out");
  std::string expected;
  {
    StandardOutput out(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
    for (int i = 0; i < 20000; ++i) {
      out << i << '\n';
      expected += std::to_string(i) + "\n";
    }
    out.flush();
    EXPECT_EQ(out.reason(), 0);
  }
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), expected);
}

TEST_F(StandardOutputTest, TheReasonIsThatOfTheFirstWriteThatFailed) {
  StandardOutput out(open("/dev/full", O_WRONLY));
  out << std::string(100000, 'x') << std::flush;
  errno = 0;
  out.clear();
  out << "more" << std::flush;
  EXPECT_EQ(out.reason(), ENOSPC);
}

/// As somebody who is not root: the super-user may write anywhere. 0: it was refused so; 77: not possible here.
int refused_to_nobody(const std::string& path, const std::string& words) {
  const pid_t child = fork();
  if (child == 0) {
    if (::getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    try {
      check_output_file(path, true);
    } catch (const UsageError& error) {
      _exit(std::string(error.what()).find(words) != std::string::npos ? 0 : 2);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(StandardOutputTest, AFolderThatMayNotBeWrittenIsFoundBeforeAnythingIsDone) {
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  std::filesystem::create_directory(in("locked"));
  std::filesystem::permissions(in("locked"), std::filesystem::perms(0555));
  const int answer = refused_to_nobody(in("locked/s.json"), "cannot write " + in("locked") + ": Permission denied");
  std::filesystem::permissions(in("locked"), std::filesystem::perms(0700));
  if (answer == 77) GTEST_SKIP() << "nobody cannot be had here";
  EXPECT_EQ(answer, 0);
}

}  // namespace
}  // namespace ulpscope::profiler
