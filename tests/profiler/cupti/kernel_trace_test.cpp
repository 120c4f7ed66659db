// The collector, from the engine's announcements to the rows of the run file, over forged records.
#include "tests/profiler/cupti/kernel_trace_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;

TEST_F(KernelTraceTest, FromAnnouncementsToRows) {
  const auto t = trace();
  steps(6);
  Rows rows = rows_of(*t);
  EXPECT_EQ(faults.count(), 0) << faults.first();
  EXPECT_EQ(synchronised, 1) << "the device is waited for before the buffers are asked for";
  ASSERT_EQ(rows.kernels.size(), 6u) << "three steps, two nodes";
  const KernelRecord& k = rows.kernels[1];
  EXPECT_EQ(k.run, reports::RunId{3});
  EXPECT_EQ(k.step, 1);
  EXPECT_EQ(k.node, reports::NodeId{1});
  EXPECT_EQ(k.correlation, 12);
  EXPECT_EQ(k.stream, 7);
  EXPECT_EQ(k.name, "kernel");
  EXPECT_EQ(k.start_ns, 2000 + 1200 - 1000) << "from the clock when the trace began";
  EXPECT_EQ(k.duration_ns, 20);
  EXPECT_EQ(k.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
  EXPECT_EQ(k.block, (std::array<std::int64_t, 3>{256, 1, 1}));
  EXPECT_EQ(k.registers, 40);
  EXPECT_EQ(k.static_shared_bytes, 16);
  EXPECT_EQ(k.dynamic_shared_bytes, 1024);
  EXPECT_FALSE(k.tensor_pipe) << "not counted is unknown, not 0";
  ASSERT_EQ(rows.timings.size(), 2u);
  EXPECT_EQ(rows.timings[1].sampled_steps, 3);
  EXPECT_EQ(rows.timings[1].calls, 3);
  EXPECT_NEAR(*rows.timings[1].seconds, 60e-9, 1e-15);
  EXPECT_EQ(rows.timings[1].provenance, reports::Provenance::measured);
  EXPECT_THAT(rows.detail("note", "kernel trace"), HasSubstr("trace covers 3 of 3 steps; 6 launches, 6 of them answered"));
  EXPECT_EQ(rows.count("note", "kernel trace: launches"), 6);
  EXPECT_THAT(rows.detail("note", "kernel trace: clock"), HasSubstr("real-time clock"));
  EXPECT_THAT(rows.detail("note", "kernel trace: tensor pipes"), HasSubstr("inferred"));
  EXPECT_THAT(rows.detail("observation_cost", "kernel trace"), HasSubstr("timing phase is not traced"));
  EXPECT_EQ(pool.in_use(), 0u) << "all buffers are back";
  EXPECT_GT(pool.made(), 0u);
}

TEST_F(KernelTraceTest, OutsideTheWindowNobodyListensToNodesAndNothingIsOn) {
  const auto t = trace({2, 1});
  topics.step_begin.publish({1});
  EXPECT_TRUE(topics.node_begin.silent());
  EXPECT_TRUE(source.enabled.empty());
  topics.step_end.publish({});
  topics.step_begin.publish({2});
  EXPECT_FALSE(topics.node_begin.silent());
  EXPECT_EQ(source.enabled.front(), ActivityKind::kernel);
  EXPECT_EQ(source.stack.size(), 1u) << "the step's own";
  topics.step_end.publish({});
  EXPECT_TRUE(topics.node_begin.silent());
  EXPECT_EQ(source.enabled, source.disabled);
  EXPECT_TRUE(source.stack.empty());
  EXPECT_FALSE(source.attached);
  for (const ActivityKind kind : source.enabled) EXPECT_NE(kind, ActivityKind::graph) << "it would hide a graph's kernels";
}

TEST_F(KernelTraceTest, WhatRunsBetweenStepsBelongsToNone) {
  const auto t = trace({0, 2});
  step(0, [&](std::int64_t s, std::int32_t n) { source.launch(one(s, n)); });
  topics.node_begin.publish({engine::NodeId{0}, 0});   // of an evaluation
  source.launch({.correlation = 500, .start = 5000, .end = 6000});
  topics.node_end.publish({engine::NodeId{0}, 0});
  step(1, [&](std::int64_t s, std::int32_t n) { source.launch(one(s, n)); });
  const Rows rows = rows_of(*t);
  EXPECT_EQ(rows.count("note", "kernel trace: unmatched"), 1);
  ASSERT_EQ(rows.kernels.size(), 5u);
  EXPECT_FALSE(rows.kernels[2].step);
  EXPECT_FALSE(rows.kernels[2].node);
  ASSERT_EQ(rows.timings.size(), 2u);
  EXPECT_NEAR(*rows.timings[0].seconds, 20e-9, 1e-15);
}

TEST_F(KernelTraceTest, WhatAnotherThreadLaunchesIsNotTheNodes) {
  const auto t = trace({0, 1});
  step(0, [&](std::int64_t s, std::int32_t n) {
    source.launch(one(s, n));
    if (n == 0) return;
    std::thread([&] {   // external ids are each thread's own: it has none
      source.gate.with([&](ActivityListener& l) {
        l.launch_begin(900);
        l.launch_end(false);
      });
    }).join();
    source.kernel({.correlation = 900, .start = 5000, .end = 6000});
  });
  const Rows rows = rows_of(*t);
  ASSERT_EQ(rows.kernels.size(), 3u);
  EXPECT_EQ(rows.kernels[2].correlation, 900);
  EXPECT_FALSE(rows.kernels[2].node);
  EXPECT_EQ(rows.count("note", "kernel trace: launches"), 3);
  EXPECT_EQ(rows.count("note", "kernel trace: unmatched"), 1);
}

TEST_F(KernelTraceTest, AStepThatThrewLeavesNothingOpen) {
  const auto t = trace();
  topics.step_begin.publish({1});
  topics.node_begin.publish({engine::NodeId{0}, 1});
  EXPECT_EQ(source.stack.size(), 2u);
  step(2, [&](std::int64_t s, std::int32_t n) {
    EXPECT_EQ(source.stack.size(), 2u);
    source.launch(one(s, n));
  });
  const Rows rows = rows_of(*t);
  EXPECT_TRUE(source.stack.empty());
  ASSERT_EQ(rows.kernels.size(), 2u);
  EXPECT_EQ(rows.kernels[0].node, reports::NodeId{0});
  EXPECT_EQ(rows.note("lost", "kernel trace: crossed ids"), nullptr);
}

TEST_F(KernelTraceTest, RecordsWithoutRoomAreDroppedAndSaidSo) {
  BufferPool small(16, 1);
  source.own_thread = false;
  KernelTrace t(topics, faults, source, small, [] {}, {0, 2});
  topics.step_begin.publish({0});
  const std::byte* held = nullptr;
  source.gate.with([&](ActivityListener& l) { held = l.buffer_requested().data(); });
  ASSERT_NE(held, nullptr);
  topics.node_begin.publish({engine::NodeId{0}, 0});
  source.launch({.correlation = 1, .start = 2000, .end = 2010});   // its external id and its record find no room
  topics.node_end.publish({engine::NodeId{0}, 0});
  topics.step_end.publish({});
  const Rows rows = rows_of(t);
  EXPECT_EQ(rows.count("dropped", "kernel trace: records"), 2);
  EXPECT_EQ(rows.count("dropped", "kernel trace: buffers"), 2);
  EXPECT_EQ(rows.count("lost", "kernel trace: launches"), 1);
  EXPECT_THAT(rows.detail("note", "kernel trace"), HasSubstr("trace covers 0 of 1 steps; 1 launches, 0 of them answered"));
  EXPECT_TRUE(rows.timings.empty());
}

TEST_F(KernelTraceTest, BadTimesAndIdsThatAreNeverAnsweredAreRows) {
  const auto t = trace({0, 1});
  step(0, [&](std::int64_t, std::int32_t n) {
    if (n == 0) source.launch({.correlation = 1, .start = 0, .end = 0});
    if (n == 1) source.launch({.correlation = 2, .start = 3000, .end = 2900});
    if (n == 2) source.launch({.correlation = 3, .record = false});
    if (n == 3) source.launch({.correlation = 4, .start = 4000, .end = 4001});
  }, 4);
  const Rows rows = rows_of(*t);
  EXPECT_EQ(rows.count("lost", "kernel trace: zero time stamps"), 1);
  EXPECT_EQ(rows.count("lost", "kernel trace: inverted time stamps"), 1);
  EXPECT_EQ(rows.count("lost", "kernel trace: launches"), 1);
  EXPECT_EQ(rows.kernels.size(), 1u);
  ASSERT_EQ(rows.timings.size(), 1u);
  EXPECT_EQ(rows.timings[0].node, reports::NodeId{3});
}

TEST_F(KernelTraceTest, OverheadIsAddedUp) {
  const auto t = trace({0, 1});
  step(0, [&](std::int64_t s, std::int32_t n) {
    source.launch(one(s, n));
    ActivityBatch batch;
    batch.overheads = {{5000, 1'005'000}, {0, 0}, {9000, 8000}};
    source.emit(std::move(batch));
  });
  const Rows rows = rows_of(*t);
  EXPECT_NEAR(t->cost().own_seconds, 2e-3, 1e-12) << "two of a millisecond; those without a time add nothing";
  EXPECT_THAT(rows.detail("observation_cost", "kernel trace"), HasSubstr("0.002000 s"));
  EXPECT_FALSE(rows.seconds("observation_cost", "kernel trace")) << "no untraced step to compare with";
}

TEST_F(KernelTraceTest, KernelsOfAGraphBelongToTheNodesThatWereCaptured) {
  const auto t = trace({5, 2});
  // Captured in step 2, before the window, in which nodes are not announced: the engine says them itself.
  topics.step_begin.publish({2});
  for (std::int32_t n = 0; n < 2; ++n) {
    t->begin_node({engine::NodeId{n}, 2});
    source.gate.with([&](ActivityListener& l) { l.graph_node(100 + static_cast<std::uint64_t>(n), 0, 0); });
    t->end_node();
  }
  topics.step_end.publish({});
  for (std::uint64_t n = 0; n < 2; ++n) {
    source.gate.with([&](ActivityListener& l) {
      l.graph_node(200 + n, 100 + n, 9);
      l.graph_node(200 + n, 0, 0);   // a copy is called made, too
    });
  }
  EXPECT_TRUE(source.stack.empty()) << "nothing is pushed outside of the window";
  for (std::int64_t s = 5; s < 7; ++s) {
    topics.step_begin.publish({s});
    const auto id = static_cast<std::uint32_t>(s);
    source.launch({.correlation = id, .start = 2000, .end = 2010, .graph_node = 201});
    if (s == 5) source.kernel({.correlation = id, .start = 2020, .end = 2025, .graph_node = 200});
    topics.step_end.publish({});
  }
  const Rows rows = rows_of(*t);
  ASSERT_EQ(rows.kernels.size(), 3u);
  EXPECT_EQ(rows.kernels[0].node, reports::NodeId{1});
  EXPECT_EQ(rows.kernels[0].step, 5);
  EXPECT_EQ(rows.kernels[1].node, reports::NodeId{0});
  EXPECT_EQ(rows.kernels[2].step, 6);
  EXPECT_EQ(rows.count("note", "kernel trace: launches"), 2);
  EXPECT_EQ(rows.count("lost", "kernel trace: graph nodes"), 1) << "node 0 in step 6";
}

TEST_F(KernelTraceTest, WhereStepsCountedTheFileSaysThatTimesOfNodesHoldIt) {
  const auto t = trace({0, 3});
  for (std::int64_t s = 0; s < 4; ++s) {
    topics.step_begin.publish({s, s != 1});
    topics.step_end.publish({});
  }
  const Rows rows = rows_of(*t);
  EXPECT_EQ(rows.count("note", "kernel trace: observed steps"), 2);
  EXPECT_THAT(rows.detail("note", "kernel trace: observed steps"), HasSubstr("its time holds both"));
  EXPECT_EQ(rows.note("note", "kernel trace: ranges"), nullptr);
  Rows with_ranges;
  record_trace(with_ranges.sink(), reports::RunId{3}, *t, t->began(), nullptr, true);
  EXPECT_THAT(with_ranges.detail("note", "kernel trace: ranges"), HasSubstr("every step counted ranges"));
  EXPECT_EQ(with_ranges.note("note", "kernel trace: observed steps"), nullptr) << "those are among them";
}

TEST_F(KernelTraceTest, ALaunchThatIsCapturedOrFailsLaunchesNothing) {
  const auto t = trace({0, 1});
  step(0, [&](std::int64_t, std::int32_t n) {
    source.gate.with([&](ActivityListener& l) {
      l.launch_begin(static_cast<std::uint32_t>(70 + n));
      if (n == 0) l.graph_node(100, 0, 0);
      l.launch_end(n == 1);
    });
    source.launch(one(0, n));
  });
  const Rows rows = rows_of(*t);
  EXPECT_EQ(rows.count("note", "kernel trace: launches"), 2);
  EXPECT_EQ(rows.note("lost", "kernel trace: launches"), nullptr);
}

}  // namespace
}  // namespace ulpscope::profiler
