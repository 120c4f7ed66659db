// What the reader says of files that are not as they should be.
#include "reports/run_file/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "reports/run_file/schema.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Reader : public Scratch {
 protected:
  // A run file large enough to be cut off in many places.
  std::string make(const std::string& name) {
    RunFileWriter writer(in(name), {.overwrite = true});
    writer.push(ExperimentRecord{.name = "e", .producer_version = "0.1.0"});
    writer.push(RunRecord{.id = RunId{1}, .mode = "fp32"});
    for (int i = 0; i < 2000; ++i) writer.push(StepRecord{.run = RunId{1}, .step = i, .loss = 0.1 * i});
    writer.close();
    return in(name);
  }
  static std::string complaint(const std::string& path) {
    const std::string message = message_of<UsageError>([&] {
      const RunFileReader reader(path);
      reader.runs();
      reader.steps(RunId{1});
    });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
};

TEST_F(Reader, WhatIsNotARunFile) {
  EXPECT_EQ(complaint(in("no.ulp")), in("no.ulp") + ": there is no such file");
  EXPECT_THAT(complaint(folder_.string()), HasSubstr("is a folder"));
  EXPECT_THAT(complaint(""), HasSubstr("needs a name"));
  EXPECT_THAT(complaint("/dev/null"), HasSubstr("not a plain file"));
  write(in("empty.ulp"), "");
  EXPECT_THAT(complaint(in("empty.ulp")), HasSubstr("is empty"));
  write(in("text.ulp"), "these are not the bytes you are looking for");
  EXPECT_EQ(complaint(in("text.ulp")), in("text.ulp") + " is not a run file of ulpscope");
  write(in("long.ulp"), std::string(100000, 'x'));
  EXPECT_EQ(complaint(in("long.ulp")), in("long.ulp") + " is not a run file of ulpscope");
  { Database(in("other.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).execute("CREATE TABLE t (x)"); }
  EXPECT_THAT(complaint(in("other.db")), HasSubstr("another SQLite database"));
}

TEST_F(Reader, ANewerVersionIsNamed) {
  const std::string path = make("a.ulp");
  {
    Database database(path, SQLITE_OPEN_READWRITE);
    database.execute("UPDATE experiment SET producer_version = '9.8.7'; PRAGMA user_version = 99");
  }
  EXPECT_EQ(complaint(path), path + " was written by ulpscope 9.8.7, schema 99; this program reads up to schema 4");
  { Database(path, SQLITE_OPEN_READWRITE).execute("DROP TABLE experiment"); }
  EXPECT_THAT(complaint(path), HasSubstr("written by ulpscope a newer version, schema 99"));
}

/// Schema 1 had no figure for buffers.
TEST_F(Reader, AFileOfSchema1IsRead) {
  const std::string path = make("a.ulp");
  {
    Database database(path, SQLITE_OPEN_READWRITE);
    database.execute("ALTER TABLE memory DROP COLUMN buffers_bytes; PRAGMA user_version = 1");
    database.execute("INSERT INTO memory (run, kind, weights_bytes, total_bytes, provenance) VALUES (7, 'peak', 5, 6, 'counted')");
  }
  const RunFileReader reader(path);
  const std::vector<MemoryRecord> rows = reader.memory(RunId{7});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].bytes[static_cast<std::size_t>(MemoryCategory::weights)], 5);
  EXPECT_EQ(rows[0].bytes[static_cast<std::size_t>(MemoryCategory::buffers)], std::nullopt);
  EXPECT_EQ(rows[0].total_bytes, 6);
}

/// Schema 2 had no ranges.
TEST_F(Reader, AFileOfSchema2IsRead) {
  const std::string path = make("a.ulp");
  { Database(path, SQLITE_OPEN_READWRITE).execute("DROP TABLE range; PRAGMA user_version = 2"); }
  const RunFileReader made(path);
  EXPECT_EQ(made.schema(), 2);
  EXPECT_TRUE(made.ranges(RunId{1}).empty());
  EXPECT_EQ(made.rows("range"), 0);
  EXPECT_EQ(made.steps(RunId{1}).size(), 2000u);
  // One that was written then.
  const RunFileReader kept(ULPSCOPE_SOURCE_DIR "/tests/fuzz/corpus/run_file/two_steps.ulp");
  EXPECT_EQ(kept.schema(), 2);
  ASSERT_FALSE(kept.runs().empty());
  EXPECT_EQ(kept.steps(kept.runs().front().id).size(), 2u);
  EXPECT_TRUE(kept.ranges(kept.runs().front().id).empty());
}

/// Schema 3 knew nothing of a GPU's clocks.
TEST_F(Reader, AFileOfSchema3IsRead) {
  const std::string path = make("a.ulp");
  { Database(path, SQLITE_OPEN_READWRITE).execute("DROP TABLE device_sample; PRAGMA user_version = 3"); }
  const RunFileReader made(path);
  EXPECT_EQ(made.schema(), 3);
  EXPECT_TRUE(made.device_samples().empty());
  EXPECT_EQ(made.rows("device_sample"), 0);
  // One that was written then.
  const RunFileReader kept(ULPSCOPE_SOURCE_DIR "/tests/fuzz/corpus/run_file/two_steps_schema_3.ulp");
  EXPECT_EQ(kept.schema(), 3);
  ASSERT_FALSE(kept.runs().empty());
  EXPECT_EQ(kept.ranges(kept.runs().front().id).size(), 2u);
  EXPECT_TRUE(kept.device_samples().empty());
}

TEST_F(Reader, ARangeThatIsNoneIsDamage) {
  const std::string path = make("a.ulp");
  { Database(path, SQLITE_OPEN_READWRITE).execute("INSERT INTO range VALUES (1, 0, x'0102')"); }
  EXPECT_THAT(message_of<UsageError>([&] { RunFileReader(path).ranges(RunId{1}); }), HasSubstr("column tensors holds"));
}

TEST_F(Reader, ACutOffFileIsSaidToBeCutOff) {
  const std::string whole = read(make("a.ulp"));
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.999}) {
    const std::string part = whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size())));
    write(in("cut.ulp"), part);
    const std::string message = complaint(in("cut.ulp"));
    if (part.size() >= 100) {
      EXPECT_THAT(message, HasSubstr("the run file is cut off: " + std::to_string(part.size()) + " of"));
    } else {
      EXPECT_THAT(message, HasSubstr("is not a run file"));
    }
  }
}

TEST_F(Reader, DamageGivesAMessageAndNeverACrash) {
  const std::string whole = read(make("a.ulp"));
  int complaints = 0;
  for (std::size_t at = 100; at < whole.size(); at += 997) {
    std::string damaged = whole;
    for (std::size_t i = at; i < std::min(at + 64, damaged.size()); ++i)
      damaged[i] = static_cast<char>(damaged[i] ^ 0xA5);
    write(in("damaged.ulp"), damaged);
    if (!complaint(in("damaged.ulp")).empty()) ++complaints;
  }
  EXPECT_GT(complaints, 5);  // not every byte matters: some hold numbers
}

TEST_F(Reader, AWordOfAnotherAgeIsDamage) {
  const std::string path = make("a.ulp");
  { Database(path, SQLITE_OPEN_READWRITE).execute("UPDATE run SET status = 'asleep'"); }
  EXPECT_THAT(complaint(path), HasSubstr("damaged or cut off: table run, id 1: column status holds \"asleep\""));
  {
    Database(path, SQLITE_OPEN_READWRITE)
        .execute("UPDATE run SET status = 'failed'; UPDATE step SET loss = 'big' WHERE step = 7");
  }
  EXPECT_THAT(complaint(path), HasSubstr("table step, run 1, step 7: column loss holds \"big\""));
}

TEST_F(Reader, NamesTheTablesThereAre) {
  const RunFileReader reader(make("a.ulp"));
  EXPECT_THAT(message_of<UsageError>([&] { reader.rows("steps"); }),
              HasSubstr("no table \"steps\"; it has experiment"));
}

TEST_F(Reader, LeavesNothingBehindAndNeedsNoWritableFolder) {
  const std::string path = make("a.ulp");
  // Left in write-ahead mode, as when a reader was in the way at the end.
  { Database(path, SQLITE_OPEN_READWRITE).text("PRAGMA journal_mode = WAL"); }
  fs::permissions(folder_, fs::perms(0555));
  fs::permissions(path, fs::perms(0444));
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    const std::string message = complaint(path);
    if (!message.empty()) fprintf(stderr, "%s\n", message.c_str());
    _exit(message.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fs::permissions(folder_, fs::perms(0755));
  EXPECT_EQ(complaint(path), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot give up root's rights here";
  EXPECT_EQ(status, 0);
}

TEST_F(Reader, AFileThatVanishesOrIsReplacedIsNoticed) {
  const std::string path = make("a.ulp");
  const RunFileReader reader(path);
  EXPECT_EQ(reader.rows("step"), 2000);
  RunFileWriter writer(path, {.overwrite = true});
  writer.flush();
  EXPECT_EQ(reader.rows("step"), 0) << "the old file is still being read";
  writer.close();
  EXPECT_EQ(reader.rows("step"), 0);
}

}  // namespace
}  // namespace ulpscope::reports
