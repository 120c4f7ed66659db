// Cases from practice (shared CASES.md), with the numbers they must give.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/passes/autocast.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/loss_scale.h"
#include "engine/train/trainer.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

using testing::GraphRun;
using testing::ListDataset;

Graph in_mode(const Graph& graph, const char* mode) {
  return autocast(graph, {find_mode(mode), &find_policy("torch_cuda"), {}});
}

Initial all(double value) { return {Initial::Kind::constant, value, {}}; }

/// case-01: 2048 × 32.346870 in one unit of the second layer.
struct FeedForward {
  double result;
  RoundingCounts counts;
};

FeedForward case_01(const char* mode) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{1, 64}, Format::fp32);
  const ValueId w1 = g.add_constant("layer1.weight", Shape{64, 64}, all(0.5));   // 64 inputs of 1: 32 in every unit
  const ValueId w2 = g.add_constant("layer2.weight", Shape{1, 64}, all(32.346870));
  g.apply("linear", "layer2.linear", {g.apply("linear", "layer1.linear", {x, w1}), w2});
  GraphRun run(in_mode(g, mode));
  run.set("x", std::vector<double>(64, 1.0));
  run.run_observed();
  return {run.get("layer2.linear").front(), run.counts("layer2.linear")};
}

TEST(Case01, OneActivationOnePercentAboveTheLimit) {
  EXPECT_NEAR(case_01("fp32").result, 66246.39, 63 * std::ldexp(66246.39, -24));   // 63 additions, in any order
  EXPECT_EQ(case_01("tf32").result, 66240.0);
  EXPECT_EQ(case_01("bf16").result, 66048.0);
  const FeedForward fp16 = case_01("fp16");
  EXPECT_EQ(fp16.result, INFINITY);
  EXPECT_EQ(fp16.counts.greatest_magnitude, 66240.0);   // finite in the accumulator, infinite on the store
  EXPECT_EQ(fp16.counts.overflowed, 1);
  EXPECT_EQ(fp16.counts.positive_infinity, 0);
}

/// case-06: scores q·k of a constant a, head dimension 64.
double case_06(const char* mode, double a, bool scale_first) {
  Graph g;
  const Shape shape{1, 1, 2, 64};
  ValueId q = g.add_input("q", shape, Format::fp32);
  const ValueId k = g.add_input("k", shape, Format::fp32);
  if (scale_first) q = g.apply("scale", "scaled", {q}, {{"factor", 0.125}});
  g.apply("matmul", "attn.scores", {q, k}, {{"trans_b", true}});
  GraphRun run(in_mode(g, mode));
  run.set("q", std::vector<double>(128, a));
  run.set("k", std::vector<double>(128, a));
  run.run();
  return run.get("attn.scores").front();
}

TEST(Case06, ScoresOverflowBecauseTheyAreScaledAfterTheProduct) {
  EXPECT_EQ(case_06("fp16", 31.984375, false), 65472.0);
  EXPECT_EQ(case_06("fp16", 32.0, false), INFINITY);
  EXPECT_EQ(case_06("bf16", 32.0, false), 65536.0);
  EXPECT_EQ(case_06("fp16", 31.984375, true), 8184.0);
  EXPECT_EQ(case_06("fp16", 32.0, true), 8192.0);
}

TEST(Case06, AttentionAsOneOperatorKeepsItsScoresInFp32) {
  Graph g;
  const ValueId qkv = g.add_input("qkv", Shape{1, 2, 3 * 64}, Format::fp32);
  g.apply("attention", "attn", {qkv}, {{"heads", std::int64_t{1}}});
  GraphRun run(in_mode(g, "fp16"));
  run.set("qkv", std::vector<double>(2 * 192, 32.0));
  run.run();
  for (const double o : run.get("attn")) EXPECT_EQ(o, 32.0);
}

/// A model whose parameter gradients are given numbers: w · 1 in 16 bits, weighted in fp32.
Model model_with_gradients(std::vector<float> gradients) {
  Model m;
  Graph& g = m.graph;
  const auto n = static_cast<std::int64_t>(gradients.size());
  const ValueId one = g.add_input("one", Shape{1, 1}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{n, 1}, {});
  const ValueId c = g.add_constant("c", Shape{1, n}, {Initial::Kind::values, 0.0, std::move(gradients)});
  m.loss = g.apply("sum", "loss", {g.apply("mul", "weighted", {g.apply("linear", "layer", {one, w}), c})});
  m.inputs = {one};
  m.tokens_per_batch = 1;
  return m;
}

/// Unscaled gradients as the optimizer would see them.
std::vector<double> gradients_at(const std::vector<float>& truth, float scale) {
  Model m = model_with_gradients(truth);
  std::vector<ValueId> map;
  Graph g = autocast(m.graph, {find_mode("fp16"), &find_policy("torch_cuda"), {}}, &map);
  const std::vector<ParameterGradient> p = differentiate(g, scale_loss(g, map[static_cast<std::size_t>(m.loss.index)]));
  GraphRun run(std::move(g));
  run.set("one", {1.0});
  run.state().loss_scale = scale;
  run.run();
  std::vector<double> list = run.get(p.at(0).gradient);
  for (double& v : list) v = static_cast<double>(static_cast<float>(v) * scaling::inverse(scale));
  return list;
}

TEST(Case18, GradientsVanishWithoutAScaler) {
  constexpr int n = 100000;
  std::vector<float> truth(n);
  for (int i = 0; i < n; ++i) truth[i] = static_cast<float>(std::pow(10.0, -9.0 + 4.0 * (i + 0.5) / n));   // [1e-9, 1e-5]
  const auto flushed = [&](float scale) {
    std::int64_t zeros = 0;
    for (const double g : gradients_at(truth, scale)) zeros += g == 0.0 ? 1 : 0;
    return static_cast<double>(zeros) / n;
  };
  // Values up to 2^-25 flush: (log10(2^-25) + 9) / 4 of a log-uniform sample.
  EXPECT_NEAR(flushed(1.0f), (std::log10(std::ldexp(1.0, -25)) + 9.0) / 4.0, 1e-5);
  EXPECT_NEAR(flushed(1.0f), 0.369, 5e-4);
  EXPECT_EQ(flushed(1024.0f), 0.0);
  EXPECT_EQ(flushed(65536.0f), 0.0);
}

TEST(Case18, TwoGradientsToTheLastDigit) {
  const std::vector<double> bare = gradients_at({2e-8f, 4e-8f}, 1.0f), scaled = gradients_at({2e-8f, 4e-8f}, 1024.0f);
  EXPECT_EQ(bare[0], 0.0);
  EXPECT_EQ(bare[1], std::ldexp(1.0, -24));
  EXPECT_NEAR(scaled[0], 2.0023e-8, 5e-13);
  EXPECT_EQ(scaled[0] * 1024.0, std::round(2e-8 * 1024.0 * std::ldexp(1.0, 24)) * std::ldexp(1.0, -24));
}

TrainConfig fixed_weights(const scaling::PytorchScaler& scaler) {
  TrainConfig c;
  c.batch = 1;
  c.optimizer.kind = OptimizerKind::sgd;
  c.optimizer.momentum = 0.0;
  c.optimizer.weight_decay = 0.0;
  c.optimizer.clip = 0.0;
  c.schedule.kind = ScheduleKind::constant;
  c.schedule.learning_rate = 0.0;
  c.scaler = scaler;
  return c;
}

/// case-29: Linear(5, 1), weights 0, inputs 1, target 1e-30, growth interval 1.
std::vector<float> scales_of_case_29(const Mode& mode, int steps) {
  Model m;
  Graph& g = m.graph;
  const ValueId x = g.add_input("x", Shape{1, 5}, Format::fp32), t = g.add_input("t", Shape{1, 1}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{1, 5}, {}), b = g.add_parameter("b", Shape{1}, {});
  m.loss = g.apply("mse_loss", "loss", {g.apply("linear", "linear", {x, w, b}), t});
  m.inputs = {x, t};
  scaling::PytorchScaler scaler;
  scaler.growth_interval = 1;
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  Topics topics;
  const ListDataset data(std::vector<std::vector<float>>{{1, 1, 1, 1, 1}, {1e-30f}});
  Trainer trainer(*device, data, GraphSetup{m, m, mode, fixed_weights(scaler), 1}, topics);
  std::vector<float> scales;
  for (int i = 0; i < steps; ++i) scales.push_back(trainer.step().next_loss_scale);
  return scales;
}

TEST(Case29, PytorchNeverAssignsAScaleThatIsNotFinite) {
  Mode mode = find_mode("fp32");
  mode.loss_scaling = true;
  const std::vector<float> scales = scales_of_case_29(mode, 150);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(scales[i], std::ldexp(1.0f, std::min(17 + i, 127))) << i;
}

TEST(Case29, InFp16TheGradientLeavesTheRangeFirst) {
  const std::vector<float> scales = scales_of_case_29(find_mode("fp16"), 150);
  // 2e-30 × 2^115 = 83077 > 65520: at 2^115 the step is skipped and the scale comes down, for ever.
  EXPECT_EQ(*std::max_element(scales.begin(), scales.end()), std::ldexp(1.0f, 115));
  EXPECT_EQ(scales[115 - 17], std::ldexp(1.0f, 115));
  EXPECT_EQ(scales[115 - 17 + 1], std::ldexp(1.0f, 114));
}

struct Search {
  float greatest_gradient;
  int start;
  int skips;
  int settled;
};

/// case-32: how many steps the search for the scale skips, and where it ends.
TEST(Case32, ScaleSearchTakesAsManySkipsAsTheRuleSays) {
  const Search table[] = {{1.0f, 32, 17, 15}, {0.01f, 32, 10, 22}, {100.0f, 32, 23, 9}, {1e-3f, 32, 7, 25},
                          {1.0f, 16, 1, 15},  {100.0f, 16, 7, 9},  {0.01f, 16, 0, 16},  {1e-3f, 16, 0, 16}};
  for (const Search& row : table) {
    const Model m = model_with_gradients({row.greatest_gradient, row.greatest_gradient / 3.0f});
    scaling::PytorchScaler scaler;
    scaler.initial_scale = std::ldexp(1.0f, row.start);
    const std::unique_ptr<Device> device = make_cpu_device({1, ""});
    Topics topics;
    const ListDataset data(std::vector<std::vector<float>>{{1.0f}});
    Trainer trainer(*device, data, GraphSetup{m, m, find_mode("fp16"), fixed_weights(scaler), 1}, topics);
    int skips = 0;
    StepResult last;
    for (int i = 0; i < 40; ++i) {
      last = trainer.step();
      skips += last.skipped ? 1 : 0;
      EXPECT_EQ(last.skipped, i < row.skips) << row.greatest_gradient << " step " << i;   // the skips come first
    }
    EXPECT_EQ(skips, row.skips) << row.greatest_gradient << " from 2^" << row.start;
    EXPECT_EQ(last.next_loss_scale, std::ldexp(1.0f, row.settled)) << row.greatest_gradient << " from 2^" << row.start;
  }
}

/// A model with tiny gradients fails in fp16 at scale 1 and works with the scaler.
TEST(TinyGradients, NeedAScaleInFp16) {
  const auto final_loss = [](const char* mode, scaling::Policy policy) {
    // y = w x with a loss so small that its gradient, 2^-26 at first, flushes: fit w = 1 from 0.
    Model m;
    Graph& g = m.graph;
    const ValueId x = g.add_input("x", Shape{1, 1}, Format::fp32), t = g.add_input("t", Shape{1, 1}, Format::fp32);
    const ValueId w = g.add_parameter("w", Shape{1, 1}, {});
    const ValueId error = g.apply("mse_loss", "error", {g.apply("linear", "y", {x, w}), t});
    m.loss = g.apply("scale", "loss", {error}, {{"factor", std::ldexp(1.0, -27)}});
    m.inputs = {x, t};
    TrainConfig c = fixed_weights({});
    c.scaler = policy;
    c.schedule.learning_rate = std::ldexp(1.0, 24);
    const std::unique_ptr<Device> device = make_cpu_device({1, ""});
    Topics topics;
    const ListDataset data(std::vector<std::vector<float>>{{1.0f}, {1.0f}});
    Trainer trainer(*device, data, GraphSetup{m, m, find_mode(mode), c, 1}, topics);
    StepResult last;
    for (int i = 0; i < 60; ++i) last = trainer.step();
    return std::ldexp(last.loss, 27);
  };
  EXPECT_LT(final_loss("fp32", scaling::NoScaling{}), 1e-6f);
  EXPECT_LT(final_loss("bf16", scaling::NoScaling{}), 1e-4f);
  EXPECT_EQ(final_loss("fp16", scaling::FixedScaling{1.0f}), 1.0f);   // the weight never moved
  EXPECT_EQ(final_loss("fp16", scaling::NoScaling{}), 1.0f);
  EXPECT_LT(final_loss("fp16", scaling::FixedScaling{1024.0f}), 1e-4f);
  EXPECT_LT(final_loss("fp16", scaling::PytorchScaler{}), 1e-4f);
}

}  // namespace
}  // namespace ulpscope::engine
