// The autocast pass, seen through the printed graph before and after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/models/models.h"
#include "engine/passes/autocast.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

using ::testing::HasSubstr;

/// x → linear → gelu → layer_norm → linear → + x → softmax
Graph block() {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 8}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{8, 8}, {});
  const ValueId gain = g.add_parameter("gain", Shape{8}, {}), bias = g.add_parameter("bias", Shape{8}, {});
  ValueId y = g.apply("linear", "first", {x, w});
  y = g.apply("gelu", "gelu", {y});
  y = g.apply("layer_norm", "norm", {y, gain, bias});
  y = g.apply("linear", "second", {y, w});
  y = g.apply("add", "residual", {x, y});
  g.apply("softmax", "softmax", {y});
  return g;
}

Graph cast(const char* mode, std::vector<std::string> keep = {}) {
  return autocast(block(), {find_mode(mode), &find_policy("torch_cuda"), std::move(keep)});
}

Format format_of(const Graph& g, const char* value) { return g.value(g.find(value)).format; }

TEST(Autocast, Fp32AddsNothing) {
  const Graph before = block(), after = cast("fp32");
  EXPECT_EQ(to_string(after), to_string(before));
  for (const Node& n : after.nodes()) EXPECT_EQ(n.why, "no autocast in fp32");
}

TEST(Autocast, Fp16InsertsTheCastsOfTheLists) {
  EXPECT_EQ(to_string(cast("fp16")),
            "first.in0.fp16: cast(x fp32) -> fp16[2, 8] {to=fp16}\n"
            "w.fp16: cast(w fp32) -> fp16[8, 8] {to=fp16}\n"
            "first: linear(first.in0.fp16 fp16, w.fp16 fp16) -> fp16[2, 8]\n"
            "gelu: gelu(first fp16) -> fp16[2, 8]\n"
            "norm.in0.fp32: cast(gelu fp16) -> fp32[2, 8] {to=fp32}\n"
            "norm: layer_norm(norm.in0.fp32 fp32, gain fp32, bias fp32) -> fp32[2, 8], fp32[2], fp32[2]\n"
            "second.in0.fp16: cast(norm fp32) -> fp16[2, 8] {to=fp16}\n"
            "second: linear(second.in0.fp16 fp16, w.fp16 fp16) -> fp16[2, 8]\n"
            "residual: add(x fp32, second fp16) -> fp32[2, 8]\n"
            "softmax: softmax(residual fp32) -> fp32[2, 8]\n");
}

TEST(Autocast, AWeightIsCastOnceAndTheCopyIsItsOwnRole) {
  const Graph g = cast("bf16");
  int copies = 0;
  for (const Value& v : g.values()) copies += v.role == Role::weight_copy ? 1 : 0;
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(format_of(g, "w.bf16"), Format::bf16);
}

TEST(Autocast, AnyOtherValueIsCastForEachUse) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 4}, Format::fp32), w = g.add_parameter("w", Shape{4, 4}, {});
  g.apply("linear", "q", {x, w});
  g.apply("linear", "k", {x, w});
  const Graph after = autocast(g, {find_mode("fp16"), &find_policy("torch_cuda"), {}});
  EXPECT_NO_THROW(after.find("q.in0.fp16"));
  EXPECT_NO_THROW(after.find("k.in0.fp16"));
}

TEST(Autocast, AViewOfAWeightIsNoLeafAndIsCastForEachUse) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 4}, Format::fp32), w = g.add_parameter("w", Shape{16}, {});
  const ValueId view = g.apply("reshape", "square", {w}, {{"shape", std::vector<std::int64_t>{4, 4}}});
  g.apply("linear", "q", {x, view});
  g.apply("linear", "k", {x, view});
  const Graph after = autocast(g, {find_mode("fp16"), &find_policy("torch_cuda"), {}});
  EXPECT_NO_THROW(after.find("q.in1.fp16"));
  EXPECT_NO_THROW(after.find("k.in1.fp16"));
  for (const Value& v : after.values()) EXPECT_NE(v.role, Role::weight_copy) << v.name;
}

TEST(Autocast, Fp64IsNotEligible) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 4}, Format::fp64), w = g.add_parameter("w", Shape{4, 4}, {}, Format::fp64);
  const ValueId gain = g.add_parameter("gain", Shape{4}, {}, Format::fp64);
  const ValueId bias = g.add_parameter("bias", Shape{4}, {}, Format::fp64);
  const ValueId y = g.apply("linear", "lower", {x, w});
  g.apply("softmax", "kept", {g.apply("layer_norm", "upper", {y, gain, bias})});
  for (const char* mode : {"fp16", "bf16+tf32"}) {
    const Graph after = autocast(g, {find_mode(mode), &find_policy("torch_cuda"), {"kept"}});
    EXPECT_EQ(to_string(after), to_string(g)) << mode;
  }
}

TEST(Autocast, Tf32ChangesOnlyWhatProductsMultiplyIn) {
  const Graph g = cast("tf32");
  for (const Node& n : g.nodes()) EXPECT_EQ(n.multiply, n.op->product ? Format::tf32 : Format::fp32) << n.name;
  for (const Value& v : g.values()) EXPECT_EQ(v.format, Format::fp32);
}

TEST(Autocast, CombinedModeUsesTf32OnlyForProductsThatStayFp32) {
  const Graph g = cast("fp16+tf32", {"second"});
  EXPECT_EQ(g.node(g.value(g.find("first")).producer).multiply, Format::fp32);
  EXPECT_EQ(g.node(g.value(g.find("second")).producer).multiply, Format::tf32);
  EXPECT_EQ(format_of(g, "second"), Format::fp32);
}

TEST(Autocast, AnOverrideWinsAndSaysSo) {
  const Graph g = cast("fp16", {"fir*"});
  EXPECT_EQ(format_of(g, "first"), Format::fp32);
  EXPECT_EQ(format_of(g, "gelu"), Format::fp32);
  EXPECT_EQ(format_of(g, "second"), Format::fp16);
  EXPECT_EQ(g.node(g.value(g.find("first")).producer).why, "override: kept in fp32 by 'fir*'");
}

TEST(Autocast, APatternThatMatchesNothingIsRefusedWithTheNearestName) {
  try {
    cast("fp16", {"frist"});
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'frist' matches no node; the nearest is 'first'"));
  }
}

TEST(Autocast, EveryNodeSaysWhy) {
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32"}) {
    const Graph g = autocast(build_model(GptConfig{}, 2, true).graph, {find_mode(mode), &find_policy("torch_cuda"), {}});
    ASSERT_GT(g.node_count(), 40) << mode;
    for (const Node& n : g.nodes()) EXPECT_FALSE(n.why.empty()) << mode << " " << n.name;
  }
}

TEST(Autocast, TheResidualStreamOfAGptIsFp32AndItsProductsAre16Bit) {
  const Graph g = autocast(build_model(GptConfig{}, 2, true).graph, {find_mode("bf16"), &find_policy("torch_cuda"), {}});
  EXPECT_EQ(format_of(g, "block0.mlp.residual"), Format::fp32);
  EXPECT_EQ(format_of(g, "block0.attn.qkv"), Format::bf16);
  EXPECT_EQ(format_of(g, "block0.attn"), Format::bf16);
  EXPECT_EQ(format_of(g, "block0.mlp.gelu"), Format::bf16);
  EXPECT_EQ(format_of(g, "block0.ln1"), Format::fp32);
  EXPECT_EQ(format_of(g, "lm_head"), Format::bf16);
  EXPECT_EQ(format_of(g, "loss"), Format::fp32);
}

TEST(Autocast, ComposedAttentionHasItsSoftmaxInFp32) {
  GptConfig config;
  config.attention = "composed";
  const Graph g = autocast(build_model(config, 2, true).graph, {find_mode("fp16"), &find_policy("torch_cuda"), {}});
  EXPECT_EQ(format_of(g, "block0.attn.scores"), Format::fp16);
  EXPECT_EQ(format_of(g, "block0.attn.softmax"), Format::fp32);
  EXPECT_EQ(format_of(g, "block0.attn.values"), Format::fp16);
  const Graph cpu = autocast(build_model(config, 2, true).graph, {find_mode("fp16"), &find_policy("torch_cpu"), {}});
  EXPECT_EQ(format_of(cpu, "block0.attn.softmax"), Format::fp16);
}

}  // namespace
}  // namespace ulpscope::engine
