// Every record comes back from the file as it went in: NaN, infinities, unknown, empty, UTF-8.
#include <gtest/gtest.h>

#include "reports/run_file/reader.h"
#include "reports/run_file/schema.h"
#include "reports/run_file/sqlite.h"
#include "reports/run_file/writer.h"
#include "tests/reports/run_file/describe.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class RoundTrip : public Scratch {};

template <class R, class Read>
void expect_round_trip(const std::string& path, Read&& read) {
  for (int variant = 0; variant < 5; ++variant) {
    SCOPED_TRACE(fmt::format("{} variant {}", Table<R>::name, variant));
    R record = filled<R>(variant);
    RunFileWriter writer(path, {.overwrite = true});
    writer.push(record);
    writer.close();
    const RunFileReader reader(path);
    EXPECT_EQ(reader.rows(Table<R>::name), 1);
    const std::vector<R> rows = read(reader, record);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(describe(rows.front()), describe(record));
  }
}

// A record's own keys, which the filler also makes awkward (the least 64-bit integer among them).
constexpr StepRange everything{.first = INT64_MIN};

TEST_F(RoundTrip, Experiment) {
  expect_round_trip<ExperimentRecord>(in("a.ulp"), [](const RunFileReader& r, const auto&) {
    const auto row = r.experiment();
    return row ? std::vector{*row} : std::vector<ExperimentRecord>{};
  });
}
TEST_F(RoundTrip, Machine) {
  expect_round_trip<MachineRecord>(in("a.ulp"), [](const RunFileReader& r, const auto&) { return r.machines(); });
}
TEST_F(RoundTrip, Run) {
  expect_round_trip<RunRecord>(in("a.ulp"), [](const RunFileReader& r, const auto&) { return r.runs(); });
}
TEST_F(RoundTrip, Node) {
  expect_round_trip<NodeRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.nodes(x.plan); });
}
TEST_F(RoundTrip, Edge) {
  expect_round_trip<EdgeRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.edges(x.plan); });
}
TEST_F(RoundTrip, Tensor) {
  expect_round_trip<TensorRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.tensors(x.plan); });
}
TEST_F(RoundTrip, Step) {
  expect_round_trip<StepRecord>(in("a.ulp"),
                                [](const RunFileReader& r, const auto& x) { return r.steps(x.run, everything); });
}
TEST_F(RoundTrip, Evaluation) {
  expect_round_trip<EvaluationRecord>(in("a.ulp"),
                                      [](const RunFileReader& r, const auto& x) { return r.evaluations(x.run); });
}
TEST_F(RoundTrip, Timing) {
  expect_round_trip<TimingSample>(in("a.ulp"),
                                  [](const RunFileReader& r, const auto& x) { return r.timing_samples(x.run); });
}
TEST_F(RoundTrip, NodeTiming) {
  expect_round_trip<NodeTiming>(in("a.ulp"),
                                [](const RunFileReader& r, const auto& x) { return r.node_timings(x.run); });
}
TEST_F(RoundTrip, Kernel) {
  expect_round_trip<KernelRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.kernels(x.run); });
}
TEST_F(RoundTrip, DeviceSamples) {
  expect_round_trip<DeviceSample>(in("a.ulp"), [](const RunFileReader& r, const auto&) { return r.device_samples(); });
}
TEST_F(RoundTrip, TensorStats) {
  expect_round_trip<TensorStatsRecord>(
      in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.tensor_stats(x.run, everything); });
  expect_round_trip<TensorStatsRecord>(
      in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.tensor_history(x.run, x.tensor); });
}
TEST_F(RoundTrip, Range) {
  expect_round_trip<RangeRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.ranges(x.run, everything); });
}
TEST_F(RoundTrip, Event) {
  expect_round_trip<EventRecord>(in("a.ulp"),
                                 [](const RunFileReader& r, const auto& x) { return r.events(x.run, everything); });
}
TEST_F(RoundTrip, Memory) {
  expect_round_trip<MemoryRecord>(in("a.ulp"), [](const RunFileReader& r, const auto& x) { return r.memory(x.run); });
  expect_round_trip<MemoryRecord>(in("a.ulp"),
                                  [](const RunFileReader& r, const auto& x) { return r.memory(x.run, x.kind); });
}
TEST_F(RoundTrip, Mend) {
  expect_round_trip<MendRecord>(in("a.ulp"), [](const RunFileReader& r, const auto&) { return r.mends(); });
}
TEST_F(RoundTrip, Completeness) {
  expect_round_trip<CompletenessRecord>(in("a.ulp"),
                                        [](const RunFileReader& r, const auto&) { return r.completeness(); });
}

TEST_F(RoundTrip, InvalidUtf8InAListCostsNoRecording) {
  RunFileWriter writer(in("a.ulp"));
  writer.push(RunRecord{.non_standard = {"bad \xff byte"}});
  writer.close();
  EXPECT_EQ(RunFileReader(in("a.ulp")).runs().at(0).non_standard.at(0), "bad \xEF\xBF\xBD byte");
}

TEST_F(RoundTrip, TheSameKeyReplacesTheRow) {
  RunFileWriter writer(in("a.ulp"));
  writer.push(RunRecord{.id = RunId{1}, .status = RunStatus::running});
  writer.push(RunRecord{.id = RunId{1}, .status = RunStatus::finished});
  writer.push(StepRecord{.run = RunId{1}, .step = 4, .loss = 1.0});
  writer.push(StepRecord{.run = RunId{1}, .step = 4, .loss = 2.0});
  writer.push(CompletenessRecord{.kind = "dropped", .subject = "kernel", .count = 1});
  writer.push(CompletenessRecord{.kind = "dropped", .subject = "kernel", .count = 2});
  for (int i = 0; i < 2; ++i) {
    writer.push(MemoryRecord{.run = RunId{1}, .kind = MemoryKind::peak, .total_bytes = i});
    writer.push(NodeTiming{.run = RunId{1}, .node = NodeId{1}, .calls = i});
  }
  writer.close();
  const RunFileReader reader(in("a.ulp"));
  ASSERT_EQ(reader.runs().size(), 1u);
  EXPECT_EQ(reader.runs()[0].status, RunStatus::finished);
  ASSERT_EQ(reader.steps(RunId{1}).size(), 1u);
  EXPECT_EQ(reader.steps(RunId{1})[0].loss, 2.0);
  ASSERT_EQ(reader.completeness().size(), 1u);
  EXPECT_EQ(reader.completeness()[0].count, 2);
  ASSERT_EQ(reader.memory(RunId{1}).size(), 1u);
  EXPECT_EQ(reader.memory(RunId{1})[0].total_bytes, 1);
  ASSERT_EQ(reader.node_timings(RunId{1}).size(), 1u);
}

TEST_F(RoundTrip, NonFiniteIsNotUnknownInSqlEither) {
  RunFileWriter writer(in("a.ulp"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  writer.push(StepRecord{.step = 0, .loss = nan});
  writer.push(StepRecord{.step = 1, .loss = -std::numeric_limits<double>::infinity()});
  writer.push(StepRecord{.step = 2});
  writer.push(StepRecord{.step = 3, .loss = 2.0});
  writer.close();
  Database database(in("a.ulp"), SQLITE_OPEN_READONLY);
  EXPECT_EQ(database.text("SELECT group_concat(typeof(loss) || ':' || ifnull(loss, 'NULL')) FROM step"),
            "text:nan,text:-inf,null:NULL,real:2.0");
}

TEST_F(RoundTrip, StepsByRange) {
  RunFileWriter writer(in("a.ulp"));
  for (int i = 0; i < 10; ++i) writer.push(StepRecord{.run = RunId{2}, .step = i});
  writer.push(StepRecord{.run = RunId{3}, .step = 5});
  writer.close();
  const RunFileReader reader(in("a.ulp"));
  EXPECT_EQ(reader.steps(RunId{2}).size(), 10u);
  EXPECT_EQ(reader.steps(RunId{2}, {.first = 7}).size(), 3u);
  EXPECT_EQ(reader.steps(RunId{2}, {.first = 3, .end = 5}).size(), 2u);
  EXPECT_EQ(reader.steps(RunId{2}, {.first = 3, .limit = 4}).back().step, 6);
}

TEST(Words, AreReadBackAndUnknownOnesAreNot) {
  for (int i = 0; i < provenance_count; ++i) {
    const auto value = static_cast<Provenance>(i);
    EXPECT_EQ(parse<Provenance>(name(value)), value);
  }
  EXPECT_EQ(parse<RunStatus>("interrupted"), RunStatus::interrupted);
  EXPECT_EQ(parse<MemoryCategory>("observation"), MemoryCategory::observation);
  EXPECT_EQ(parse<MendStatus>("not_tried"), MendStatus::not_tried);
  EXPECT_EQ(parse<TensorRole>("internal"), TensorRole::internal);
  EXPECT_EQ(parse<Phase>("update"), Phase::update);
  EXPECT_EQ(parse<MemoryKind>("predicted"), MemoryKind::predicted);
  EXPECT_FALSE(parse<Provenance>("Measured"));
  EXPECT_FALSE(parse<RunStatus>(""));
}

}  // namespace
}  // namespace ulpscope::reports
