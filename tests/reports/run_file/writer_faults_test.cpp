// The writer when the disk or another program stands in its way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "reports/run_file/reader.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"
#include "tests/reports/in_child.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

class WriterFaults : public Scratch {};

StepRecord step(std::int64_t n) { return {.run = RunId{1}, .step = n, .loss = 1.0 / static_cast<double>(n + 1)}; }

TEST_F(WriterFaults, WhatCouldNotBeWrittenWaitsAndIsWrittenLater) {
  RunFileWriter writer(in("a.ulp"), {.commit_seconds = 0.01, .busy_seconds = 0.02});
  {
    Database other(in("a.ulp"), SQLITE_OPEN_READWRITE);
    other.set_busy_timeout(5);
    other.execute("BEGIN IMMEDIATE");
    EXPECT_EQ(writer.fault(), std::nullopt);
    writer.push(step(0));
    writer.flush();
    EXPECT_THAT(writer.fault().value_or(""), HasSubstr("recording failed: database is locked"));
    writer.push(TensorStatsRecord{.step = 0});  // statistics do not wait
    writer.push(EventRecord{.run = RunId{1}, .step = 1, .kind = "skip"});
    writer.push(step(1));
    writer.flush();
    other.execute("ROLLBACK");
  }
  writer.push(step(2));
  writer.flush();
  EXPECT_EQ(writer.lost(), 1);
  EXPECT_THAT(message_of<Error>([&] { writer.close(); }), HasSubstr("(1 records are missing)"));
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.rows("step"), 3);
  EXPECT_EQ(reader.rows("event"), 1);
  EXPECT_EQ(reader.rows("tensor_stats"), 0);
  ASSERT_EQ(reader.completeness().size(), 1u);
  EXPECT_EQ(reader.completeness()[0].kind, "lost");
  EXPECT_EQ(reader.completeness()[0].subject, "tensor_stats");
  EXPECT_EQ(reader.completeness()[0].count, 1);
  EXPECT_THAT(reader.completeness()[0].detail, HasSubstr("database is locked"));
}

TEST_F(WriterFaults, AFaultThatCostNothingIsForgottenButNoted) {
  RunFileWriter writer(in("a.ulp"), {.commit_seconds = 0.01, .busy_seconds = 0.02});
  {
    Database other(in("a.ulp"), SQLITE_OPEN_READWRITE);
    other.set_busy_timeout(5);
    other.execute("BEGIN IMMEDIATE");
    writer.push(step(0));
    writer.flush();
    EXPECT_TRUE(writer.fault().has_value());
    other.execute("ROLLBACK");
  }
  writer.flush();
  EXPECT_EQ(writer.fault(), std::nullopt);
  EXPECT_EQ(message_of<Error>([&] { writer.close(); }), "");
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.rows("step"), 1);
  ASSERT_EQ(reader.completeness().size(), 1u);
  EXPECT_EQ(reader.completeness()[0].subject, "writing");
}

TEST_F(WriterFaults, BeyondTheCapTheOldestAreLostButNeverARun) {
  RunFileWriter writer(in("a.ulp"), {.retry_capacity = 10, .commit_seconds = 0.01, .busy_seconds = 0.02});
  {
    Database other(in("a.ulp"), SQLITE_OPEN_READWRITE);
    other.set_busy_timeout(5);
    other.execute("BEGIN IMMEDIATE");
    writer.push(RunRecord{.id = RunId{1}, .status = RunStatus::finished});
    for (int i = 0; i < 30; ++i) writer.push(step(i));
    writer.flush();
    EXPECT_EQ(writer.lost(), 21);
    other.execute("ROLLBACK");
  }
  EXPECT_THAT(message_of<Error>([&] { writer.close(); }), HasSubstr("(21 records are missing)"));
  const RunFileReader reader(in("a.ulp"));
  ASSERT_EQ(reader.runs().size(), 1u);
  ASSERT_EQ(reader.rows("step"), 9);
  EXPECT_EQ(reader.steps(RunId{1}).front().step, 21);
}

TEST_F(WriterFaults, TheLastRecordOfARunFindsRoomBeforeOthers) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  RunStatus status = RunStatus::running;
  const std::string message = message_of<std::exception>([&] {
    RunFileWriter writer(in("full.ulp"), {.commit_seconds = 0.01});
    writer.push(RunRecord{.id = RunId{1}});
    writer.flush();
    for (int i = 0; i < 40; ++i) writer.push(TensorRecord{.id = TensorId{i}, .name = std::string(200000, 'x')});
    writer.flush();
    EXPECT_TRUE(writer.fault().has_value());
    writer.push(RunRecord{.id = RunId{1}, .status = RunStatus::finished});
    EXPECT_THAT(message_of<Error>([&] { writer.close(); }), HasSubstr("records are missing"));
    status = RunFileReader(in("full.ulp")).runs().at(0).status;
  });
  umount2(folder_.c_str(), MNT_DETACH);
  EXPECT_EQ(message, "");
  EXPECT_EQ(status, RunStatus::finished);
}

TEST_F(WriterFaults, TheThreadsProcessorTimeIsMeasured) {
  RunFileWriter writer(in("a.ulp"));
  for (int i = 0; i < 2000; ++i) writer.push(step(i));
  writer.flush();
  const double before = writer.cpu_seconds();
  EXPECT_GT(before, 0.0);
  writer.close();
  EXPECT_GE(writer.cpu_seconds(), before);
}

// Fills the disk (or what the process may write) and checks that the pusher sees nothing of it.
void fill_up(const std::string& path) {
  RunFileWriter writer(path, {.queue_capacity = 64, .commit_seconds = 0.01, .busy_seconds = 0.1});
  TensorRecord fat{.id = TensorId{0}, .name = std::string(20000, 'x')};
  for (int i = 0; i < 400; ++i) {
    fat.id = TensorId{i};
    writer.push(fat);
  }
  writer.flush();
  if (!writer.fault()) throw std::runtime_error("no fault was seen");
  const std::string message = message_of<Error>([&] { writer.close(); });
  if (message.find("recording failed") == std::string::npos || message.find("records are missing") == std::string::npos)
    throw std::runtime_error("close said \"" + message + "\"");
  const std::int64_t rows = RunFileReader(path).rows("tensor");
  if (rows <= 0 || rows >= 400) throw std::runtime_error(std::to_string(rows) + " rows");
}

TEST_F(WriterFaults, AFullDiskDisturbsNobody) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  const std::string message = message_of<std::exception>([&] { fill_up(in("full.ulp")); });
  umount2(folder_.c_str(), MNT_DETACH);
  EXPECT_EQ(message, "");
}

TEST_F(WriterFaults, ASizeLimitDisturbsNobody) {
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2 << 20, 2 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    fill_up(in("full.ulp"));
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(WriterFaults, RecoversWhenThereIsRoomAgain) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  std::int64_t steps = -1;
  const std::string message = message_of<std::exception>([&] {
    RunFileWriter writer(in("full.ulp"), {.commit_seconds = 0.01});
    writer.push(step(0));
    writer.flush();
    write(in("ballast"), std::string(std::size_t{4} << 20, 'x'));
    writer.push(TensorRecord{.name = std::string(200000, 'x')});
    writer.flush();
    EXPECT_THAT(writer.fault().value_or(""), HasSubstr("full"));
    std::filesystem::remove(in("ballast"));
    writer.push(step(1));
    writer.flush();
    EXPECT_EQ(writer.lost(), 0);
    EXPECT_EQ(message_of<Error>([&] { writer.close(); }), "");
    steps = RunFileReader(in("full.ulp")).rows("step");
    EXPECT_EQ(RunFileReader(in("full.ulp")).rows("tensor"), 1) << "it waited";
  });
  umount2(folder_.c_str(), MNT_DETACH);
  EXPECT_EQ(message, "");
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace ulpscope::reports
