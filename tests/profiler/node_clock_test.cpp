#include "profiler/trace/node_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace ulpscope::profiler {
namespace {

void run_steps(engine::Topics& topics, int steps, int nodes) {
  for (std::int64_t i = 0; i < steps; ++i) {
    topics.step_begin.publish({i});
    for (std::int32_t n = 0; n < nodes; ++n) {
      topics.node_begin.publish({engine::NodeId{n}, i});
      if (n == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
      topics.node_end.publish({engine::NodeId{n}, i});
    }
    engine::StepResult result;
    result.iteration = i;
    topics.step_end.publish(result);
  }
}

TEST(NodeClock, TimesNodesInASampleOfTheSteps) {
  engine::Topics topics;
  Faults faults;
  NodeClock clock(topics, faults, 3, 1, 10);
  run_steps(topics, 25, 3);
  EXPECT_EQ(clock.sampled_steps(), 3) << "steps 1, 11, 21";
  const auto timings = clock.timings(reports::RunId{4}, reports::Provenance::emulated);
  ASSERT_EQ(timings.size(), 3u);
  for (const auto& timing : timings) {
    EXPECT_EQ(timing.run, reports::RunId{4});
    EXPECT_EQ(timing.calls, 3);
    EXPECT_EQ(timing.sampled_steps, 3) << "what the sum is over";
    EXPECT_EQ(timing.provenance, reports::Provenance::emulated);
    EXPECT_FALSE(timing.step.has_value()) << "summed over the run";
  }
  EXPECT_EQ(timings[1].node, reports::NodeId{1});
  EXPECT_GE(*timings[1].seconds, 3 * 200e-6) << "it slept at least that long";
  EXPECT_GT(clock.own_seconds(), 0.0);
}

TEST(NodeClock, OutsideTheSampleNobodyListensToNodes) {
  engine::Topics topics;
  Faults faults;
  const NodeClock clock(topics, faults, 1, 1, 10);
  topics.step_begin.publish({0});
  EXPECT_TRUE(topics.node_begin.silent());
  topics.step_begin.publish({1});
  EXPECT_FALSE(topics.node_begin.silent());
  topics.step_end.publish({});
  EXPECT_TRUE(topics.node_begin.silent());
  EXPECT_TRUE(topics.node_end.silent());
}

TEST(NodeClock, NodesThatNeverRanHaveNoRow) {
  engine::Topics topics;
  Faults faults;
  const NodeClock clock(topics, faults, 5, 0, 1);
  run_steps(topics, 2, 2);
  EXPECT_EQ(clock.timings(reports::RunId{1}, reports::Provenance::measured).size(), 2u);
  topics.node_begin.publish({engine::NodeId{99}, 0});  // of another graph: ignored
  EXPECT_EQ(faults.count(), 0);
}

}  // namespace
}  // namespace ulpscope::profiler
