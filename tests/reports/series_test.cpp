// Curves for drawing: thinned, with every spike, every gap and every skipped step where it was.
#include "reports/analysis/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/error.h"
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
