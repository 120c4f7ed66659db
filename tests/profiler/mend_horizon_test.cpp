// How far trials go: as far as the search for a loss scale and its first growth need, all of them over the same steps; floors of policies.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "profiler/mend/horizon.h"
#include "tests/engine/data/made_arrays.h"
#include "tests/profiler/support/mend_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// ---- without training

/// One step for each letter: x is skipped and halves the scale, X is skipped and does not, n is skipped with a loss that is not finite.
ScaleCourse course(const std::string& marks, double scale = 65536.0, bool failed = false) {
  std::vector<reports::StepRecord> steps;
  for (const char mark : marks) {
    reports::StepRecord step{.step = static_cast<std::int64_t>(steps.size()), .loss = mark == 'n' ? std::nan("") : 1.0};
    step.skipped = mark != '.';
    step.loss_scale = scale;
    if (mark == 'x' || mark == 'n') scale /= 2.0;
    steps.push_back(step);
  }
  return scale_course(steps, failed);
}

TEST(Horizon, AScaleFallsWhileEveryStepIsSkipped) {
  EXPECT_TRUE(course("x").falling) << "one step tells nothing yet";
  EXPECT_TRUE(course("xxxxxxx").falling);
  EXPECT_EQ(course("xxxxxxx").leading, 7);
  EXPECT_FALSE(course("xxx.x").falling);
  EXPECT_EQ(course("xxx.x").leading, 3);
  EXPECT_FALSE(course("xxn").falling) << "the loss itself is not finite: no scale helps";
  EXPECT_FALSE(course("xxXXXXX").falling) << "it is at its floor";
  EXPECT_TRUE(course("XXxxxxx").falling) << "hysteresis first";
  EXPECT_FALSE(course("xxx", 65536.0, true).falling) << "the scaler gave up";
  EXPECT_FALSE(course("xx", 0x1p-23).falling) << "2^-24 is lower than any gradient needs";
  EXPECT_FALSE(course("").falling);
}

TEST(Horizon, WhatATrialNeeds) {
  const Asked asked{.first = 0, .steps = 6, .planned = 6, .shown = 0, .leading = 0};
  EXPECT_EQ(steps_needed(course("xxxxxx"), asked), 26) << "20 more";
  EXPECT_EQ(steps_needed(course("......"), asked), 0);
  EXPECT_EQ(steps_needed(ScaleCourse{}, asked), 0) << "it scales no loss";
  EXPECT_EQ(steps_needed(course("xx...."), asked), 7) << "five applied steps behind a search";
  EXPECT_EQ(steps_needed(course("XXXXXX"), asked), 0) << "more steps tell nothing else";
  // A fault of the eleventh step may come ten applied steps later than the search of another change lets it.
  const Asked late{.first = 0, .steps = 31, .planned = 100, .shown = 10, .leading = 0};
  EXPECT_EQ(steps_needed(course(std::string(25, 'x') + "......"), late), 36);
  EXPECT_EQ(steps_needed(course(std::string(5, 'x') + std::string(26, '.')), late), 16) << "which it did";
  EXPECT_EQ(steps_needed(course(std::string(25, 'x') + "......"), {.first = 0, .steps = 31, .planned = 31, .shown = 10, .leading = 0}), 31) << "no further than planned, but for a search";
  EXPECT_EQ(steps_needed(course("xx...."), {.first = 0, .steps = 6, .planned = 6, .shown = 4, .leading = 2}), 0) << "the faulty run searched as long";
}

TEST(Horizon, TheFirstGrowth) {
  const Asked asked{.first = 0, .steps = 23, .planned = 40, .shown = 2, .leading = 2};
  EXPECT_EQ(growth_interval(scaling::PytorchScaler{}), 2000);
  EXPECT_EQ(growth_interval(scaling::DeepspeedScaler{}), 1000);
  EXPECT_EQ(growth_interval(scaling::FixedScaling{}), std::nullopt);
  EXPECT_EQ(steps_to_growth(scaling::DeepspeedScaler{.growth_interval = 25}, course("xx" + std::string(21, '.')), asked), 2 + 25 + 5);
  EXPECT_EQ(steps_to_growth(scaling::FixedScaling{}, ScaleCourse{}, asked), std::nullopt);
  EXPECT_EQ(steps_to_growth(scaling::PytorchScaler{}, course("xxxx"), {.first = 0, .steps = 4, .planned = 40, .shown = 2, .leading = 2}), std::nullopt) << "nothing was applied";
}

// ---- with it

class MendHorizon : public MendFixture {
 protected:
  static std::vector<std::string> lengths(const MendsOfRun& run) {
    std::vector<std::string> list;
    for (const MendTrial& t : run.trials)
      if (t.record.status != MendStatus::not_tried) list.push_back(t.record.how_run);
    return list;
  }
};

/// A gate of 240 times 300: 72000. The gradient of d.w is the mean of 8 such products, 72000, and of clamped ones 65504.
std::string gated(const std::string& scaler) {
  return "model = {kind = 'graph', loss = 'loss'}\n"
         "train = {steps = 6, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0" + scaler + "}\nrun = {modes = ['fp16']}\nobserve = {every = 1}\n"
         "node = [{name = 'img', op = 'input', shape = [1, 2, 8], values = 1.0},\n"
         "{name = 'g.w', op = 'parameter', shape = [4, 2, 1], init = {first = [120.0, 120.0], rest = 0.25}},\n"
         "{name = 'u.w', op = 'parameter', shape = [4, 2, 1], init = {first = [150.0, 150.0], rest = 0.25}},\n"
         "{name = 'd.w', op = 'parameter', shape = [1, 4, 1], init = 0.0001},\n"
         "{name = 'g.conv', op = 'conv1d', inputs = ['img', 'g.w']}, {name = 'u.conv', op = 'conv1d', inputs = ['img', 'u.w']},\n"
         "{name = 'g.act', op = 'gelu', inputs = 'g.conv'}, {name = 'gated', op = 'mul', inputs = ['g.act', 'u.conv']},\n"
         "{name = 'd.conv', op = 'conv1d', inputs = ['gated', 'd.w']}, {name = 'loss', op = 'mean', inputs = 'd.conv'}]\n";
}

// From 65536 on 65504 fits after 16 skips, at 1, and 72000 after 17: six steps are all skipped, whatever the change.
TEST_F(MendHorizon, AllTrialsOfAFaultAreOverTheSameSteps) {
  const MendsOfRun& run = mended(from_text(gated("")));
  expect(run, "clamp", MendStatus::verified);
  expect(run, "rescale", MendStatus::verified);
  expect(run, "keep_fp32", MendStatus::verified);
  expect(run, "bf16", MendStatus::verified);
  EXPECT_THAT(lengths(run), Each(StartsWith("from the start, steps 1 to 26 of 6 planned: ")));
  EXPECT_THAT(trial(run, "clamp").record.how_run, HasSubstr("the first 16 only lowered the loss scale"));
  EXPECT_THAT(trial(run, "rescale").record.how_run, HasSubstr("the first 17 only lowered the loss scale"));
  EXPECT_THAT(run.baseline, HasSubstr("steps 1 to 26 of 6 planned"));
  EXPECT_THAT(run.faults, ElementsAre("activation_too_large at gated")) << "what its scale, halved 26 times for nothing, loses is none of them";
  EXPECT_TRUE(trial(run, "keep_fp32").minimal);
}

TEST_F(MendHorizon, WhereNoScaleIsSearchedTheyAreAsLongAsPlanned) {
  const MendsOfRun& run = mended(from_text(gated(", scaler = {init = 0.5}")));
  expect(run, "clamp", MendStatus::verified);
  EXPECT_THAT(lengths(run), Each(StartsWith("from the start, steps 1 to 6 of 6")));
}

/// The gradient of k is 500 x 4 x 10 = 20000, which fits up to a scale of 2; the floor is 16.
std::string floored(const std::string& scaler, int steps, double factor = 10.0) {
  return fmt::format("model = {{kind = 'graph', loss = 'loss'}}\n"
                     "train = {{steps = {}, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0, scaler = {{{}}}}}\nrun = {{modes = ['fp16']}}\n"
                     "node = [{{name = 'x', op = 'input', shape = [1, 1, 4, 4], values = 500.0}}, {{name = 'k', op = 'parameter', shape = [2, 1, 3, 3], init = 0.001}},\n"
                     "{{name = 'c', op = 'conv2d', inputs = ['x', 'k']}}, {{name = 'all', op = 'sum', inputs = 'c'}}, {{name = 'loss', op = 'scale', inputs = 'all', factor = {}}}]\n",
                     steps, scaler, factor);
}

// A start of 2 under a floor of 16: after 25 good steps it would grow to 4, overflow and come back to 16, where it overflows for ever.
TEST_F(MendHorizon, AStartBelowTheFloorTakesTheFloorWithIt) {
  const MendsOfRun& run = mended(from_text(floored("policy = 'deepspeed', init = 64, floor = 16, hysteresis = 1, interval = 25", 40)));
  EXPECT_THAT(run.faults, testing::Contains(StartsWith("scale_floor")));
  const MendTrial& start = trial(run, "scale");
  EXPECT_EQ(start.record.change, "begin with a loss scale of 2, and a floor of 2 instead of 16, below which deepspeed does not let it fall");
  EXPECT_EQ(start.ulpscope, "train.scaler.init=2, train.scaler.floor=2");
  EXPECT_THAT(start.settings, HasSubstr("\"min_loss_scale\": 2"));
  EXPECT_EQ(name(start.record.status), name(MendStatus::verified)) << told(run);
  const MendTrial& floor = trial(run, "scale_floor");
  EXPECT_EQ(floor.record.change, "let the loss scale fall to 1");
  EXPECT_EQ(floor.ulpscope, "train.scaler.floor=1");
  EXPECT_EQ(name(floor.record.status), name(MendStatus::verified)) << told(run);
  // 5 skips from 64 to 2, 25 good steps, and 5 in which the growth shows: all trials.
  EXPECT_THAT(lengths(run), Each(StartsWith("from the start, steps 1 to 35 of 40"))) << told(run);
  for (const MendTrial& t : run.trials) EXPECT_THAT(t.record.change, Not(HasSubstr("65536"))) << "a higher start comes down to the same floor";
}

TEST_F(MendHorizon, AGrowthThatThePlanDoesNotComeToIsSaid) {
  const MendsOfRun& run = mended(from_text(floored("policy = 'deepspeed', init = 64, floor = 16, hysteresis = 1", 30)));
  EXPECT_THAT(trial(run, "scale").record.how_run,
              testing::EndsWith("its loss scale first grows after 1000 good steps, which the plan does not come to: what it does then was not run"));
  EXPECT_THAT(trial(run, "bf16").record.how_run, Not(HasSubstr("grows")));
}

/// TensorFlow's policy does not go below 1, and has no key for that: 200000 needs 2^-2.
TEST_F(MendHorizon, AStartThatThePolicyDoesNotAllowIsNotTried) {
  const MendsOfRun& run = mended(from_text(floored("policy = 'tensorflow', init = 4", 8, 100.0)));
  const MendTrial& start = trial(run, "scale", "begin with a loss scale of 0.25");
  EXPECT_EQ(name(start.record.status), name(MendStatus::not_tried)) << told(run);
  EXPECT_EQ(start.why, "tensorflow does not let its scale fall below 1, and has no key for that");
}

// ---- what comes in from the data

// 90000 is 1.37 times fp16's limit. Times 2^-17 it is 0.69.
TEST_F(MendHorizon, FeaturesThatAreTooLargeAreScaled) {
  std::vector<float> features(40 * 64);
  for (std::size_t i = 0; i < features.size(); ++i) features[i] = i % 64 == 3 ? 90000.0f : static_cast<float>(i % 7) * 10000.0f + static_cast<float>(i / 64) * 100.0f;
  std::vector<std::int64_t> labels(40);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 3);
  std::ofstream(in("features.npy"), std::ios::binary) << engine::npy_bytes("<f4", "(40, 1, 8, 8)", features);
  std::ofstream(in("labels.npy"), std::ios::binary) << engine::npy_bytes("<i8", "(40,)", labels);
  const MendsOfRun& run = mended(from_text("model = {kind = 'cnn', channels = 2, blocks = 1}\ndata = {features = 'features.npy', labels = 'labels.npy', shift = 1.0}\n"
                                           "train = {steps = 3, batch = 4, lr = 0.0, scaler = {init = 1024}}\nrun = {modes = ['fp16']}\n"));
  const MendTrial& scaled = trial(run, "data_scale");
  EXPECT_EQ(name(scaled.record.status), name(MendStatus::verified)) << told(run);
  EXPECT_EQ(scaled.ulpscope, "data.scale=7.62939453125e-06, data.shift=7.62939453125e-06");
  EXPECT_THAT(scaled.record.change, HasSubstr("changes the training"));
  const reports::RunDiagnosis diagnosis = reports::diagnose(reports::RunFileReader(in("run.ulp"))).runs.front();
  const auto& remedies = diagnosis.causes.front().remedies;
  const auto remedy = std::find_if(remedies.begin(), remedies.end(), [](const reports::Remedy& r) { return r.mend == "data_scale"; });
  ASSERT_NE(remedy, remedies.end());
  EXPECT_THAT(remedy->change, HasSubstr("features times 2^-17 is at most 1 in magnitude, as far as was observed"));
}

TEST_F(MendHorizon, NumbersOfAnInputAreScaledInTheirTable) {
  const Experiment experiment = from_text(std::string(one_step) + "node = [{name = 'x', op = 'input', values = [[90000.0, 1.0]]}, {name = 'w', op = 'parameter', init = [[0.5, 0.25]]},\n"
                                          "{name = 'y', op = 'linear', inputs = ['x', 'w']}, {name = 'loss', op = 'mean', inputs = 'y'}]\n");
  const reports::RunDiagnosis diagnosis = reports::diagnose(reports::RunFileReader(record(experiment))).runs.front();
  const auto& remedies = diagnosis.causes.front().remedies;
  const auto remedy = std::find_if(remedies.begin(), remedies.end(), [](const reports::Remedy& r) { return r.change.starts_with("scale the data"); });
  ASSERT_NE(remedy, remedies.end()) << diagnosis.verdict;
  EXPECT_THAT(remedy->change, testing::AllOf(HasSubstr("x times 2^-17"), HasSubstr("[[node]] table 'x'")));
  EXPECT_THAT(remedy->ulpscope, IsEmpty()) << "it has no key";
}

}  // namespace
}  // namespace ulpscope::profiler
