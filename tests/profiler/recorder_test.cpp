#include "profiler/probes/recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace ulpscope::profiler {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Publishes steps and keeps what the recorder makes of them.
class RecorderTest : public ::testing::Test {
 protected:
  void step(engine::StepResult result) {
    result.iteration = next_++;
    topics_.step_begin.publish({result.iteration});
    topics_.step_end.publish(result);
  }
  template <class Row>
  std::vector<Row> rows() const {
    std::vector<Row> list;
    for (const reports::Record& record : records_) {
      if (const Row* row = std::get_if<Row>(&record)) list.push_back(*row);
    }
    return list;
  }
  std::string events() const {
    std::string text;
    for (const auto& event : rows<reports::EventRecord>()) text += event.kind + "@" + std::to_string(event.step) + " ";
    return text;
  }
  static engine::StepResult good(float loss) {
    engine::StepResult result;
    result.loss = loss;
    result.applied = 1;
    result.learning_rate = 1e-3f;
    return result;
  }

  engine::Topics topics_;
  std::vector<reports::Record> records_;
  Faults faults_;
  Sink sink_ = [this](reports::Record record) { records_.push_back(std::move(record)); };
  std::int64_t next_ = 0;
};

TEST_F(RecorderTest, AStepIsARow) {
  Recorder recorder(topics_, sink_, faults_, reports::RunId{7}, true);
  engine::StepResult result;
  result.applied = 1;
  result.loss = 2.5f;
  result.loss_scale = 1024;
  result.next_loss_scale = 1024;
  result.learning_rate = 0.25f;
  result.gradient_norm = 3.0f;
  result.tokens = 512;
  step(result);
  const auto steps = rows<reports::StepRecord>();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].run, reports::RunId{7});
  EXPECT_EQ(steps[0].step, 0);
  EXPECT_EQ(steps[0].applied, 1);
  EXPECT_EQ(steps[0].loss, 2.5);
  EXPECT_EQ(steps[0].loss_scale, 1024.0);
  EXPECT_EQ(steps[0].learning_rate, 0.25);
  EXPECT_EQ(steps[0].gradient_norm, 3.0);
  EXPECT_EQ(steps[0].tokens, 512);
  EXPECT_TRUE(steps[0].wall_seconds.has_value());
  EXPECT_FALSE(steps[0].device_seconds.has_value()) << "a CPU has none";
  EXPECT_EQ(events(), "");
  EXPECT_EQ(recorder.steps(), 1);
  EXPECT_GT(recorder.own_seconds(), 0.0);
}

TEST_F(RecorderTest, WithoutAScalerTheScaleIsUnknown) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  step(good(1));
  EXPECT_FALSE(rows<reports::StepRecord>().front().loss_scale.has_value());
}

TEST_F(RecorderTest, AnOverflowThatIsSkippedMakesThreeEvents) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, true);
  engine::StepResult result;
  result.finite = false;
  result.skipped = true;
  result.loss = infinity;
  result.gradient_norm = infinity;
  result.loss_scale = 65536;
  result.next_loss_scale = 32768;
  step(result);
  EXPECT_EQ(events(), "overflow@0 skip@0 scale_change@0 ");
  EXPECT_EQ(rows<reports::EventRecord>().back().value, 32768.0);
  EXPECT_FALSE(recorder.diverged_at().has_value()) << "a skipped step's loss changes nothing";
}

TEST_F(RecorderTest, GrowthIsAScaleChangeWithoutOverflow) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, true);
  engine::StepResult result = good(1);
  result.loss_scale = 2;
  result.next_loss_scale = 4;
  step(result);
  EXPECT_EQ(events(), "scale_change@0 ");
}

TEST_F(RecorderTest, AStopIsNotASkip) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  step(good(1));
  engine::StepResult result;
  result.finite = false;
  result.skipped = true;
  result.stopped = true;
  result.loss = std::nanf("");
  step(result);
  EXPECT_EQ(events(), "overflow@1 stop@1 divergence@1 ");
  EXPECT_EQ(recorder.diverged_at(), 1);
}

TEST_F(RecorderTest, DivergenceIsSaidOnceAndOnlyWhenItLasts) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  step(good(1));
  for (int i = 0; i < 4; ++i) step(good(2.5f));
  step(good(1));  // it came back
  for (int i = 0; i < 4; ++i) step(good(3.0f));
  EXPECT_EQ(events(), "");
  step(good(3.0f));
  EXPECT_EQ(events(), "divergence@10 ");
  step(good(infinity));
  EXPECT_EQ(events(), "divergence@10 ");
}

TEST_F(RecorderTest, NothingRunsAwayThatDoesNotMove) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  const auto still = [](float loss) {
    engine::StepResult result = good(loss);
    result.learning_rate = 0.0f;
    return result;
  };
  step(still(1));
  for (int i = 0; i < 10; ++i) step(still(9.0f));
  EXPECT_EQ(events(), "") << "other data";
  for (int i = 0; i < 6; ++i) step(good(9.0f));   // the first of them has the old weights
  EXPECT_EQ(events(), "divergence@16 ");
}

TEST_F(RecorderTest, ALossMayBeNegative) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  for (int i = 0; i < 20; ++i) step(good(-1.0f - 0.01f * static_cast<float>(i)));
  for (int i = 0; i < 20; ++i) step(good(-0.25f));
  EXPECT_EQ(events(), "");
  for (int i = 0; i < 5; ++i) step(good(0.5f));  // more than |-1| above -1
  EXPECT_EQ(events(), "divergence@44 ");
}

TEST_F(RecorderTest, AFirstLossOfZeroIsNoMeasure) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false);
  step(good(0));
  for (int i = 0; i < 20; ++i) step(good(0.5f));
  EXPECT_EQ(events(), "");
  for (int i = 0; i < 5; ++i) step(good(1.5f));
  EXPECT_EQ(events(), "divergence@25 ");
}

TEST_F(RecorderTest, ASkipInTheLastStepIsNoDivergence) {
  const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, true);
  for (int i = 0; i < 9; ++i) step(good(1));
  engine::StepResult last;
  last.finite = false;
  last.skipped = true;
  last.loss = infinity;
  step(last);
  EXPECT_EQ(events(), "overflow@9 skip@9 ");
  EXPECT_FALSE(recorder.diverged_at());
}

TEST_F(RecorderTest, ItsFaultsDoNotReachTraining) {
  const Sink broken = [](const reports::Record&) { throw std::runtime_error("disk full"); };
  const Recorder recorder(topics_, broken, faults_, reports::RunId{1}, false);
  EXPECT_NO_THROW(step(good(1)));
  EXPECT_NO_THROW(step(good(1)));
  EXPECT_EQ(faults_.count(), 2);
  EXPECT_EQ(faults_.first(), "recorder: disk full");
}

TEST_F(RecorderTest, ItStopsListeningWhenItGoes) {
  { const Recorder recorder(topics_, sink_, faults_, reports::RunId{1}, false); }
  step(good(1));
  EXPECT_TRUE(records_.empty());
}

}  // namespace
}  // namespace ulpscope::profiler
