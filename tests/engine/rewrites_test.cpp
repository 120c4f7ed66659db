// Rewrites of a model: the same results in fp32, to the bit for powers of two; refusals with their reasons.
#include "engine/passes/rewrites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "engine/passes/autocast.h"
#include "kernels/error.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

using ::testing::HasSubstr;
using testing::GraphRun;
using testing::numbers;
using Kind = Rewrite::Kind;

Rewrite of(Kind kind, const std::string& nodes, double factor = 0.5) {
  Rewrite rewrite;
  rewrite.kind = kind;
  rewrite.nodes = nodes;
  rewrite.factor = factor;
  return rewrite;
}

std::string refusal(const Graph& graph, const Rewrite& rewrite_) {
  try {
    rewrite(graph, {rewrite_}, true);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Values of `out` in the graph and in the rewritten one, inputs filled alike.
struct Both {
  std::vector<double> before, after;
};
Both both(const Graph& graph, const Rewrite& rewrite_, const std::string& out, double size = 1.0) {
  std::vector<ValueId> map;
  const Graph changed = rewrite(graph, {rewrite_}, true, &map);
  const auto run = [&](const Graph& g, ValueId value) {
    GraphRun one(g);
    for (const Value& v : g.values())
      if (v.role == Role::input) one.set(v.name, numbers(static_cast<std::size_t>(v.shape.elements()), size, v.name.size()));
    one.run();
    return one.get(value);
  };
  const ValueId old = graph.find(out);
  return {run(graph, old), run(changed, map[static_cast<std::size_t>(old.index)])};
}

/// Bit for bit; one NaN is like another.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Initial list(std::vector<float> values) { return {Initial::Kind::values, 0.0, std::move(values)}; }
Initial constant(double value) { return {Initial::Kind::constant, value, {}}; }

// ---- scale_before_product

/// q k^T, through a view, times a factor, softmax.
Graph attention(const std::string& how, double factor, bool read_twice = false) {
  Graph g;
  const ValueId q = g.add_input("q", {2, 3, 8}, Format::fp32), k = g.add_input("key", {2, 5, 8}, Format::fp32);
  const ValueId scores = g.apply("matmul", "scores", {q, k}, {{"trans_b", true}});
  ValueId s = g.apply("reshape", "scores.view", {scores}, {{"shape", std::vector<std::int64_t>{6, 5}}});
  if (how == "scale") s = g.apply("scale", "scaled", {s}, {{"factor", factor}});
  if (how == "mul") s = g.apply("mul", "scaled", {g.add_constant("f", {1}, constant(factor)), s});
  if (how == "div") s = g.apply("div", "scaled", {s, g.add_constant("f", {}, list({static_cast<float>(1.0 / factor)}))});
  if (how == "relu first") s = g.apply("scale", "scaled", {g.apply("relu", "relu", {s})}, {{"factor", factor}});
  g.apply("softmax", "probs", {s});
  if (read_twice) g.apply("relu", "other", {scores});
  return g;
}

TEST(ScaleBeforeProduct, AgreesToTheBitForPowersOfTwo) {
  for (const char* how : {"scale", "mul", "div"}) {
    const Both values = both(attention(how, 0.125), of(Kind::scale_before_product, "scores"), "probs", 4.0);
    EXPECT_EQ(values.before, values.after) << how;
  }
}

TEST(ScaleBeforeProduct, AgreesWithinRoundingForOtherFactors) {
  const Both values = both(attention("scale", 1.0 / std::sqrt(8.0)), of(Kind::scale_before_product, "*"), "probs", 4.0);
  for (std::size_t i = 0; i < values.before.size(); ++i) EXPECT_NEAR(values.before[i], values.after[i], 4e-6);
}

TEST(ScaleBeforeProduct, TheProductIsSmaller) {
  const Graph changed = rewrite(attention("scale", 0.125), {of(Kind::scale_before_product, "scores")}, true);
  const Node& product = changed.node(changed.value(changed.find("scores")).producer);
  EXPECT_EQ(changed.value(product.inputs[0]).name, "scaled") << "the factor keeps its name";
  EXPECT_EQ(changed.value(product.inputs[1]).name, "key");
  EXPECT_EQ(changed.node_count(), 4);
}

TEST(ScaleBeforeProduct, SaysWhatIsInTheWay) {
  const Rewrite rule = of(Kind::scale_before_product, "scores");
  EXPECT_THAT(refusal(attention("none", 1.0), rule), HasSubstr("'probs' (softmax) comes before any constant factor"));
  EXPECT_THAT(refusal(attention("relu first", 0.125), rule), HasSubstr("'relu' (relu) comes before any constant factor"));
  EXPECT_THAT(refusal(attention("scale", 0.125, true), rule), HasSubstr("is read by scores.view, other"));
  EXPECT_THAT(refusal(attention("scale", 0.125), of(Kind::scale_before_product, "probs")), HasSubstr("this is about matmul"));
  EXPECT_THAT(refusal(attention("scale", 0.125), of(Kind::scale_before_product, "scoers")), HasSubstr("matches no node of the model; the nearest is 'scores'"));
}

// ---- boolean_mask

Graph masked(const std::vector<float>& mask, bool mean_reads_too = false, bool from_batch = false) {
  Graph g;
  const ValueId scores = g.add_input("s", {2, 4}, Format::fp32);
  const ValueId m = from_batch ? g.add_input("mask", {2, 4}, Format::fp32) : g.add_constant("mask", {2, 4}, list(mask));
  const ValueId sum = g.apply("add", "masked", {m, scores});
  g.apply("softmax", "probs", {sum});
  if (mean_reads_too) g.apply("mean", "mean", {sum});
  return g;
}

TEST(BooleanMask, AgreesWhereARowKeepsAScore) {
  for (const float low : {-65504.0f, -1e4f, -1e9f, -HUGE_VALF}) {
    const Both values = both(masked({0, low, 0, low, low, low, low, 0}), of(Kind::boolean_mask, "masked"), "probs", 3.0);
    EXPECT_EQ(values.before, values.after) << low;
    EXPECT_EQ(values.after[1], 0.0);
  }
}

TEST(BooleanMask, ARowWithNothingLeftIsUniform) {
  const float low = -HUGE_VALF;
  const Both values = both(masked({0, low, 0, 0, low, low, low, low}), of(Kind::boolean_mask, "masked"), "probs", 3.0);
  EXPECT_TRUE(std::isnan(values.before[4]));
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(values.after[i], 0.25);
}

TEST(BooleanMask, FitsEveryFormat) {
  const Graph changed = rewrite(masked({0, -1e9f, 0, 0, 0, 0, 0, -65504.0f}), {of(Kind::boolean_mask, "masked")}, true);
  EXPECT_FALSE(changed.contains("mask")) << "nothing reads the numbers any more";
  for (const char* mode : {"fp16_pure", "bf16_pure"}) {
    GraphRun run(autocast(changed, {find_mode(mode), nullptr, {}}));
    run.set("s", {-1, -2, -3, -4, -16, -17, -18, -19});
    run.run_observed();
    EXPECT_EQ(run.counts("masked").overflowed + run.counts("masked").negative_infinity, 0) << mode;
    EXPECT_EQ(run.get("probs")[1], 0.0) << mode;
  }
}

/// What each format's finfo.min is; -65504 would mask nothing among fp32 scores of -1e5.
TEST(BooleanMask, FillsWithTheLowestNumberOfTheScoresFormat) {
  const Graph changed = rewrite(masked({0, -1e9f, 0, 0, 0, 0, 0, -65504.0f}), {of(Kind::boolean_mask, "masked")}, true);
  const std::pair<const char*, double> lowest[] = {{"fp32", -3.4028234663852886e38}, {"bf16_pure", -3.3895313892515355e38}, {"fp16_pure", -65504.0}};
  for (const auto& [mode, value] : lowest) {
    GraphRun run(autocast(changed, {find_mode(mode), nullptr, {}}));
    run.set("s", {-1e5f, 0, -1e5f, -1e5f, 0, 0, 0, 0});
    run.run();
    EXPECT_EQ(run.get("masked")[1], value) << mode;
    if (std::string_view(mode) == "fp16_pure") continue;  // -1e5 does not fit
    EXPECT_EQ(run.get("probs")[1], 0.0) << mode << ": what is masked gets nothing, however low the scores are";
    EXPECT_NEAR(run.get("probs")[0], 1.0 / 3, 2e-3) << mode;
  }
}

TEST(BooleanMask, FillsWithWhatFitsTheCastsThatFollow) {
  Graph g;
  const ValueId scores = g.add_input("s", {1, 2}, Format::fp32), m = g.add_constant("mask", {1, 2}, list({-1e9f, -1e9f}));
  const ValueId cast = g.apply("cast", "narrow", {g.apply("add", "masked", {scores, m})}, {{"to", std::string("fp16")}});
  g.apply("softmax", "probs", {cast});
  GraphRun run(autocast(rewrite(g, {of(Kind::boolean_mask, "masked")}, true), {find_mode("fp32"), nullptr, {}}));
  run.set("s", {1, 2});
  run.run();
  EXPECT_EQ(run.get("masked")[0], -65504.0);
  EXPECT_EQ(run.get("probs")[0], 0.5) << "-inf in both would be NaN";
}

TEST(BooleanMask, SumsOfMasksAndFillsThatAreTooLow) {
  Graph g;
  const ValueId s = g.add_input("s", {1, 4}, Format::fp32);
  const ValueId a = g.add_constant("a", {4}, list({0, -65504, 0, 0})), b = g.add_constant("b", {4}, list({0, 0, 0, -65504}));
  g.apply("softmax", "probs", {g.apply("add", "masked", {s, g.apply("add", "both", {a, b})})});
  const Both values = both(g, of(Kind::boolean_mask, "both"), "probs");
  EXPECT_EQ(values.before, values.after);
  const Graph changed = rewrite(g, {of(Kind::boolean_mask, "both")}, true);
  EXPECT_FALSE(changed.contains("both"));
  EXPECT_EQ(changed.node(changed.value(changed.find("masked")).producer).op->name, "masked_fill");

  Graph filled;
  const ValueId x = filled.add_input("s", {1, 4}, Format::fp32);
  const ValueId hidden = filled.add_constant("hidden", {1, 4}, list({0, 1, 0, 0}), Format::i32);
  filled.apply("softmax", "probs", {filled.apply("masked_fill", "fill", {x, hidden}, {{"value", -1e9}})});
  const Both fills = both(filled, of(Kind::boolean_mask, "fill"), "probs");
  EXPECT_EQ(fills.before, fills.after);
}

TEST(BooleanMask, SaysWhatIsInTheWay) {
  const Rewrite rule = of(Kind::boolean_mask, "masked");
  EXPECT_THAT(refusal(masked({0, -0.5f, 0, -1e9f, 0, 0, 0, 0}), rule), HasSubstr("is no mask"));
  EXPECT_THAT(refusal(masked({}, false, true), rule), HasSubstr("'mask' is a batch"));
  EXPECT_THAT(refusal(masked({0, -1e9f, 0, 0, 0, 0, 0, 0}, true), rule), HasSubstr("'mean' (mean) reads it, not a softmax alone"));
}

// ---- rescale

/// linear, relu, then something.
Graph network(const std::string& reader) {
  Graph g;
  const ValueId x = g.add_input("x", {3, 4}, Format::fp32);
  const ValueId w = g.add_constant("w", {5, 4}, {Initial::Kind::normal, 1.0, {}}), b = g.add_constant("b", {5}, {Initial::Kind::normal, 1.0, {}});
  const ValueId y = g.apply("linear", "first", {x, w, b});
  const ValueId r = g.apply("relu", "relu", {y});
  const ValueId v = g.add_constant("v", {2, 5}, {Initial::Kind::normal, 1.0, {}}), c = g.add_constant("c", {2}, {Initial::Kind::normal, 1.0, {}});
  const ValueId gain = g.add_constant("gain", {5}, constant(1.0));
  if (reader == "linear") g.apply("linear", "out", {r, v, c});
  if (reader == "sum") g.apply("sum", "out", {r});
  if (reader == "mul") g.apply("mul", "out", {g.add_constant("k", {5}, {Initial::Kind::normal, 1.0, {}}), r});
  if (reader == "add") g.apply("add", "out", {g.add_constant("k", {5}, {Initial::Kind::normal, 1.0, {}}), r});
  if (reader == "both") g.apply("add", "out", {y, r});
  if (reader == "norm 0") g.apply("rms_norm", "out", {r, gain}, {{"epsilon", 0.0}});
  if (reader == "norm") g.apply("rms_norm", "out", {r, gain}, {{"epsilon", 1e-5}});
  if (reader == "batch norm") g.apply("batch_norm", "out", {r, gain, gain}, {{"epsilon", 0.0}});
  if (reader == "gelu") g.apply("gelu", "out", {r});
  if (reader == "square") g.apply("mul", "out", {r, r});
  return g;
}

TEST(Rescale, AgreesToTheBit) {
  for (const char* reader : {"linear", "sum", "mul", "add", "both", "norm 0"})
    for (const double factor : {0.5, 0x1p-10}) {
      const Both values = both(network(reader), of(Kind::rescale, "first", factor), "out", 2.0);
      EXPECT_TRUE(same(values.before, values.after)) << reader << " " << factor;
    }
}

TEST(Rescale, OfOtherOperators) {
  for (const char* op : {"mul", "add", "sub", "div", "scale", "matmul", "sum"}) {
    Graph g;
    const ValueId a = g.add_input("a", {4, 4}, Format::fp32), b = g.add_input("bb", {4, 4}, Format::fp32);
    std::vector<ValueId> in{a, b};
    if (op == std::string("scale") || op == std::string("sum")) in.pop_back();
    const ValueId y = g.apply(op, "big", in, op == std::string("scale") ? Attributes{{"factor", 3.0}} : Attributes{});
    g.apply("mean", "out", {y});
    const Both values = both(g, of(Kind::rescale, "big", 0.25), "out", 2.0);
    EXPECT_EQ(values.before, values.after) << op;
  }
}

TEST(Rescale, WhatIsStoredIsSmaller) {
  const Graph changed = rewrite(network("sum"), {of(Kind::rescale, "first", 0.25)}, true);
  GraphRun before(network("sum")), after(changed);
  for (GraphRun* run : {&before, &after}) {
    run->set("x", numbers(12, 1.0, 3));
    run->run();
  }
  const std::vector<double> large = before.get("first"), small = after.get("first");
  for (std::size_t i = 0; i < large.size(); ++i) EXPECT_EQ(small[i], 0.25 * large[i]);
}

TEST(Rescale, SaysWhatIsInTheWay) {
  const Rewrite rule = of(Kind::rescale, "first");
  EXPECT_THAT(refusal(network("norm"), rule), HasSubstr("'out' (rms_norm) reads it and has an epsilon: it is not free of scale"));
  EXPECT_THAT(refusal(network("batch norm"), rule), HasSubstr("'out' (batch_norm) reads it: its running statistics would keep the factor"));
  EXPECT_THAT(refusal(network("gelu"), rule), HasSubstr("'out' (gelu) reads it and is not proportional to it"));
  EXPECT_THAT(refusal(network("square"), rule), HasSubstr("reads it twice"));
  EXPECT_THAT(refusal(network("none"), rule), HasSubstr("nothing reads 'relu'"));
  EXPECT_THAT(refusal(network("sum"), of(Kind::rescale, "first", 0.3)), HasSubstr("a power of two below 1"));
}

/// Two factors that meet in one reader: one of them would be forgotten.
TEST(Rescale, TwoNodesThatMeetAreRefused) {
  for (const char* operation : {"add", "mul", "matmul"}) {
    Graph g;
    const ValueId x = g.add_input("x", {4, 4}, Format::fp32), w = g.add_input("weight", {4, 4}, Format::fp32);
    const ValueId a = g.apply("mul", "n.a", {x, w}), b = g.apply("mul", "n.b", {x, w});
    g.apply("sum", "loss", {g.apply(operation, "m", {a, b})});
    EXPECT_THAT(refusal(g, of(Kind::rescale, "n.*", 0.25)), HasSubstr("'m' reads another node that is rescaled by the same rule")) << operation;
    EXPECT_EQ(refusal(g, of(Kind::rescale, "n.a", 0.25)), "") << operation << ": one of them can be";
  }
}

TEST(Rewrites, OneAfterTheOther) {
  const Graph g = attention("scale", 0.125);
  std::vector<ValueId> map;
  const Graph changed = rewrite(g, {of(Kind::scale_before_product, "scores"), of(Kind::scale_before_product, "nothing")}, false, &map);
  EXPECT_EQ(changed.value(map[static_cast<std::size_t>(g.find("probs").index)]).name, "probs");
  EXPECT_EQ(changed.value(map[static_cast<std::size_t>(g.find("scaled").index)]).name, "scores.view");
}

// ---- clamp

/// linear, softmax and a mean.
Graph product() {
  Graph g;
  const ValueId x = g.add_input("x", {3, 4}, Format::fp32), w = g.add_input("weight", {5, 4}, Format::fp32);
  const ValueId y = g.apply("linear", "y", {x, w});
  g.apply("relu", "r", {y});
  g.apply("softmax", "probs", {y});
  return g;
}

Rewrite clamped(const std::string& nodes, double limit) {
  Rewrite rewrite = of(Kind::clamp, nodes);
  rewrite.limit = limit;
  return rewrite;
}

TEST(Clamp, WhatFitsStaysAndWhatDoesNotBecomesTheLimit) {
  const Both wide = both(product(), clamped("y", 65504), "probs", 4.0);
  EXPECT_EQ(wide.before, wide.after) << "nothing is beyond the limit";
  const Both narrow = both(product(), clamped("y", 1.5), "y", 4.0);
  int cut = 0;
  for (std::size_t i = 0; i < narrow.before.size(); ++i) {
    EXPECT_EQ(narrow.after[i], std::clamp(narrow.before[i], -1.5, 1.5));
    cut += std::fabs(narrow.before[i]) > 1.5 ? 1 : 0;
  }
  EXPECT_GT(cut, 0) << "nothing was cut: the test shows nothing";
  const Graph changed = rewrite(product(), {clamped("y", 1.5)}, true);
  for (const Node& node : changed.nodes()) {
    if (node.name != "r" && node.name != "probs") continue;
    EXPECT_EQ(changed.value(node.inputs.front()).name, "y.clamp") << node.name;
  }
}

TEST(Clamp, SaysWhatIsInTheWay) {
  EXPECT_THAT(refusal(product(), clamped("probs", 2)), HasSubstr("this is about linear, matmul"));
  EXPECT_THAT(refusal(product(), clamped("r", 2)), HasSubstr("nothing reads 'r'"));
  EXPECT_THAT(refusal(product(), clamped("y", 0)), HasSubstr("limit = 0: it must be above 0 and finite"));
}

}  // namespace
}  // namespace ulpscope::engine
