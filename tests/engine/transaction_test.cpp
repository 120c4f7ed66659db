// A step is a transaction: what a step with non-finite gradients leaves behind.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/train/trainer.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// y = x w (one weight for each of four inputs), loss = mean squared error.
Model regression() {
  Model m;
  const ValueId x = m.graph.add_input("x", Shape{2, 4}, Format::fp32), t = m.graph.add_input("t", Shape{2, 1}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{1, 4}, {Initial::Kind::normal, 0.5, {}});
  m.loss = m.graph.apply("mse_loss", "loss", {m.graph.apply("linear", "y", {x, w}), t});
  m.inputs = {x, t};
  m.tokens_per_batch = 2;
  return m;
}

TrainConfig config(OptimizerKind kind) {
  TrainConfig c;
  c.batch = 2;
  c.optimizer.kind = kind;
  c.optimizer.weight_decay = 0.0;
  c.schedule.kind = ScheduleKind::linear;
  c.schedule.learning_rate = 1e-2;
  c.schedule.warmup = 4;
  c.schedule.steps = 100;
  scaling::PytorchScaler scaler;
  scaler.initial_scale = 4096.0f;   // gradients here are up to about 3: none of the good batches overflows
  c.scaler = scaler;
  return c;
}

/// Batches whose third one is poisoned.
testing::ListDataset poisoned(float value) {
  return testing::ListDataset([value](std::int64_t iteration) -> std::vector<std::vector<float>> {
    std::vector<float> x{1.0f, -0.5f, 0.25f, 2.0f, 0.5f, 1.0f, -1.0f, 0.125f};
    if (iteration == 2) x[3] = value;
    return {x, {1.0f, -1.0f}};
  });
}

class Transaction : public ::testing::TestWithParam<OptimizerKind> {
 protected:
  std::unique_ptr<Trainer> trainer(const Dataset& data, const char* mode, NonFinite non_finite = NonFinite::stop) {
    TrainConfig c = config(GetParam());
    c.non_finite = non_finite;
    return std::make_unique<Trainer>(*device_, data, GraphSetup{regression(), regression(), find_mode(mode), c, 3}, topics_);
  }
  std::vector<float> state(const Trainer& t) {
    std::vector<float> all = t.read("w");
    for (const ValueId v : t.plan().graph.with_role(Role::optimizer_state)) {
      const std::vector<float> s = t.read(t.plan().graph.value(v).name);
      all.insert(all.end(), s.begin(), s.end());
    }
    return all;
  }
  std::unique_ptr<Device> device_ = make_cpu_device({1, ""});
  Topics topics_;
};

TEST_P(Transaction, ASkippedStepChangesNothingButScalerAndIteration) {
  for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
    const testing::ListDataset data = poisoned(bad);
    const std::unique_ptr<Trainer> t = trainer(data, "fp16");
    t->step();
    const StepResult before = t->step();
    const std::vector<float> kept = state(*t);
    const StepResult skipped = t->step();
    EXPECT_FALSE(skipped.finite);
    EXPECT_TRUE(skipped.skipped);
    EXPECT_FALSE(skipped.stopped);
    EXPECT_EQ(state(*t), kept);
    EXPECT_EQ(skipped.applied, before.applied);
    EXPECT_EQ(skipped.iteration, before.iteration + 1);
    EXPECT_EQ(skipped.loss_scale, 4096.0f);
    EXPECT_EQ(skipped.next_loss_scale, 2048.0f);
    EXPECT_EQ(skipped.scale_event, scaling::ScaleEvent::backed_off);
    // The batch is not tried again, and the schedule counts applied steps: the next step has the rate the skipped one had.
    const StepResult next = t->step();
    EXPECT_TRUE(next.finite);
    EXPECT_EQ(next.learning_rate, skipped.learning_rate);
    EXPECT_EQ(next.applied, 3);
    EXPECT_EQ(next.iteration, 3);
    EXPECT_NE(state(*t), kept);
  }
}

/// Beside a run that never saw the bad batch: afterwards both hold the same weights, bit for bit.
TEST_P(Transaction, AfterASkipTrainingGoesOnAsIfTheBatchHadNotBeen) {
  const testing::ListDataset bad = poisoned(infinity), good = poisoned(2.0f);
  const std::unique_ptr<Trainer> a = trainer(bad, "fp16"), b = trainer(good, "fp16");
  for (int i = 0; i < 4; ++i) a->step();
  for (int i = 0; i < 3; ++i) b->step();   // the batches differ only where the bad one was
  EXPECT_EQ(a->read("w"), b->read("w"));
}

TEST_P(Transaction, WithoutAScalerTrainingStopsAndNothingIsCommitted) {
  const testing::ListDataset data = poisoned(infinity);
  for (const char* mode : {"fp32", "tf32", "bf16"}) {
    const std::unique_ptr<Trainer> t = trainer(data, mode);
    t->step();
    t->step();
    const std::vector<float> kept = state(*t);
    const StepResult r = t->step();
    EXPECT_FALSE(r.finite) << mode;
    EXPECT_TRUE(r.stopped) << mode;
    EXPECT_EQ(state(*t), kept) << mode;
  }
}

TEST_P(Transaction, OrAppliesTheUpdateWhereAsked) {
  const testing::ListDataset data = poisoned(infinity);
  const std::unique_ptr<Trainer> t = trainer(data, "fp32", NonFinite::apply);
  t->step();
  t->step();
  const StepResult r = t->step();
  EXPECT_FALSE(r.finite);
  EXPECT_FALSE(r.skipped);
  EXPECT_FALSE(r.stopped);
  EXPECT_EQ(r.applied, 3);
  bool poisoned_weight = false;
  for (const float w : t->read("w")) poisoned_weight |= !std::isfinite(w);
  EXPECT_TRUE(poisoned_weight);
}

TEST_P(Transaction, ALossThatIsNotFiniteIsRecordedAsItIs) {
  const testing::ListDataset data = poisoned(std::numeric_limits<float>::quiet_NaN());
  const std::unique_ptr<Trainer> t = trainer(data, "fp16");
  int nan = 0;
  for (int i = 0; i < 6; ++i) nan += std::isnan(t->step().loss) ? 1 : 0;
  EXPECT_EQ(nan, 1);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Transaction, ::testing::Values(OptimizerKind::adamw, OptimizerKind::sgd),
                         [](const auto& param) { return param.param == OptimizerKind::adamw ? "adamw" : "sgd"; });

TEST(Clipping, SeesUnscaledGradients) {
  // True gradients 0.6 and 0.8, norm 1 (case-36): clipping at 1 leaves them, at 0.5 halves them, whatever the loss scale.
  const auto run = [](double clip) {
    const std::unique_ptr<Device> device = make_cpu_device({1, ""});
    Topics topics;
    Model m;
    const ValueId w = m.graph.add_parameter("w", Shape{2}, {});
    const ValueId c = m.graph.add_input("c", Shape{2}, Format::fp32);
    m.loss = m.graph.apply("sum", "loss", {m.graph.apply("mul", "product", {w, c})});
    m.inputs = {c};
    TrainConfig config;
    config.optimizer.kind = OptimizerKind::sgd;
    config.optimizer.momentum = 0.0;
    config.optimizer.weight_decay = 0.0;
    config.optimizer.clip = clip;
    config.schedule.kind = ScheduleKind::constant;
    config.schedule.learning_rate = 1.0;
    const testing::ListDataset data(std::vector<std::vector<float>>{{0.6f, 0.8f}});
    Trainer t(*device, data, GraphSetup{m, m, find_mode("fp16"), config, 1}, topics);
    const StepResult r = t.step();
    EXPECT_NEAR(r.gradient_norm, 1.0, 1e-6);
    return t.read("w");
  };
  EXPECT_NEAR(run(0.0)[0], -0.6, 1e-6);
  EXPECT_NEAR(run(1.0)[1], -0.8, 2e-6);
  EXPECT_NEAR(run(0.5)[0], -0.3, 1e-6);
}

}  // namespace
}  // namespace ulpscope::engine
