// Run files that are SQLite databases with our tables, and hold what no recording does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "reports/run_file/reader.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Damage : public Scratch {
 protected:
  /// One row in every table that these tests damage.
  void make() {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    ForgedRun run("fp16");
    run.run.batch = 2;
    run.small_model();
    for (int i = 0; i < 3; ++i) run.step(1.0, false, 1024.0);
    run.observe(2, {});
    run.stats.front().histogram = ExponentHistogram{-3, {1, 2}};
    run.write(writer);
    writer.push(MachineRecord{.id = MachineId{1}, .cores = 2});
    writer.push(EvaluationRecord{.run = RunId{1}, .step = 3, .loss = 1.0, .wall_seconds = 0.5});
    writer.push(EventRecord{.run = RunId{1}, .step = 1, .kind = "skip"});
    writer.push(KernelRecord{.run = RunId{1}, .step = 1, .start_ns = -5, .duration_ns = 5, .tensor_pipe = 0.5});
    writer.push(MemoryRecord{.run = RunId{1}, .total_bytes = 10});
    writer.push(DeviceSample{.run = RunId{1}, .step = 1, .phase = "training", .power_watts = 300.0});
    writer.push(RangeRecord{.run = RunId{1}, .step = 1, .tensors = TensorRanges(std::vector<TensorRange>{{TensorId{1}, 2.0f}})});
    writer.push(MendRecord{.id = MendId{1}, .time_ratio = 1.5, .memory_delta_bytes = -7});
    writer.push(CompletenessRecord{.kind = "note", .subject = "s", .count = 1});
    writer.close();
  }
  void sql(const std::string& words) { Database(in("a.ulp"), SQLITE_OPEN_READWRITE).execute(words.c_str()); }
  /// Reads every table. "": nothing was refused.
  std::string complaint() {
    const std::string message = message_of<UsageError>([&] {
      const RunFileReader file(in("a.ulp"));
      file.experiment();
      file.machines();
      for (const RunRecord& run : file.runs()) {
        file.nodes(*run.plan);
        file.edges(*run.plan);
        file.tensors(*run.plan);
        file.steps(run.id);
        file.evaluations(run.id);
        file.timing_samples(run.id);
        file.node_timings(run.id);
        file.kernels(run.id);
        file.tensor_stats(run.id);
        file.ranges(run.id);
        file.events(run.id);
        file.memory(run.id);
      }
      file.device_samples();
      file.mends();
      file.completeness();
    });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
};

TEST_F(Damage, NumbersThatCannotBeAreRefusedWithTableRowAndColumn) {
  make();
  ASSERT_EQ(complaint(), "");
  const std::string whole = read(in("a.ulp"));
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE step SET finite = 9 WHERE step = 1", "table step, run 1, step 1: column finite holds \"9\""},
      {"UPDATE step SET loss_scale = -1e308 WHERE step = 2", "table step, run 1, step 2: column loss_scale holds -1e+308; it takes 0 or more"},
      {"UPDATE step SET step = -1 - step", "table step, run 1, step -3: column step holds -3; it takes 0 or more"},
      {"UPDATE step SET step = step + 9223372036854775000", "column step holds 9223372036854775000; it takes at most 9007199254740992"},
      {"UPDATE step SET wall_seconds = -1", "column wall_seconds holds -1; it takes 0 to 10000000000"},
      {"UPDATE step SET wall_seconds = 'nan'", "column wall_seconds holds nan"},
      {"UPDATE step SET tokens = -4", "column tokens holds -4"},
      {"UPDATE run SET micro_batches = 0", "table run, id 1: column micro_batches holds 0; it takes 1 or more"},
      {"UPDATE run SET seed = -9223372036854775808", "column seed holds"},
      {"UPDATE machine SET cores = -2", "table machine, id 1: column cores holds -2"},
      {"UPDATE memory SET total_bytes = -1", "table memory, run 1"},
      {"UPDATE memory SET gaps_bytes = -1", "column gaps_bytes holds -1"},
      {"UPDATE kernel SET tensor_pipe = 1.5", "column tensor_pipe holds 1.5; it takes 0 to 1"},
      {"UPDATE device_sample SET power_watts = -5", "table device_sample: column power_watts holds -5"},
      {"UPDATE device_sample SET throttle_reasons = -1", "column throttle_reasons holds -1"},
      {"UPDATE evaluation SET step = -3", "table evaluation, run 1, step -3"},
      {"UPDATE event SET tensor = -1", "column tensor holds -1"},
      {"UPDATE mend SET time_ratio = -0.5", "table mend, id 1: column time_ratio holds -0.5"},
      {"UPDATE completeness SET count = -1", "column count holds -1"},
      {"UPDATE node SET position = 9223372036854775807", "table node, plan 1, id 0, position"},
      {"UPDATE tensor SET shape_json = '[-1, 4]'", "column shape_json holds a shape with a size of -1"},
      {"UPDATE tensor SET shape_json = '[4294967296, 4294967296]'", "column shape_json holds a shape"},
      {"UPDATE edge SET from_output = -9", "column from_output holds -9; it takes -1 or more"},
      {"UPDATE tensor_stats SET nan = 5", "column nan holds 5 of 4 elements"},
      {"UPDATE tensor_stats SET rms = -1", "column rms holds -1"},
      {"UPDATE tensor_stats SET elements = 2", "column histogram holds counts of 3 elements, and there are 2"},
      {"UPDATE tensor_stats SET histogram = x'FFFFFF7F0100000000000000' WHERE histogram IS NOT NULL", "1 exponents from 2147483647 on"},
      {"UPDATE range SET tensors = x'FFFFFFFF0000803F00'", "column tensors holds tensor -1"},
      {"UPDATE range SET tensors = x'010000000000C0FF00'", "a greatest magnitude of -nan for tensor 1"},
  };
  for (const auto& [words, expected] : cases) {
    write(in("a.ulp"), whole);
    sql(words);
    EXPECT_THAT(complaint(), AllOf(HasSubstr("a.ulp: the run file is damaged or cut off: table "), HasSubstr(expected))) << words;
  }
}

/// What goes wrong in a run is no damage.
TEST_F(Damage, WhatARunCanHoldIsRead) {
  make();
  sql("UPDATE step SET loss = 'nan', gradient_norm = 'inf', loss_scale = 0; UPDATE tensor_stats SET nan = 4, greatest_magnitude = 'inf';"
      "UPDATE kernel SET start_ns = -9000; UPDATE tensor SET output = -1; UPDATE mend SET memory_delta_bytes = -1000000;"
      "UPDATE node SET flops = 9223372036854775807");
  EXPECT_EQ(complaint(), "");
}

TEST_F(Damage, TablesThatComputeTheirRowsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"ALTER TABLE event RENAME TO e2; CREATE VIEW event AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT 1 run, "
       "x step, 'skip' kind, NULL node, NULL tensor, 1.0 value, 'counted' provenance, '{}' detail_json FROM r",
       "\"event\" is a view, not a table"},
      {"ALTER TABLE step RENAME TO s2; CREATE VIEW Step AS SELECT s2.* FROM s2, s2 b, s2 c", "\"step\" is a view, not a table"},
      {"DROP TABLE mend; CREATE VIRTUAL TABLE mend USING fts5(id)", "\"mend\" is a virtual table, not a table"},
      {"ALTER TABLE machine ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))", "table \"machine\" has a generated column"}};
  for (const auto& [words, expected] : cases) {
    make();
    try {
      sql(words);
    } catch (const SqliteError&) {
      continue;   // this SQLite has no virtual tables
    }
    EXPECT_THAT(complaint(), AllOf(HasSubstr("a.ulp: the run file is damaged: "), HasSubstr(expected)));
    EXPECT_THAT(message_of<UsageError>([&] { RunFileWriter(in("a.ulp"), {.append = true}); }), HasSubstr(expected));
  }
}

TEST_F(Damage, NothingThatAFileBringsAlongIsRun) {
  make();
  sql("CREATE TRIGGER t BEFORE INSERT ON mend BEGIN SELECT raise(ABORT, 'boo'); END; CREATE VIEW v AS SELECT 1 AS x");
  {
    RunFileWriter writer(in("a.ulp"), {.append = true});
    writer.push(MendRecord{.id = MendId{2}});
    EXPECT_NO_THROW(writer.close());
  }
  EXPECT_EQ(RunFileReader(in("a.ulp")).mends().size(), 2u);
  Database database(in("a.ulp"), SQLITE_OPEN_READONLY);
  database.distrust();
  EXPECT_THAT(message_of<SqliteError>([&] { database.integer("SELECT x FROM v"); }), HasSubstr("prohibited"));
  EXPECT_THAT(message_of<SqliteError>([&] { database.integer("SELECT length(zeroblob(1000000000))"); }), HasSubstr("too big"));
}

TEST_F(Damage, WorkThatDoesNotEndIsBrokenOff) {
  make();
  Database database(in("a.ulp"), SQLITE_OPEN_READONLY);
  database.limit_work(100000);
  const char* const endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r";
  try {
    database.integer(endless);
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_EQ(error.primary(), SQLITE_INTERRUPT);
  }
  database.limit_work(100000);
  EXPECT_EQ(database.integer("SELECT count(*) FROM step"), 3) << "each read has its own";
}

}  // namespace
}  // namespace ulpscope::reports
