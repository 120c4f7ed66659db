// The time report on run files whose figures are known in closed form.
#include "reports/analysis/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Time : public Scratch {
 protected:
  TimeReport of(const std::vector<const ForgedTime*>& modes, const TimeOptions& options = {}, const std::vector<CompletenessRecord>& rows = {}) {
    return time_report(write_times(in("a.ulp"), modes, rows), options);
  }
};

TEST_F(Time, StepIsTheMedianOfTheTimingPhaseWithoutWarmUp) {
  const ForgedTime fp32 = timed_fp32();
  const TimeReport report = of({&fp32});
  const ModeTime& m = report.modes.at(0);
  EXPECT_EQ(m.step_from, StepSource::timing_phase);
  EXPECT_DOUBLE_EQ(*m.step.value, 10e-3);
  EXPECT_DOUBLE_EQ(*m.step.low, 9.5e-3);
  EXPECT_DOUBLE_EQ(*m.step.high, 11e-3);
  EXPECT_EQ(m.step.samples, 3);
  EXPECT_EQ(m.step.provenance, Provenance::measured);
}

TEST_F(Time, StepOfRecordedStepsWithoutATimingPhase) {
  ForgedTime fp32("fp32");
  for (int i = 0; i < 4; ++i) fp32.forged.step(1.0, i == 2);
  for (int i = 0; i < 4; ++i) fp32.forged.steps[static_cast<std::size_t>(i)].wall_seconds = i == 0 ? 9.0 : i == 2 ? 5.0 : 1e-3 * i;
  const TimeReport report = of({&fp32});
  const ModeTime& m = report.modes.at(0);
  EXPECT_EQ(m.step_from, StepSource::recorded_steps);
  EXPECT_DOUBLE_EQ(*m.step.value, 2e-3);  // steps 1 and 3: not the first, not the skipped one
  EXPECT_THAT(m.notes, Contains(HasSubstr("there is no timing phase")));
}

TEST_F(Time, NodesArePerStepAndAddUp) {
  const ForgedTime fp32 = timed_fp32();
  const TimeReport report = of({&fp32});
  const ModeTime& m = report.modes.at(0);
  EXPECT_EQ(m.nodes_from, NodeSource::clock);
  EXPECT_EQ(m.nodes.front().name, "y");
  EXPECT_DOUBLE_EQ(*m.nodes_sum.value, 8e-3);
  EXPECT_DOUBLE_EQ(*m.between.value, 2e-3);
  EXPECT_DOUBLE_EQ(*m.between_share, 0.2);
  EXPECT_EQ(m.views, 1);
  EXPECT_EQ(m.untimed, 0);
  const NodeTime& y = node_named(m, "y");
  EXPECT_DOUBLE_EQ(*y.seconds.value, 6e-3);
  EXPECT_DOUBLE_EQ(*y.share, 0.75);
  EXPECT_DOUBLE_EQ(*y.calls, 1.0);
  EXPECT_EQ(y.category, TimeCategory::matrix_products);
  EXPECT_EQ(y.tensor_cores, TensorCores::none);
}

// linear and relu in one launch: what passes between them touches no memory, and the time is the lead's.
TEST_F(Time, AFusedLaunchIsOneRowWithItsMembers) {
  ForgedTime fp32 = timed_fp32();
  const TimeReport report = of({&fp32});
  const NodeTime& y = node_named(report.modes.at(0), "y");
  ASSERT_EQ(y.members.size(), 1u);
  EXPECT_EQ(y.members[0].name, "y.relu");
  EXPECT_EQ(y.members[0].operation, "relu");
  EXPECT_DOUBLE_EQ(*y.flops, 65536 + 1024);
  // Reads x (64·32) and w (16·32), writes y.relu (64·16), each 4 bytes; y stays in registers.
  EXPECT_DOUBLE_EQ(*y.bytes, 4.0 * (2048 + 512 + 1024));
  EXPECT_DOUBLE_EQ(*y.tflops, 66560 / 6e-3 * 1e-12);
  EXPECT_DOUBLE_EQ(*y.gbps, 14336 / 6e-3 * 1e-9);
  EXPECT_THAT(report.modes.at(0).nodes.size(), 3u);
}

TEST_F(Time, CallsOfMicroBatchesMultiplyTheWork) {
  ForgedTime fp32("fp32");
  fp32.timed("y", 6e-3, 3);
  const TimeReport report = of({&fp32});
  EXPECT_DOUBLE_EQ(*node_named(report.modes.at(0), "y").calls, 3.0);
  EXPECT_DOUBLE_EQ(*node_named(report.modes.at(0), "y").flops, 3 * 66560.0);
}

TEST_F(Time, SingleStepsAreAddedUpWhereThereIsNoSum) {
  ForgedTime fp32("fp32");
  for (const std::int64_t step : {3, 7}) fp32.timings.push_back({.run = RunId{1}, .node = fp32.id("y"), .step = step, .calls = 1, .seconds = step * 1e-3, .provenance = Provenance::measured});
  fp32.timings.push_back({.run = RunId{1}, .node = fp32.id("w.update"), .step = 3, .calls = 1, .seconds = 4e-3, .provenance = Provenance::measured});
  const TimeReport report = of({&fp32});
  EXPECT_DOUBLE_EQ(*node_named(report.modes.at(0), "y").seconds.value, 5e-3);
  EXPECT_DOUBLE_EQ(*node_named(report.modes.at(0), "w.update").seconds.value, 2e-3);  // not run in step 7
}

TEST_F(Time, CategoriesAddUpTheirNodes) {
  const ForgedTime fp16 = timed_fp16();
  const TimeReport report = of({&fp16});
  std::map<TimeCategory, double> seconds;
  for (const CategoryTime& c : report.modes.at(0).categories) seconds[c.category] = *c.seconds.value;
  EXPECT_EQ(seconds.size(), 4u);
  EXPECT_DOUBLE_EQ(seconds.at(TimeCategory::casts), 1e-3);
  EXPECT_DOUBLE_EQ(seconds.at(TimeCategory::matrix_products), 5e-3);
  EXPECT_DOUBLE_EQ(seconds.at(TimeCategory::unscale_check), 1.75e-3);
  EXPECT_DOUBLE_EQ(seconds.at(TimeCategory::optimizer), 1e-3);
}

TEST_F(Time, LedgerHoldsModesAgainstFp32) {
  const ForgedTime fp32 = timed_fp32();
  ForgedTime fp16 = timed_fp16();
  for (int i = 0; i < 10; ++i) fp16.forged.step(1.0, i < 2, 65536.0);
  const TimeReport report = of({&fp32, &fp16});
  const ModeTime& m = report.modes.at(1);
  const LedgerItem& casts = item_named(m, "weight_casts");
  EXPECT_DOUBLE_EQ(*casts.count.value, 1.0);
  EXPECT_DOUBLE_EQ(*casts.bytes.value, 512 * 6.0);
  EXPECT_DOUBLE_EQ(*casts.seconds.value, 1e-3);
  EXPECT_EQ(casts.seconds.provenance, Provenance::emulated);
  EXPECT_DOUBLE_EQ(*casts.extra.value, 1e-3);
  EXPECT_FALSE(casts.at_least);
  EXPECT_DOUBLE_EQ(*item_named(m, "value_casts").seconds.value, 0.0);  // the plan has none: that is known
  EXPECT_DOUBLE_EQ(*item_named(m, "unscale_check").in_fp32.value, 1e-3);
  EXPECT_DOUBLE_EQ(*item_named(m, "unscale_check").extra.value, 0.5e-3);
  EXPECT_DOUBLE_EQ(*m.ledger_extra.value, 1.75e-3);  // casts 1, scale 0.25, check 0.5
  EXPECT_EQ(m.ledger_extra.provenance, Provenance::emulated);
  EXPECT_DOUBLE_EQ(*item_named(m, "master_weights").bytes.value, 2048.0);
  EXPECT_FALSE(item_named(m, "master_weights").seconds.value);
  const LedgerItem& skipped = item_named(m, "skipped_steps");
  EXPECT_DOUBLE_EQ(*skipped.count.value, 2.0);
  EXPECT_DOUBLE_EQ(*skipped.seconds.value, 25e-3);
  EXPECT_EQ(skipped.seconds.provenance, Provenance::emulated);
  EXPECT_TRUE(report.modes.at(0).ledger.empty());
}

TEST_F(Time, AmdahlsBound) {
  const ForgedTime fp32 = timed_fp32();
  const ForgedTime fp16 = timed_fp16();
  const TimeReport report = of({&fp32, &fp16});
  const SpeedBound& b = report.modes.at(1).bound;
  EXPECT_DOUBLE_EQ(*b.products.value, 0.6);
  EXPECT_DOUBLE_EQ(*b.lower.value, 0.6);
  EXPECT_DOUBLE_EQ(*b.free.value, 2.5);
  EXPECT_DOUBLE_EQ(*b.factor.value, 2.0);
  EXPECT_DOUBLE_EQ(*b.ideal.value, 1.0 / 0.7);
  EXPECT_DOUBLE_EQ(*b.speed.value, 0.8);
  EXPECT_EQ(b.speed.provenance, Provenance::emulated);
  EXPECT_EQ(b.ideal.provenance, Provenance::computed);
  EXPECT_FALSE(report.modes.at(0).bound.free.value);
}

TEST_F(Time, ProductsThatStayInFp32AreOutOfTheBound) {
  const ForgedTime fp32 = timed_fp32();
  ForgedTime fp16 = timed_fp16();
  for (NodeRecord& node : fp16.forged.nodes)
    if (node.name == "y") node.compute_format = "fp32";
  const TimeReport report = of({&fp32, &fp16});
  const SpeedBound& b = report.modes.at(1).bound;
  EXPECT_DOUBLE_EQ(*b.products.value, 0.6);
  EXPECT_DOUBLE_EQ(*b.lower.value, 0.0);
  EXPECT_DOUBLE_EQ(*b.free.value, 1.0);
  EXPECT_FALSE(b.ideal.value);
}

// Nodes that add up to more than the step: the share is of their sum, so that it is below 1.
TEST_F(Time, ABoundFromNodesSlowerThanTheStep) {
  ForgedTime fp32("fp32", 1);
  fp32.timed("y", 9e-3);
  fp32.timed("w.update", 3e-3);
  fp32.sample(8e-3);
  const ForgedTime fp16 = timed_fp16();
  const TimeReport report = of({&fp32, &fp16});
  EXPECT_DOUBLE_EQ(*report.modes.at(1).bound.lower.value, 0.75);
  EXPECT_FALSE(report.modes.at(0).between.value) << "no time is negative";
  EXPECT_FALSE(report.modes.at(0).between_share);
  EXPECT_THAT(report.modes.at(0).notes, Contains(HasSubstr("add up to more than the step")));
}

TEST_F(Time, WhatIsNotThereIsUnknown) {
  ForgedTime fp16("fp16", 2);
  const TimeReport report = of({&fp16});
  const ModeTime& m = report.modes.at(0);
  EXPECT_EQ(m.step_from, StepSource::none);
  EXPECT_EQ(m.nodes_from, NodeSource::none);
  EXPECT_FALSE(m.step.value);
  EXPECT_EQ(m.step.provenance, Provenance::unknown);
  EXPECT_FALSE(m.nodes_sum.value);
  EXPECT_FALSE(m.between.value);
  EXPECT_FALSE(m.ledger_extra.value);
  EXPECT_FALSE(item_named(m, "weight_casts").seconds.value);
  EXPECT_FALSE(item_named(m, "skipped_steps").seconds.value);
  EXPECT_FALSE(m.bound.free.value);
  EXPECT_FALSE(node_named(m, "y").tflops);
  EXPECT_THAT(m.notes, Contains(HasSubstr("no times of nodes")));
  EXPECT_THAT(m.notes, Contains(HasSubstr("no fp32 run")));
  for (const CategoryTime& c : m.categories) EXPECT_FALSE(c.seconds.value);
}

TEST_F(Time, ACastInsideOfAnotherLaunchHasNoTimeOfItsOwn) {
  ForgedTime fp16 = timed_fp16();
  fp16.forged.node("cast", "y.fp32", {"y.relu"}, "fp32", Phase::forward, {64, 16}, R"({"launched_with": "y"})");
  fp16.size(2048, 4096, 0);
  const ForgedTime fp32 = timed_fp32();
  const TimeReport report = of({&fp32, &fp16});
  const LedgerItem& casts = item_named(report.modes.at(1), "value_casts");
  EXPECT_DOUBLE_EQ(*casts.count.value, 1.0);
  EXPECT_FALSE(casts.seconds.value);
  EXPECT_TRUE(casts.at_least);
  EXPECT_TRUE(report.modes.at(1).ledger_at_least);
  EXPECT_THAT(casts.note, HasSubstr("1 of 1 run inside another launch"));
}

TEST_F(Time, ReasonsAreWhatTheNumbersCarry) {
  ForgedTime fp32 = timed_fp32();
  ForgedTime fp16 = timed_fp16();
  EXPECT_THAT(reason_keys(of({&fp32, &fp16}).modes.at(1)), ElementsAre("emulated"));
  for (int i = 0; i < 10; ++i) fp16.forged.step(1.0, i == 4, 65536.0);
  EXPECT_THAT(reason_keys(of({&fp32, &fp16}).modes.at(1)), ElementsAre("emulated", "skipped_steps"));
  // Products are 1 of 10 ms: twice as fast they save half of that.
  fp32.timings[0].seconds = 4e-3;
  EXPECT_THAT(reason_keys(of({&fp32, &fp16}).modes.at(1)), ElementsAre("emulated", "small_share", "skipped_steps"));
  EXPECT_TRUE(of({&fp32, &fp16}).modes.at(0).reasons.empty());
}

TEST_F(Time, RowsThatAreNoMultipleOfEight) {
  ForgedTime fp16 = timed_fp16();
  for (NodeRecord& node : fp16.forged.nodes)
    if (node.name == "y") node.outputs[0].shape = {64, 50257};
  const TimeReport report = of({&fp16});
  EXPECT_THAT(reason_keys(report.modes.at(0)), Contains("shapes"));
  EXPECT_THAT(report.modes.at(0).reasons.back().text, HasSubstr("(y: 50257)"));
  EXPECT_EQ(report.modes.at(0).reasons.back().provenance, Provenance::computed);
}

// On a GPU times are the device's own.
TEST_F(Time, MeasuredReasons) {
  ForgedTime fp32 = timed_fp32();
  ForgedTime bf16("bf16", 2);
  bf16.timed("w", 1e-3);
  bf16.timed("y", 5e-3);
  bf16.timed("unscale_check", 1e-3);
  bf16.timed("w.update", 1e-3);
  for (const double s : {12e-3, 12e-3}) bf16.sample(s);
  for (ForgedTime* t : {&fp32, &bf16}) {
    t->forged.run.device = "Testium GPU";
    t->forged.run.device_kind = "cuda";
    t->forged.run.time_provenance = Provenance::measured;
    for (NodeTiming& timing : t->timings) timing.provenance = Provenance::measured;
  }
  const TimeReport report = of({&fp32, &bf16});
  EXPECT_EQ(report.modes.at(1).ledger_extra.provenance, Provenance::computed);
  EXPECT_THAT(reason_keys(report.modes.at(1)), ElementsAre("costs", "between"));  // 1 ms saved, 1 ms of casts; 4 of 12 ms between
  bf16.timings[1].seconds = 4 * 5.9e-3;
  EXPECT_THAT(reason_keys(of({&fp32, &bf16}).modes.at(1)), ElementsAre("products_no_faster", "costs", "between"));
}

TEST_F(Time, ModesAndSeeds) {
  ForgedTime fp32 = timed_fp32();
  ForgedTime fp16 = timed_fp16();
  ForgedTime other("fp16", 3);
  other.forged.run.seed = 5;
  const std::vector<const ForgedTime*> all{&fp32, &fp16, &other};
  const TimeReport one = of(all, {.mode = "fp16"});
  ASSERT_EQ(one.modes.size(), 1u);
  EXPECT_EQ(one.modes[0].run.seed, 0);
  EXPECT_TRUE(one.modes[0].bound.speed.value);  // still held against fp32
  const TimeReport five = of(all, {.seed = 5});
  ASSERT_EQ(five.modes.size(), 1u);
  EXPECT_EQ(five.modes[0].run.seed, 5);
  EXPECT_EQ(message_of<UsageError>([&] { of(all, {.mode = "bf17"}); }), "there is no run of mode bf17 in " + in("a.ulp") + "; there are fp16, fp32");
  EXPECT_EQ(message_of<UsageError>([&] { of(all, {.mode = "fp32", .seed = 5}); }), "there is no run of seed 5 in " + in("a.ulp") + "; there are 0");
  EXPECT_EQ(message_of<UsageError>([&] { of({}); }), "there is no run in " + in("a.ulp"));
}

TEST_F(Time, SaysWhatTheRecordingMissed) {
  const ForgedTime fp32 = timed_fp32();
  const TimeReport report = of({&fp32}, {}, {{.run = RunId{1}, .kind = "dropped", .subject = "kernel", .count = 2}, {.kind = "note", .subject = "weights", .detail = "x"}, {.kind = "note", .subject = "timing", .detail = "interrupted"}});
  EXPECT_THAT(report.notes, ElementsAre("timing: interrupted", "fp32, seed 0: kernel dropped: 2"));
}

}  // namespace
}  // namespace ulpscope::reports
