// Every operator's gradient against central differences in double.
#include <cmath>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/autodiff.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

using testing::GraphRun;
using testing::numbers;

/// One case: what is built from a few parameters; the loss is a weighted sum of the result, so that every element of its
/// gradient is different.
struct GradientCase {
  std::string name;
  std::vector<std::string> covers;                       ///< operators whose gradient is checked here
  std::vector<std::pair<Shape, double>> parameters;      ///< shape, scale of the values
  std::function<ValueId(Graph&, const std::vector<ValueId>&)> build;
  double offset = 0.0;                                   ///< added to the values (logarithms want positive ones)
};

std::ostream& operator<<(std::ostream& out, const GradientCase& c) { return out << c.name; }

ValueId weighted_sum(Graph& g, ValueId y) {
  if (g.value(y).shape.rank == 0) return y;
  const auto n = static_cast<std::size_t>(g.value(y).shape.elements());
  Initial weights{Initial::Kind::values, 0.0, {}};
  for (const double w : numbers(n, 1.0, 99)) weights.list.push_back(static_cast<float>(w));
  const ValueId c = g.add_constant("weights", g.value(y).shape, weights, Format::fp64);
  return g.apply("sum", "loss", {g.apply("mul", "weighted", {y, c})});
}

struct Built {
  Graph graph;
  std::vector<ValueId> parameters;
  ValueId loss;
};

Built build(const GradientCase& c) {
  Built b;
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    b.parameters.push_back(b.graph.add_parameter("p" + std::to_string(i), c.parameters[i].first, {}, Format::fp64));
  b.loss = weighted_sum(b.graph, c.build(b.graph, b.parameters));
  return b;
}

ValueId indices(Graph& g, const Shape& shape, std::vector<float> list) {
  return g.add_constant("index", shape, {Initial::Kind::values, 0.0, std::move(list)}, Format::i32);
}

std::vector<GradientCase> cases() {
  std::vector<GradientCase> all;
  const Shape x{3, 5};
  for (const char* op : {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "exp"})
    all.push_back({op, {op}, {{x, 2.0}}, [op](Graph& g, const std::vector<ValueId>& p) { return g.apply(op, "y", {p[0]}); }});
  // Some of the numbers lie beyond the bounds.
  all.push_back({"clamp", {"clamp"}, {{x, 2.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("clamp", "y", {p[0]}, {{"min", -0.7}, {"max", 0.9}}); }});
  for (const char* op : {"log", "sqrt"})
    all.push_back({op, {op}, {{x, 0.5}}, [op](Graph& g, const std::vector<ValueId>& p) { return g.apply(op, "y", {p[0]}); }, 1.5});
  for (const char* op : {"add", "sub", "mul"})
    for (const Shape& other : {x, Shape{5}, Shape{}, Shape{3, 1}, Shape{1, 5}})
      all.push_back({std::string(op) + "_" + std::to_string(other.rank) + "_" + std::to_string(other.elements()), {op, "sum_to"},
                     {{x, 1.0}, {other, 1.0}},
                     [op](Graph& g, const std::vector<ValueId>& p) { return g.apply(op, "y", {p[0], p[1]}); }});
  all.push_back({"add_leading", {"add", "sum_to"}, {{Shape{4, 3, 5}, 1.0}, {x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("add", "y", {p[0], p[1]}); }});
  all.push_back({"div", {"div"}, {{x, 0.5}, {x, 0.5}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("div", "y", {p[0], p[1]}); }, 1.5});
  all.push_back({"scale", {"scale"}, {{x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("scale", "y", {p[0]}, {{"factor", -2.5}}); }});
  all.push_back({"sum_and_mean", {"sum", "mean"}, {{x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const ValueId s = g.apply("sum", "s", {p[0]}), m = g.apply("mean", "m", {p[0]});
                   return g.apply("mul", "y", {s, m});
                 }});
  all.push_back({"expand", {"expand"}, {{Shape{}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("expand", "y", {p[0]}, {{"shape", std::vector<std::int64_t>{2, 3}}});
                 }});
  all.push_back({"expand_and_divide", {"expand"}, {{Shape{3, 1}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const ValueId n = g.add_constant("n", Shape{}, {Initial::Kind::constant, 3.0, {}}, Format::fp64);
                   return g.apply("expand", "y", {p[0], n}, {{"shape", std::vector<std::int64_t>{3, 4}}});
                 }});
  all.push_back({"scale_loss", {"scale_loss"}, {{Shape{}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("scale_loss", "y", {p[0]}); }});
  all.push_back({"softmax", {"softmax"}, {{x, 2.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("softmax", "y", {p[0]}); }});
  all.push_back({"causal_mask", {"causal_mask"}, {{Shape{2, 4, 4}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("causal_mask", "y", {p[0]}, {{"value", 0.25}}); }});
  all.push_back({"masked_softmax", {"causal_mask", "softmax"}, {{Shape{2, 4, 4}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("softmax", "y", {g.apply("causal_mask", "m", {p[0]})});
                 }});
  all.push_back({"layer_norm", {"layer_norm"}, {{Shape{2, 3, 7}, 2.0}, {Shape{7}, 1.0}, {Shape{7}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("layer_norm", "y", p, {{"epsilon", 1e-3}}); }});
  all.push_back({"dropout", {"dropout"}, {{Shape{64}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("dropout", "y", {p[0]}, {{"rate", 0.3}}); }});
  all.push_back({"cross_entropy", {"cross_entropy"}, {{Shape{2, 3, 6}, 2.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("cross_entropy", "y", {p[0], indices(g, Shape{2, 3}, {0, 5, 2, 2, 1, 4})});
                 }});
  all.push_back({"mse_loss", {"mse_loss"}, {{x, 1.0}, {x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("mse_loss", "y", {p[0], p[1]}); }});
  all.push_back({"embedding", {"embedding"}, {{Shape{4, 3}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("embedding", "y", {p[0], indices(g, Shape{2, 3}, {1, 1, 3, 0, 1, 3})});
                 }});
  all.push_back({"linear", {"linear"}, {{Shape{2, 3, 5}, 1.0}, {Shape{4, 5}, 1.0}, {Shape{4}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("linear", "y", p); }});
  all.push_back({"linear_without_bias", {"linear"}, {{Shape{3, 5}, 1.0}, {Shape{4, 5}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("linear", "y", p); }});
  for (int t = 0; t < 4; ++t) {
    const bool ta = (t & 1) != 0, tb = (t & 2) != 0;
    all.push_back({"matmul_" + std::to_string(t), {"matmul"},
                   {{ta ? Shape{2, 5, 3} : Shape{2, 3, 5}, 1.0}, {tb ? Shape{2, 4, 5} : Shape{2, 5, 4}, 1.0}},
                   [ta, tb](Graph& g, const std::vector<ValueId>& p) {
                     return g.apply("matmul", "y", p, {{"trans_a", ta}, {"trans_b", tb}});
                   }});
  }
  all.push_back({"matmul_two_batch_dimensions", {"matmul"}, {{Shape{2, 3, 4, 5}, 1.0}, {Shape{2, 3, 6, 5}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("matmul", "y", p, {{"trans_b", true}}); }});
  all.push_back({"reshape", {"reshape"}, {{x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("tanh", "y", {g.apply("reshape", "r", {p[0]}, {{"shape", std::vector<std::int64_t>{5, 3}}})});
                 }});
  all.push_back({"heads", {"split_heads", "join_heads"}, {{Shape{2, 3, 12}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const NodeId split = g.add_node("split_heads", "split", {p[0]}, {{"heads", std::int64_t{2}}, {"parts", std::int64_t{3}}});
                   const std::vector<ValueId> part = g.node(split).outputs;
                   return g.apply("join_heads", "y", {g.apply("mul", "qk", {part[0], part[1]}), part[2]});
                 }});
  for (const bool causal : {true, false})
    all.push_back({causal ? "attention_causal" : "attention", {"attention"}, {{Shape{2, 5, 18}, 1.0}},
                   [causal](Graph& g, const std::vector<ValueId>& p) {
                     return g.apply("attention", "y", {p[0]}, {{"heads", std::int64_t{2}}, {"causal", causal}});
                   }});
  all.push_back({"attention_dropout", {"attention"}, {{Shape{2, 5, 18}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("attention", "y", {p[0]}, {{"heads", std::int64_t{2}}, {"rate", 0.25}});
                 }});
  all.push_back({"cast", {"cast"}, {{x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("cast", "y", {p[0]}, {{"to", std::string("fp64")}}); }});
  all.push_back({"rms_norm", {"rms_norm"}, {{Shape{2, 3, 7}, 2.0}, {Shape{7}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("rms_norm", "y", p, {{"epsilon", 1e-3}}); }});
  all.push_back({"rotary", {"rotary"}, {{Shape{2, 5, 12}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const NodeId table = g.add_node("rotary_table", "t", {}, {{"positions", std::int64_t{5}}, {"depth", std::int64_t{6}}});
                   const std::vector<ValueId> turns = g.node(table).outputs;
                   return g.apply("rotary", "y", {p[0], turns[0], turns[1]}, {{"heads", std::int64_t{2}}});
                 }});
  for (const bool causal : {true, false})
    all.push_back({causal ? "attention_grouped" : "attention_grouped_masked", {"attention"},
                   {{Shape{2, 5, 12}, 1.0}, {Shape{2, 5, 6}, 1.0}, {Shape{2, 5, 6}, 1.0}},
                   [causal](Graph& g, const std::vector<ValueId>& p) {
                     Attributes a{{"heads", std::int64_t{4}}, {"kv_heads", std::int64_t{2}}, {"causal", causal}, {"rate", 0.25}};
                     std::vector<ValueId> in = p;
                     if (!causal) {
                       a.set("key_mask", true);
                       in.push_back(indices(g, Shape{2, 5}, {1, 1, 0, 1, 0, 1, 1, 1, 1, 0}));
                     }
                     return g.apply("attention", "y", in, a);
                   }});
  all.push_back({"attention_packed_grouped", {"attention"}, {{Shape{2, 5, 24}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("attention", "y", {p[0]}, {{"heads", std::int64_t{4}}, {"kv_heads", std::int64_t{2}}});
                 }});
  all.push_back({"masked_fill", {"masked_fill"}, {{Shape{2, 3, 4}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("masked_fill", "y", {p[0], indices(g, Shape{3, 1}, {0, 1, 0})}, {{"value", -3.0}});
                 }});
  all.push_back({"where", {"where", "sum_to"}, {{x, 1.0}, {Shape{5}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("where", "y", {indices(g, Shape{3, 1}, {1, 0, 7}), p[0], p[1]});
                 }});
  all.push_back({"masked_mean", {"masked_mean"}, {{Shape{2, 4, 3}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("masked_mean", "y", {p[0], indices(g, Shape{2, 4}, {1, 0, 1, 1, 0, 0, 1, 0})});
                 }});
  all.push_back({"label_smoothing", {"cross_entropy"}, {{Shape{2, 3, 6}, 2.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   return g.apply("cross_entropy", "y", {p[0], indices(g, Shape{2, 3}, {0, 5, -1, 2, -1, 4})},
                                  {{"label_smoothing", 0.2}, {"ignore_index", std::int64_t{-1}}});
                 }});
  for (const char* op : {"l1_loss"})
    all.push_back({op, {op}, {{x, 1.0}, {x, 1.0}}, [op](Graph& g, const std::vector<ValueId>& p) { return g.apply(op, "y", {p[0], p[1]}); }});
  all.push_back({"bce_with_logits", {"bce_with_logits"}, {{Shape{4}, 3.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const ValueId t = g.add_constant("t", Shape{4}, {Initial::Kind::values, 0.0, {0.0f, 1.0f, 0.25f, 1.0f}}, Format::fp64);
                   return g.apply("bce_with_logits", "y", {p[0], t});
                 }});
  using List = std::vector<std::int64_t>;
  struct Convolution {
    const char* name;
    Shape x, weight;
    Attributes attributes;
  };
  for (const Convolution& c : std::vector<Convolution>{
           {"plain", {2, 3, 5, 6}, {4, 3, 3, 2}, {}},
           {"strided", {2, 2, 7, 6}, {3, 2, 3, 3}, {{"stride", List{2, 3}}, {"padding", List{1, 2}}}},
           {"dilated", {2, 2, 7, 7}, {2, 2, 3, 2}, {{"dilation", List{2, 3}}, {"padding", std::int64_t{1}}}},
           {"grouped", {3, 4, 4, 4}, {6, 2, 3, 3}, {{"groups", std::int64_t{2}}, {"padding", std::int64_t{1}}}},
           {"depthwise", {2, 3, 4, 5}, {3, 1, 2, 2}, {{"groups", std::int64_t{3}}, {"stride", std::int64_t{2}}}},
           {"pointwise", {2, 3, 4, 4}, {5, 3, 1, 1}, {}},
           {"line", {2, 3, 9}, {4, 3, 3}, {{"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}, {"dilation", std::int64_t{2}}}}}) {
    const std::string op = c.x.rank == 3 ? "conv1d" : "conv2d";
    all.push_back({"convolution_" + std::string(c.name), {op, "sum_channels"}, {{c.x, 1.0}, {c.weight, 1.0}, {Shape{c.weight[0]}, 1.0}},
                   [op, c](Graph& g, const std::vector<ValueId>& p) { return g.apply(op, "y", p, c.attributes); }});
  }
  for (const Shape& shape : {Shape{3, 2, 4}, Shape{4, 3}, Shape{2, 3, 2, 3}})
    all.push_back({"batch_norm_" + std::to_string(shape.rank), {"batch_norm"}, {{shape, 2.0}, {Shape{shape[1]}, 1.0}, {Shape{shape[1]}, 1.0}},
                   [](Graph& g, const std::vector<ValueId>& p) { return g.apply("batch_norm", "y", p, {{"epsilon", 1e-2}}); }});
  for (const char* op : {"max_pool2d", "avg_pool2d"}) {
    all.push_back({op, {op}, {{Shape{2, 2, 5, 6}, 1.0}}, [op](Graph& g, const std::vector<ValueId>& p) {
                     return g.apply(op, "y", {p[0]}, {{"kernel", List{2, 3}}, {"stride", List{2, 1}}, {"padding", List{1, 1}}});
                   }});
  }
  for (const char* op : {"max_pool1d", "avg_pool1d"})
    all.push_back({op, {op}, {{Shape{2, 3, 7}, 1.0}}, [op](Graph& g, const std::vector<ValueId>& p) {
                     return g.apply(op, "y", {p[0]}, {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}});
                   }});
  all.push_back({"flatten", {"flatten"}, {{Shape{2, 3, 2}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) { return g.apply("tanh", "y", {g.apply("flatten", "f", {p[0]})}); }});
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 2, 2}})
    all.push_back({"select_" + std::to_string(shape.rank), {"select"}, {{shape, 1.0}},
                   [](Graph& g, const std::vector<ValueId>& p) { return g.apply("select", "y", {p[0]}, {{"index", std::int64_t{2}}}); }});
  all.push_back({"split_and_cat", {"split", "cat"}, {{Shape{2, 3, 6}, 1.0}, {Shape{2, 3, 1}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const std::vector<ValueId> part = g.node(g.add_node("split", "s", {p[0]}, {{"sizes", List{1, 3, 2}}})).outputs;
                   return g.apply("cat", "y", {part[1], g.apply("mul", "m", {part[0], p[1]}), part[2]});
                 }});
  all.push_back({"detach", {"detach"}, {{x, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const ValueId c = g.add_constant("c", Shape{3, 5}, {Initial::Kind::constant, 2.0, {}}, Format::fp64);
                   return g.apply("mul", "y", {p[0], g.apply("detach", "d", {c})});
                 }});
  all.push_back({"tied_weight", {"linear", "embedding", "add"}, {{Shape{5, 4}, 1.0}},
                 [](Graph& g, const std::vector<ValueId>& p) {
                   const ValueId e = g.apply("embedding", "e", {p[0], indices(g, Shape{3}, {1, 4, 1})});
                   return g.apply("linear", "y", {e, p[0]});
                 }});
  return all;
}

class Gradient : public ::testing::TestWithParam<GradientCase> {};

std::vector<std::vector<double>> starting_values(const GradientCase& c) {
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < c.parameters.size(); ++i) {
    values.push_back(numbers(static_cast<std::size_t>(c.parameters[i].first.elements()), c.parameters[i].second, 10 + i));
    for (double& v : values.back()) v += c.offset;
  }
  return values;
}

double loss_at(const GradientCase& c, const std::vector<std::vector<double>>& values) {
  Built b = build(c);
  const std::string loss = b.graph.value(b.loss).name;
  GraphRun run(std::move(b.graph));
  run.state().loss_scale = 4.0f;
  for (std::size_t i = 0; i < values.size(); ++i) run.set("p" + std::to_string(i), values[i]);
  run.run();
  return run.get(loss).front();
}

TEST_P(Gradient, AgreesWithCentralDifferences) {
  const GradientCase& c = GetParam();
  std::vector<std::vector<double>> values = starting_values(c);
  Built b = build(c);
  const std::vector<ParameterGradient> gradients = differentiate(b.graph, b.loss);
  ASSERT_EQ(gradients.size(), c.parameters.size());
  GraphRun run(std::move(b.graph));
  run.state().loss_scale = 4.0f;
  for (std::size_t i = 0; i < values.size(); ++i) run.set("p" + std::to_string(i), values[i]);
  run.run();

  // Central differences err by h² f'''/6 and by u/h: with h = 1e-5 both are below 1e-9 of values around one.
  constexpr double h = 1e-5;
  for (std::size_t p = 0; p < values.size(); ++p) {
    const std::vector<double> got = run.get(gradients[p].gradient);
    ASSERT_EQ(got.size(), values[p].size());
    for (std::size_t i = 0; i < values[p].size(); ++i) {
      const double kept = values[p][i];
      values[p][i] = kept + h;
      const double above = loss_at(c, values);
      values[p][i] = kept - h;
      const double below = loss_at(c, values);
      values[p][i] = kept;
      const double expected = (above - below) / (2.0 * h);
      EXPECT_NEAR(got[i], expected, 1e-7 * std::max(1.0, std::abs(expected))) << "parameter " << p << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradient, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

/// The cast back: fp64 gradients of fp32 values are rounded once, fp32 gradients of fp64 values are widened.
TEST(CastGradient, ComesBackInTheFormatOfTheValue) {
  Graph g;
  const ValueId narrow = g.add_parameter("narrow", Shape{5}, {}), wide = g.add_parameter("wide", Shape{5}, {}, Format::fp64);
  const ValueId c64 = g.add_input("c64", Shape{5}, Format::fp64), c32 = g.add_input("c32", Shape{5}, Format::fp32);
  const ValueId widened = g.apply("cast", "widened", {narrow}, {{"to", std::string("fp64")}});
  const ValueId narrowed = g.apply("cast", "narrowed", {wide}, {{"to", std::string("fp32")}});
  const ValueId a = g.apply("sum", "a", {g.apply("mul", "wa", {widened, c64})});
  const ValueId b = g.apply("sum", "b", {g.apply("mul", "wb", {narrowed, c32})});
  const std::vector<ParameterGradient> gradients = differentiate(g, g.apply("add", "loss", {a, b}));
  const std::vector<double> weights{0.1, -1.0 / 3.0, 1e-3, 7.0 / 11.0, 1e10 + 0.1};
  EXPECT_EQ(g.value(gradients.at(0).gradient).format, Format::fp32);
  EXPECT_EQ(g.value(gradients.at(1).gradient).format, Format::fp64);
  GraphRun run(std::move(g));
  run.set("c64", weights);
  run.set("c32", weights);
  run.run();
  for (const ParameterGradient& p : gradients) {
    const std::vector<double> got = run.get(p.gradient);
    for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(got[i], static_cast<double>(static_cast<float>(weights[i])));
  }
}

/// d(x · detach(x))/dx = detach(x), not 2x; and a parameter behind nothing else has no gradient.
TEST(Detach, StopsTheGradient) {
  Graph g;
  const ValueId x = g.add_parameter("x", Shape{4}, {}), cut = g.add_parameter("cut", Shape{4}, {});
  const ValueId y = g.apply("mul", "y", {x, g.apply("detach", "d", {x})});
  const ValueId z = g.apply("add", "z", {y, g.apply("detach", "e", {g.apply("tanh", "t", {cut})})});
  const std::vector<ParameterGradient> gradients = differentiate(g, g.apply("sum", "loss", {z}));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(g.value(gradients[0].parameter).name, "x");
  GraphRun run(std::move(g));
  run.set("x", {1.0, -2.0, 0.5, 3.0});
  run.run();
  EXPECT_EQ(run.get(gradients[0].gradient), run.get("x"));
}

TEST(GradientCoverage, EveryDifferentiableOperatorHasACase) {
  std::vector<std::string> covered;
  for (const GradientCase& c : cases()) covered.insert(covered.end(), c.covers.begin(), c.covers.end());
  for (const std::string& name : operators().names()) {
    if (!operators().find(name).gradient) continue;
    EXPECT_NE(std::find(covered.begin(), covered.end(), name), covered.end()) << name << " has a gradient that no case checks";
  }
}

}  // namespace
}  // namespace ulpscope::engine
