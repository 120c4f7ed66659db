// The writer: one file in the end, live before, nothing lost to a kill but moments, training undisturbed by a full
// disk.
#include "reports/run_file/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "reports/run_file/reader.h"
#include "reports/run_file/sqlite.h"
#include "tests/reports/in_child.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class Writer : public Scratch {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string refusal(const std::string& path, const WriterOptions& options = {}) {
    const std::string message = message_of<UsageError>([&] { RunFileWriter writer(path, options); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
};

StepRecord step(std::int64_t n) { return {.run = RunId{1}, .step = n, .loss = 1.0 / static_cast<double>(n + 1)}; }

TEST_F(Writer, LeavesOneFile) {
  RunFileWriter writer(in("a.ulp"));
  writer.push(step(0));
  writer.close();
  writer.close();  // does nothing
  EXPECT_EQ(files(), std::vector<std::string>{"a.ulp"});
  EXPECT_EQ(read(in("a.ulp"))[18], 1) << "not out of write-ahead mode";
  EXPECT_EQ(RunFileReader(in("a.ulp")).steps(RunId{1}).size(), 1u);
  EXPECT_FALSE(RunFileReader(in("a.ulp")).live());
  EXPECT_THAT(message_of<Error>([&] { writer.push(step(1)); }), HasSubstr("after the file was closed"));
}

TEST_F(Writer, TheDestructorClosesToo) {
  { RunFileWriter(in("a.ulp")).push(step(0)); }
  EXPECT_EQ(files(), std::vector<std::string>{"a.ulp"});
}

TEST_F(Writer, CanBeFollowed) {
  RunFileWriter writer(in("a.ulp"), {.commit_seconds = 1.0});
  const RunFileReader reader(in("a.ulp"));
  EXPECT_TRUE(reader.live());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 10; ++j) writer.push(step(10 * i + j));
    writer.flush();
    EXPECT_EQ(reader.steps(RunId{1}).size(), static_cast<std::size_t>(10 * (i + 1)));
    EXPECT_EQ(reader.steps(RunId{1}, {.first = 10 * i}).size(), 10u);
  }
  writer.close();  // an idle reader is not in the way
  EXPECT_FALSE(reader.live());
  EXPECT_EQ(files(), std::vector<std::string>{"a.ulp"});
  EXPECT_EQ(reader.steps(RunId{1}).size(), 30u);
}

TEST_F(Writer, CommitsWithoutBeingAsked) {
  RunFileWriter writer(in("a.ulp"), {.commit_seconds = 0.05});
  writer.push(step(0));
  const RunFileReader reader(in("a.ulp"));
  for (int i = 0; i < 200 && reader.rows("step") == 0; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(reader.rows("step"), 1);
}

TEST_F(Writer, AReaderInTheWayCostsNothing) {
  RunFileWriter writer(in("a.ulp"), {.busy_seconds = 0.1});
  writer.push(step(0));
  writer.flush();
  {
    Database other(in("a.ulp"), SQLITE_OPEN_READONLY);
    Statement open_read(other, "SELECT step FROM step");
    ASSERT_TRUE(open_read.step());
    writer.push(step(1));
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.steps(RunId{1}).size(), 2u);
  ASSERT_EQ(reader.completeness().size(), 1u);
  EXPECT_EQ(reader.completeness()[0].kind, "note");
}

TEST_F(Writer, RefusesInOneLine) {
  write(in("there.ulp"), "");
  EXPECT_THAT(refusal(in("there.ulp")), StartsWith(in("there.ulp") + " exists already"));
  EXPECT_THAT(refusal(in("nowhere/a.ulp")), HasSubstr("there is no folder " + in("nowhere")));
  EXPECT_THAT(refusal(in("there.ulp/a.ulp")), HasSubstr("there is no folder " + in("there.ulp")));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal("/dev/null", {.overwrite = true}), HasSubstr("not a plain file"));
  EXPECT_THAT(refusal(in(std::string(300, 'x'))), HasSubstr("File name too long"));
  EXPECT_THAT(refusal(""), HasSubstr("needs a name"));
  EXPECT_THAT(refusal(in("b.ulp"), {.queue_capacity = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(in("b.ulp"), {.commit_seconds = 2.0}), HasSubstr("at most 1"));
  EXPECT_EQ(files(), std::vector<std::string>{"there.ulp"});
}

TEST_F(Writer, ALinkIsFollowedAndStays) {
  std::filesystem::create_symlink("a.ulp", in("link.ulp"));
  EXPECT_THAT(refusal(in("link.ulp"), {.overwrite = true}), HasSubstr("a link that leads to no file"));
  { RunFileWriter(in("a.ulp")).push(step(7)); }
  {
    RunFileWriter writer(in("link.ulp"), {.overwrite = true});
    EXPECT_TRUE(RunFileReader(in("a.ulp")).live()) << "one lock for all its names";
    EXPECT_TRUE(RunFileReader(in("link.ulp")).live());
    EXPECT_THAT(refusal(in("a.ulp"), {.overwrite = true}), HasSubstr("being written by another process"));
    writer.push(step(9));
    writer.close();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(in("link.ulp")));
  EXPECT_EQ(RunFileReader(in("a.ulp")).steps(RunId{1}).at(0).step, 9) << "what it leads to was replaced";
}

TEST_F(Writer, OverwritesRunFilesOnly) {
  for (int i = 0; i < 2; ++i) {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    writer.push(step(i));
    writer.close();
  }
  EXPECT_EQ(RunFileReader(in("a.ulp")).steps(RunId{1}).at(0).step, 1);
  EXPECT_EQ(RunFileReader(in("a.ulp")).rows("step"), 1);

  write(in("thesis.txt"), "ten years of work");
  EXPECT_THAT(refusal(in("thesis.txt"), {.overwrite = true}), HasSubstr("is not a run file"));
  EXPECT_EQ(read(in("thesis.txt")), "ten years of work");
  { Database(in("other.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).execute("CREATE TABLE t (x)"); }
  EXPECT_THAT(refusal(in("other.db"), {.overwrite = true}), HasSubstr("is not a run file"));
  write(in("empty.ulp"), "");
  EXPECT_EQ(refusal(in("empty.ulp"), {.overwrite = true}), "");
}

TEST_F(Writer, TheOldFileStaysUntilTheNewOneIsMade) {
  { RunFileWriter(in("a.ulp")).push(step(7)); }
  const std::string old = read(in("a.ulp"));
  std::filesystem::create_directory(in("a.ulp-new"));   // where the new one would be made
  EXPECT_THAT(refusal(in("a.ulp"), {.overwrite = true}), StartsWith("cannot write " + in("a.ulp") + ": "));
  EXPECT_EQ(read(in("a.ulp")), old);
  std::filesystem::remove(in("a.ulp-new"));
  write(in("a.ulp-new"), "what a kill left");
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true, .first = {ExperimentRecord{.name = "first"}}});
    EXPECT_TRUE(writer.begun());
    EXPECT_EQ(RunFileReader(in("a.ulp")).experiment().value().name, "first") << "before anything is pushed";
    EXPECT_EQ(RunFileReader(in("a.ulp")).rows("step"), 0);
    writer.close();
  }
  EXPECT_EQ(RunFileReader(in("a.ulp")).experiment().value().name, "first");
  EXPECT_EQ(files(), std::vector<std::string>{"a.ulp"});
  EXPECT_FALSE(RunFileWriter(in("b.ulp")).begun());
}

TEST_F(Writer, AddsToAFileThatIsThere) {
  {
    RunFileWriter writer(in("a.ulp"));
    writer.push(step(0));
    writer.push(step(1));
    writer.push(CompletenessRecord{.kind = "dropped", .subject = "tensor_stats", .count = 5});
    writer.close();
  }
  RunFileWriter writer(in("a.ulp"), {.append = true, .queue_capacity = 1, .commit_seconds = 0.01});
  StepRecord again = step(1);
  again.loss = 7.0;
  writer.push(again);
  writer.push(step(2));
  std::optional<Database> other(std::in_place, in("a.ulp"), SQLITE_OPEN_READWRITE);
  other->set_busy_timeout(5);
  other->execute("BEGIN IMMEDIATE");
  for (int i = 0; i < 10; ++i) writer.push(TensorStatsRecord{.step = i});
  const std::int64_t dropped = writer.dropped();
  EXPECT_GT(dropped, 0);
  other.reset();
  writer.close();
  EXPECT_EQ(files(), std::vector<std::string>{"a.ulp"});
  const RunFileReader reader(in("a.ulp"));
  ASSERT_EQ(reader.steps(RunId{1}).size(), 3u);
  EXPECT_EQ(reader.steps(RunId{1})[1].loss, 7.0) << "the same key again replaces";
  EXPECT_EQ(reader.completeness().at(0).count, 5 + dropped) << "what was dropped earlier still counts";
}

TEST_F(Writer, AddsToRunFilesOnlyAndLeavesOthersAlone) {
  EXPECT_THAT(refusal(in("none.ulp"), {.append = true}), HasSubstr("there is no such file"));
  write(in("thesis.txt"), "ten years of work");
  EXPECT_THAT(refusal(in("thesis.txt"), {.append = true}), HasSubstr("is not a run file"));
  EXPECT_EQ(read(in("thesis.txt")), "ten years of work");
  RunFileWriter writer(in("a.ulp"));
  EXPECT_THAT(refusal(in("a.ulp"), {.append = true}), HasSubstr("is being written by another process"));
  EXPECT_THAT(refusal(in("a.ulp"), {.overwrite = true, .append = true}), HasSubstr("either"));
  writer.close();
  { Database(in("a.ulp"), SQLITE_OPEN_READWRITE).execute("PRAGMA user_version = 999"); }
  EXPECT_THAT(refusal(in("a.ulp"), {.append = true}), HasSubstr("schema 999"));
  EXPECT_EQ(files(), (std::vector<std::string>{"a.ulp", "thesis.txt"}));
}

TEST_F(Writer, RefusesASecondWriter) {
  RunFileWriter writer(in("a.ulp"));
  writer.push(step(0));
  EXPECT_THAT(refusal(in("a.ulp"), {.overwrite = true}), HasSubstr("is being written by another process"));
  writer.push(step(1));
  writer.close();
  EXPECT_EQ(RunFileReader(in("a.ulp")).rows("step"), 2);
  EXPECT_EQ(refusal(in("a.ulp"), {.overwrite = true}), "");
}

TEST_F(Writer, OddNamesAreNames) {
  for (const char* name : {"a b%20?c#d&e.ulp", "-dash.ulp", ":memory:", "file:x?mode=memory", "日本 ✓.ulp"}) {
    RunFileWriter writer(in(name));
    writer.push(step(0));
    writer.close();
    EXPECT_EQ(RunFileReader(in(name)).rows("step"), 1) << name;
  }
  EXPECT_EQ(files().size(), 5u);
}

// Another program that holds the file stops the thread; what happens then to the queue is the same as with a slow disk.
TEST_F(Writer, DropsStatisticsFirstAndCountsThem) {
  RunFileWriter writer(in("a.ulp"), {.queue_capacity = 8, .commit_seconds = 0.01, .busy_seconds = 30});
  std::optional<Database> other(std::in_place, in("a.ulp"), SQLITE_OPEN_READWRITE);
  other->set_busy_timeout(5);
  other->execute("BEGIN IMMEDIATE");
  writer.push(step(0));
  std::this_thread::sleep_for(100ms);  // the thread has taken it and now waits for the file
  for (int i = 0; i < 20; ++i) writer.push(TensorStatsRecord{.step = i});
  for (int i = 1; i < 6; ++i) writer.push(step(i));
  EXPECT_GE(writer.dropped(), 17);  // 20 − 8, and 5 displaced; more if the thread had not yet taken the first
  const std::int64_t dropped = writer.dropped();
  other.reset();
  writer.close();
  EXPECT_EQ(writer.dropped(), dropped);
  EXPECT_EQ(writer.lost(), 0);
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.rows("step"), 6);
  EXPECT_EQ(reader.rows("tensor_stats"), 20 - dropped);
  const auto completeness = reader.completeness();
  ASSERT_EQ(completeness.size(), 1u);
  EXPECT_EQ(completeness[0].kind, "dropped");
  EXPECT_EQ(completeness[0].subject, "tensor_stats");
  EXPECT_EQ(completeness[0].count, dropped);
}

TEST_F(Writer, StepsOutliveASlowDisk) {
  RunFileWriter writer(in("a.ulp"), {.queue_capacity = 4, .commit_seconds = 0.01});
  for (int i = 0; i < 3000; ++i) writer.push(step(i));
  writer.close();
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.rows("step"), 3000);
  ASSERT_EQ(reader.completeness().size(), 1u);
  EXPECT_EQ(reader.completeness()[0].kind, "throttled");
  EXPECT_GT(reader.completeness()[0].count.value_or(0), 0) << "pushing waited, and nobody was told";
}

TEST_F(Writer, TheDetailOfAnEventBecomesJson) {
  RunFileWriter writer(in("a.ulp"));
  writer.push(EventRecord{.run = RunId{1}, .step = 0, .kind = "skip"});
  writer.push(EventRecord{.run = RunId{1}, .step = 1, .kind = "scale_change", .detail = {.from = 65536.0, .to = 32768.0}});
  writer.push(EventRecord{.run = RunId{1},
                          .step = 2,
                          .kind = "overflow",
                          .detail = {.what = "a \"word\"", .applied = false, .first_loss = 0.5}});
  writer.push(EventRecord{.run = RunId{1}, .step = 3, .kind = "other", .detail_json = "[1]", .detail = {.what = "not this"}});
  writer.close();
  const auto events = RunFileReader(in("a.ulp")).events(RunId{1});
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].detail_json, "");
  EXPECT_EQ(events[1].detail_json, R"({"from":65536.0,"to":32768.0})");
  EXPECT_EQ(events[2].detail_json, R"({"applied":false,"first_loss":0.5,"what":"a \"word\""})");
  EXPECT_EQ(events[3].detail_json, "[1]");
}

TEST_F(Writer, AKillLosesMomentsOnly) {
  const int status = in_child([&] {
    RunFileWriter writer(in("a.ulp"));
    writer.push(RunRecord{.id = RunId{1}, .mode = "fp16"});
    for (int i = 0; i < 1000; ++i) writer.push(step(i));
    writer.flush();
    for (int i = 1000;; ++i) {
      writer.push(step(i));
      if (i == 50000) kill(getpid(), SIGKILL);
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const RunFileReader reader(in("a.ulp"));
  EXPECT_FALSE(reader.live());
  const auto steps = reader.steps(RunId{1});
  // What was pushed last may wait in the queue and in the hands of the thread.
  ASSERT_GE(steps.size(), 50000 - 2 * WriterOptions{}.queue_capacity);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].step, static_cast<std::int64_t>(i));
  EXPECT_EQ(reader.runs().at(0).status, RunStatus::running);
  EXPECT_EQ(refusal(in("a.ulp"), {.overwrite = true}), "") << "a dead writer's lock was believed";
}

// As somebody who is not root, in a child.
template <class Body>
int unprivileged(Body&& body) {
  return in_child([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    body();
  });
}

TEST_F(Writer, AReadOnlyFolderIsRefusedInOneLine) {
  std::filesystem::permissions(folder_, std::filesystem::perms(0555));
  const int status = unprivileged([&] {
    const std::string message = message_of<UsageError>([&] { RunFileWriter writer(in("a.ulp")); });
    if (message != "cannot write " + in("a.ulp") + ": Permission denied") throw std::runtime_error(message);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot give up root's rights here";
  EXPECT_EQ(status, 0);
}

TEST_F(Writer, ManyThreadsPush) {
  RunFileWriter writer(in("a.ulp"), {.queue_capacity = 64, .commit_seconds = 0.01});
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < 1000; ++i) {
        writer.push(StepRecord{.run = RunId{t}, .step = i});
        if (i % 100 == 0) writer.flush();
        writer.fault();
      }
    });
  for (std::thread& thread : threads) thread.join();
  writer.close();
  EXPECT_EQ(RunFileReader(in("a.ulp")).rows("step"), 4000);
}

}  // namespace
}  // namespace ulpscope::reports
