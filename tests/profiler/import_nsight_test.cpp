// SQLite exports of Nsight Systems, written by the test in two versions of their schema.
#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/profiler/import_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using nlohmann::json;

/// Of a recent version.
constexpr const char* recent_schema =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, numMultiprocessors INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, "
    "blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);"
    "CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value REAL);";
/// Of an early one: fewer columns, names as text.
constexpr const char* early_schema =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT, streamId INT, correlationId INT, shortName INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, globalTid INT, correlationId INT, nameId INT);"
    "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT, text TEXT, globalTid INT);";

class ImportNsight : public ImportFixture {
 protected:
  /// A database with these statements in it.
  std::string database(const std::string& sql, const std::string& pragmas = "", const std::string& name = "trace.sqlite") const {
    std::filesystem::remove(in(name));
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(in(name).c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, ("PRAGMA synchronous = OFF;" + pragmas + "BEGIN;" + sql + "COMMIT;").c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message != nullptr ? message : "");
    sqlite3_free(message);
    sqlite3_close(handle);
    return in(name);
  }
  static std::string kernel(std::int64_t start, std::int64_t end, std::int64_t correlation, int name, int device = 0) {
    return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, 1, 0, 7, {}, 1, {}, {}, 0, 1, 40, 8, 2, 1, 256, 1, 1, 512, 1024, 0);", start, end, device, correlation, name, name);
  }
  static std::string call(std::int64_t start, std::int64_t correlation) { return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 0, 77, {}, 3, 0);", start, start + 5, correlation); }
  std::vector<reports::KernelRecord> kernels() const { return reports::RunFileReader(in("run.ulp")).kernels(reports::RunId{1}); }
};

/// Steps 3 and 4 of 1000 ns on the host; the work of each is launched in it and runs much later.
std::string two_steps() {
  std::string sql =
      "INSERT INTO StringIds VALUES (1, 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64'), (2, 'my_kernel'), (3, 'cudaLaunchKernel'), (4, 'forward');"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 9, 'NVIDIA H100 80GB HBM3', '', 52428800, 85029158912, 3352320000000, 1980000000, 132, 9, 0);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (9, 0, 1, '', 132);"
      "INSERT INTO GPU_METRICS VALUES (1, 2, 3, 4.0), (2, 2, 3, 4.5);";
  return sql;
}

TEST_F(ImportNsight, ARecentVersion) {
  std::string sql = std::string(recent_schema) + two_steps();
  std::map<std::int64_t, std::int64_t> expected;
  std::int64_t correlation = 0;
  for (std::int64_t step : {3, 4}) {
    const std::int64_t t = 100000 + 1000 * (step - 3);
    sql += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, 0, 0, 0, 'ProfilerStep#{}', 77, 0, NULL, 0), ({}, {}, 59, 0, 0, 0, NULL, 77, 0, 4, 0);", t, t + 1000, step, t + 100, t + 400);
    sql += call(t + 150, ++correlation);
    sql += kernel(t + 50000, t + 50000 + 700, correlation, 1);
    sql += call(t + 200, ++correlation);
    sql += kernel(t + 50700, t + 50700 + 300, correlation, 2);
    sql += call(t + 600, ++correlation);
    sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, 1, 7, {}, 1, 4096, 1);", t + 51100, t + 51100 + 50, correlation);
    sql += call(t + 700, ++correlation);
    sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES ({}, {}, 0, 1, 7, {}, 1, 0, 16, 2);", t + 51200, t + 51200 + 9, correlation);
    expected[step] = 700 + 300 + 50 + 9;
  }
  sql += "INSERT INTO NVTX_EVENTS VALUES (5, NULL, 75, 0, 0, 0, 'domain', 77, 0, NULL, 1), (6, NULL, 59, 0, 0, 0, 'open', 77, 0, NULL, 1);";
  sql += kernel(500, 400, 99, 1) + kernel(600, 601, 98, 1, 1) + kernel(700, 800, 97, 55);
  const Answer answer = import(database(sql), {"--mode", "bf16"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("Nsight Systems SQLite export: 4 kernels, 2 copies, 2 sets of memory, 2 steps"), HasSubstr("device: NVIDIA H100 80GB HBM3"), HasSubstr("bf16 70.0 %, unknown 30.0 %"),
                                      HasSubstr("events with a negative duration: 1"), HasSubstr("on other devices: 1"), HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL, row 7: its name is not in StringIds"),
                                      HasSubstr("not read: table GPU_METRICS: 2"), HasSubstr("NVTX events of type 75: 1"), HasSubstr("NVTX ranges without an end: 1"), Not(HasSubstr("ENUM_"))))
      << answer.out;
  std::map<std::int64_t, std::int64_t> sums;
  for (const auto& k : kernels()) sums[k.step.value_or(-1)] += k.duration_ns;
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(kernels()[0].dynamic_shared_bytes, 1024);
  EXPECT_EQ(kernels()[0].block[0], 256);
  const std::string text = flat(ulpscope({"time", in("run.ulp")}).out);
  EXPECT_THAT(text, AllOf(HasSubstr("range forward: 2 x"), HasSubstr("4 kernels and copies launched in it took 0.002 ms"), HasSubstr("bf16"), HasSubstr("[memcpy HtoD]")));
  EXPECT_EQ(run().device, "NVIDIA H100 80GB HBM3");
}

TEST_F(ImportNsight, AnEarlyVersionSaysWhatItLacks) {
  const std::string sql = std::string(early_schema) +
                          "INSERT INTO StringIds VALUES (1, 'volta_sgemm_128x64_nn');"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 5400, 0, 7, 1, 1);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1105, 77, 1, 1);"
                          "INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, 'iteration 0', 77), (2000, 3000, 59, 'iteration 1', 77);";
  const Answer answer = import(database(sql), {"--step-range", "iteration"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("not in it: TARGET_INFO_GPU: which GPU it was is unknown"), HasSubstr("its version lacks globalPid, demangledName, registersPerThread"), HasSubstr("device: unknown")));
  ASSERT_EQ(kernels().size(), 1u);
  EXPECT_EQ(kernels()[0].step, 0);
  EXPECT_FALSE(kernels()[0].registers.has_value());
  EXPECT_EQ(steps().size(), 2u);
  // The same in UTF-16, and with a number of another type in one row.
  const Answer wide = import(database(sql + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('soon', 5400, 0, 7, 1, 1);", "PRAGMA encoding = 'UTF-16';"), {"--step-range", "iteration"});
  ASSERT_EQ(wide.code, 0) << wide.err;
  EXPECT_EQ(kernels().size(), 1u);
  EXPECT_EQ(kernels()[0].name, "volta_sgemm_128x64_nn");
  EXPECT_THAT(flat(wide.out), HasSubstr("table CUPTI_ACTIVITY_KIND_KERNEL, row 2: start is no whole number"));
}

/// Ids as CUPTI writes them: the process from bit 24 on.
std::int64_t global(std::int64_t pid, std::int64_t tid = 0) { return (pid << 24) + tid; }

/// Two processes that count correlations by themselves, each calls its GPU 0, and the second has fewer kernels; theirs are launched in other steps.
TEST_F(ImportNsight, CallsAndWorkOfTwoProcessesAreKeptApart) {
  std::string sql = std::string(recent_schema) +
                    "INSERT INTO StringIds VALUES (1, 'volta_sgemm_128x64_nn');"
                    "INSERT INTO TARGET_INFO_GPU VALUES (0, 4, 'GPU A', '', 1, 1, 1, 1, 1, 8, 0), (0, 5, 'GPU B', '', 1, 1, 1, 1, 1, 9, 0);"
                    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4, 0, 500, '', 1), (5, 0, 600, '', 1);";
  const auto of = [&](std::int64_t pid, std::int64_t correlation, std::int64_t launched, std::int64_t start) {
    sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 0, {}, {}, 3, 0);", launched, launched + 5, global(pid, 7), correlation);
    sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, 1, 0, 7, {}, {}, 1, 1, 0, 1, 40, 8, 2, 1, 256, 1, 1, 512, 1024, 0);", start, start + 10, correlation, global(pid));
  };
  for (const std::int64_t pid : {500, 600})
    for (int step = 0; step < 2; ++step)
      sql += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, 0, 0, 0, 'ProfilerStep#{}', {}, 0, NULL, 0);", 1000 + 1000 * step + (pid == 500 ? 0 : 100000), 2000 + 1000 * step + (pid == 500 ? 0 : 100000), step, global(pid, 7));
  of(600, 2, 1100, 9000);    // by the correlation alone this would be the first call of 2
  of(500, 1, 1200, 9100);
  of(500, 2, 2300, 9200);
  sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2400, 2405, 0, {}, 77, 3, 0);", global(500, 7));   // launches nothing
  const Answer answer = import(database(sql));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("2 kernels"), HasSubstr("device: GPU A"), HasSubstr("of other processes: 1 (left out"), HasSubstr("ranges of other processes: 2 (left out")));
  const auto list = kernels();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].step, 0);
  EXPECT_EQ(list[1].step, 1);
}

TEST_F(ImportNsight, TimesBeyondEveryClockAreLeftOut) {
  std::string sql = std::string(recent_schema) + two_steps() + kernel(1000, 2000, 1, 2) + kernel(-9223372036854775807, 9223372036854775807, 2, 2);
  sql += "INSERT INTO NVTX_EVENTS VALUES (-9223372036854775807, 9223372036854775807, 59, 0, 0, 0, 'all', 77, 0, NULL, 0), (0, 100, 59, 0, 0, 0, 'once', 77, 0, NULL, 0), (10, 90, 59, 0, 0, 0, 'once', 77, 0, NULL, 0);";
  const Answer answer = import(database(sql));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("1 kernel,"), HasSubstr("events with a negative duration: 2")));
  for (const auto& event : reports::RunFileReader(in("run.ulp")).events(reports::RunId{1}))
    if (event.kind == "range") {
      EXPECT_NEAR(json::parse(event.detail_json)["host_seconds"].get<double>(), 100e-9, 1e-15);   // the inner one lies in it
    }
}

TEST_F(ImportNsight, OptionsThatWouldDoNothingAreRefused) {
  const std::string trace = database(recent_schema), log = file("log.csv", "step,loss\n1,2\n");
  expect_refused(trace, "--every: it is of training logs", {"--every", "10"});
  expect_refused(trace, "--column: it is of training logs", {"--column", "loss=a"});
  expect_refused(log, "--step-range iteration: it is of traces", {"--step-range", "iteration"});
}

TEST_F(ImportNsight, WhatIsNoExportOrDamagedIsRefused) {
  expect_refused(database("CREATE TABLE a (b);"), "that is no export of Nsight Systems");
  expect_refused(database("CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, end INTEGER);"),
                 "table CUPTI_ACTIVITY_KIND_KERNEL has no column \"start\"; it has begin, end");
  // A view in the place of a table is not run.
  expect_refused(database("CREATE TABLE x (id INTEGER, value TEXT); CREATE VIEW StringIds AS SELECT * FROM x;"), "that is no export");
  std::string sql = std::string(recent_schema) + two_steps();
  for (int i = 0; i < 2000; ++i) sql += kernel(1000 + i, 1001 + i, i, 1);
  const std::string whole = read(database(sql, "PRAGMA page_size = 1024;"));
  const Answer cut = import(file("cut.sqlite", whole.substr(0, whole.size() / 2)));
  EXPECT_EQ(cut.code, 2) << cut.out;
  EXPECT_THAT(cut.err, AllOf(HasSubstr("cut.sqlite"), HasSubstr("malformed")));
  std::string damaged = whole;
  for (std::size_t i = damaged.size() / 3; i < damaged.size() / 3 + 4096; ++i) damaged[i] = '\xff';
  const Answer bad = import(file("bad.sqlite", damaged));
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_THAT(bad.err, HasSubstr("table "));
  EXPECT_EQ(std::count(bad.err.begin(), bad.err.end(), '\n'), 1);
  expect_refused(gzip("packed.sqlite.gz", whole), "a compressed SQLite database");
  expect_refused(database(recent_schema), "no kernel, copy or set of memory that can be read is in this");   // nothing was recorded
}

}  // namespace
}  // namespace ulpscope::profiler
