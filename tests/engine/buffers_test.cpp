// Buffers (running statistics): overwritten in the forward pass, committed with the weights.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::engine {
namespace {

using testing::MicroDataset;
using testing::SmallTraining;
using Floats = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// y = w x, running = 3/4 running + 1/4 y in training; the loss of training is sum(tanh(y^2)), of the evaluation sum(running).
Model model(bool training) {
  Model m;
  Graph& g = m.graph;
  const ValueId x = g.add_input("x", Shape{2}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{2}, {Initial::Kind::ones, 0.0, {}});
  const ValueId running = g.add_buffer("running", Shape{2}, {Initial::Kind::constant, 16.0, {}});
  const ValueId y = g.apply("mul", "block0.y", {w, x});
  if (training) {
    g.apply("ema", "block0.running", {running, y}, {{"momentum", 0.25}});
    const ValueId z = g.apply("tanh", "block0.tanh", {g.apply("mul", "block0.square", {y, y})});
    m.loss = g.apply("sum", "loss", {z});
  } else {
    m.loss = g.apply("sum", "loss", {running});
  }
  m.inputs = {x};
  return m;
}

/// A rate of 0 holds the weights at 1: y is the batch.
TrainConfig config() {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 0.0);
  c.scaler = scaling::PytorchScaler{.initial_scale = 4.0f};
  return c;
}

struct Buffered {
  Buffered(const char* mode, const TrainConfig& c, MicroDataset::Fill fill)
      : device(make_cpu_device({1, ""})),
        data(std::move(fill)),
        trainer(*device, data, GraphSetup{model(true), model(false), find_mode(mode), c, 1}, topics) {}
  std::unique_ptr<Device> device;
  MicroDataset data;
  Topics topics;
  Trainer trainer;
};

/// The batch is (1, 2), in iteration 1 `odd`.
MicroDataset::Fill batches(Floats odd = {1, 2}) {
  return [odd](std::int64_t iteration, std::int32_t) { return std::vector<Floats>{iteration == 1 ? odd : Floats{1, 2}}; };
}

// 16, 3/4 16 + 1/4 = 12.25, 9.4375, 7.328125; 16, 12.5, 9.875, 7.90625: all of them fp32 numbers.
TEST(Buffers, FollowTheBatchesAndTheEvaluationReadsThem) {
  for (const char* mode : {"fp32", "fp16", "bf16"}) {
    Buffered t(mode, config(), batches());
    EXPECT_EQ(t.trainer.evaluate().loss, 32.0) << mode;
    t.trainer.step();
    EXPECT_EQ(t.trainer.read("running"), (Floats{12.25f, 12.5f})) << mode;
    t.trainer.step();
    t.trainer.step();
    EXPECT_EQ(t.trainer.read("running"), (Floats{7.328125f, 7.90625f})) << mode;
    EXPECT_EQ(t.trainer.evaluate().loss, 7.328125 + 7.90625) << mode;
    EXPECT_EQ(t.trainer.read("running"), (Floats{7.328125f, 7.90625f})) << mode << ": the evaluation changes nothing";
  }
}

TEST(Buffers, AreInTheFormatOfAPureMode) {
  Buffered t("bf16_pure", config(), batches());
  EXPECT_EQ(t.trainer.plan().graph.value(t.trainer.plan().graph.find("running")).format, Format::bf16);
  t.trainer.step();
  t.trainer.step();
  EXPECT_EQ(t.trainer.read("running"), (Floats{9.4375f, 9.875f}));
  t.trainer.step();
  EXPECT_EQ(t.trainer.read("running"), (Floats{7.3125f, 7.90625f}));   // 7.328125 is between 7.3125 and 7.34375: to even
}

TEST(Buffers, AStepThatIsNotCommittedLeavesThemUntouched) {
  for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN(), -infinity}) {
    Buffered t("fp16", config(), batches({bad, 2}));
    t.trainer.step();
    const StepResult skipped = t.trainer.step();
    EXPECT_TRUE(skipped.skipped);
    EXPECT_EQ(t.trainer.read("running"), (Floats{12.25f, 12.5f})) << bad;
    EXPECT_EQ(t.trainer.evaluate().loss, 24.75) << bad;
    t.trainer.step();
    EXPECT_EQ(t.trainer.read("running"), (Floats{9.4375f, 9.875f})) << "as if the batch had not been";
  }
}

/// The micro-batches before the bad one go with it.
TEST(Buffers, AWholeStepOfMicroBatchesIsPutBack) {
  TrainConfig c = config();
  c.micro_batches = 3;
  Buffered t("fp16", c, [](std::int64_t iteration, std::int32_t m) {
    return std::vector<Floats>{iteration == 1 && m == 2 ? Floats{infinity, 2} : Floats{1, 2}};
  });
  t.trainer.step();
  EXPECT_EQ(t.trainer.read("running"), (Floats{7.328125f, 7.90625f}));
  EXPECT_TRUE(t.trainer.step().skipped);
  EXPECT_EQ(t.trainer.read("running"), (Floats{7.328125f, 7.90625f}));
}

TEST(Buffers, TheKnobCommitsWhatAFailedStepComputed) {
  TrainConfig c = config();
  c.buffers = BufferCommit::always;
  Buffered t("fp16", c, batches({std::numeric_limits<float>::quiet_NaN(), 2}));
  t.trainer.step();
  EXPECT_TRUE(t.trainer.step().skipped);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(t.trainer.step().skipped);
  EXPECT_TRUE(std::isnan(t.trainer.read("running")[0])) << "NaN never leaves an average";
  EXPECT_TRUE(std::isfinite(t.trainer.read("w")[0]));
  EXPECT_TRUE(std::isnan(t.trainer.evaluate().loss));
}

TEST(Buffers, AppliedStepsThatAreNotFiniteCommit) {
  TrainConfig c = config();
  c.non_finite = NonFinite::apply;
  Buffered t("fp32", c, batches({infinity, 2}));
  t.trainer.step();
  EXPECT_FALSE(t.trainer.step().skipped);
  EXPECT_EQ(t.trainer.read("running")[0], infinity);
}

TEST(Buffers, WrittenOnesAreCommitted) {
  Buffered t("fp16", config(), batches({infinity, 2}));
  t.trainer.step();
  t.trainer.write("running", {5, 6});
  EXPECT_TRUE(t.trainer.step().skipped);
  EXPECT_EQ(t.trainer.read("running"), (Floats{5, 6}));
}

TEST(Buffers, AreInTheLedgerWithTheirTwins) {
  for (const BufferCommit commit : {BufferCommit::transaction, BufferCommit::always}) {
    TrainConfig c = config();
    c.buffers = commit;
    Buffered t("fp32", c, batches());
    t.trainer.step();
    std::map<std::string, std::int64_t> bytes = t.trainer.memory_by_category();
    EXPECT_EQ(bytes["buffers"], commit == BufferCommit::transaction ? 128 : 64);   // two floats, in units of 64
    std::int64_t sum = 0;
    for (const auto& [category, count] : bytes) sum += count;
    EXPECT_EQ(sum, static_cast<std::int64_t>(t.device->live_bytes()));
  }
}

TEST(Buffers, CheckpointingNeverRepeatsWhatOverwritesThem) {
  TrainConfig c = config();
  c.optimizer.momentum = 0.0;
  c.schedule.learning_rate = 0.125;
  Floats expected;
  for (const bool again : {false, true}) {
    if (again) c.recompute = {"blocks"};
    Buffered t("fp32", c, batches());
    std::int32_t averages = 0, repeated = 0;
    for (const Node& node : t.trainer.plan().graph.nodes()) {
      averages += node.op->name == "ema" ? 1 : 0;
      repeated += node.attributes.contains("recomputes") ? 1 : 0;
    }
    EXPECT_EQ(averages, 1);
    EXPECT_EQ(repeated > 0, again);
    for (int i = 0; i < 3; ++i) t.trainer.step();
    Floats got = t.trainer.read("running");
    for (const float w : t.trainer.read("w")) got.push_back(w);
    if (!again) expected = got;
    EXPECT_EQ(got, expected);
  }
}

TEST(Buffers, OnlyTheyAreAveragedInPlace) {
  Graph g;
  const ValueId w = g.add_parameter("w", Shape{2}, {}), running = g.add_buffer("running", Shape{3}, {});
  EXPECT_THROW(g.apply("ema", "a", {w, w}, {{"momentum", 0.25}}), UsageError);
  EXPECT_THROW(g.apply("ema", "b", {running, w}, {{"momentum", 0.25}}), UsageError);
}

}  // namespace
}  // namespace ulpscope::engine
