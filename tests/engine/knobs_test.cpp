// Knobs that reproduce faults of other programs: off, and wrong in the way they promise when they are on.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/optim/schedule.h"
#include "engine/train/non_standard.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::engine {
namespace {

using testing::MicroDataset;
using testing::SmallTraining;
using testing::always;
using Floats = std::vector<float>;

/// case-36: gradients 0.6 and 0.8, norm 1; clipped at 1; S = 65536; gradients in fp32.
TrainConfig case_36(bool before_unscale) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.optimizer.clip = 1.0;
  c.optimizer.clip_before_unscale = before_unscale;
  return c;
}

TEST(ClipOrder, BeforeUnscalingShrinksTheStepByTheScale) {
  SmallTraining right(testing::weighted_sum({0, 0}), "fp16", case_36(false), always({0.6f, 0.8f}));
  EXPECT_NEAR(right.step().gradient_norm, 1.0, 2 * 0x1p-24);
  EXPECT_NEAR(std::hypot(right.read()[0], right.read()[1]), 1.0, 2e-6);   // 1e-6 is added to the norm
  SmallTraining wrong(testing::weighted_sum({0, 0}), "fp16", case_36(true), always({0.6f, 0.8f}));
  const StepResult r = wrong.step();
  EXPECT_NEAR(r.gradient_norm, 65536.0, 65536 * 0x1p-22);
  EXPECT_EQ(r.gradient_norm / 1.0f, r.loss_scale) << "the ratio is the loss scale";
  EXPECT_NEAR(std::hypot(wrong.read()[0], wrong.read()[1]), 0x1p-16, 0x1p-36);   // 1.526e-5
}

TEST(Unscale, EarlyLeavesTheLaterMicroBatchesScaled) {
  for (const bool early : {false, true}) {
    TrainConfig c = case_36(false);
    c.optimizer.clip = 0.0;
    c.micro_batches = 2;
    c.early_unscale = early;
    c.scaler = scaling::PytorchScaler{.initial_scale = 1024.0f};
    SmallTraining t(testing::weighted_sum({0, 0}), "fp16", c, always({0.5f, 1.0f}));
    const StepResult r = t.step();
    const float first = 0.25f, second = early ? 0.25f * 1024 : 0.25f;
    EXPECT_EQ(t.read(), (Floats{-first - second, -2 * first - 2 * second}));
    EXPECT_NEAR(r.gradient_norm, std::sqrt(5.0) * (first + second), 1e-3);
  }
}

/// case-19: loss (w x - y)^2 with w = 0.5, x = 10, y = -10: gradient 300.
TEST(NormAccumulate, InFp16ErasesAHealthyGradient) {
  Model m;
  const ValueId x = m.graph.add_input("x", Shape{1, 1}, Format::fp32), y = m.graph.add_input("y", Shape{1, 1}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{1, 1}, {Initial::Kind::constant, 0.5, {}});
  m.loss = m.graph.apply("mse_loss", "loss", {m.graph.apply("linear", "linear", {x, w}), y});
  m.inputs = {x, y};
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.optimizer.clip = 1.0;
  for (const Format format : {Format::fp32, Format::fp16}) {
    c.optimizer.norm_accumulate = format;
    SmallTraining t(m, "fp32", c, [](std::int64_t, std::int32_t) { return std::vector<Floats>{{10.0f}, {-10.0f}}; });
    const StepResult r = t.step();
    EXPECT_TRUE(r.finite);
    EXPECT_FALSE(r.skipped);
    EXPECT_EQ(r.gradient_norm, format == Format::fp16 ? std::numeric_limits<float>::infinity() : 300.0f);
    EXPECT_NEAR(r.clip_coefficient, format == Format::fp16 ? 0.0 : 1.0 / 300.0, 1e-9);
    EXPECT_NEAR(t.read().front(), format == Format::fp16 ? 0.5 : -0.5, format == Format::fp16 ? 0.0 : 1e-6);
  }
}

/// case-34: warm-up over 200 steps to 1e-3, start at 2^32, greatest gradient 1: 17 skips.
TEST(ScheduleCounts, IterationsMoveTheRateOnSkippedSteps) {
  Model m;
  const ValueId x = m.graph.add_input("x", Shape{1, 1}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{1, 1}, {Initial::Kind::constant, 0.5, {}});
  m.loss = m.graph.apply("sum", "loss", {m.graph.apply("linear", "linear", {x, w})});
  m.inputs = {x};
  for (const ScheduleCounts counts : {ScheduleCounts::applied, ScheduleCounts::iterations}) {
    TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1e-3);
    c.schedule.warmup = 200;
    c.schedule.warmup_from_zero = true;
    c.schedule_counts = counts;
    c.scaler = scaling::PytorchScaler{.initial_scale = 0x1p32f};
    SmallTraining t(m, "fp16", c, always({1.0f}));
    StepResult r = t.step();
    int skips = 0;
    for (; r.skipped; r = t.step()) ++skips;
    EXPECT_EQ(skips, 17);
    EXPECT_EQ(r.loss_scale, 0x1p15f);
    EXPECT_EQ(r.learning_rate, counts == ScheduleCounts::iterations ? 8.5e-5f : 0.0f);
    EXPECT_EQ(t.step().learning_rate, counts == ScheduleCounts::iterations ? 9e-5f : 5e-6f);
  }
}

// ---- hyper-parameters in a narrower format (case-25)

TEST(ScalarFormat, RoundsOrTruncates) {
  const auto in = [](double x, Format f, ScalarRounding r) { return in_scalar_format(x, f, r); };
  using enum ScalarRounding;
  EXPECT_EQ(in(0.999, Format::bf16, round), 1.0);
  EXPECT_EQ(in(0.999, Format::bf16, truncate), 0.99609375);
  EXPECT_EQ(1.0 / (1.0 - in(0.999, Format::bf16, truncate)), 256.0);
  EXPECT_EQ(in(0.999, Format::fp16, round), 0.9990234375);
  EXPECT_EQ(1.0 / (1.0 - in(0.999, Format::fp16, round)), 1024.0);
  EXPECT_EQ(in(0.95, Format::bf16, round), 0.94921875);
  EXPECT_EQ(in(0.98, Format::bf16, round), 0.98046875);
  EXPECT_EQ(in(0.9, Format::bf16, round), 0.8984375);
  EXPECT_EQ(in(1e-8, Format::fp16, round), 0.0);
  EXPECT_EQ(in(-0.999, Format::bf16, truncate), -0.99609375);
  EXPECT_EQ(in(0.5, Format::bf16, truncate), 0.5);
  EXPECT_EQ(in(1e5, Format::fp16, truncate), 65504.0);
  EXPECT_EQ(in(0.999, Format::fp32, round), 0.999);
}

TEST(ScalarFormat, ABeta2OfOneIsNotANumberInTheFirstStep) {
  for (const ScalarRounding rounding : {ScalarRounding::round, ScalarRounding::truncate}) {
    TrainConfig c = testing::plain_training(OptimizerKind::adamw, 1e-3);
    c.optimizer.beta2 = 0.999;
    c.optimizer.scalar_format = Format::bf16;
    c.optimizer.scalar_rounding = rounding;
    SmallTraining t(testing::weighted_sum({0.5f}), "fp32", c, always({1.0f}));
    const StepResult r = t.step();
    EXPECT_EQ(r.learning_rate, rounding == ScalarRounding::round ? 0.00099945068359375f : 0.00099945068359375f);
    EXPECT_EQ(t.trainer.plan().graph.node(NodeId{t.trainer.plan().graph.node_count() - 1}).attributes.number("beta2"),
              rounding == ScalarRounding::round ? 1.0 : 0.99609375);
    EXPECT_EQ(std::isnan(t.read().front()), rounding == ScalarRounding::round);
    EXPECT_NEAR(t.read("w.v").front(), rounding == ScalarRounding::round ? 0.0 : 1.0 / 256, 1e-9);
  }
}

// ---- what is said of them

TEST(NonStandard, NamesEveryKnobThatIsOn) {
  EXPECT_TRUE(non_standard(TrainConfig{}).empty());
  TrainConfig c;
  c.non_finite = NonFinite::apply;
  c.buffers = BufferCommit::always;
  c.optimizer.clip_before_unscale = true;
  c.early_unscale = true;
  c.optimizer.norm_accumulate = Format::fp16;
  c.schedule_counts = ScheduleCounts::iterations;
  c.optimizer.scalar_format = Format::bf16;
  using ::testing::StartsWith;
  EXPECT_THAT(non_standard(c), ::testing::ElementsAre(StartsWith("train.non_finite = \"apply\""), StartsWith("train.buffers = \"always\""),
                                                      StartsWith("train.clip_order = \"before_unscale\""), StartsWith("train.unscale = \"early\""),
                                                      StartsWith("train.norm_accumulate = \"fp16\""),
                                                      StartsWith("train.schedule_counts = \"iterations\""),
                                                      StartsWith("train.scalar_format = \"bf16\"")));
}

}  // namespace
}  // namespace ulpscope::engine
