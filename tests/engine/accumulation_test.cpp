// Steps of several micro-batches: one update from the mean of their gradients.
#include <bit>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::engine {
namespace {

using testing::MicroDataset;
using testing::SmallTraining;
using testing::always;
using Floats = std::vector<float>;

/// The sum of `count` gradients of `each`, kept in a format. The loss is a mean: each micro-batch hands in count times as much.
float sum_of(std::int64_t count, double each, Format format) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.micro_batches = count;
  c.accumulator_format = format;
  SmallTraining t(testing::weighted_sum({0.0f}), "fp32", c, always({static_cast<float>(each * static_cast<double>(count))}));
  t.step();
  EXPECT_EQ(t.read().front(), -t.read("w.grad.accumulator").front());
  return t.read("w.grad.accumulator").front();
}

// case-26. Integers are exact up to 256 in bf16, up to 2048 in fp16.
TEST(Accumulation, InBf16StopsAt256EqualAddends) {
  for (const std::int64_t k : {8, 64, 256, 512, 1024}) {
    EXPECT_EQ(sum_of(k, 1.0, Format::bf16), std::min<float>(static_cast<float>(k), 256.0f)) << k;
    EXPECT_EQ(sum_of(k, 1.0, Format::fp32), static_cast<float>(k)) << k;
  }
  EXPECT_EQ(sum_of(2048, 1.0, Format::fp16), 2048.0f);
  EXPECT_EQ(sum_of(4096, 1.0, Format::fp16), 2048.0f);
}

TEST(Accumulation, OfHundredthsInBf16StopsAtFourAfter350) {
  EXPECT_EQ(sum_of(1000, 0.01, Format::bf16), 4.0f);
  EXPECT_EQ(sum_of(350, 0.01, Format::bf16), 4.0f);
  EXPECT_LT(sum_of(349, 0.01, Format::bf16), 4.0f);
  EXPECT_NEAR(sum_of(1000, 0.01, Format::fp32), 10.0f, 1000 * 10.0 * 0x1p-24);
}

/// Loss, gradient and norm of the mean, exact in small integers; each micro-batch is seen once.
TEST(Accumulation, IsTheMeanOverTheMicroBatches) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.micro_batches = 4;
  std::vector<std::pair<std::int64_t, std::int32_t>> seen;
  SmallTraining t(testing::weighted_sum({1.0f, 2.0f}), "fp32", c, [&](std::int64_t iteration, std::int32_t m) {
    seen.emplace_back(iteration, m);
    return std::vector<Floats>{{static_cast<float>(m), static_cast<float>(4 * iteration)}};
  });
  const StepResult r = t.step();
  EXPECT_EQ(seen, (std::vector<std::pair<std::int64_t, std::int32_t>>{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(r.loss, 1.5f);
  EXPECT_EQ(r.gradient_norm, 1.5f);
  EXPECT_EQ(r.tokens, 8);
  EXPECT_EQ(t.read(), (Floats{-0.5f, 2.0f}));
  const StepResult second = t.step();   // the sum starts anew
  EXPECT_EQ(second.iteration, 1);
  EXPECT_EQ(second.applied, 2);
  EXPECT_EQ(t.read(), (Floats{-2.0f, -2.0f}));
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Accumulation, EventsSayWhichMicroBatch) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.micro_batches = 3;
  SmallTraining t(testing::weighted_sum({1.0f}), "fp32", c, always({1.0f}));
  std::vector<std::int32_t> products, updates;
  const Subscription s = t.topics.node_end.subscribe([&](const NodeEvent& e) {
    const Node& node = t.trainer.plan().graph.node(e.node);
    if (node.op->name == "accumulate") products.push_back(e.micro_batch);
    if (node.phase == Phase::update) updates.push_back(e.micro_batch);
  });
  t.step();
  EXPECT_EQ(products, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(updates.size(), 1u);
}

/// One bad micro-batch: nothing is committed, the scale falls once, and what the accumulators held is gone.
TEST(Accumulation, OneBadMicroBatchSkipsTheStep) {
  for (const std::int32_t bad : {0, 1, 2}) {
    TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
    c.micro_batches = 3;
    c.scaler = scaling::PytorchScaler{.initial_scale = 1024.0f};
    SmallTraining t(testing::weighted_sum({1.0f}), "fp16", c, [bad](std::int64_t iteration, std::int32_t m) {
      return std::vector<Floats>{{iteration == 1 && m == bad ? std::numeric_limits<float>::quiet_NaN() : 3.0f}};
    });
    t.step();
    EXPECT_EQ(t.read(), Floats{-2.0f});
    const StepResult r = t.step();
    EXPECT_TRUE(r.skipped);
    EXPECT_EQ(r.next_loss_scale, 512.0f);
    EXPECT_EQ(t.read(), Floats{-2.0f});
    EXPECT_FALSE(t.step().skipped);
    EXPECT_EQ(t.read(), Floats{-5.0f});
  }
}

GptConfig gpt() {
  GptConfig m;
  m.context = 16;
  m.width = 32;
  m.layers = 2;
  m.heads = 2;
  m.dropout = 0.1;
  return m;
}

MicroDataset::Fill texts(std::int64_t sequences) {
  return [sequences](std::int64_t iteration, std::int32_t m) {
    const auto bytes = [&](std::int64_t shift) {
      Floats list;
      for (std::int64_t i = 0; i < sequences * 16; ++i)
        list.push_back(static_cast<float>((i * 7 + iteration * 13 + m * 101 + shift) * 31 % 256));
      return list;
    };
    return std::vector<Floats>{bytes(0), bytes(7)};
  };
}

std::vector<std::uint32_t> bits_of(const char* mode, const TrainConfig& config, int threads) {
  SmallTraining t(build_model(gpt(), config.batch, true), mode, config, texts(config.batch), 5, threads);
  std::vector<std::uint32_t> bits;
  for (int i = 0; i < 4; ++i) {
    const StepResult r = t.step();
    for (const float x : {r.loss, r.gradient_norm, r.loss_scale}) bits.push_back(std::bit_cast<std::uint32_t>(x));
  }
  for (const Role role : {Role::parameter, Role::optimizer_state})
    for (const ValueId v : t.trainer.plan().graph.with_role(role))
      for (const float x : t.read(t.trainer.plan().graph.value(v).name)) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

TEST(Accumulation, HasTheSameBitsFusedCheckpointedAndOnAnyNumberOfThreads) {
  for (const char* mode : {"fp32", "fp16", "bf16_pure"}) {
    TrainConfig c;
    c.batch = 2;
    c.micro_batches = 3;
    c.scaler = scaling::PytorchScaler{.initial_scale = 0x1p18f};   // overflows at first
    c.weight_copies = WeightCopies::keep;
    const std::vector<std::uint32_t> expected = bits_of(mode, c, 1);
    EXPECT_EQ(bits_of(mode, c, 3), expected) << mode;
    c.fusion = false;
    EXPECT_EQ(bits_of(mode, c, 1), expected) << mode << ", alone";
    c.fusion = true;
    c.recompute = {"blocks"};
    EXPECT_EQ(bits_of(mode, c, 2), expected) << mode << ", checkpointed";
    c.recompute = {};
    c.weight_copies = WeightCopies::recast;
    EXPECT_EQ(bits_of(mode, c, 2), expected) << mode << ", cast again";
    c.micro_batches = 2;
    EXPECT_NE(bits_of(mode, c, 1), expected) << mode;
  }
}

/// Masks of the micro-batches of a step differ: the first gradients of the two are different, though the batch is the same.
TEST(Accumulation, DropoutIsDrawnForEachMicroBatch) {
  Model m;
  const ValueId x = m.graph.add_input("x", Shape{1}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{512}, {Initial::Kind::ones, 0.0, {}});
  const ValueId y = m.graph.apply("dropout", "dropout", {m.graph.apply("mul", "product", {w, x})}, {{"rate", 0.5}});
  m.loss = m.graph.apply("sum", "loss", {y});
  m.inputs = {x};
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.micro_batches = 2;
  SmallTraining t(m, "fp32", c, always({1.0f}));
  t.step();
  int kept[3] = {0, 0, 0};   // by how many of the two masks: each contributes 1/2 · 2
  for (const float g : t.read("w.grad.accumulator")) ++kept[static_cast<int>(g)];
  EXPECT_NEAR(kept[1], 256, 57);   // five standard deviations; the same mask twice would make none
}

/// K micro-batches and one batch K times as large: the same sums in another order.
TEST(Accumulation, AgreesWithOneLargeBatch) {
  const auto loss_of = [](std::int64_t batch, std::int64_t micro_batches) {
    TrainConfig c;
    c.batch = batch;
    c.micro_batches = micro_batches;
    GptConfig model = gpt();
    model.dropout = 0.0;
    SmallTraining t(build_model(model, batch, true), "fp32", c, [&](std::int64_t iteration, std::int32_t m) {
      std::vector<Floats> all = texts(8)(iteration, 0);
      for (Floats& list : all) {
        const auto first = list.begin() + m * batch * 16;
        list = Floats(first, first + batch * 16);
      }
      return all;
    });
    return t.steps(6).loss;
  };
  EXPECT_NEAR(loss_of(2, 4), loss_of(8, 1), 64 * 5.5 * 0x1p-24);
}

TEST(Accumulation, EarlyUnscaleNeedsSeveralMicroBatches) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.early_unscale = true;
  EXPECT_THAT([&] { SmallTraining(testing::weighted_sum({1.0f}), "fp32", c, always({1.0f})); },
              ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr("train.unscale: \"early\"")));
}

}  // namespace
}  // namespace ulpscope::engine
