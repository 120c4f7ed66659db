// What has the same bits whatever the number of threads, the instruction set, the mode and the history: everything but
// matrix products, and the masks of dropout.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/passes/autocast.h"
#include "engine/train/trainer.h"
#include "kernels/formats/instruction_set.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/kernels/emulated/emulated_device.h"
#include "tests/kernels/gpu_device.h"

namespace ulpscope::engine {
namespace {

using testing::GraphRun;
using testing::ListDataset;

constexpr std::int64_t batch = 8, context = 72, width = 64;   // 36864 elements: three chunks of the reduction tree

/// Everything but products: look-up, norm, broadcast product, casts to both 16-bit formats, GELU, dropout, loss.
Model without_products(bool training) {
  Model m;
  Graph& g = m.graph;
  const ValueId tokens = g.add_input("tokens", Shape{batch, context}, Format::i32);
  const ValueId targets = g.add_input("targets", Shape{batch, context}, Format::i32);
  const ValueId table = g.add_parameter("table", Shape{width, width}, {Initial::Kind::normal, 1.0, {}});
  const ValueId gain = g.add_parameter("gain", Shape{width}, {Initial::Kind::ones, 0.0, {}});
  const ValueId bias = g.add_parameter("bias", Shape{width}, {Initial::Kind::zeros, 0.0, {}});
  const ValueId factor = g.add_parameter("factor", Shape{width}, {Initial::Kind::normal, 1.0, {}});
  const ValueId x = g.apply("embedding", "embedding", {table, tokens});
  ValueId y = g.apply("layer_norm", "norm", {x, gain, bias});
  y = g.apply("mul", "scaled", {y, factor});
  y = g.apply("cast", "to_fp16", {y}, {{"to", std::string("fp16")}});
  y = g.apply("gelu", "gelu", {y});
  y = g.apply("cast", "to_bf16", {y}, {{"to", std::string("bf16")}});
  if (training) y = g.apply("dropout", "dropout", {y}, {{"rate", 0.1}});
  y = g.apply("softmax", "softmax", {g.apply("add", "residual", {x, y})});
  m.loss = g.apply("cross_entropy", "loss", {y, targets});
  m.inputs = {tokens, targets};
  m.tokens_per_batch = batch * context;
  return m;
}

std::vector<std::vector<float>> tokens_of(std::int64_t iteration) {
  std::vector<float> tokens, targets;
  for (std::int64_t i = 0; i < batch * context; ++i) {
    tokens.push_back(static_cast<float>((i * 5 + iteration) * 11 % width));
    targets.push_back(static_cast<float>((i * 3 + iteration) * 7 % width));
  }
  return {tokens, targets};
}

struct Outcome {
  std::vector<float> numbers;   ///< losses, norms, evaluation, all parameters and states
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome train(const char* mode, Device& device, int steps) {
  const ListDataset data(tokens_of);
  TrainConfig config;
  config.batch = batch;
  Topics topics;
  Trainer t(device, data, GraphSetup{without_products(true), without_products(false), find_mode(mode), config, 2}, topics);
  Outcome outcome;
  for (int i = 0; i < steps; ++i) {
    const StepResult r = t.step();
    outcome.numbers.insert(outcome.numbers.end(), {r.loss, r.gradient_norm, static_cast<float>(t.evaluate().loss)});
  }
  for (const Role role : {Role::parameter, Role::optimizer_state})
    for (const ValueId v : t.plan().graph.with_role(role)) {
      const std::vector<float> values = t.read(t.plan().graph.value(v).name);
      outcome.numbers.insert(outcome.numbers.end(), values.begin(), values.end());
    }
  return outcome;
}

Outcome train(const char* mode, int threads, const char* instruction_set) {
  return train(mode, *make_cpu_device({threads, instruction_set}), 3);
}

/// The kernels of GPUs, under the trainer, in memory that the host cannot touch.
TEST(SameBits, OnTheEmulatedGridOfAGpu) {
  for (const char* mode : {"fp32", "fp16", "bf16_pure"}) {
    const Outcome cpu = train(mode, *make_cpu_device({2, ""}), 2);
    EXPECT_TRUE(train(mode, *test::make_emulated_device(), 2) == cpu) << mode;
    if (Device* const gpu = test::gpu_device()) {
      EXPECT_TRUE(train(mode, *gpu, 2) == cpu) << mode << " on " << gpu->description().name;
    }
  }
}

TEST(SameBits, ForAnyNumberOfThreadsAndAnyInstructionSet) {
  for (const char* mode : {"fp32", "fp16"}) {
    const Outcome expected = train(mode, 1, "portable");
    for (const float x : expected.numbers) ASSERT_TRUE(std::isfinite(x));
    for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
      if (!available(set)) continue;
      for (const int threads : {1, 2, 3})
        EXPECT_TRUE(train(mode, threads, name(set)) == expected) << mode << ", " << threads << " threads, " << name(set);
    }
  }
}

/// loss = sum(dropout(w x)): the gradient of w, and so its first update, is x times the mask.
Model masked(bool training) {
  Model m;
  Graph& g = m.graph;
  const ValueId x = g.add_input("x", Shape{1}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{512}, {Initial::Kind::normal, 1.0, {}});
  ValueId y = g.apply("mul", "product", {w, x});
  if (training) y = g.apply("dropout", "dropout", {y}, {{"rate", 0.25}});
  m.loss = g.apply("sum", "loss", {y});
  m.inputs = {x};
  return m;
}

struct Masks {
  std::vector<std::vector<bool>> kept;   ///< by step; empty: the step was skipped
};

/// Masks of four steps. history: what happens between the steps, which the masks must not see.
Masks masks_of(const char* mode, std::uint64_t seed, bool history) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  const ListDataset data([&](std::int64_t iteration) {   // the second batch of a history cannot be committed
    return std::vector<std::vector<float>>{{history && iteration == 1 ? std::numeric_limits<float>::infinity() : 1.0f}};
  });
  TrainConfig config;
  config.optimizer = {OptimizerKind::sgd, 0.0, 0.0, 0.0, 0.0, false, 0.0, 0.0};
  config.schedule.kind = ScheduleKind::constant;
  config.schedule.learning_rate = 1.0;
  config.scaler = scaling::FixedScaling{1.0f};
  Topics topics;
  Trainer t(*device, data, GraphSetup{masked(true), masked(false), find_mode(mode), config, seed}, topics);
  Masks masks;
  for (int i = 0; i < 4; ++i) {
    if (history) {
      t.evaluate();
      t.write("w", std::vector<float>(512, static_cast<float>(i)));
    }
    const std::vector<float> before = t.read("w");
    const StepResult r = t.step();
    EXPECT_EQ(r.skipped, history && i == 1);
    const std::vector<float> after = t.read("w");
    std::vector<bool> kept;
    for (std::size_t k = 0; k < before.size() && !r.skipped; ++k) kept.push_back(before[k] != after[k]);
    masks.kept.push_back(std::move(kept));
  }
  return masks;
}

TEST(DropoutBits, DependOnSeedAndIterationNotOnModeOrHistory) {
  const Masks expected = masks_of("fp32", 1, false);
  for (const std::vector<bool>& mask : expected.kept) {
    const auto kept = std::count(mask.begin(), mask.end(), true);
    EXPECT_NEAR(static_cast<double>(kept), 384.0, 50.0);   // five standard deviations of 512 draws at 3/4
  }
  EXPECT_NE(expected.kept[0], expected.kept[1]);
  EXPECT_NE(expected.kept[0], expected.kept[3]);
  for (const Mode& mode : modes()) {
    EXPECT_EQ(masks_of(mode.name.c_str(), 1, false).kept, expected.kept) << mode.name;
    const Masks other = masks_of(mode.name.c_str(), 1, true);   // other weights, evaluations between, a step not committed
    for (const int step : {0, 2, 3}) EXPECT_EQ(other.kept[step], expected.kept[step]) << mode.name << ", step " << step;
  }
  EXPECT_NE(masks_of("fp32", 2, false).kept, expected.kept);
}

/// Attention whose scores are all equal and whose values are the unit vectors: o[t] shows the probabilities, and zeros
/// where the mask dropped one.
std::vector<bool> attention_mask(const char* mode, std::uint64_t seed, std::int64_t iteration, const std::string& node,
                                 int runs_before = 0) {
  constexpr std::int64_t time = 16, heads = 2;
  Graph g;
  const ValueId qkv = g.add_input("qkv", Shape{2, time, 3 * heads * time}, Format::fp32);
  g.apply("attention", node, {qkv}, {{"heads", heads}, {"causal", false}, {"rate", 0.25}});
  GraphRun run(autocast(g, {find_mode(mode), &find_policy("torch_cuda"), {}}), seed);
  std::vector<double> packed(2 * time * 3 * heads * time, 0.0);
  for (std::int64_t row = 0; row < 2 * time; ++row)
    for (std::int64_t h = 0; h < heads; ++h)
      packed[static_cast<std::size_t>(row * 3 * heads * time + (2 * heads + h) * time + row % time)] = 1.0;
  run.set("qkv", packed);
  for (int i = 0; i < runs_before; ++i) {
    run.state().iteration = 100 + i;
    run.run();
  }
  run.state().iteration = iteration;
  run.run();
  std::vector<bool> kept;
  for (const double o : run.get(node)) kept.push_back(o != 0.0);
  return kept;
}

TEST(DropoutBits, OfAttentionToo) {
  const std::vector<bool> expected = attention_mask("fp32", 1, 3, "attn");
  const auto kept = std::count(expected.begin(), expected.end(), true);
  EXPECT_NEAR(static_cast<double>(kept), 768.0, 70.0);   // five standard deviations of 1024 draws at 3/4
  for (const Mode& mode : modes()) EXPECT_EQ(attention_mask(mode.name.c_str(), 1, 3, "attn"), expected) << mode.name;
  EXPECT_EQ(attention_mask("fp16", 1, 3, "attn", 2), expected) << "after a different history";
  EXPECT_NE(attention_mask("fp32", 1, 4, "attn"), expected);
  EXPECT_NE(attention_mask("fp32", 2, 3, "attn"), expected);
  EXPECT_NE(attention_mask("fp32", 1, 3, "other"), expected);
}

}  // namespace
}  // namespace ulpscope::engine
