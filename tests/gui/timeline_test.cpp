// The timeline without its window: sums over spans against a plain count, how a run file becomes rows, sums by name, search.
#include <QSortFilterProxyModel>
#include <map>
#include <random>
#include <set>

#include "gui/charts/timeline_chart.h"
#include "gui/models/timeline_search.h"
#include "gui/models/timeline_sums.h"
#include "gui/models/timeline_text.h"
#include "reports/run_file/kernel_scan.h"
#include "reports/run_file/sqlite.h"
#include "tests/gui/timeline_test.h"

namespace ulpscope::gui {
namespace {

using reports::KernelRecord;
using reports::NodeId;
using reports::RunId;
using Tester = QAbstractItemModelTester;

// --- sums of spans ---

/// Spans that overlap, lie at one time, have no length, and some that are longer than all others.
std::vector<TimelineSpan> anySpans(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<TimelineSpan> spans;
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = static_cast<std::int64_t>(random() % 100'000) - 20'000;
    const auto kind = random() % 20;
    const auto duration = kind == 0 ? 0 : static_cast<std::int64_t>(random() % (kind == 1 ? 5'000 : 60));
    spans.push_back({.start = start, .duration = duration, .name = static_cast<std::uint32_t>(random() % 7)});
  }
  return spans;
}

TimelineSpans made(const std::vector<TimelineSpan>& from) {
  TimelineSpans spans;
  for (const TimelineSpan& span : from) spans.add(span);
  spans.finish();
  return spans;
}

/// What a walk over all of them says.
SpanSum plainSum(const TimelineSpans& spans, std::size_t first, std::size_t end) {
  SpanSum sum;
  for (std::size_t i = first; i < end; ++i) {
    ++sum.count;
    sum.total += spans.duration(i);
    if (spans.duration(i) <= sum.greatest) continue;
    sum.greatest = spans.duration(i);
    sum.longest = i;
  }
  return sum;
}

void expectSame(const SpanSum& a, const SpanSum& b, const std::string& where) {
  EXPECT_EQ(a.count, b.count) << where;
  EXPECT_EQ(a.total, b.total) << where;
  EXPECT_EQ(a.greatest, b.greatest) << where;
  EXPECT_EQ(a.count > 0 ? a.longest : 0, b.count > 0 ? b.longest : 0) << where;
}

TEST(TimelineSpansTest, SumsAreThoseOfAPlainWalk) {
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 513u, 4097u}) {
    const TimelineSpans spans = made(anySpans(count, static_cast<unsigned>(count)));
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
      const std::size_t a = random() % (count + 1), b = random() % (count + 1);
      expectSame(spans.sum(std::min(a, b), std::max(a, b)), plainSum(spans, std::min(a, b), std::max(a, b)), std::to_string(count));
    }
  }
}

TEST(TimelineSpansTest, ColumnsHoldEachSpanOnceWhereItBegins) {
  const TimelineSpans spans = made(anySpans(5'000, 5));
  for (const auto& [from, to] : {std::pair{-25'000.0, 90'000.0}, std::pair{-1'000.5, 3'000.25}, std::pair{500.0, 520.0}, std::pair{200'000.0, 300'000.0}}) {
    constexpr int columns = 640;
    std::vector<std::vector<std::size_t>> expected(columns);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const auto start = static_cast<double>(spans.start(i));
      if (start >= from && start < to) expected[static_cast<std::size_t>(std::min<int>(columns - 1, static_cast<int>((start - from) / ((to - from) / columns))))].push_back(i);
    }
    std::size_t at = 0;
    for (const SpanColumn& column : spans.columns(from, to, columns)) {
      while (at < static_cast<std::size_t>(column.column)) EXPECT_TRUE(expected[at++].empty()) << at;
      ASSERT_EQ(static_cast<std::size_t>(column.sum.count), expected[at].size()) << from << " " << at;
      EXPECT_EQ(column.first, expected[at].front());
      expectSame(column.sum, plainSum(spans, column.first, column.first + expected[at].size()), "column");
      ++at;
    }
    while (at < columns) EXPECT_TRUE(expected[at++].empty()) << at;
  }
}

TEST(TimelineSpansTest, TheFirstThatEndsLaterIsFound) {
  const TimelineSpans spans = made(anySpans(3'000, 9));
  for (double time = -25'000.0; time < 90'000.0; time += 731.0) {
    std::size_t plain = 0;
    while (plain < spans.size() && static_cast<double>(spans.end(plain)) <= time) ++plain;
    EXPECT_EQ(spans.firstEndingAfter(time), plain) << time;
    for (const std::size_t i : spans.reaching(time, 5)) {
      EXPECT_LT(static_cast<double>(spans.start(i)), time);
      EXPECT_GT(static_cast<double>(spans.end(i)), time);
    }
  }
  EXPECT_TRUE(made({}).columns(0.0, 10.0, 5).empty());
  EXPECT_EQ(made({}).firstEndingAfter(0.0), 0u);
}

TEST(TimelineSpansTest, WhatNoClockSaysNeitherRunsOverNorEndsBeforeItBegins) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  const TimelineSpans spans = made({{.start = least, .duration = most}, {.start = most, .duration = most}, {.start = 5, .duration = -7}, {.start = 6, .duration = most}, {.start = 6, .duration = most}, {.start = 6, .duration = most}});
  for (std::size_t i = 0; i < spans.size(); ++i) EXPECT_GE(spans.end(i), spans.start(i)) << i;
  EXPECT_EQ(spans.sum(0, spans.size()).total, most);
  EXPECT_EQ(spans.duration(1), 0);
}

// --- from a run file to rows ---

QString csvOf(const Timeline& timeline) {
  TimelineChart chart;
  chart.setTimeline(std::make_shared<const Timeline>(timeline), false);
  return chart.csv();
}

TEST_F(TimelineTest, AStepWhoseNodesWereCountedSaysThatItsTimeIsNone) {
  reports::writeTraced(in("a.ulp"), reports::RunStatus::finished, {0, 3});
  const Timeline timeline = timelineOf("a.ulp");
  const TimelineRow& steps = timeline.rows[0];
  const auto name = [&](std::size_t step) { return timeline.names[steps.spans.name(step)].text; };
  EXPECT_EQ(name(0), "step 1, nodes counted");
  EXPECT_EQ(name(1), "step 2");
  EXPECT_EQ(name(3), "step 4, skipped, nodes counted");
  EXPECT_TRUE(timeline.names[steps.spans.name(3)].skipped);
  EXPECT_TRUE(spanToolTip(timeline, steps, 0).contains("no step's time: its nodes were counted one after the other"));
  EXPECT_FALSE(spanToolTip(timeline, steps, 1).contains("counted"));
}

TEST_F(TimelineTest, StepsNodesAndKernelsAreWhereTheTraceOfAReportHasThem) {
  reports::writeTraced(in("a.ulp"));
  const Timeline timeline = timelineOf("a.ulp");
  ASSERT_EQ(timeline.rows.size(), 5u) << "steps, passes, nodes, two streams";
  const TimelineRow &steps = timeline.rows[0], &passes = timeline.rows[1], &nodes = timeline.rows[2], &seventh = timeline.rows[3], &ninth = timeline.rows[4];
  // Four steps of 10 ms; the kernels of step 2 begin at 25 ms, those of step 3 (at 20 ms on record) come after its end.
  ASSERT_EQ(steps.spans.size(), 4u);
  EXPECT_EQ(steps.spans.start(1), 25'000'000);
  EXPECT_EQ(steps.spans.start(2), 35'000'000);
  EXPECT_EQ(steps.spans.end(3), 55'000'000);
  EXPECT_EQ(timeline.names[steps.spans.name(3)].text, "step 4, skipped");
  EXPECT_TRUE(timeline.names[steps.spans.name(3)].skipped);
  EXPECT_EQ(seventh.stream, 7);
  ASSERT_EQ(seventh.spans.size(), 6u);
  ASSERT_EQ(ninth.spans.size(), 2u);
  EXPECT_EQ(seventh.spans.start(0), 25'000'000);
  EXPECT_EQ(seventh.spans.start(3), 35'000'000) << "moved by 15 ms";
  EXPECT_EQ(timeline.steps[2].shift, 15'000'000);
  EXPECT_EQ(seventh.spans.start(4) - seventh.spans.start(3), 2'000'000) << "distances stay";
  // The copy on stream 9 begins 1 ms after the product, which is cut there in the row of nodes; then the product's own second kernel.
  ASSERT_GE(nodes.spans.size(), 4u);
  EXPECT_EQ(timeline.nodeOf(nodes, 0)->name, "block0.query");
  EXPECT_EQ(nodes.spans.duration(0), 1'000'000);
  EXPECT_EQ(passes.spans.size(), 4u) << "forward and backward of two steps";
  EXPECT_EQ(timeline.nodeOf(seventh, 2)->name, "block0.query.backward");
  EXPECT_EQ(timeline.nodeOf(ninth, 0), nullptr);
  EXPECT_EQ(timeline.stepOf(ninth, 0)->step, 1);
  EXPECT_EQ(timeline.kernels, 8);
  EXPECT_FALSE(seventh.laidOut);
}

TEST_F(TimelineTest, ACpuRunIsAMeanStepLaidOutAndSaysSo) {
  writeHealthy("a.ulp");
  const Timeline run = timelineOf("a.ulp");
  ASSERT_EQ(run.rows.size(), 1u) << "steps";
  EXPECT_TRUE(run.meanStep);
  EXPECT_TRUE(run.traceNotes.join(' ').contains("--set run.device=cuda")) << run.traceNotes.join(' ').toStdString();
  const Timeline mean = timelineOf("a.ulp", TimelineView::MeanStep);
  const TimelineRow* const nodes = rowOf(mean, TimelineRowKind::Nodes);
  ASSERT_NE(nodes, nullptr);
  ASSERT_EQ(nodes->spans.size(), 3u);
  EXPECT_TRUE(nodes->laidOut);
  EXPECT_TRUE(nodes->meaning().contains("laid out")) << nodes->meaning().toStdString();
  EXPECT_EQ(nodes->spans.duration(1), 2'000'000) << "20 ms in 10 steps";
  EXPECT_EQ(nodes->spans.start(1), nodes->spans.end(0));
  EXPECT_EQ(rowOf(mean, TimelineRowKind::Passes)->spans.size(), 2u);
  EXPECT_TRUE(mean.notes.join(' ').contains("mean of 10 sampled steps")) << mean.notes.join(' ').toStdString();
}

TEST_F(TimelineTest, TimesThatAreNoneAreLeftOutAndCounted) {
  reports::MadeUpRun run = reports::made_up("fp32", 0, 2.0);
  run.steps = 2;
  run.run.id = RunId{1};
  run.run.plan = reports::PlanId{1};
  {
    reports::RunFileWriter writer(in("a.ulp"));
    writer.push(reports::ExperimentRecord{.name = "made up"});
    pushPlan(writer, reports::PlanId{1}, "fp32");
    writer.push(run.run);
    write_run(writer, run);  // steps without a time
    writer.push(reports::NodeTiming{.run = RunId{1}, .node = NodeId{1}, .sampled_steps = 4, .calls = 4, .seconds = 0.0});
    writer.push(reports::NodeTiming{.run = RunId{1}, .node = NodeId{2}, .sampled_steps = 4, .calls = 4});
    writer.push(reports::NodeTiming{.run = RunId{1}, .node = NodeId{99}, .sampled_steps = 4, .calls = 4, .seconds = 4.0});
    writer.push(KernelRecord{.run = RunId{1}, .stream = -3, .name = "of no step", .start_ns = -5'000, .duration_ns = 0});
    writer.close();
  }
  const Timeline mean = timelineOf("a.ulp", TimelineView::MeanStep);
  const TimelineRow* const nodes = rowOf(mean, TimelineRowKind::Nodes);
  ASSERT_EQ(nodes->spans.size(), 2u);
  EXPECT_EQ(nodes->spans.duration(0), 0);
  EXPECT_EQ(mean.nodeOf(*nodes, 1)->name, "node 99");
  EXPECT_TRUE(mean.notes.join(' ').contains("left out")) << mean.notes.join(' ').toStdString();
  const Timeline timeline = timelineOf("a.ulp");
  EXPECT_TRUE(timeline.steps[0].untimed);
  EXPECT_EQ(timeline.rows[0].spans.duration(0), 1'000'000);
  EXPECT_TRUE(spanToolTip(timeline, timeline.rows[0], 0).contains("time unknown"));
  const RangeSum sums = sumsOf(timeline, 0, timeline.begin, timeline.end);
  EXPECT_EQ(sums.count, 0);
  EXPECT_EQ(sums.untimed, 2);
  EXPECT_TRUE(sums.names.empty());
  EXPECT_TRUE(rangeText(timeline, sums).endsWith("how long they took is unknown; steps without a wall time: 2")) << rangeText(timeline, sums).toStdString();
  EXPECT_TRUE(csvOf(timeline).contains("\nsteps,step 1,,1,0.000000000,,1,unknown,as recorded\n")) << csvOf(timeline).toStdString();
  const TimelineRow* const kernels = rowOf(timeline, TimelineRowKind::Kernels, -3);
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(timeline.begin, -5'000);
  EXPECT_EQ(timeline.stepOf(*kernels, 0), nullptr);
  EXPECT_TRUE(spanToolTip(timeline, *kernels, 0).contains("-0.000005000 s")) << spanToolTip(timeline, *kernels, 0).toStdString();
  EXPECT_TRUE(timelineOf("a.ulp", TimelineView::Run, RunId{77}).empty());
}

TEST_F(TimelineTest, KernelsAreNoWallTime) {
  reports::RunRecord run = reports::made_up("fp32", 0, 2.0).run;
  run.id = RunId{1};
  run.plan = reports::PlanId{1};
  {
    reports::RunFileWriter writer(in("a.ulp"));
    writer.push(reports::ExperimentRecord{.name = "made up"});
    writer.push(reports::NodeRecord{.plan = reports::PlanId{1}, .id = NodeId{1}, .operation = "matmul", .name = "forward", .compute_format = "fp32"});
    writer.push(run);
    const reports::Number walls[] = {0.01, std::nullopt, 0.004, std::nullopt};
    for (std::int64_t i = 0; i < 4; ++i) writer.push(reports::StepRecord{.run = RunId{1}, .step = i, .applied = i + 1, .loss = 2.0, .wall_seconds = walls[i]});
    writer.push(KernelRecord{.run = RunId{1}, .step = 0, .node = NodeId{1}, .stream = 7, .name = "k", .start_ns = 0, .duration_ns = 15'000'000});
    writer.push(KernelRecord{.run = RunId{1}, .step = 1, .node = NodeId{1}, .stream = 7, .name = "k", .start_ns = 20'000'000, .duration_ns = 3'000'000});
    writer.close();
  }
  const Timeline timeline = timelineOf("a.ulp");
  const TimelineRow& steps = timeline.rows[0];
  ASSERT_EQ(steps.spans.size(), 4u);
  EXPECT_EQ(steps.spans.duration(0), 10'000'000) << "its kernels outlast it";
  EXPECT_EQ(steps.spans.start(1), 20'000'000);
  EXPECT_EQ(steps.spans.duration(1), 3'000'000) << "drawn so";
  EXPECT_FALSE(timeline.durationOf(steps, 1));
  EXPECT_FALSE(timeline.steps[1].untimed);
  EXPECT_EQ(steps.spans.start(2), 23'000'000);
  EXPECT_EQ(timeline.durationOf(steps, 2), 4'000'000);
  EXPECT_TRUE(timeline.steps[3].untimed);
  EXPECT_TRUE(spanDetails(timeline, steps, 0, {}).contains("exactly: 0.010000000 s"));
  EXPECT_TRUE(spanDetails(timeline, steps, 1, {}).contains("time unknown; drawn as long as its kernels"));
  EXPECT_FALSE(spanDetails(timeline, steps, 1, {}).contains("exactly"));
  EXPECT_TRUE(timeline.notes.join(' ').contains("drawn as long as their kernels or nodes: 1")) << timeline.notes.join(' ').toStdString();
  const RangeSum sums = sumsOf(timeline, 0, timeline.begin, timeline.end);
  EXPECT_EQ(sums.count, 2);
  EXPECT_EQ(sums.total, 14'000'000);
  EXPECT_EQ(sums.untimed, 2);
  EXPECT_TRUE(rangeText(timeline, sums).contains("2 spans, 14 ms together [measured]")) << rangeText(timeline, sums).toStdString();
  EXPECT_TRUE(rangeText(timeline, sums).endsWith("; left out, without a wall time: 2")) << rangeText(timeline, sums).toStdString();
  const QString csv = csvOf(timeline);
  EXPECT_TRUE(csv.contains("\nsteps,step 1,,1,0.000000000,0.010000000,1,measured,as recorded\n")) << csv.toStdString();
  EXPECT_TRUE(csv.contains("\nsteps,step 2,,2,0.020000000,,1,unknown,as recorded\n")) << csv.toStdString();
  // A node that is called as a pass is none.
  const TimelineRow &passes = *rowOf(timeline, TimelineRowKind::Passes), &nodes = *rowOf(timeline, TimelineRowKind::Nodes);
  EXPECT_EQ(timeline.names[nodes.spans.name(0)].text, timeline.names[passes.spans.name(0)].text);
  EXPECT_EQ(timeline.names[passes.spans.name(0)].pass, reports::Phase::forward);
  EXPECT_FALSE(timeline.names[nodes.spans.name(0)].pass);
}

TEST_F(TimelineTest, SumsByColumnLeaveOutStepsWithoutATime) {
  constexpr std::int64_t count = 200'001;  // one more than are written one by one
  Timeline timeline{.names = {{.text = "step"}}, .rows = {{.kind = TimelineRowKind::Steps, .durations = reports::Provenance::measured}}, .end = 10 * count};
  for (std::int64_t i = 0; i < count; ++i) {
    timeline.steps.push_back({.step = i, .start = 10 * i, .end = 10 * i + 10, .wall = i % 3 == 0 ? std::nullopt : std::optional<std::int64_t>(7)});
    timeline.rows[0].spans.add({.start = 10 * i, .duration = 10, .step = static_cast<std::int32_t>(i)});
  }
  timeline.rows[0].spans.finish();
  std::int64_t timed = 0, without = 0, total = 0;
  for (const QString& line : csvOf(timeline).split('\n', Qt::SkipEmptyParts).mid(1)) {
    const QStringList fields = line.split(',');
    ASSERT_EQ(fields.size(), 9) << line.toStdString();
    (fields[5].isEmpty() ? without : timed) += fields[6].toLongLong();
    EXPECT_EQ(fields[7], fields[5].isEmpty() ? "unknown" : "measured");
    total += QString(fields[5]).remove('.').toLongLong();
  }
  EXPECT_EQ(without, count / 3);
  EXPECT_EQ(timed, count - count / 3);
  EXPECT_EQ(total, 7 * timed);
}

TEST_F(TimelineTest, KernelsAreReadAPageAtATimeAndNoneTwice) {
  constexpr std::int64_t count = 250'000;
  reports::writeManyKernels(in("a.ulp"), {.kernels = count, .steps = 7, .together = 3});
  const reports::RunFileReader reader(in("a.ulp"));
  std::int64_t seen = 0, last = 0;
  std::set<std::int64_t> rows;
  const reports::KernelScan scan = reports::scan_kernels(reader, RunId{1}, count, [&](const reports::KernelSpan& span) {
    EXPECT_GE(span.start_ns, last);
    last = span.start_ns;
    rows.insert(span.row);
    ++seen;
  });
  EXPECT_EQ(seen, count);
  EXPECT_EQ(static_cast<std::int64_t>(rows.size()), count);
  EXPECT_FALSE(scan.more);
  EXPECT_TRUE(reports::scan_kernels(reader, RunId{1}, count - 1, [](const auto&) {}).more);
  const Timeline less = readTimeline(reader, RunId{1}, TimelineView::Run, 1000);
  EXPECT_EQ(less.kernels, 1000);
  EXPECT_TRUE(less.traceNotes.join(' ').contains("Only the first 1000 kernels")) << less.traceNotes.join(' ').toStdString();
  const auto record = reports::kernel_at(reader, RunId{1}, *rows.begin());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->grid[0], 128);
  EXPECT_FALSE(reports::kernel_at(reader, RunId{2}, *rows.begin()));
}

TEST_F(TimelineTest, ADamagedTableOfKernelsIsSaidWithItsColumn) {
  reports::writeTraced(in("a.ulp"));
  reports::Database(in("a.ulp"), SQLITE_OPEN_READWRITE).execute("UPDATE kernel SET duration_ns = -5 WHERE name = 'softmax_rows'");
  try {
    timelineOf("a.ulp");
    ADD_FAILURE() << "a negative duration was taken";
  } catch (const UsageError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("a.ulp"), std::string::npos) << what;
    EXPECT_NE(what.find("duration_ns holds -5"), std::string::npos) << what;
  }
}

TEST_F(TimelineTest, SumsByNameCountWhatLiesInTheRange) {
  reports::writeManyKernels(in("a.ulp"), {.kernels = 3'000, .steps = 5});
  const auto timeline = std::make_shared<const Timeline>(timelineOf("a.ulp"));
  TimelineSumsModel model;
  QSortFilterProxyModel proxy;
  proxy.setSourceModel(&model);
  const Tester tester(&model, Tester::FailureReportingMode::Fatal), proxyTester(&proxy, Tester::FailureReportingMode::Fatal);
  const std::int64_t length = timeline->end - timeline->begin;
  for (int row = 0; row < static_cast<int>(timeline->rows.size()); ++row) {
    const TimelineSpans& spans = timeline->rows[static_cast<std::size_t>(row)].spans;
    for (const auto& [from, to] : {std::pair{timeline->begin, timeline->end + 1}, std::pair{timeline->begin + length / 3 + 17, timeline->begin + length / 2}, std::pair{timeline->end, timeline->begin}}) {
      std::map<std::uint32_t, NameSum> plain;
      std::int64_t count = 0;
      for (std::size_t i = 0; i < spans.size() && from < to; ++i) {
        const bool within = spans.start(i) >= from ? spans.start(i) < to : spans.end(i) > from;
        if (!within) continue;
        ++count;
        NameSum& sum = plain[spans.name(i)];
        ++sum.count;
        sum.total += std::min(spans.end(i), to) - std::max(spans.start(i), from);
      }
      RangeSum sums = sumsOf(*timeline, row, from, to);
      EXPECT_EQ(sums.count, count) << row;
      ASSERT_EQ(sums.names.size(), plain.size()) << row;
      for (const NameSum& sum : sums.names) {
        EXPECT_EQ(sum.count, plain[sum.name].count);
        EXPECT_EQ(sum.total, plain[sum.name].total);
      }
      for (std::size_t i = 1; i < sums.names.size(); ++i) EXPECT_GE(sums.names[i - 1].total, sums.names[i].total);
      model.setSums(timeline, std::move(sums));
      EXPECT_EQ(model.rowCount(), static_cast<int>(plain.size()));
      for (int name = 0; name < model.rowCount(); ++name) EXPECT_TRUE(model.index(name, TimelineSumsModel::ShareColumn).data().toString().endsWith("%"));
    }
  }
  model.setSums(nullptr, {});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(TimelineTest, ASearchFindsNamesAndNodesInTurn) {
  reports::writeTraced(in("a.ulp"));
  const auto timeline = std::make_shared<const Timeline>(timelineOf("a.ulp"));
  EXPECT_FALSE(TimelineSearch(timeline, "  ").active());
  EXPECT_EQ(TimelineSearch(timeline, "no such thing").count(), 0);
  EXPECT_FALSE(TimelineSearch(timeline, "no such thing").next({}, false));
  const TimelineSearch search(timeline, "GEMM query");  // kernels named gemm of nodes named query
  ASSERT_EQ(search.count(), 4);
  std::optional<std::pair<std::size_t, std::size_t>> at;
  for (std::int64_t i = 1; i <= search.count(); ++i) {
    at = search.next(at, false);
    ASSERT_TRUE(at);
    EXPECT_TRUE(search.finds(at->first, at->second));
    EXPECT_EQ(search.place(at->first, at->second), i);
  }
  const auto first = search.next(at, false);
  EXPECT_EQ(search.place(first->first, first->second), 1) << "around the end";
  EXPECT_EQ(search.next(first, true), at) << "and back";
}

}  // namespace
}  // namespace ulpscope::gui
