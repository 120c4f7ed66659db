// Differentiation, seen through the printed graph before and after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

/// The divisor of a mean is a new value, and new values move those that are there: under the address sanitizer, one of these
/// graphs is full when it comes.
TEST(Autodiff, AMeanKeepsItsShapeWhileTheGraphGrows) {
  for (int more = 0; more < 40; ++more) {
    Graph g;
    for (int i = 0; i < more; ++i) g.add_input("x" + std::to_string(i), Shape{2}, Format::fp32);
    const ValueId w = g.add_parameter("w", Shape{3, 5}, {});
    const ValueId loss = g.apply("mean", "loss", {w});
    differentiate(g, loss);   // no copy of it: that would have room to grow
    EXPECT_THAT(to_string(g), ::testing::HasSubstr("fp32[3, 5] {shape=[3, 5]}")) << more;
  }
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

TEST(Autodiff, ALossThatDependsOnAByProductIsRefusedByName) {
  const auto mistake = [](const char* op, std::size_t output, bool through_first) {
    Graph g;
    const ValueId w = g.add_parameter("w", Shape{2, 6}, {});
    const ValueId gain = g.add_parameter("gain", Shape{6}, {}), bias = g.add_parameter("bias", Shape{6}, {});
    const ValueId packed = g.apply("reshape", "packed", {w}, {{"shape", std::vector<std::int64_t>{1, 2, 6}}});
    const ValueId target = g.add_input("target", Shape{2}, Format::i32);
    NodeId node;
    if (std::string(op) == "cross_entropy") node = g.add_node(op, "node", {w, target});
    if (std::string(op) == "layer_norm") node = g.add_node(op, "node", {w, gain, bias});
    if (std::string(op) == "attention") node = g.add_node(op, "node", {packed}, {{"heads", std::int64_t{1}}});
    const std::vector<ValueId> outputs = g.node(node).outputs;
    ValueId loss = g.apply("sum", "loss", {outputs.at(output)});
    if (through_first) loss = g.apply("add", "both", {loss, g.apply("sum", "main", {outputs[0]})});
    try {
      differentiate(g, loss);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("nothing was refused");
  };
  for (const bool through_first : {false, true}) {
    EXPECT_EQ(mistake("cross_entropy", 1, through_first),
              "node 'node' (cross_entropy): the loss depends on its output 1 ('node:1'), which has no gradient");
    EXPECT_THAT(mistake("layer_norm", 1, through_first), ::testing::HasSubstr("'node:1'"));
    EXPECT_THAT(mistake("layer_norm", 2, through_first), ::testing::HasSubstr("'node:2'"));
    EXPECT_THAT(mistake("attention", 1, through_first), ::testing::HasSubstr("'node:1'"));
  }
  EXPECT_EQ(mistake("layer_norm", 0, false), "nothing was refused");
}

TEST(Autodiff, AttentionWithoutProbabilitiesHasNoGradient) {
  Graph g;
  const ValueId w = g.add_parameter("w", Shape{1, 2, 6}, {});
  const ValueId y = g.apply("attention", "attn", {w}, {{"heads", std::int64_t{1}}, {"keep_probabilities", false}});
  const ValueId loss = g.apply("sum", "loss", {y});
  EXPECT_THAT([&] { differentiate(g, loss); }, ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr("node 'attn'")));
}

/// Sums over many rows: bf16, whose x is, would keep 8 bits of them.
TEST(Autodiff, TheGradientOfAGainHasTheGainsFormat) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{301, 2}, Format::bf16);
  const ValueId gain = g.add_parameter("gain", Shape{2}, {Initial::Kind::ones, 0.0, {}});
  const ValueId bias = g.add_parameter("bias", Shape{2}, {});
  const ValueId loss = g.apply("sum", "loss", {g.apply("layer_norm", "norm", {x, gain, bias})});
  const std::vector<ParameterGradient> gradients = differentiate(g, loss);
  EXPECT_THAT(to_string(g), ::testing::HasSubstr("norm.dweights: layer_norm_backward_weights(x bf16, norm:1 fp32, norm:2 fp32, "
                                                 "loss.dx bf16) -> fp32[2], fp32[2] {to=fp32}\n"));
  testing::GraphRun run(std::move(g));
  run.set("x", testing::numbers(602, 1.0, 3));
  run.run();
  EXPECT_EQ(run.get(gradients.at(1).gradient), (std::vector<double>{301.0, 301.0}));   // between 256 and 512 bf16 has the even numbers only
  for (const double d : run.get(gradients.at(0).gradient)) EXPECT_NE(d, 0.0);
}

/// 41 · fp32(1/41) is 1 - 2^-24 in fp32; 41/41 is 1. 41 is the least such number.
TEST(Autodiff, TheGradientOfAMeanIsADivision) {
  ASSERT_NE(41.0f * (1.0f / 41.0f), 1.0f);
  Graph g;
  const ValueId w = g.add_parameter("w", Shape{41}, {});
  const ValueId loss = g.apply("scale", "loss", {g.apply("mean", "mean", {w})}, {{"factor", 41.0}});
  const std::vector<ParameterGradient> gradients = differentiate(g, loss);
  testing::GraphRun run(std::move(g));
  run.run();
  EXPECT_EQ(run.get(gradients.at(0).gradient), std::vector<double>(41, 1.0));
}

TEST(Autodiff, ADropoutKeyThatIsGivenIsKept) {
  Graph g;
  const ValueId w = g.add_parameter("w", Shape{1, 2, 6}, {});
  ValueId y = g.apply("dropout", "drop", {w}, {{"rate", 0.5}, {"key", std::string("elsewhere")}});
  y = g.apply("attention", "attn", {y}, {{"heads", std::int64_t{1}}, {"rate", 0.5}, {"key", std::string("far")}});
  y = g.apply("dropout", "own", {y}, {{"rate", 0.5}});
  differentiate(g, g.apply("sum", "loss", {y}));
  const auto key = [&](const char* node) { return g.node(g.value(g.find(node)).producer).attributes.text("key"); };
  EXPECT_EQ(key("drop.dx"), "elsewhere");
  EXPECT_EQ(key("attn.dqkv"), "far");
  EXPECT_EQ(key("own.dx"), "own");
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
