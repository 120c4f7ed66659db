#include "profiler/trace/kernel_match.h"

#include <gtest/gtest.h>

namespace ulpscope::profiler {
namespace {

KernelActivity kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::uint32_t stream = 7, std::uint64_t graph_node = 0) {
  KernelActivity k;
  k.correlation = correlation;
  k.start = start;
  k.end = end;
  k.stream = stream;
  k.graph_node = graph_node;
  k.name = "the same for all";
  return k;
}

/// Two steps, each with the nodes 0 and 1: spans 0 (step 5), 1, 2, 3 (step 6), 4, 5.
TraceData two_steps() {
  TraceData data;
  data.origin = 100;
  data.steps = {5, 6};
  data.launches_counted = true;
  for (const std::int64_t step : data.steps) {
    data.spans.push_back({-1, step, 0, 0});
    data.spans.push_back({0, step, 0, 0});
    data.spans.push_back({1, step, 0, 0});
  }
  return data;
}

/// Of a node that has no time: steps -1.
NodeDeviceTime time_of(const TraceMatch& m, std::int32_t node) {
  for (const NodeDeviceTime& t : m.nodes)
    if (t.node == node) return t;
  return {node, -1, -1, -1.0};
}

TEST(KernelMatch, ByExternalIdWhateverTheOrderTheNameAndTheStream) {
  TraceData data = two_steps();
  data.launches_counted = false;
  // Records come stream by stream, the last launch first.
  data.records.kernels = {kernel(14, 900, 940, 9), kernel(11, 200, 230, 7), kernel(13, 700, 720, 7), kernel(12, 210, 290, 9)};
  data.records.externals = {{6, 14}, {3, 12}, {5, 13}, {2, 11}};   // ids are spans + 1
  const TraceMatch m = match(data);
  ASSERT_EQ(m.kernels.size(), 4u);
  EXPECT_EQ(m.kernels[0].node, 1);
  EXPECT_EQ(m.kernels[0].step, 6);
  EXPECT_EQ(m.kernels[1].node, 0);
  EXPECT_EQ(m.kernels[1].step, 5);
  EXPECT_EQ(m.kernels[2].node, 0);
  EXPECT_EQ(m.kernels[2].step, 6);
  EXPECT_EQ(m.kernels[3].node, 1);
  EXPECT_EQ(m.kernels[3].step, 5);
  ASSERT_EQ(m.nodes.size(), 2u);
  EXPECT_DOUBLE_EQ(time_of(m, 0).seconds, 50e-9);
  EXPECT_DOUBLE_EQ(time_of(m, 1).seconds, 120e-9);
  EXPECT_EQ(time_of(m, 1).steps, 2);
  EXPECT_EQ(time_of(m, 1).calls, 2);
  EXPECT_FALSE(m.coverage.launches) << "not counted is unknown";
  EXPECT_FALSE(m.coverage.steps_covered);
}

TEST(KernelMatch, ByTheCallThatLaunchedItOrTheDriversInsideIt) {
  TraceData data = two_steps();
  data.launches = {{11, 0, 1}, {21, 22, 2}};
  data.records.kernels = {kernel(22, 300, 310), kernel(11, 200, 230)};
  const TraceMatch m = match(data);
  EXPECT_EQ(m.kernels[0].node, 1);
  EXPECT_EQ(m.kernels[1].node, 0);
  EXPECT_EQ(m.coverage.unanswered, 0) << "answered by the inner id";
  EXPECT_EQ(m.coverage.launches, 2);
  EXPECT_EQ(m.coverage.steps_covered, 2);
}

TEST(KernelMatch, AnIdThatTwoClaimBelongsToNone) {
  TraceData data = two_steps();
  data.launches = {{11, 0, 1}, {12, 0, 2}, {13, 0, 1}};
  data.records.externals = {{3, 11}};   // says node 1, the launch says node 0
  data.records.kernels = {kernel(11, 200, 230), kernel(12, 240, 250), kernel(13, 260, 270)};
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.contradictions, 1);
  EXPECT_FALSE(m.kernels[0].node);
  EXPECT_EQ(m.coverage.unmatched, 1);
  EXPECT_EQ(time_of(m, 0).steps, -1) << "nor its";
  EXPECT_EQ(time_of(m, 1).steps, -1) << "the 30 ns may be its own: it is not whole in step 5, and ran in no other";
  EXPECT_EQ(m.coverage.steps_covered, 1);
}

TEST(KernelMatch, TimesThatCannotBeTrueAreCountedAndUsedNowhere) {
  TraceData data = two_steps();
  data.launches = {{11, 0, 1}, {12, 0, 2}, {13, 0, 4}, {14, 0, 5}, {15, 0, 5}};
  data.records.kernels = {kernel(11, 0, 0), kernel(12, 300, 250), kernel(13, 50, 120), kernel(14, 400, 0), kernel(15, 500, 560)};
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.zero_stamps, 2) << "of both kinds: none at all, and none at the end";
  EXPECT_EQ(m.coverage.inverted_stamps, 1);
  EXPECT_EQ(m.coverage.early_stamps, 1);
  EXPECT_EQ(m.coverage.unanswered, 0) << "a record without a time is an answer";
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.kernels[0].kernel, 4u);
  EXPECT_TRUE(m.nodes.empty()) << "node 1 has 60 ns in step 6, and lacks the rest";
  EXPECT_EQ(m.coverage.steps_covered, 0);
  EXPECT_EQ(m.coverage.kernels, 5) << "seen, all of them";
}

TEST(KernelMatch, LaunchesThatAreNeverAnsweredTakeTheirStepOutOfTheNodesTime) {
  TraceData data;
  data.launches_counted = true;
  for (std::int64_t step = 0; step < 50; ++step) {
    data.steps.push_back(step);
    for (const std::int32_t node : {0, 1}) {
      data.spans.push_back({node, step, 0, 0});
      const auto id = static_cast<std::uint32_t>(data.spans.size());
      data.launches.push_back({id, 0, std::ssize(data.spans) - 1});
      if (node == 1 && (step == 7 || step == 30)) continue;
      data.records.kernels.push_back(kernel(id, 1000 * id, 1000 * id + 10));
    }
  }
  data.dropped = 2;
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.launches, 100);
  EXPECT_EQ(m.coverage.kernels, 98);
  EXPECT_EQ(m.coverage.unanswered, 2);
  EXPECT_EQ(m.coverage.steps, 50);
  EXPECT_EQ(m.coverage.steps_covered, 48);
  EXPECT_EQ(time_of(m, 0).steps, 50) << "nothing of it is missing";
  EXPECT_EQ(time_of(m, 1).steps, 48);
  EXPECT_EQ(time_of(m, 1).calls, 48);
  EXPECT_NEAR(time_of(m, 1).seconds, 480e-9, 1e-15);
}

TEST(KernelMatch, AStepInWhichANodeLaunchedNothingCounts) {
  TraceData data = two_steps();
  data.launches = {{11, 0, 1}};
  data.records.kernels = {kernel(11, 200, 230)};
  EXPECT_EQ(time_of(match(data), 0).steps, 2);
  data.launches_counted = false;
  data.records.externals = {{2, 11}};
  data.dropped = 1;
  EXPECT_EQ(time_of(match(data), 0).steps, 1) << "what was dropped may have been its";
}

/// A graph captured in spans 1 and 2 (clones 101 and 102 of graph 3), launched between the nodes of both steps.
TraceData with_graph() {
  TraceData data = two_steps();
  data.graph_nodes = {{1, {1, 0}}, {2, {2, 0}}, {101, {1, 3}}, {102, {2, 3}}};
  data.launches = {{50, 0, 0}, {60, 0, 3}};
  data.records.kernels = {kernel(60, 900, 905, 7, 102), kernel(50, 200, 230, 7, 101), kernel(50, 240, 250, 8, 102), kernel(60, 800, 820, 7, 101)};
  return data;
}

TEST(KernelMatch, GraphLaunchesByTheIdsOfTheirNodes) {
  const TraceMatch m = match(with_graph());
  EXPECT_EQ(m.kernels[0].node, 1);
  EXPECT_EQ(m.kernels[0].step, 6) << "of the launch; it was captured in step 5";
  EXPECT_EQ(m.kernels[1].node, 0);
  EXPECT_EQ(m.kernels[1].step, 5);
  EXPECT_DOUBLE_EQ(time_of(m, 0).seconds, 50e-9);
  EXPECT_EQ(time_of(m, 0).calls, 2) << "captured once, launched twice";
  EXPECT_EQ(m.coverage.graph_nodes_missing, 0);
  EXPECT_EQ(m.coverage.steps_covered, 2);
}

TEST(KernelMatch, ANodeOfALaunchedGraphWithoutARecordIsMissed) {
  TraceData data = with_graph();
  data.records.kernels.erase(data.records.kernels.begin());   // node 102 in step 6
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.unanswered, 0);
  EXPECT_EQ(m.coverage.graph_nodes_missing, 1);
  EXPECT_EQ(m.coverage.steps_covered, 1);
  EXPECT_EQ(time_of(m, 0).steps, 2);
  EXPECT_EQ(time_of(m, 1).steps, 1);
}

TEST(KernelMatch, NodesOfAGraphThatNobodyHeardOfSpoilTheStep) {
  TraceData data = with_graph();
  data.records.kernels[0].graph_node = 999;
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.unmapped, 1);
  EXPECT_FALSE(m.kernels[0].node);
  EXPECT_EQ(m.kernels[0].step, 6);
  EXPECT_EQ(time_of(m, 0).steps, 1) << "it may have been this node's";
}

TEST(KernelMatch, AGraphTracedAsAWholeTellsNothingOfNodes) {
  TraceData data = with_graph();
  std::erase_if(data.records.kernels, [](const KernelActivity& k) { return k.correlation == 60; });
  data.records.graphs = {{60, 800, 905}};
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.graphs_whole, 1);
  EXPECT_EQ(m.coverage.unanswered, 0);
  EXPECT_EQ(m.coverage.steps_covered, 1);
  EXPECT_EQ(time_of(m, 0).steps, 1);
}

TEST(KernelMatch, CopiesAndSetsAreTheNodesTimeToo) {
  TraceData data = two_steps();
  data.launches = {{11, 0, 1}};
  data.records.kernels = {kernel(11, 200, 230)};
  data.records.externals = {{2, 11}, {2, 31}, {3, 33}, {1, 34}};
  data.records.transfers = {{false, 30, 31, 7, 0, 300, 305, 64}, {true, 33, 0, 7, 0, 400, 402, 64}, {false, 34, 0, 7, 0, 500, 600, 8}};
  const TraceMatch m = match(data);
  EXPECT_DOUBLE_EQ(time_of(m, 0).seconds, 35e-9) << "the copy is known by the runtime's id";
  EXPECT_DOUBLE_EQ(time_of(m, 1).seconds, 2e-9);
  EXPECT_EQ(m.coverage.between_nodes, 1);
  EXPECT_EQ(m.coverage.transfers, 3);
  EXPECT_NEAR(m.coverage.transfer_seconds, 107e-9, 1e-15);
}

TEST(KernelMatch, ReplaysAreInNoTable) {
  TraceData data = two_steps();
  data.spans.push_back({0, 5, 0, 1});
  data.launches = {{11, 0, 1}, {40, 0, 6}};
  data.records.kernels = {kernel(40, 700, 790), kernel(11, 200, 230)};
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.other_attempts, 1);
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.kernels[0].kernel, 1u);
  EXPECT_DOUBLE_EQ(time_of(m, 0).seconds, 30e-9);
}

TEST(KernelMatch, WhatNothingIsKnownOfIsCountedAndKept) {
  TraceData data = two_steps();
  data.records.kernels = {kernel(77, 200, 230)};
  data.records.externals = {{0, 77}, {100, 77}};   // never given
  const TraceMatch m = match(data);
  EXPECT_EQ(m.coverage.unknown_ids, 2);
  EXPECT_EQ(m.coverage.unmatched, 1);
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_FALSE(m.kernels[0].node);
  EXPECT_FALSE(m.kernels[0].step);
}

}  // namespace
}  // namespace ulpscope::profiler
