// The program when something goes badly wrong: killed, no room on the disk, no right to write, a file that is damaged, newer or
// taken. A clear message, and what was recorded so far stays.
//
// ULPSCOPE_KILLS=20 kills that often instead of three times.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "kernels/error.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"
#include "tests/profiler/tiny_experiment.h"
#include "tests/sanitized.h"

namespace ulpscope::profiler {
namespace {

using reports::RunFileReader;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class FaultTest : public TinyExperiment {
 protected:
  struct Ended {
    int code = 0;   ///< negative: the signal
    std::string said;
  };
  /// Starts the program; `before` runs in the child. What it says goes to a file.
  pid_t start(const std::vector<std::string>& arguments, const std::function<void()>& before = {}) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (before) before();
    const int out = open(in("said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    std::vector<char*> words{const_cast<char*>("ulpscope")};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(ULPSCOPE_PROGRAM, words.data());
    _exit(127);
  }
  Ended wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::ifstream file(in("said"));
    Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), {std::istreambuf_iterator<char>(file), {}}};
    return ended;
  }
  Ended run(const std::vector<std::string>& arguments, const std::function<void()>& before = {}) {
    return wait(start(arguments, before));
  }
  /// A recording that was interrupted.
  void recording(const std::string& name) {
    const Ended ended = run({"run", in("tiny.toml"), "-o", in(name), "--set", "run.modes=fp32", "--set", "run.seeds=1"});
    ASSERT_EQ(ended.code, 0) << ended.said;
    sql(name, "UPDATE run SET status = 'interrupted'");
  }
  void sql(const std::string& name, const std::string& words) {
    reports::Database database(in(name), SQLITE_OPEN_READWRITE);
    database.execute(words.c_str());
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(FaultTest, KilledAtAnyMomentItGoesOnToTheSameBits) {
  const char* const wanted = std::getenv("ULPSCOPE_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 3;
  const std::vector<std::string> more{"--set", "train.steps=2000", "--set", "run.checkpoint_every=9", "--set", "run.modes=fp32,fp16"};
  std::vector<std::string> words{"run", in("tiny.toml"), "-o", in("whole.ulp")};
  words.insert(words.end(), more.begin(), more.end());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run(words).code, 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto whole = numbers_of(in("whole.ulp"));

  words[3] = in("cut.ulp");
  const std::vector<std::string> resume{"run", in("cut.ulp"), "--resume"};
  const auto forget = [&] {
    for (const char* suffix : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(in("cut.ulp") + suffix);
    return false;
  };
  std::uint32_t state = static_cast<std::uint32_t>(getpid());
  bool begun = false;
  for (int done = 0; done < kills;) {
    const pid_t child = start(begun ? resume : words);
    state = state * 1664525u + 1013904223u;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds * static_cast<double>(state >> 8) * 0x1p-24 * 0.7));
    kill(child, SIGKILL);
    const Ended ended = wait(child);
    // It was faster; or the last kill came when everything was written.
    const bool ended_before = begun && ended.code == 2 && ended.said.find("there is nothing to resume") != std::string::npos;
    if (ended.code >= 0) {
      ASSERT_TRUE(ended.code == 0 || ended_before) << ended.said;
      ASSERT_EQ(numbers_of(in("cut.ulp")), whole) << done << " kills";
      begun = forget();
      continue;
    }
    if (!begun && !std::filesystem::exists(in("cut.ulp"))) continue;   // before there was a file
    ++done;
    try {
      const RunFileReader file(in("cut.ulp"));
      EXPECT_FALSE(file.live());
      if (!file.experiment()) throw UsageError("cut off before the experiment was written down");
      for (const auto& r : file.runs()) file.steps(r.id);
      begun = true;
    } catch (const UsageError& error) {
      ASSERT_FALSE(begun) << error.what();   // only in the moment in which the file is made: nothing is lost then
      begun = forget();
    }
  }
  const Ended last = run(begun ? resume : words);
  ASSERT_TRUE(last.code == 0 || last.said.find("there is nothing to resume") != std::string::npos) << last.said;
  EXPECT_EQ(numbers_of(in("cut.ulp")), whole) << kills << " kills";
  const Ended again = run(resume);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.said, HasSubstr("there is nothing to resume"));
}

TEST_F(FaultTest, AFullDiskLeavesWhatWasRecorded) {
  std::filesystem::create_directory(in("small"));
  if (mount("tmpfs", in("small").c_str(), "tmpfs", 0, "size=600k") != 0) GTEST_SKIP() << "a small file system cannot be mounted here";
  const Ended ended = run({"run", in("tiny.toml"), "-o", in("small/a.ulp"), "--set", "train.steps=3000", "--set", "run.modes=fp32",
                           "--set", "run.checkpoint_every=100"});
  std::string fault;
  std::size_t steps = 0;
  try {
    const RunFileReader file(in("small/a.ulp"));
    for (const auto& r : file.runs()) steps += file.steps(r.id).size();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  umount2(in("small").c_str(), MNT_DETACH);
  EXPECT_EQ(fault, "");
  EXPECT_GT(steps, 0u);
  EXPECT_EQ(ended.code, 1) << ended.said;
  EXPECT_THAT(ended.said, AllOf(AnyOf(HasSubstr("full"), HasSubstr("No space left")), HasSubstr("training goes on"), HasSubstr("records are missing")));
}

TEST_F(FaultTest, AFullDiskLeavesTheOldRecording) {
  std::filesystem::create_directory(in("small"));
  if (mount("tmpfs", in("small").c_str(), "tmpfs", 0, "size=1200k") != 0) GTEST_SKIP() << "a small file system cannot be mounted here";
  recording("small/a.ulp");
  const std::string before = bytes_of(in("small/a.ulp"));
  const std::vector<std::string> words{"run", in("tiny.toml"), "-o", in("small/a.ulp"), "--force", "--set", "run.modes=fp32", "--set", "run.seeds=1"};
  std::vector<Ended> ends;
  std::vector<std::string> after;
  for (const int kilobytes : {0, 60, 130, 150}) {   // room for nothing; for a part of the tables; for them, not for a log; for a part of it
    std::filesystem::remove(in("small/fill"));
    const auto room = static_cast<int>(std::filesystem::space(in("small")).available / 1024);
    std::ofstream(in("small/fill"), std::ios::binary) << std::string(static_cast<std::size_t>(std::max(0, room - kilobytes)) * 1024, 'x');
    ends.push_back(run(words));
    after.push_back(bytes_of(in("small/a.ulp")));
  }
  const auto left = std::distance(std::filesystem::directory_iterator(in("small")), std::filesystem::directory_iterator());
  std::filesystem::remove(in("small/fill"));
  const Ended last = run(words);
  umount2(in("small").c_str(), MNT_DETACH);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i].code, 2) << i << ends[i].said;
    EXPECT_THAT(ends[i].said, AllOf(HasSubstr("cannot write " + in("small/a.ulp") + ": "), AnyOf(HasSubstr("full"), HasSubstr("No space left"), HasSubstr("I/O")))) << i;
    EXPECT_EQ(after[i], before) << i;
  }
  EXPECT_EQ(left, 2) << "nothing half made stays";
  EXPECT_EQ(last.code, 0) << last.said;
}

/// A trial of which a part is missing would be taken for one without a fault.
TEST_F(FaultTest, AMendWithoutRoomForItsTrialsJudgesNothing) {
  std::ofstream(in("over.toml")) << "model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1, batch = 1}\nrun = {modes = ['fp16'], seeds = 1, threads = 1}\n"
                                    "node = [{name = 'x', op = 'input', shape = [1, 64], values = 32.0},\n{name = 'a.weight', op = 'parameter', shape = [1, 64], init = 33.0},\n"
                                    "{name = 'a', op = 'linear', inputs = ['x', 'a.weight']},\n{name = 'loss', op = 'sum', inputs = 'a'}]\n";
  ASSERT_EQ(run({"run", in("over.toml"), "-o", in("o.ulp")}).code, 0);
  std::filesystem::create_directory(in("small"));
  if (mount("tmpfs", in("small").c_str(), "tmpfs", 0, "size=400k") != 0) GTEST_SKIP() << "a small file system cannot be mounted here";
  std::vector<Ended> ends;
  for (const int kilobytes : {150, 100, 4}) {   // room for a part of a trial's recording; of its tables; for nothing
    std::filesystem::remove(in("small/fill"));
    const auto room = static_cast<int>(std::filesystem::space(in("small")).available / 1024);
    std::ofstream(in("small/fill"), std::ios::binary) << std::string(static_cast<std::size_t>(std::max(0, room - kilobytes)) * 1024, 'x');
    ends.push_back(run({"mend", in("o.ulp")}, [&] { setenv("TMPDIR", in("small").c_str(), 1); }));
  }
  umount2(in("small").c_str(), MNT_DETACH);
  for (const Ended& ended : ends) {
    EXPECT_EQ(ended.code, 1) << ended.said;
    EXPECT_THAT(ended.said, AllOf(HasSubstr("a trial could not be recorded"), AnyOf(HasSubstr("full"), HasSubstr("No space left"), HasSubstr("I/O"))));
    EXPECT_THAT(ended.said, testing::Not(HasSubstr("verified")));
  }
}

TEST_F(FaultTest, MoreThreadsThanCanBeMadeAreRefused) {
#if ULPSCOPE_SANITIZED
  GTEST_SKIP() << "the sanitizer takes more address space than this leaves";
#endif
  const auto tight = [] {
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};   // of the stacks of 4000 threads
    setrlimit(RLIMIT_AS, &limit);
  };
  const Ended ended = run({"run", in("tiny.toml"), "-o", in("a.ulp"), "--threads", "4000"}, tight);
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.said, AllOf(HasSubstr("ulpscope: --threads 4000: run.threads: 4000 cannot be made here ("), HasSubstr("give at most ")));
  EXPECT_EQ(std::count(ended.said.begin(), ended.said.end(), '\n'), 1) << ended.said;
}

TEST_F(FaultTest, WithoutMemoryTheTableAndABatchThatFitsAreSaid) {
#if ULPSCOPE_SANITIZED
  GTEST_SKIP() << "the sanitizer takes more address space than this leaves";
#endif
  const auto tight = [] {
    const rlimit limit{rlim_t{2} << 30, rlim_t{2} << 30};
    setrlimit(RLIMIT_AS, &limit);
  };
  const Ended ended = run({"run", in("tiny.toml"), "-o", in("a.ulp"), "--set", "train.batch=65536", "--set", "model.context=64"}, tight);
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.said, AllOf(HasSubstr("ulpscope: a step in "), HasSubstr(" (activations "), HasSubstr("would fit: by its"), HasSubstr("the largest result is ")));
  EXPECT_FALSE(std::filesystem::exists(in("a.ulp"))) << "a run that cannot begin makes no file";
  const Ended planned = run({"plan", in("tiny.toml"), "--set", "train.batch=65536", "--set", "model.context=64"}, tight);
  EXPECT_EQ(planned.code, 0);
  EXPECT_THAT(planned.said, HasSubstr("warning: a step in "));
}

TEST_F(FaultTest, ARunThatFailedShowsInTheExitCode) {
  // A learning rate that throws the weights out of range: fp32 stops, fp16 skips from then on.
  const Ended ended = run({"run", in("tiny.toml"), "-o", in("a.ulp"), "--modes", "fp32,fp16", "--set", "run.seeds=1", "--set", "train.lr=1e38",
                           "--set", "train.clip=0", "--set", "train.optimizer=sgd", "--set", "train.schedule=constant"});
  EXPECT_EQ(ended.code, 1) << ended.said;
  EXPECT_THAT(ended.said, AllOf(HasSubstr("Comparison of"), HasSubstr("ulpscope: 1 of 2 runs failed"), HasSubstr("compared above: fp32, seed 0")));
}

TEST_F(FaultTest, AFolderThatCannotBeWritten) {
  chmod(folder_.c_str(), 0755);
  std::filesystem::create_directory(in("shut"));
  recording("shut/old.ulp");
  chmod(in("shut/old.ulp").c_str(), 0644);
  chmod(in("shut").c_str(), 0555);
  std::ofstream(in("said")) << "";
  chmod(in("said").c_str(), 0666);
  const auto nobody = [] {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(126);
  };
  const Ended ended = run({"run", in("tiny.toml"), "-o", in("shut/new.ulp")}, nobody);
  if (ended.code == 126 || ended.code == 127) {
    chmod(in("shut").c_str(), 0755);
    GTEST_SKIP() << "the program cannot be run by another user here";
  }
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.said, AllOf(HasSubstr("cannot write"), HasSubstr("Permission denied")));
  const std::string before = bytes_of(in("shut/old.ulp"));
  const Ended resumed = run({"run", in("shut/old.ulp"), "--resume"}, nobody);
  EXPECT_EQ(resumed.code, 2) << resumed.said;
  EXPECT_THAT(resumed.said, HasSubstr("Permission denied"));
  EXPECT_EQ(bytes_of(in("shut/old.ulp")), before);
  EXPECT_EQ(run({"info", in("shut/old.ulp")}, nobody).code, 0) << "reading needs no right to write";
  chmod(in("shut").c_str(), 0755);
}

TEST_F(FaultTest, AFileOfANewerVersion) {
  recording("new.ulp");
  sql("new.ulp", "PRAGMA user_version = 99");
  const std::string before = bytes_of(in("new.ulp"));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", in("new.ulp"), "--resume"}, {"info", in("new.ulp")}, {"compare", in("new.ulp")}, {"check", in("new.ulp"), "--fail-on", "overflow"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << words[0];
    EXPECT_THAT(ended.said, AllOf(HasSubstr("schema 99"), HasSubstr("this program reads up to schema")));
    EXPECT_EQ(std::count(ended.said.begin(), ended.said.end(), '\n'), 1);
  }
  EXPECT_EQ(bytes_of(in("new.ulp")), before);
}

TEST_F(FaultTest, AFileThatIsCutOff) {
  recording("short.ulp");
  std::filesystem::resize_file(in("short.ulp"), std::filesystem::file_size(in("short.ulp")) / 2);
  const std::string before = bytes_of(in("short.ulp"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", in("short.ulp"), "--resume"}, {"info", in("short.ulp")}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.said, HasSubstr("cut off"));
  }
  EXPECT_EQ(bytes_of(in("short.ulp")), before) << "it may still be saved by other means";
}

TEST_F(FaultTest, TwoWritersOnOneFile) {
  recording("one.ulp");
  const auto numbers = numbers_of(in("one.ulp"));
  {
    reports::RunFileWriter writer(in("one.ulp"), {.append = true});
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"run", in("one.ulp"), "--resume"}, {"run", in("tiny.toml"), "-o", in("one.ulp"), "--force"}}) {
      const Ended ended = run(words);
      EXPECT_EQ(ended.code, 2) << ended.said;
      EXPECT_THAT(ended.said, HasSubstr("one.ulp is being written by another process"));
    }
    writer.close();
  }
  EXPECT_EQ(numbers_of(in("one.ulp")), numbers);
}

TEST_F(FaultTest, AFileThatIsTakenAwayWhileItIsWritten) {
  recording("other.ulp");
  const std::string before = bytes_of(in("other.ulp"));
  const auto taken = [&](const std::function<void()>& act) {
    std::filesystem::remove(in("said"));   // of the one before
    const pid_t child = start({"run", in("tiny.toml"), "-o", in("one.ulp"), "--set", "train.steps=2000"});
    for (int i = 0; i < 3000 && bytes_of(in("said")).find("recorded in") == std::string::npos; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    act();
    return wait(child);
  };
  const Ended replaced = taken([&] { std::filesystem::rename(in("other.ulp"), in("one.ulp")); });
  EXPECT_EQ(replaced.code, 1) << replaced.said;
  EXPECT_THAT(replaced.said, AllOf(HasSubstr("one.ulp was replaced by another file while it was recorded"), testing::Not(HasSubstr("Try next"))));
  EXPECT_EQ(bytes_of(in("one.ulp")), before);
  std::filesystem::remove(in("one.ulp"));
  const Ended removed = taken([&] { std::filesystem::remove(in("one.ulp")); });
  EXPECT_EQ(removed.code, 1) << removed.said;
  EXPECT_THAT(removed.said, HasSubstr("one.ulp was removed while it was recorded"));
}

TEST_F(FaultTest, InputThatHasNoEnd) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  for (const std::string& endless : {std::string("/dev/zero"), in("pipe")})
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"run", endless}, {"run", in("tiny.toml"), "--init", endless}}) {
      const Ended ended = run(words);
      EXPECT_EQ(ended.code, 2) << ended.said;
      EXPECT_THAT(ended.said, HasSubstr("is not a plain file"));
    }
}

TEST_F(FaultTest, WrongUseOfResume) {
  recording("a.ulp");
  const auto said = [&](const std::vector<std::string>& words) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.said;
    EXPECT_EQ(std::count(ended.said.begin(), ended.said.end(), '\n'), 1) << ended.said;
    return ended.said;
  };
  EXPECT_THAT(said({"run", "--resume"}), HasSubstr("--resume of which run file?"));
  EXPECT_THAT(said({"run", in("tiny.toml"), "--resume"}), HasSubstr("with -o NAME.ulp"));
  EXPECT_THAT(said({"run", in("a.ulp"), "--resume", "--steps", "5"}), HasSubstr("leave the other flags out"));
  EXPECT_THAT(said({"run", in("a.ulp"), "--resume", "--force"}), HasSubstr("give one of them"));
  EXPECT_THAT(said({"run", in("tiny.toml"), "--accept-different-bits"}), HasSubstr("goes with --resume"));
  EXPECT_THAT(said({"run", in("tiny.toml"), "-o", in("a.ulp"), "--resume"}), HasSubstr("holds another experiment"));
}

}  // namespace
}  // namespace ulpscope::profiler
