// Rows of statistics, and which bad steps are replayed.
#include "profiler/probes/tensor_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "profiler/experiment/observe.h"
#include "profiler/experiment/plan_records.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::profiler {
namespace {

using engine::testing::SmallTraining;

TEST(TensorStats, NumbersComeFromTheCounts) {
  RoundingCounts c;
  c.elements = 10;
  c.nan = 1;
  c.positive_infinity = 2;
  c.negative_infinity = 1;
  c.zero = 2;
  c.flushed = 1;
  c.sum = 6.0;
  c.sum_of_squares = 24.0;
  c.sum_of_squared_errors = 0.06;
  c.least_magnitude = 0.75;
  c.greatest_magnitude = 4.5;
  c.histogram[-1 - histogram_lowest_exponent] = 1;  // 0.75
  c.histogram[2 - histogram_lowest_exponent] = 3;   // 4.5
  const reports::TensorStatsRecord r = tensor_stats(c);
  EXPECT_EQ(r.elements, 10);
  EXPECT_EQ(r.positive_infinite, 2);
  EXPECT_DOUBLE_EQ(*r.mean, 1.0);  // over 6 finite ones
  EXPECT_DOUBLE_EQ(*r.rms, 2.0);
  EXPECT_DOUBLE_EQ(*r.rounding_error_rms, 0.1);
  EXPECT_FALSE(r.lost_updates) << "nobody counted them";
  ASSERT_TRUE(r.histogram);
  EXPECT_EQ(r.histogram->first, -1);
  EXPECT_EQ(r.histogram->counts, (std::vector<std::uint64_t>{1, 0, 0, 3}));
}

TEST(TensorStats, WhatOverflowedHasNoRoundingError) {
  RoundingCounts c;
  c.elements = 4;
  c.overflowed = 3;
  c.sum_of_squared_errors = 0.09;
  c.greatest_relative_error = 0.25;
  EXPECT_DOUBLE_EQ(*tensor_stats(c).rounding_error_rms, 0.3) << "of one element";
  c.overflowed = 4;
  c.sum_of_squared_errors = c.greatest_relative_error = 0.0;
  EXPECT_FALSE(tensor_stats(c).rounding_error_rms);
  EXPECT_FALSE(tensor_stats(c).rounding_error_greatest);
  EXPECT_TRUE(tensor_stats(c).mean);
}

TEST(TensorStats, WhatIsNotThereIsUnknown) {
  RoundingCounts c;
  c.elements = c.nan = 3;
  const reports::TensorStatsRecord r = tensor_stats(c);
  EXPECT_FALSE(r.mean);
  EXPECT_FALSE(r.rms);
  EXPECT_FALSE(r.least_magnitude);
  EXPECT_FALSE(r.greatest_magnitude);
  EXPECT_TRUE(r.histogram->counts.empty());
}

TEST(ReplayPolicy, FirstOfEachKindThenAtGrowingIntervals) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  ReplayPolicy policy;
  std::string wanted;
  for (int i = 0; i < 16; ++i) {
    EXPECT_FALSE(policy.wanted(1.0f, true));
    wanted += policy.wanted(1.0f, false) ? '1' : '0';
  }
  EXPECT_EQ(wanted, "1101000100000001");
  EXPECT_TRUE(policy.wanted(nan, false)) << "another kind begins anew";
}

struct Recorded {
  explicit Recorded(const ObserveSettings& settings, float learning_rate = 0.5f)
      : training(engine::testing::weighted_sum({1, 1024}), "fp16_pure",
                 engine::testing::plain_training(engine::OptimizerKind::sgd, learning_rate), engine::testing::always({0.25f, 0.25f})),
        probe(training.topics, training.trainer.plan().graph, [this](reports::Record r) { records.push_back(std::move(r)); }, faults,
              reports::RunId{3}) {
    training.trainer.observe(observation(settings, replays));
  }
  const reports::TensorStatsRecord* row(const std::string& tensor, std::int64_t step) const {
    const auto id = static_cast<reports::TensorId>(training.trainer.plan().graph.find(tensor).index);
    for (const reports::Record& r : records)
      if (const auto* s = std::get_if<reports::TensorStatsRecord>(&r); s != nullptr && s->tensor == id && s->step == step) return s;
    return nullptr;
  }
  SmallTraining training;
  Faults faults;
  ReplayPolicy replays;
  std::vector<reports::Record> records;
  TensorProbe probe;
};

TEST(TensorProbe, ObservedStepsBecomeRows) {
  ObserveSettings settings;
  settings.every = 2;
  Recorded recorded(settings);
  recorded.training.steps(3);
  EXPECT_EQ(recorded.probe.observed_steps(), 2);
  EXPECT_NE(recorded.row("product", 0), nullptr);
  EXPECT_EQ(recorded.row("product", 1), nullptr);
  const reports::TensorStatsRecord* weights = recorded.row("w", 2);  // what the step reads
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->run, reports::RunId{3});
  EXPECT_EQ(weights->observation, "sampled");
  // 0.5 · 0.25 is a quarter of the spacing of fp16 at 1024 (below: 0.5): that weight never moves.
  const reports::TensorStatsRecord* update = recorded.row("w.update", 0);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->lost_updates, 1);
  EXPECT_EQ(*weights->greatest_magnitude, 1024.0);
}

TEST(TensorProbe, ZeroMeansNever) {
  ObserveSettings settings;
  settings.every = 0;
  Recorded recorded(settings);
  recorded.training.steps(3);
  EXPECT_TRUE(recorded.records.empty());
  recorded.probe.record();
  EXPECT_TRUE(recorded.records.empty());
}

TEST(ObserveSettings, APatternThatMatchesNothingIsRefusedWithTheNearest) {
  Recorded recorded({});
  ObserveSettings settings;
  settings.nodes = {"los", "prod*"};
  try {
    check_observed_nodes(settings, recorded.training.trainer.plan().graph);
    FAIL() << "not refused";
  } catch (const std::exception& e) {
    EXPECT_EQ(std::string(e.what()),
              "observe.nodes: \"los\" matches no node of the step; the nearest is 'loss', `ulpscope plan` lists them");
  }
}

}  // namespace
}  // namespace ulpscope::profiler
