// Curves for drawing: thinned, with every spike, every gap and every skipped step where it was.
#include "reports/analysis/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "reports/run_file/counter_rows.h"
#include "reports/run_file/writer.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class Series : public Scratch {};

bool has(const Curve& curve, std::int64_t step, double value) {
  return std::any_of(curve.points.begin(), curve.points.end(), [&](const SeriesPoint& p) { return p.step == step && p.value == value; });
}

TEST_F(Series, SpikesNaNsAndSkippedStepsOfALongRunStayWhereTheyWere) {
  RunFileWriter writer(in("a.ulp"), {.overwrite = true});
  const RunRecord run{.id = RunId{1}, .mode = "fp16", .time_provenance = Provenance::emulated};
  writer.push(run);
  for (std::int64_t i = 0; i < 10000; ++i) {
    StepRecord step{.run = RunId{1}, .step = i, .loss = 2.0 + 1e-3 * std::sin(double(i)), .wall_seconds = 0.5};
    if (i == 6789) step.loss = 1e6;
    if (i == 6791) step.loss = -3.0;
    if (i >= 4095 && i <= 4097) step.loss = std::numeric_limits<double>::quiet_NaN();  // over the edge of a page
    if (i == 4098) step.loss = std::numeric_limits<double>::infinity();
    step.skipped = i == 77 || i == 9999;
    writer.push(step);
  }
  writer.push(EvaluationRecord{.run = RunId{1}, .step = 100, .loss = 1.5});
  writer.close();
  const RunSeries series = read_series(RunFileReader(in("a.ulp")), run, 200);
  EXPECT_TRUE(has(series.loss, 6789, 1e6));
  EXPECT_TRUE(has(series.loss, 6791, -3.0));
  EXPECT_LE(series.loss.points.size(), 800u);
  EXPECT_EQ(series.loss.finite, 9996);
  const std::vector<SeriesGap> gaps{{GapKind::nan, 4095, 4097, 3}, {GapKind::positive_infinite, 4098, 4098, 1}};
  EXPECT_EQ(series.loss.gaps, gaps);
  EXPECT_EQ(series.skipped, (std::vector<SkippedStep>{{77, 39.0}, {9999, 5000.0}}));
  EXPECT_EQ(series.loss_scale.gaps, (std::vector<SeriesGap>{{GapKind::unknown, 0, 9999, 10000}}));
  EXPECT_TRUE(series.loss_scale.points.empty());
  EXPECT_TRUE(has(series.elapsed_seconds, 9999, 5000.0));
  EXPECT_TRUE(has(series.held_out_loss, 100, 1.5));
  EXPECT_EQ(series.held_out_loss.points.at(0).seconds, 50.0);
  for (const SeriesPoint& point : series.loss.points) EXPECT_EQ(point.seconds, 0.5 * double(point.step + 1)) << point.step;
  EXPECT_EQ(series.time, Provenance::emulated);
}

/// Its time has elapsed, but is no step's: no point, and no gap that would break the line.
TEST_F(Series, AStepWhoseNodesWereCountedIsInNoCurveOfStepTimes) {
  const RunRecord run{.id = RunId{1}, .mode = "fp16", .time_provenance = Provenance::measured};
  RunFileWriter writer(in("a.ulp"), {.overwrite = true});
  writer.push(run);
  for (std::int64_t i = 0; i < 6; ++i) writer.push(StepRecord{.run = RunId{1}, .step = i, .loss = 2.0, .wall_seconds = i == 3 ? 4.0 : 0.5});
  writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = std::string(counted_step_subject) + "3", .count = 3});
  writer.push(CompletenessRecord{.run = RunId{2}, .kind = "note", .subject = std::string(counted_step_subject) + "4", .count = 4});
  writer.close();
  const RunSeries series = read_series(RunFileReader(in("a.ulp")), run);
  std::vector<std::int64_t> steps;
  for (const SeriesPoint& point : series.step_seconds.points) {
    steps.push_back(point.step);
    EXPECT_EQ(point.value, 0.5) << point.step;
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 4, 5})) << "the mark of another run is none of this one's";
  EXPECT_EQ(series.step_seconds.finite, 5);
  EXPECT_TRUE(series.step_seconds.gaps.empty());
  EXPECT_EQ(series.counted, (std::vector<CountedTime>{{3, 5.5, 4.0}}));
  EXPECT_TRUE(has(series.elapsed_seconds, 5, 6.5));
  EXPECT_TRUE(has(series.loss, 3, 2.0));
}

/// Of a run that goes on the step's row may be read before the one that marks it.
TEST_F(Series, AMarkThatComesAfterItsStepIsSeenInTime) {
  const RunRecord run{.id = RunId{1}, .mode = "fp16", .time_provenance = Provenance::measured};
  RunFileWriter writer(in("a.ulp"), {.overwrite = true});
  writer.push(run);
  const auto step = [&](std::int64_t i, double seconds) { writer.push(StepRecord{.run = RunId{1}, .step = i, .wall_seconds = seconds}); };
  step(0, 0.5);
  step(1, 4.0);
  writer.flush();
  const RunFileReader reader(in("a.ulp"));
  SeriesBuilder builder(run);
  EXPECT_TRUE(builder.read_on(reader));
  EXPECT_FALSE(builder.read_on(reader)) << "nothing new";
  EXPECT_TRUE(has(builder.series({}).step_seconds, 1, 4.0)) << "nobody has said so yet";
  writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = std::string(counted_step_subject) + "1", .count = 1});
  writer.flush();
  EXPECT_TRUE(builder.read_on(reader)) << "the mark is new";
  EXPECT_FALSE(has(builder.series({}).step_seconds, 1, 4.0));
  step(2, 0.5);
  writer.close();
  builder.read_on(reader);
  const RunSeries series = builder.series({});
  EXPECT_EQ(series.step_seconds.points.size(), 2u);
  EXPECT_EQ(series.counted, (std::vector<CountedTime>{{1, 4.5, 4.0}}));
}

TEST_F(Series, AShortSeriesIsKeptWhole) {
  Thinning thinning(50);
  for (int i = 0; i < 50; ++i) thinning.add(1000 + i, double(i * i));
  const Curve curve = thinning.curve();
  ASSERT_EQ(curve.points.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(curve.points[i], (SeriesPoint{1000 + i, double(i * i)}));
}

TEST_F(Series, StepsMustAscendAndBucketsBeThere) {
  EXPECT_THROW(Thinning(0), UsageError);
  Thinning thinning(4);
  thinning.add(3, 1.0);
  EXPECT_THROW(thinning.add(3, 1.0), Error);
}

}  // namespace
}  // namespace ulpscope::reports
