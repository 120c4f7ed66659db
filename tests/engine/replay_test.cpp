// A replay is as if it had not been: where it comes out differently, and where there is no memory for it.
#include <cmath>
#include <limits>
#include <new>

#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/engine/support/small_training.h"
#include "tests/engine/support/watched_device.h"

namespace ulpscope::engine {
namespace {

using Floats = std::vector<float>;
constexpr std::int64_t width = 16, rows = 8;
constexpr float infinity = std::numeric_limits<float>::infinity();

Floats batch(float first) {
  Floats x(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.125f * static_cast<float>(i % 7) - 0.25f;
  x[0] = first;
  return x;
}

/// A product that runs together with what follows it, and a running mean of what it reads.
Model fused() {
  Model m;
  Floats start(static_cast<std::size_t>(width * width));
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = 0.0625f * static_cast<float>(i % 5) - 0.125f;
  const ValueId x = m.graph.add_input("x", Shape{rows, width}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{width, width}, {Initial::Kind::values, 0.0, start});
  const ValueId running = m.graph.add_buffer("running", Shape{rows, width}, {Initial::Kind::constant, 1.0, {}});
  m.graph.apply("ema", "running.next", {running, x}, {{"momentum", 0.25}});
  m.loss = m.graph.apply("sum", "loss", {m.graph.apply("relu", "act", {m.graph.apply("linear", "y", {x, w})})});
  m.inputs = {x};
  m.tokens_per_batch = rows;
  return m;
}

TrainConfig config_of(BufferCommit buffers) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 0.01);
  c.scaler = scaling::PytorchScaler{.initial_scale = 4.0f};
  c.buffers = buffers;
  return c;
}

struct Training {
  Training(BufferCommit buffers, testing::MicroDataset::Fill fill)
      : data(std::move(fill)), trainer(device, data, GraphSetup{fused(), fused(), find_mode("fp16"), config_of(buffers), 1}, topics) {}
  testing::WatchedDevice device{1};
  testing::MicroDataset data;
  Topics topics;
  Trainer trainer;
};

testing::MicroDataset::Fill spike(std::int64_t at) {
  return [at](std::int64_t i, std::int32_t) { return std::vector<Floats>{batch(i == at ? 1e38f : 0.5f)}; };
}

Observation with_replay(bool every_step) {
  Observation o;
  if (every_step) o.nodes = [](const Node&) { return true; };
  o.replay = [](const StepResult&) { return true; };
  return o;
}

void expect_alike(Training& a, Training& b, const StepResult& x, const StepResult& y, std::int64_t step) {
  EXPECT_TRUE(x.loss == y.loss || (std::isnan(x.loss) && std::isnan(y.loss))) << step;
  EXPECT_EQ(x.skipped, y.skipped) << step;
  EXPECT_EQ(x.finite, y.finite) << step;
  EXPECT_EQ(x.applied, y.applied) << step;
  EXPECT_EQ(a.trainer.read("w"), b.trainer.read("w")) << step;
  const Floats p = a.trainer.read("running"), q = b.trainer.read("running");
  for (std::size_t i = 0; i < p.size(); ++i) ASSERT_TRUE(p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]))) << step << " " << i;
}

TEST(Replay, WithoutDeviceMemoryTheRunIsAsItWas) {
  for (const BufferCommit buffers : {BufferCommit::transaction, BufferCommit::always}) {
    for (const bool observed : {false, true}) {
      Training bare(buffers, spike(1)), replayed(buffers, spike(1));
      replayed.trainer.observe(with_replay(observed));
      for (std::int64_t i = 0; i < 4; ++i) {
        const StepResult a = bare.trainer.step();
        if (!observed) replayed.device.refuse(i == 1);
        const StepResult b = replayed.trainer.step();
        replayed.device.refuse(false);
        EXPECT_EQ(b.replay, i != 1 ? Replay::none : observed ? Replay::same : Replay::no_memory) << i;
        expect_alike(bare, replayed, a, b, i);
      }
      EXPECT_EQ(replayed.device.refused() > 0, !observed);
    }
  }
}

TEST(Replay, WhereMemoryEndsOnTheWayTheStepIsRunAgainAsItWas) {
  for (const BufferCommit buffers : {BufferCommit::transaction, BufferCommit::always}) {
    auto batches = std::make_shared<int>(0);
    Training bare(buffers, spike(1)), replayed(buffers, [batches](std::int64_t i, std::int32_t m) {
      if (++*batches == 3) throw std::bad_alloc();   // of step 0, of step 1, of its replay
      return spike(1)(i, m);
    });
    replayed.trainer.observe(with_replay(false));
    for (std::int64_t i = 0; i < 4; ++i) {
      const StepResult a = bare.trainer.step(), b = replayed.trainer.step();
      EXPECT_EQ(b.replay, i == 1 ? Replay::no_memory : Replay::none) << i;
      expect_alike(bare, replayed, a, b, i);
    }
    EXPECT_EQ(*batches, 6) << "4 steps, and 2 that were run again";
  }
}

// Both runs have to be fit to be committed: the gradients are those of the second.
TEST(Replay, GradientsThatOnlyTheSecondRunHasAreNotCommittedAsIfTheyWereTheFirst) {
  auto times = std::make_shared<int>(0);
  TrainConfig config = testing::plain_training(OptimizerKind::sgd, 0.5);
  testing::SmallTraining t(testing::weighted_sum({2, 1}), "fp32", config, [times](std::int64_t, std::int32_t) {
    return std::vector<Floats>{{++*times == 1 ? 3e38f : infinity, 2}};   // the product is infinite, the gradient is not
  });
  t.trainer.observe(with_replay(false));
  const StepResult r = t.step();
  EXPECT_EQ(r.replay, Replay::differs);
  EXPECT_FALSE(r.finite);
  EXPECT_TRUE(r.skipped);
  EXPECT_EQ(r.applied, 0);
  EXPECT_EQ(t.read(), (Floats{2, 1}));
}

TEST(Rehearsal, ThatFailsLeavesTheTrainerAsItWas) {
  for (const BufferCommit buffers : {BufferCommit::transaction, BufferCommit::always}) {
    auto fails = std::make_shared<bool>(false);
    Training bare(buffers, spike(-1)), rehearsed(buffers, [fails](std::int64_t, std::int32_t m) {
      if (*fails && m == 0) throw std::bad_alloc();
      return std::vector<Floats>{batch(0.5f)};
    });
    const auto all = [](const Node&) { return true; };
    for (std::int64_t i = 0; i < 3; ++i) {
      *fails = true;
      EXPECT_THROW(rehearsed.trainer.rehearse(all), std::bad_alloc);
      *fails = false;
      rehearsed.device.refuse();
      EXPECT_THROW(rehearsed.trainer.rehearse(all), Error);
      rehearsed.device.refuse(false);
      const StepResult a = bare.trainer.step(), b = rehearsed.trainer.step();
      expect_alike(bare, rehearsed, a, b, i);
    }
  }
}

}  // namespace
}  // namespace ulpscope::engine
