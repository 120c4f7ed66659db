// Differentiation, seen through the printed graph before and after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/models/models.h"
#include "engine/passes/autocast.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/loss_scale.h"
#include "engine/passes/update.h"
#include "kernels/error.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

std::string added_by_differentiation(Graph g, ValueId loss) {
  const std::string before = to_string(g);
  differentiate(g, loss);
  const std::string after = to_string(g);
  EXPECT_EQ(after.substr(0, before.size()), before);
  return after.substr(before.size());
}

TEST(Autodiff, AppendsTheBackwardPass) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 3}, Format::fp32), t = g.add_input("t", Shape{2, 4}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{4, 3}, {}), b = g.add_parameter("b", Shape{4}, {});
  const ValueId loss = g.apply("mse_loss", "loss", {g.apply("linear", "y", {x, w, b}), t});
  EXPECT_EQ(added_by_differentiation(g, loss),
            "loss.dprediction: mse_loss_backward(y fp32, t fp32, one fp32) -> fp32[2, 4]\n"
            "y.dweight: matmul(loss.dprediction fp32, x fp32) -> fp32[4, 3] {flatten=true trans_a=true}\n"
            "y.dbias: sum_to(loss.dprediction fp32) -> fp32[4] {shape=[4]}\n");
}

TEST(Autodiff, BackwardCastsComeOutByThemselves) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 3}, Format::fp32), t = g.add_input("t", Shape{2, 4}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{4, 3}, {});
  const ValueId loss = g.apply("mse_loss", "loss", {g.apply("linear", "y", {x, w}), t});
  std::vector<ValueId> map;
  Graph cast = autocast(g, {find_mode("fp16"), &find_policy("torch_cuda"), {}}, &map);
  const ValueId scaled = scale_loss(cast, map[static_cast<std::size_t>(loss.index)]);
  EXPECT_EQ(added_by_differentiation(cast, scaled),
            "scale_loss.dloss: scale_loss(one fp32) -> fp32[]\n"
            "loss.dprediction: mse_loss_backward(loss.in0.fp32 fp32, t fp32, scale_loss.dloss fp32) -> fp32[2, 4]\n"
            "loss.in0.fp32.d0.cast: cast(loss.dprediction fp32) -> fp16[2, 4] {to=fp16}\n"
            "y.dweight: matmul(loss.in0.fp32.d0.cast fp16, y.in0.fp16 fp16) -> fp16[4, 3] {flatten=true trans_a=true}\n"
            "w.fp16.d0.cast: cast(y.dweight fp16) -> fp32[4, 3] {to=fp32}\n");
}

TEST(Autodiff, BackwardProductsMultiplyAsTheirForwardOnes) {
  Graph g = autocast(build_model(GptConfig{}, 1, true).graph, {find_mode("tf32"), &find_policy("torch_cuda"), {}});
  differentiate(g, g.find("loss"));
  int products = 0;
  for (const Node& n : g.nodes())
    if (n.phase == Phase::backward && n.op->product) {
      ++products;
      EXPECT_EQ(n.multiply, Format::tf32) << n.name;
    }
  EXPECT_EQ(products, 4 * (1 + 4 * 2) + 2);   // each block: attention, and dx, dweight of four linears; the head
}

TEST(Autodiff, GradientsThatMeetAreAddedByExplicitNodes) {
  Graph g;
  const ValueId w = g.add_parameter("w", Shape{3}, {});
  const ValueId loss = g.apply("sum", "loss", {g.apply("mul", "cube", {g.apply("mul", "square", {w, w}), w})});
  const std::vector<ParameterGradient> gradients = differentiate(g, loss);
  EXPECT_THAT(to_string(g), ::testing::HasSubstr("w.grad.sum: add("));
  testing::GraphRun run(std::move(g));
  run.set("w", {1.0, -2.0, 0.5});
  run.run();
  EXPECT_EQ(run.get(gradients.at(0).gradient), (std::vector<double>{3.0, 12.0, 0.75}));
}

TEST(Autodiff, ASharedGradientIsCopiedSoThatItIsUnscaledOnce) {
  Graph g;
  const ValueId a = g.add_parameter("a", Shape{2}, {}), b = g.add_parameter("b", Shape{2}, {});
  const ValueId loss = g.apply("sum", "loss", {g.apply("add", "both", {a, b})});
  const std::vector<ParameterGradient> gradients = differentiate(g, loss);
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_NE(gradients[0].gradient, gradients[1].gradient);
  add_update(g, gradients, {});
  const std::vector<ValueId> unscaled = g.node(g.value(g.find("unscale_check")).producer).outputs;
  testing::GraphRun run(std::move(g));
  run.state().inverse_scale = 0.5f;
  run.run();
  for (const ValueId v : unscaled) EXPECT_EQ(run.get(v), (std::vector<double>{0.5, 0.5}));
}

TEST(Autodiff, AParameterThatDoesNotLeadToTheLossHasNoGradient) {
  Graph g;
  const ValueId a = g.add_parameter("a", Shape{2}, {}), b = g.add_parameter("unused", Shape{2}, {});
  g.apply("scale", "aside", {b}, {{"factor", 2.0}});
  const ValueId loss = g.apply("sum", "loss", {a});
  const std::vector<ParameterGradient> gradients = differentiate(g, loss);
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(g.value(gradients[0].parameter).name, "a");
}

TEST(Autodiff, ALossThatIsNoScalarIsRefused) {
  Graph g;
  const ValueId a = g.add_parameter("a", Shape{2}, {});
  EXPECT_THAT([&] { differentiate(g, a); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("a loss is a scalar, not [2]")));
}

/// DESIGN's promise that autodiff runs after autocast: the set of parameters with gradients is the same in every mode.
TEST(Autodiff, EveryModeGivesGradientsToTheSameParameters) {
  const auto names = [](const char* mode) {
    Graph g = autocast(build_model(GptConfig{}, 1, true).graph, {find_mode(mode), &find_policy("torch_cuda"), {}});
    std::vector<std::string> list;
    for (const ParameterGradient& p : differentiate(g, g.find("loss"))) list.push_back(g.value(p.parameter).name);
    return list;
  };
  const std::vector<std::string> expected = names("fp32");
  EXPECT_EQ(expected.size(), 2u + 4u * 12u + 2u + 1u);
  for (const Mode& mode : modes()) EXPECT_EQ(names(mode.name.c_str()), expected) << mode.name;
}

}  // namespace
}  // namespace ulpscope::engine
