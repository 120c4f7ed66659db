// Overrides of single nodes, injected values, results kept for reading.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/passes/autocast.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/overrides.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

using testing::GraphRun;
using testing::ListDataset;

constexpr OverrideFormat fp16{false, Format::fp16};
constexpr OverrideFormat lower{true, Format::fp32};

Override output_of(const char* nodes, OverrideFormat format) { return {nodes, format, {}, {}, {}, {}, {}}; }
Override compute_of(const char* nodes, OverrideFormat format) { return {nodes, {}, format, {}, {}, {}, {}}; }
Override sums_of(const char* nodes, OverrideFormat format, SumOrder order) { return {nodes, {}, {}, format, order, {}, {}}; }

Graph in_mode(const Graph& graph, const char* mode, std::vector<Override> overrides) {
  AutocastOptions options{find_mode(mode), &find_policy("torch_cuda"), {}};
  options.overrides = std::move(overrides);
  return autocast(graph, options);
}

Graph chain() {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{2}, {Initial::Kind::ones, 0.0, {}});
  g.apply("sum", "loss", {g.apply("exp", "e", {g.apply("mul", "m", {x, w})})});
  return g;
}

TEST(Override, OutputIsRoundedOnceWhereTheNodeStores) {
  Graph g = in_mode(chain(), "fp32", {output_of("e", fp16)});
  EXPECT_EQ(g.value(g.find("e")).format, Format::fp16);
  EXPECT_EQ(g.value(g.find("m")).format, Format::fp32);
  EXPECT_NE(g.node(g.value(g.find("e")).producer).why.find("override"), std::string::npos);
  GraphRun run(std::move(g));
  run.set("x", {11.0, 11.1});
  run.run_observed();
  EXPECT_EQ(run.get("e"), (std::vector<double>{59872.0, INFINITY}));   // e^11 = 59874.14
  EXPECT_EQ(run.counts("e").overflowed, 1);
}

TEST(Override, TheGradientComesBackThroughTheRounding) {
  Graph g = in_mode(chain(), "fp32", {output_of("m", fp16)});
  const std::vector<ParameterGradient> p = differentiate(g, g.find("loss"));
  GraphRun run(std::move(g));
  run.set("x", {1.0 / 3.0, 0.5});
  run.run();
  const double third = static_cast<double>(static_cast<float>(0.333251953125));   // fp16(1/3)
  EXPECT_EQ(run.get("m")[0], third);
  const double e = static_cast<double>(std::exp(static_cast<float>(third)));
  const std::vector<double> gradient = run.get(p.at(0).gradient);
  EXPECT_NEAR(gradient[0], 1.39551 / 3.0, 1e-5) << "fp16(" << e << ") * x";
}

TEST(Override, LowerIsTheModesOwnFormatAndNothingWithoutOne) {
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16"}) {
    const Graph g = in_mode(chain(), mode, {compute_of("m", lower)});
    EXPECT_EQ(g.value(g.find("m")).format, find_mode(mode).lower) << mode;
    EXPECT_EQ(g.contains("w.bf16"), std::string(mode) == "bf16");
  }
}

TEST(Override, TheLastOneWinsAndBeatsThePolicy) {
  Graph forward;
  const ValueId x = forward.add_input("x", Shape{1, 2}, Format::fp32);
  const ValueId w = forward.add_parameter("w", Shape{2, 2}, {});
  forward.apply("linear", "l", {x, w});
  EXPECT_EQ(in_mode(forward, "fp16", {compute_of("*", fp16), compute_of("l", {false, Format::bf16})}).value(ValueId{2}).format, Format::bf16);
  const Graph tf32 = in_mode(forward, "fp16", {compute_of("l", {false, Format::tf32})});
  const Node& node = tf32.node(tf32.value(tf32.find("l")).producer);
  EXPECT_EQ(node.multiply, Format::tf32);
  EXPECT_EQ(tf32.value(node.inputs[1]).format, Format::fp32);
}

TEST(Override, SumsOfABackwardNodeAreMeantByTheForwardNodesName) {
  Graph g;
  const ValueId table = g.add_parameter("table", Shape{2, 3}, {});
  const ValueId index = g.add_input("index", Shape{4}, Format::i32);
  const ValueId loss = g.apply("sum", "loss", {g.apply("embedding", "look", {table, index})});
  differentiate(g, loss);
  set_arithmetic(g, {sums_of("look", fp16, SumOrder::serial)}, find_mode("fp32"), true);
  const auto arithmetic = [&](const char* name) { return g.node(g.value(g.find(name)).producer).arithmetic; };
  EXPECT_EQ(arithmetic("look.dtable").accumulate, Format::fp16);
  EXPECT_EQ(arithmetic("look.dtable").order, SumOrder::serial);
  EXPECT_TRUE(arithmetic("loss").standard());
}

/// y = relu(x w) twice, squared error; fused where it can be.
Model model() {
  Model m;
  Graph& g = m.graph;
  const ValueId x = g.add_input("x", Shape{4, 8}, Format::fp32), t = g.add_input("t", Shape{4, 2}, Format::fp32);
  const ValueId w0 = g.add_parameter("w0", Shape{8, 8}, {Initial::Kind::normal, 0.3, {}});
  const ValueId w1 = g.add_parameter("w1", Shape{2, 8}, {Initial::Kind::normal, 0.3, {}});
  const ValueId h = g.apply("tanh", "h", {g.apply("linear", "l0", {x, w0})});
  const ValueId s = g.apply("scale", "s", {g.apply("exp", "e", {h})}, {{"factor", 0.5}});
  m.loss = g.apply("mse_loss", "loss", {g.apply("linear", "l1", {s, w1}), t});
  m.inputs = {x, t};
  m.tokens_per_batch = 4;
  return m;
}

struct Trained {
  std::vector<float> losses, e, weights;
};

Trained train(const char* mode, TrainConfig config) {
  config.batch = 4;
  config.schedule.kind = ScheduleKind::constant;
  config.schedule.learning_rate = 0.1;
  config.keep = {"e"};
  std::vector<float> x;
  for (const double v : testing::numbers(32, 1.0, 5)) x.push_back(static_cast<float>(v));
  const ListDataset data(std::vector<std::vector<float>>{x, {1, 0, 0, 1, 1, 1, 0, 0}});
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  Topics topics;
  Trainer trainer(*device, data, GraphSetup{model(), model(), find_mode(mode), config, 1}, topics);
  Trained run;
  for (int i = 0; i < 5; ++i) {
    run.losses.push_back(trainer.step().loss);
    if (i == 2) run.e = trainer.read("e");
  }
  run.weights = trainer.read("w0");
  return run;
}

TrainConfig with_fusion(bool fusion) {
  TrainConfig config;
  config.fusion = fusion;
  return config;
}

TEST(Override, OfAFusedNodeGivesTheBitsOfSeparateLaunches) {
  for (const char* mode : {"fp32", "fp16", "bf16"}) {
    TrainConfig fused = with_fusion(true), separate = with_fusion(false);
    fused.overrides = separate.overrides = {output_of("h", fp16), compute_of("e", {false, Format::bf16}), sums_of("loss", fp16, SumOrder::serial)};
    const Trained a = train(mode, fused), b = train(mode, separate), plain = train(mode, with_fusion(true));
    EXPECT_EQ(a.losses, b.losses) << mode;
    EXPECT_EQ(a.weights, b.weights) << mode;
    EXPECT_EQ(a.e, b.e) << mode;
    EXPECT_NE(a.losses, plain.losses) << mode;
  }
}

TEST(Override, SurvivesCheckpointing) {
  TrainConfig plain = with_fusion(true), again = with_fusion(true);
  plain.overrides = again.overrides = {output_of("s", fp16)};
  again.recompute = {"s"};
  EXPECT_EQ(train("fp32", plain).losses, train("fp32", again).losses);
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const StepPlan plan = plan_step(*device, model(), find_mode("fp32"), again);
  EXPECT_EQ(plan.graph.value(plan.graph.find("s.again")).format, Format::fp16);
}

TEST(Keep, AResultInTheMiddleOfAFusedLaunchCanBeRead) {
  const Trained run = train("fp32", with_fusion(true)), separate = train("fp32", with_fusion(false));
  EXPECT_EQ(run.e, separate.e);
  for (const float v : run.e) EXPECT_TRUE(v > 0.3f && v < 2.8f) << v;   // exp of a tanh
  TrainConfig config;
  config.keep = {"nothing"};
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  EXPECT_THROW(plan_step(*device, model(), find_mode("fp32"), config), UsageError);
}

Injection inject(std::int64_t step, const char* value, std::vector<std::int64_t> elements, double number) {
  return {step, value, std::move(elements), number, ""};
}

TEST(Inject, AResultIsChangedForAllWhoReadIt) {
  for (const char* mode : {"fp32", "fp16"}) {
    TrainConfig fused = with_fusion(true), separate = with_fusion(false);
    fused.injections = separate.injections = {inject(2, "e", {3, 5}, 2.0)};
    const Trained a = train(mode, fused), b = train(mode, separate), plain = train(mode, with_fusion(true));
    EXPECT_EQ(a.losses, b.losses) << mode;
    EXPECT_EQ(a.losses[1], plain.losses[1]);
    EXPECT_NE(a.losses[2], plain.losses[2]);
    EXPECT_EQ(a.e[3], 2.0f);
    EXPECT_EQ(a.e[5], 2.0f);
    EXPECT_EQ(a.e[4], plain.e[4]);
  }
}

TEST(Inject, APoisonedWeightStaysPoisonedAndALossDoesNot) {
  TrainConfig weight = with_fusion(true), loss = with_fusion(true);
  weight.injections = {inject(1, "w1", {0}, NAN)};
  loss.injections = {inject(1, "loss", {}, NAN)};
  const Trained a = train("fp16", weight), b = train("fp16", loss), plain = train("fp16", with_fusion(true));
  EXPECT_EQ(a.losses[0], plain.losses[0]);
  for (int i = 1; i < 5; ++i) EXPECT_TRUE(std::isnan(a.losses[static_cast<std::size_t>(i)])) << i;
  EXPECT_TRUE(std::isnan(b.losses[1]));
  EXPECT_FALSE(std::isnan(b.losses[2]));
  EXPECT_EQ(b.weights, plain.weights) << "the gradient does not read the loss";
}

}  // namespace
}  // namespace ulpscope::engine
