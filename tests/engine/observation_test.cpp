// Looking at steps: replay of bad ones, rehearsal, what is announced; and that no bit changes.
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "kernels/formats/storage.h"
#include "kernels/ops/rounding_counts.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::engine {
namespace {

using testing::MicroDataset;
using testing::SmallTraining;
using Floats = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// What was announced, in order.
struct Seen {
  NodeId node;
  ValueId value;
  std::int32_t attempt = 0, micro_batch = 0;
  bool inner = false;
  RoundingCounts counts;
};

struct Listener {
  explicit Listener(Topics& topics)
      : subscription(topics.tensor.subscribe([this](const TensorEvent& e) {
          seen.push_back({e.node, e.value, e.attempt, e.micro_batch, e.inner, *e.counts});
        })) {}
  const Seen* find(const Trainer& trainer, const std::string& value, std::int32_t attempt) const {
    for (const Seen& s : seen)
      if (!s.inner && s.attempt == attempt && trainer.plan().graph.value(s.value).name == value) return &s;
    return nullptr;
  }
  std::vector<Seen> seen;
  Subscription subscription;
};

Observation replay_only(bool wanted = true) {
  Observation o;
  o.replay = [wanted](const StepResult&) { return wanted; };
  return o;
}

/// w x with a running mean of x: x = 1e38 overflows the fp32 gradient at a scale of 4, and the product where that is fp16.
Model with_buffer() {
  Model m = testing::weighted_sum({1, 1});
  const ValueId running = m.graph.add_buffer("running", Shape{2}, {Initial::Kind::constant, 16.0, {}});
  m.graph.apply("ema", "running.next", {running, m.graph.find("x")}, {{"momentum", 0.25}});
  return m;
}

TrainConfig scaled() {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 0.5);
  c.scaler = scaling::PytorchScaler{.initial_scale = 4.0f};
  Override narrow;
  narrow.nodes = "product";
  narrow.output = OverrideFormat{false, Format::fp16};
  c.overrides = {narrow};
  return c;
}

MicroDataset::Fill spike(std::int64_t at, float x = 1e38f) {
  return [at, x](std::int64_t i, std::int32_t) { return std::vector<Floats>{i == at ? Floats{x, 2} : Floats{1, 2}}; };
}

TEST(Observation, ABadStepIsRunAgainWithEverythingInViewAndThenSkipped) {
  SmallTraining t(with_buffer(), "fp16", scaled(), spike(1));
  t.trainer.observe(replay_only());
  const Listener listener(t.topics);
  EXPECT_EQ(t.step().replay, Replay::none);
  EXPECT_TRUE(listener.seen.empty()) << "a good step is not looked at";
  const StepResult bad = t.step();
  EXPECT_EQ(bad.replay, Replay::same);
  EXPECT_TRUE(bad.skipped);
  EXPECT_EQ(bad.next_loss_scale, 2.0f);
  for (const Seen& s : listener.seen) EXPECT_EQ(s.attempt, 1);
  const Seen* product = listener.find(t.trainer, "product", 1);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->counts.overflowed, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(product->counts.greatest_magnitude), 1e38f * t.read()[0]);
  const Seen* batch = listener.find(t.trainer, "x", 1);
  ASSERT_NE(batch, nullptr);
  EXPECT_FALSE(batch->node);
  EXPECT_EQ(batch->counts.greatest_magnitude, static_cast<double>(1e38f));
}

TEST(Observation, ReplayLeavesTheRunAsItIs) {
  for (const BufferCommit buffers : {BufferCommit::transaction, BufferCommit::always}) {
    for (const std::int64_t micro_batches : {1, 3}) {
      TrainConfig config = scaled();
      config.buffers = buffers;
      config.micro_batches = micro_batches;
      SmallTraining bare(with_buffer(), "fp16", config, spike(2)), replayed(with_buffer(), "fp16", config, spike(2));
      replayed.trainer.observe(replay_only());
      for (int i = 0; i < 5; ++i) {
        const StepResult a = bare.step(), b = replayed.step();
        EXPECT_EQ(a.loss, b.loss) << i;
        EXPECT_EQ(a.next_loss_scale, b.next_loss_scale) << i;
        EXPECT_EQ(a.skipped, b.skipped) << i;
        EXPECT_EQ(bare.read(), replayed.read()) << i;
        EXPECT_EQ(bare.read("running"), replayed.read("running")) << i;
      }
      EXPECT_EQ(replayed.trainer.iteration(), 5);
    }
  }
}

TEST(Observation, ADeviceThatComputesSomethingElseIsFoundOut) {
  // The second time the batch is another: as if the first had been computed wrongly.
  auto times = std::make_shared<int>(0);
  SmallTraining t(testing::weighted_sum({1, 1}), "fp16", scaled(), [times](std::int64_t, std::int32_t) {
    return std::vector<Floats>{{++*times == 1 ? infinity : 1.0f, 2}};
  });
  t.trainer.observe(replay_only());
  const StepResult first = t.step();
  EXPECT_EQ(first.replay, Replay::differs);
  EXPECT_TRUE(first.skipped);
  EXPECT_EQ(t.read(), (Floats{1, 1})) << "the first run decides: what is recorded as skipped changes no weight";
  EXPECT_EQ(t.trainer.applied(), 0);
  EXPECT_FALSE(t.step().skipped);
  EXPECT_NE(t.read(), (Floats{1, 1}));
  EXPECT_EQ(t.trainer.applied(), 1);
}

TEST(Observation, NobodyIsAskedAboutGoodStepsAndANoIsANo) {
  SmallTraining t(testing::weighted_sum({1, 1}), "fp16", scaled(), spike(1));
  int asked = 0;
  Observation o;
  o.replay = [&](const StepResult& r) {
    ++asked;
    EXPECT_EQ(r.iteration, 1);
    EXPECT_FALSE(r.finite);
    return false;
  };
  t.trainer.observe(std::move(o));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(t.step().replay, Replay::none);
  EXPECT_EQ(asked, 1);
}

TEST(Observation, StepsAndNodesAreChosen) {
  SmallTraining t(testing::weighted_sum({1, 1}), "fp32", testing::plain_training(OptimizerKind::sgd, 0.5), testing::always({1, 2}));
  Observation o;
  o.nodes = [](const Node& n) { return n.name == "product"; };
  o.steps = [](std::int64_t i) { return i % 2 == 1; };
  t.trainer.observe(std::move(o));
  const Listener listener(t.topics);
  std::vector<bool> observed;
  const Subscription s = t.topics.step_begin.subscribe([&](const StepBegin& b) { observed.push_back(b.observed); });
  t.steps(4);
  EXPECT_EQ(observed, (std::vector<bool>{false, true, false, true}));
  std::multiset<std::string> names;
  for (const Seen& e : listener.seen) names.insert(t.trainer.plan().graph.value(e.value).name);
  EXPECT_EQ(names, (std::multiset<std::string>{"one", "one", "product", "product", "w", "w", "x", "x"}));
}

TEST(Observation, ARehearsalTakesNothing) {
  for (const BufferCommit buffers : {BufferCommit::transaction, BufferCommit::always}) {
    TrainConfig config = scaled();
    config.buffers = buffers;
    config.optimizer.momentum = 0.5;
    SmallTraining bare(with_buffer(), "fp16", config, spike(3)), rehearsed(with_buffer(), "fp16", config, spike(3));
    for (int i = 0; i < 5; ++i) {
      StepResult before;
      {
        const Listener listener(rehearsed.topics);
        before = rehearsed.trainer.rehearse([](const Node&) { return true; });
        EXPECT_NE(listener.find(rehearsed.trainer, "product", 2), nullptr);
      }
      EXPECT_EQ(before.iteration, i);
      const StepResult a = bare.step(), b = rehearsed.step();
      EXPECT_EQ(before.loss, b.loss);
      EXPECT_EQ(before.finite, b.finite);
      EXPECT_EQ(a.loss, b.loss);
      EXPECT_EQ(bare.read(), rehearsed.read());
      EXPECT_EQ(bare.read("running"), rehearsed.read("running"));
    }
  }
}

TEST(Observation, AnotherModeGoesOnFromWhatItAdopts) {
  SmallTraining half(with_buffer(), "fp16", scaled(), spike(-1)), single(with_buffer(), "fp32", scaled(), spike(-1));
  half.steps(3);
  single.trainer.adopt(half.trainer.state());
  EXPECT_EQ(single.read(), half.read());
  EXPECT_EQ(single.read("running"), half.read("running"));
  EXPECT_EQ(single.trainer.iteration(), 3);
  // Into 16 bits they are rounded: 1/3 is not an fp16 number.
  SmallTraining pure(with_buffer(), "fp16_pure", scaled(), spike(-1));
  single.trainer.write("w", {1.0f / 3, 1});
  pure.trainer.adopt(single.trainer.state());
  EXPECT_EQ(pure.read()[0], 0x1.554p-2f);
  TrainerState without = single.trainer.state();
  std::erase_if(without.tensors, [](const NamedTensor& n) { return n.name == "w"; });
  EXPECT_THROW(pure.trainer.adopt(without), Error);
}

/// 2049 ones in fp16, one after the other: the sum stands at 2048 and the last one is lost; 65536 of 32s overflow.
TEST(Observation, SumsInNarrowFormatsSayWhatTheyLost) {
  const auto counts = [](std::vector<float> x) {
    Model m;
    const auto n = static_cast<std::int64_t>(x.size());
    const ValueId in = m.graph.add_input("x", Shape{n}, Format::fp32);
    const ValueId w = m.graph.add_parameter("w", Shape{1}, {Initial::Kind::ones, 0.0, {}});
    m.loss = m.graph.apply("sum", "loss", {m.graph.apply("mul", "product", {w, in})});
    m.inputs = {in};
    TrainConfig c = testing::plain_training(OptimizerKind::sgd, 0.0);
    c.non_finite = NonFinite::apply;
    Override narrow;
    narrow.nodes = "loss";
    narrow.accumulate = OverrideFormat{false, Format::fp16};
    narrow.order = SumOrder::serial;
    c.overrides = {narrow};
    SmallTraining t(m, "fp32", c, testing::always(std::move(x)));
    Listener listener(t.topics);
    t.trainer.observe([](const Node&) { return true; });
    t.step();
    for (const Seen& s : listener.seen)
      if (s.inner && t.trainer.plan().graph.node(s.node).name == "loss") return s.counts;
    return RoundingCounts{};
  };
  const RoundingCounts stuck = counts(Floats(2050, 1.0f));
  EXPECT_EQ(stuck.elements, 2049);   // additions to something
  EXPECT_EQ(stuck.lost_updates, 2);
  EXPECT_EQ(stuck.overflowed, 0);
  EXPECT_EQ(stuck.greatest_magnitude, 2049.0);
  const RoundingCounts over = counts(Floats(2048, 32.0f));   // 2047 × 32 = 65504, + 32 = 65536
  EXPECT_EQ(over.lost_updates, 0);
  EXPECT_EQ(over.overflowed, 1);
  EXPECT_EQ(over.greatest_magnitude, 65536.0);
  EXPECT_EQ(counts({65519.0f, 1.0f}).overflowed, 0) << "saturates: 65520 would be infinite, 65519 is 65504";
  const RoundingCounts gone = counts({1e-8f, 2e-8f, 0.0f, 3e-7f});   // up to 2^-25 an addend is 0 in fp16; 3e-7 is 5 x 2^-24
  EXPECT_EQ(gone.flushed, 2);
  EXPECT_EQ(gone.zero, 1);
  EXPECT_EQ(gone.elements, 0) << "an addition to nothing is none";
  EXPECT_NEAR(gone.greatest_relative_error, 3e-8 / (3e-8 + 0x5p-24), 1e-6) << "of the sum that they would have made";
  EXPECT_EQ(counts({1e-8f, 2e-8f}).greatest_relative_error, 1.0);
  EXPECT_EQ(stuck.flushed, 0);
}

/// Additions of one addend to a bf16 sum that change nothing, of 300: it stands from about the 256th on.
std::int64_t lost_in_bf16(float addend) {
  using Bf16 = Storage<Format::bf16>;
  std::int64_t lost = 0;
  float sum = Bf16::widen(Bf16::round(addend));
  for (int i = 1; i < 300; ++i) {
    const float next = Bf16::widen(Bf16::round(sum + addend));
    lost += next == sum ? 1 : 0;
    sum = next;
  }
  return lost;
}

TEST(Observation, AnAccumulatorSaysWhatItCouldNotTake) {
  TrainConfig config = testing::plain_training(OptimizerKind::sgd, 0.0);
  config.micro_batches = 300;
  config.accumulator_format = Format::bf16;
  SmallTraining t(testing::weighted_sum({1, 1}), "bf16", config, testing::always({1, 2}));
  const Listener listener(t.topics);
  t.trainer.observe([](const Node&) { return true; });
  t.step();
  std::int64_t lost = 0;
  for (const Seen& s : listener.seen)
    if (s.node && t.trainer.plan().graph.node(s.node).op->name == "accumulate") lost += s.counts.lost_updates;
  const float share = 1.0f / 300;   // the loss is the mean of the micro-batches
  EXPECT_GT(lost, 0);
  EXPECT_EQ(lost, lost_in_bf16(1.0f * share) + lost_in_bf16(2.0f * share));
}

}  // namespace
}  // namespace ulpscope::engine
