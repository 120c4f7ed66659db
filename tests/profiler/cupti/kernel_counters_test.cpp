// Counting, from the engine's announcements to the rows of the run file, over forged counts.
#include <limits>

#include "tests/profiler/cupti/kernel_counters_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(KernelCountersTest, EveryKernelOfANodeHasTheCountOfItsExecution) {
  counters.percent_of = {{1, 0.0}, {2, 50.0}, {3, 100.0}};   // node 0 twice, node 1
  begin();
  good_steps(0, 3);
  EXPECT_TRUE(counters.calls.empty()) << "not while it is traced";
  EXPECT_FALSE(source.attached);
  good_steps(3, 4);
  EXPECT_THAT(counters.pushed, ElementsAre(1u, 2u, 3u));
  EXPECT_THAT(counters.calls, ElementsAre("open", "begin", "wait", "push", "wait", "pop", "wait", "push", "wait", "pop", "wait", "push", "wait", "pop", "end", "read", "close"))
      << "nothing else falls into a range";
  good_steps(4, 8);
  ASSERT_EQ(told.size(), 1u) << "said when it is over: a run may not come to its end";
  EXPECT_EQ(told[0].step, 3);
  EXPECT_EQ(counters.opened, 1u) << "one step";
  EXPECT_TRUE(topics.node_begin.silent());
  const Rows r = rows();
  ASSERT_EQ(r.kernels.size(), 12u);
  for (std::size_t i = 0; i < r.kernels.size(); ++i) {
    const double expected[] = {0.0, 0.0, 0.5, 0.5, 1.0, 1.0};
    ASSERT_TRUE(r.kernels[i].tensor_pipe) << i;
    EXPECT_DOUBLE_EQ(*r.kernels[i].tensor_pipe, expected[i % 6]) << i;
  }
  EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 12);
  EXPECT_EQ(r.count("note", "kernel counters: ranges"), 3);
  EXPECT_EQ(r.count("note", "kernel counters: counts"), 3);
  EXPECT_EQ(r.count("note", step_row(3)), 3);
  EXPECT_GT(*r.seconds("observation_cost", "kernel counters"), 0.0);
  EXPECT_THAT(r.detail("observation_cost", "kernel counters"), HasSubstr("step 3 took this long with sm__pipe_tensor_cycles_active"));
  EXPECT_EQ(r.note("refused", "kernel counters"), nullptr);
  for (const CompletenessRecord& n : r.notes) EXPECT_NE(n.kind, "lost") << n.subject;
  EXPECT_EQ(t->cost().untraced_steps, 4) << "the counted step is none to compare traced ones with";
}

/// Observed steps launch other kernels than the one that is counted.
TEST_F(KernelCountersTest, KernelsOfATracedStepThatWasObservedHaveNone) {
  begin();
  one_step(0, {});
  one_step(1, {.observed = true});
  good_steps(2, 4);
  const Rows r = rows();
  ASSERT_EQ(r.kernels.size(), 12u);
  for (const KernelRecord& k : r.kernels) EXPECT_EQ(k.tensor_pipe.has_value(), k.step != 1) << k.step.value_or(-1);
  EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 6);
}

class RefusedCounters : public KernelCountersTest, public ::testing::WithParamInterface<std::pair<int, const char*>> {};

TEST_P(RefusedCounters, TheRunGoesOnAndTheFileSaysWhyOnce) {
  const auto& [code, words] = GetParam();
  for (const char* call : {"open", "begin", "push", "pop", "end", "read"}) {
    counters = {};
    counters.codes[call] = code;
    launched = 0;
    source.enabled.clear();
    source.disabled.clear();
    begin();
    good_steps(0, 8);
    EXPECT_EQ(counters.count("open"), 1u) << "nobody asks again: " << call;
    const Rows r = rows();
    expect_none(r, "refused", words);
    EXPECT_THAT(r.detail("refused", "kernel counters"), HasSubstr("hardware counters refused by CUPTI (error " + std::to_string(code) + ")"));
    EXPECT_THAT(r.detail("refused", "kernel counters"), HasSubstr("GH100"));
    EXPECT_FALSE(r.note("refused", "kernel counters")->count);
    EXPECT_EQ(r.count("note", step_row(3)), 3) << "it took its time all the same";
    EXPECT_EQ(r.note("note", "kernel counters: ranges"), nullptr);
    c.reset();
    t.reset();
  }
}
INSTANTIATE_TEST_SUITE_P(Codes, RefusedCounters,
                         ::testing::Values(std::pair(35, "NVreg_RestrictProfilingToAdminUsers=0"), std::pair(39, "another tool"),
                                           std::pair(33, "pass-through"), std::pair(40, "enable_profiling=1"), std::pair(41, "confidential"),
                                           std::pair(26, "dcgmi"), std::pair(17, "no tensor cores"), std::pair(46, "does not know the GPU's chip"),
                                           std::pair(8, "batch"), std::pair(12345, "words of CUPTI")));

TEST_F(KernelCountersTest, AChipWithoutTensorCoresIsNotSaidToBeRefusedByCupti) {
  counters.chip = "TU116";
  counters.metric = "";
  counters.passes = 0;
  begin();
  good_steps(0, 8);
  EXPECT_EQ(counters.count("open"), 1u);
  EXPECT_EQ(counters.count("begin"), 0u);
  const Rows r = rows();
  expect_none(r, "refused", "hardware counters not read: TU116 has no tensor cores");
  EXPECT_THAT(r.detail("refused", "kernel counters"), Not(HasSubstr("CUPTI")));
}

TEST_F(KernelCountersTest, WhatNeedsTheWorkTwiceIsNotCounted) {
  counters.passes = 2;
  begin();
  good_steps(0, 8);
  EXPECT_EQ(counters.count("begin"), 0u);
  const Rows r = rows();
  expect_none(r, "refused", "needs the work 2 times, and another step is other work");
  EXPECT_THAT(r.detail("refused", "kernel counters"), Not(HasSubstr("CUPTI (error"))) << "it is no refusal of CUPTI's";
}

TEST_F(KernelCountersTest, CountsThatAreNoSharesAreLeftOut) {
  counters.percent_of = {{1, std::numeric_limits<double>::quiet_NaN()}, {2, 100.5}, {3, -1.0}};
  begin();
  good_steps(0, 5);
  const Rows r = rows();
  for (const KernelRecord& k : r.kernels) EXPECT_FALSE(k.tensor_pipe);
  EXPECT_EQ(r.count("note", "kernel counters: without work"), 1);
  EXPECT_EQ(r.count("lost", "kernel counters: beyond"), 2);
  EXPECT_EQ(r.count("note", "kernel counters: counts"), 3);
}

TEST_F(KernelCountersTest, LostForeignAndRepeatedRangesAreCountedForNone) {
  counters.silent = {1};
  counters.more = {{0, 10.0}, {77, 20.0}, {2, 30.0}};
  counters.lost = 5;
  begin();
  good_steps(0, 5);
  const Rows r = rows();
  ASSERT_EQ(r.kernels.size(), 12u);
  for (std::size_t i = 0; i < r.kernels.size(); ++i) EXPECT_EQ(r.kernels[i].tensor_pipe, i % 6 >= 4 ? reports::Number(0.4) : std::nullopt) << i;
  EXPECT_EQ(r.count("lost", "kernel counters: unanswered"), 1);
  EXPECT_EQ(r.count("lost", "kernel counters: unknown ids"), 2);
  EXPECT_EQ(r.count("lost", "kernel counters: repeated ids"), 1);
  EXPECT_EQ(r.count("lost", "kernel counters: dropped"), 5);
  EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 4);
}

TEST_F(KernelCountersTest, BadStepsAreLeftForLaterOnes) {
  begin();
  good_steps(0, 3);
  one_step(3, {.finite = false});
  one_step(4, {.replay = engine::Replay::same});
  EXPECT_THAT(counters.pushed, ElementsAre(1u, 2u, 3u)) << "and nothing of the second execution";
  one_step(5, {.observed = true});
  EXPECT_EQ(counters.count("open"), 2u);
  one_step(6, {});
  const Rows r = rows();
  EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 12);
  EXPECT_THAT(r.detail("note", step_row(3)), HasSubstr("given up (its loss or a gradient was not finite)"));
  EXPECT_THAT(r.detail("note", step_row(4)), HasSubstr("given up (it was run again under observation)"));
  EXPECT_THAT(r.detail("note", step_row(6)), HasSubstr("whose nodes were counted"));
  EXPECT_EQ(r.note("note", step_row(5)), nullptr);
  EXPECT_EQ(r.count("note", "kernel counters: ranges"), 3);
}

/// It wants the memory, and launches other kernels: told of it or not, what is open is closed before its first node.
TEST_F(KernelCountersTest, NothingIsOpenWhileAStepIsRunAgain) {
  for (const bool said : {true, false}) {
    counters = {};
    launched = 0;
    source.enabled.clear();
    source.disabled.clear();
    told.clear();
    begin();
    good_steps(0, 3);
    one_step(3, {.finite = false, .told = said, .replay = engine::Replay::same});
    EXPECT_EQ(counters.calls.back(), "close");
    EXPECT_EQ(counters.count("end"), 0u) << "nothing is read of it";
    EXPECT_EQ(counters.closed, 1u);
    ASSERT_EQ(told.size(), 1u) << "its time is no step's, whoever made it long";
    EXPECT_EQ(told[0].step, 3);
    EXPECT_TRUE(topics.node_begin.silent()) << "nobody waits for the device around the nodes that are run again";
    one_step(4, {});
    const Rows r = rows();
    EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 12) << "the next step is counted";
    EXPECT_THAT(r.detail("note", step_row(3)), HasSubstr("given up (it was run again under observation)"));
    c.reset();
    t.reset();
  }
}

TEST_F(KernelCountersTest, GivesUpAfterAFewBadSteps) {
  begin();
  good_steps(0, 3);
  for (std::int64_t i = 3; i < 9; ++i) one_step(i, {.loss = std::numeric_limits<float>::infinity()});
  good_steps(9, 12);
  EXPECT_EQ(counters.count("open"), 3u);
  expect_none(rows(), "note", "none of the steps that were tried could be counted");
}

TEST_F(KernelCountersTest, AStepThatEndsByAFaultIsClosed) {
  begin();
  good_steps(0, 3);
  one_step(3, {.throws = true});
  one_step(3, {});
  const Rows r = rows();
  EXPECT_EQ(r.count("note", "kernel trace: tensor pipes"), 12);
  EXPECT_EQ(counters.opened, 2u);
}

TEST_F(KernelCountersTest, ARunThatEndsEarlyClosesWhatIsOpenAndSaysSo) {
  begin();
  good_steps(0, 3);
  expect_none(rows(), "note", "no step without observation was left");
  begin();
  launched = 0;
  source.enabled.clear();
  source.disabled.clear();
  good_steps(0, 3);
  one_step(3, {.throws = true});
  expect_none(rows(), "note", "none of the steps");
}

TEST_F(KernelCountersTest, NodesWithinNodesShareACountAndHaveNone) {
  begin();
  good_steps(0, 3);
  topics.step_begin.publish({3});
  topics.node_begin.publish({engine::NodeId{0}, 3, 0});
  node(1, 3, 1, 0);
  topics.node_end.publish({engine::NodeId{0}, 3, 0});
  node(0, 3, 1, 0);
  topics.step_end.publish({.iteration = 3});
  const Rows r = rows();
  ASSERT_EQ(r.kernels.size(), 12u);
  for (std::size_t i = 0; i < r.kernels.size(); ++i) EXPECT_EQ(r.kernels[i].tensor_pipe.has_value(), i % 6 == 2 || i % 6 == 3) << i;
  EXPECT_EQ(r.count("note", "kernel counters: nested nodes"), 2);
}

TEST_F(KernelCountersTest, ANodeThatRunsTwiceInAMicroBatchHasNoCountOfItsOwn) {
  begin();
  good_steps(0, 3);
  topics.step_begin.publish({3});
  node(0, 3, 0, 0);
  node(0, 3, 0, 0);
  node(1, 3, 1, 0);
  topics.step_end.publish({.iteration = 3});
  const Rows r = rows();
  for (const KernelRecord& k : r.kernels) EXPECT_EQ(k.tensor_pipe.has_value(), k.node == reports::NodeId{1});
}

TEST_F(KernelCountersTest, WhatThereIsNoRoomForIsSaid) {
  begin();
  good_steps(0, 3);
  topics.step_begin.publish({3});
  for (std::int32_t m = 0; m < 25; ++m) node(0, 3, m, 0);
  topics.step_end.publish({.iteration = 3});
  EXPECT_EQ(counters.room, 3u + 16u) << "as many as a traced step had, and some";
  EXPECT_EQ(counters.pushed.size(), counters.room);
  EXPECT_EQ(rows().count("lost", "kernel counters: no room"), 6);
}

TEST_F(KernelCountersTest, WhereNothingIsTracedNothingIsCounted) {
  source.enable_codes[ActivityKind::kernel] = 35;
  begin();
  good_steps(0, 8);
  EXPECT_TRUE(counters.calls.empty()) << "there are no kernels that it could be written to";
}

/// The activity records of a mode begin anew behind the counting of the one before it: attached, enabled and counted again, and what was
/// lost in one mode is said of that one alone.
TEST_F(KernelCountersTest, EveryModeIsTracedAndCountedForItself) {
  struct Mode {
    double percent;
    std::size_t dropped;
    bool whole;
  };
  const std::size_t asked = [&] {
    begin();
    good_steps(0, 5);
    const std::size_t kinds = source.enabled.size();
    c.reset();
    t.reset();
    return kinds;
  }();
  ASSERT_GE(asked, 9u) << "every kind of record";
  std::size_t opened = counters.opened;
  for (const Mode& mode : {Mode{0.0, 0, true}, Mode{30.0, 7, true}, Mode{60.0, 0, false}, Mode{90.0, 0, true}}) {
    counters.percent = mode.percent;
    launched = 0;
    source.enabled.clear();
    source.disabled.clear();
    begin();
    EXPECT_TRUE(source.attached);
    good_steps(0, 1);
    topics.step_begin.publish({1});
    EXPECT_TRUE(source.counting) << "launches are counted again";
    run_nodes(1, 0);
    if (!mode.whole) source.launch({.correlation = 500, .record = false});
    topics.step_end.publish({.iteration = 1});
    source.lost = mode.dropped;
    good_steps(2, 5);
    EXPECT_EQ(source.enabled.size(), asked) << "every kind is enabled again";
    EXPECT_EQ(source.disabled.size(), asked);
    EXPECT_FALSE(source.counting);
    EXPECT_FALSE(source.attached);
    EXPECT_EQ(counters.opened, ++opened);
    const Rows r = rows();
    ASSERT_EQ(r.kernels.size(), 12u);
    for (const KernelRecord& k : r.kernels) EXPECT_EQ(k.tensor_pipe, mode.percent / 100.0);
    const std::int64_t launches = mode.whole ? 12 : 13;
    EXPECT_EQ(r.count("note", "kernel trace: launches"), launches);
    EXPECT_EQ(r.count("note", "kernel trace"), 12) << "kernels";
    EXPECT_THAT(r.detail("note", "kernel trace"), HasSubstr(mode.whole && mode.dropped == 0 ? "trace covers 2 of 2 steps; 12 launches, 12 of them answered"
                                                            : mode.whole                    ? "12 launches, 12 of them answered"
                                                                                            : "13 launches, 12 of them answered"));
    EXPECT_THAT(r.detail("note", "kernel trace"), HasSubstr(std::to_string(mode.dropped) + " records dropped"));
    EXPECT_EQ(r.count("dropped", "kernel trace: records"), mode.dropped > 0 ? reports::Count(static_cast<std::int64_t>(mode.dropped)) : reports::Count(-1));
    EXPECT_EQ(r.count("lost", "kernel trace: launches"), mode.whole ? reports::Count(-1) : reports::Count(1));
    EXPECT_EQ(r.count("note", "kernel counters: ranges"), 3);
    c.reset();
    t.reset();
  }
}

TEST_F(KernelCountersTest, WithoutTheRangeProfilerTheFileSaysWhy) {
  Rows r;
  record_no_counters(r.sink(), reports::RunId{3}, "hardware counters cannot be read");
  EXPECT_THAT(r.detail("refused", "kernel counters"), HasSubstr("cannot be read; kernel.tensor_pipe is empty"));
}

}  // namespace
}  // namespace ulpscope::profiler
