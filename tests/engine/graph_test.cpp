// Building a graph: names are identity, and what does not fit is refused where it is written down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/in_place.h"
#include "engine/passes/update.h"
#include "engine/streams.h"
#include "kernels/error.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class Call>
std::string mistake(Call call) {
  try {
    call();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing was refused";
}

/// What is said when a node "here" is added to a graph with x [2, 6] fp32, w [4, 6] and indices i [2].
std::string mistake_of(const char* op, std::vector<const char*> inputs, Attributes attributes = {}) {
  Graph g;
  g.add_input("x", Shape{2, 6}, Format::fp32);
  g.add_parameter("w", Shape{4, 6}, {});
  g.add_input("i", Shape{2}, Format::i32);
  g.add_input("packed", Shape{1, 2, 6}, Format::fp32);
  std::vector<ValueId> ids;
  for (const char* name : inputs) ids.push_back(g.find(name));
  return mistake([&] { g.apply(op, "here", ids, std::move(attributes)); });
}

TEST(Names, OfValuesAreUnique) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2}, Format::fp32);
  EXPECT_THAT(mistake([&] { g.add_parameter("x", Shape{3}, {}); }), HasSubstr("a value named 'x' is there already"));
  EXPECT_THAT(mistake([&] { g.add_constant("x", Shape{}, {}); }), HasSubstr("'x'"));
  EXPECT_THAT(mistake([&] { g.add_optimizer_state("x", Shape{}); }), HasSubstr("'x'"));
  g.apply("relu", "y", {x});
  EXPECT_THAT(mistake([&] { g.add_parameter("y", Shape{3}, {}); }), HasSubstr("'y'")) << "the output of a node";
  EXPECT_EQ(g.find("x"), x);
}

TEST(Names, OfNodesAreNumberedWhereTheyAreTaken) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{2, 6}, Format::fp32);
  EXPECT_EQ(g.value(g.apply("relu", "x", {x})).name, "x.2") << "taken by a value";
  EXPECT_EQ(g.value(g.apply("relu", "x", {x})).name, "x.3") << "taken by a node";
  g.add_input("norm:1", Shape{}, Format::fp32);
  const ValueId gain = g.add_parameter("gain", Shape{6}, {}), bias = g.add_parameter("bias", Shape{6}, {});
  EXPECT_EQ(g.value(g.apply("layer_norm", "norm", {x, gain, bias})).name, "norm.2") << "its second output would collide";
  EXPECT_TRUE(g.contains("norm.2:1"));
}

TEST(Names, OfPassesMakeWayForThoseOfTheModel) {
  Graph g;
  g.add_input("one", Shape{}, Format::fp32);
  const ValueId w = g.add_parameter("w", Shape{3}, {});
  g.add_input("loss.count", Shape{}, Format::fp32);
  EXPECT_NO_THROW(differentiate(g, g.apply("mean", "loss", {w})));
}

TEST(Names, OneNameGivesThreeStreams) {
  EXPECT_NE(weight_stream("data"), mask_stream("data"));
  EXPECT_NE(weight_stream("data"), batch_stream("data"));
  EXPECT_NE(mask_stream("data"), batch_stream("data"));
}

TEST(Refused, NumbersOfInputs) {
  EXPECT_THAT(mistake_of("relu", {}), HasSubstr("node 'here' (relu): takes 1 input, not 0"));
  EXPECT_THAT(mistake_of("relu", {"x", "x"}), HasSubstr("takes 1 input, not 2"));
  EXPECT_THAT(mistake_of("linear", {"x"}), HasSubstr("node 'here' (linear): takes 2 to 3 inputs, not 1"));
  EXPECT_THAT(mistake_of("cross_entropy", {"x"}), HasSubstr("takes 2 inputs, not 1"));
  EXPECT_THAT(mistake_of("join_heads", {}), HasSubstr("takes at least 1 input, not 0"));
  Graph g;
  EXPECT_THAT(mistake([&] { g.apply("relu", "here", {ValueId{}}); }), HasSubstr("node 'here' (relu): input 0 is no value"));
  EXPECT_THAT(mistake([&] { g.apply("relu", "here", {ValueId{7}}); }), HasSubstr("input 0 is no value"));
}

TEST(Refused, KindsOfInputs) {
  EXPECT_THAT(mistake_of("relu", {"i"}), HasSubstr("node 'here' (relu): input 0 must hold numbers, not indices"));
  EXPECT_THAT(mistake_of("cross_entropy", {"x", "x"}), HasSubstr("input 1 must hold i32 indices"));
  EXPECT_THAT(mistake_of("embedding", {"i", "i"}), HasSubstr("input 0 must hold numbers"));
  EXPECT_EQ(mistake_of("reshape", {"i"}, {{"shape", std::vector<std::int64_t>{2, 1}}}), "nothing was refused");
}

TEST(Refused, ShapesWithTooManyOrNegativeDimensions) {
  EXPECT_THAT(mistake([] { Shape{1, 1, 1, 1, 1, 1, 1}; }), HasSubstr("[1, 1, 1, 1, 1, 1, 1] has more than 6 dimensions"));
  EXPECT_THAT(mistake([] { Shape{2, -3}; }), HasSubstr("[2, -3] has a negative dimension"));
  for (const char* op : {"reshape", "expand", "sum_to"}) {
    EXPECT_THAT(mistake_of(op, {"x"}, {{"shape", std::vector<std::int64_t>{-2, -6}}}),
                AllOf(HasSubstr("node 'here'"), HasSubstr("[-2, -6] has a negative dimension")))
        << op;
    EXPECT_THAT(mistake_of(op, {"x"}, {{"shape", std::vector<std::int64_t>{1, 1, 1, 1, 1, 2, 6}}}),
                AllOf(HasSubstr("node 'here'"), HasSubstr("more than 6 dimensions")))
        << op;
  }
  EXPECT_THAT(mistake_of("expand", {"x"}, {{"shape", std::vector<std::int64_t>{3, 6}}}), HasSubstr("do not broadcast"));
  EXPECT_THAT(mistake_of("sum_to", {"x"}, {{"shape", std::vector<std::int64_t>{4}}}), HasSubstr("cannot sum [2, 6] to [4]"));
}

TEST(Refused, AttributesWithTheNodesName) {
  EXPECT_THAT(mistake_of("scale", {"x"}), HasSubstr("node 'here' (scale): attribute 'factor' is missing"));
  EXPECT_THAT(mistake_of("scale", {"x"}, {{"factor", std::string("two")}}), HasSubstr("'factor' is not a number"));
  EXPECT_THAT(mistake_of("dropout", {"x"}, {{"rate", 1.0}}), HasSubstr("node 'here' (dropout): rate must lie in [0, 1)"));
  EXPECT_THAT(mistake_of("attention", {"packed"}, {{"heads", std::int64_t{1}}, {"rate", 1.5}}),
              HasSubstr("node 'here' (attention): rate must lie in [0, 1)"));
  EXPECT_THAT(mistake_of("attention", {"packed"}, {{"heads", std::int64_t{1}}, {"causal", 1.0}}),
              HasSubstr("node 'here' (attention): attribute 'causal' is not true or false"));
  EXPECT_THAT(mistake_of("attention", {"packed"}), HasSubstr("node 'here' (attention): attribute 'heads' is missing"));
  EXPECT_THAT(mistake_of("causal_mask", {"x"}, {{"value", true}}), HasSubstr("node 'here' (causal_mask)"));
  EXPECT_THAT(mistake_of("cast", {"x"}, {{"to", std::string("fp31")}}), HasSubstr("node 'here' (cast)"));
}

TEST(Refused, AnEpsilonThatIsNone) {
  const auto mistake = [](const char* op, Attribute epsilon) -> std::string {
    Graph g;
    const ValueId x = g.add_input("x", Shape{4, 3}, Format::fp32);
    const ValueId gain = g.add_input("gain", Shape{3}, Format::fp32), bias = g.add_input("bias", Shape{3}, Format::fp32);
    const bool rms = std::string_view(op) == "rms_norm";
    try {
      g.apply(op, "here", rms ? std::vector<ValueId>{x, gain} : std::vector<ValueId>{x, gain, bias}, {{"epsilon", std::move(epsilon)}});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  for (const char* op : {"layer_norm", "rms_norm", "batch_norm"}) {
    for (const double bad : {-5.0, -1e-45, 1e300, std::nan("")})
      EXPECT_THAT(mistake(op, bad), AllOf(HasSubstr("node 'here'"), HasSubstr("it takes a finite number of fp32, 0 or more"))) << op << bad;
    EXPECT_EQ(mistake(op, 0.0), "") << op;
    EXPECT_EQ(mistake(op, std::int64_t{1}), "") << op;
  }
}

TEST(Refused, OperatorsOfTheUpdateInAModel) {
  for (const char* op : {"unscale_check", "global_norm", "sgd", "adamw"}) {
    EXPECT_THAT(mistake_of(op, {"x"}), HasSubstr("a model cannot use it")) << op;
    EXPECT_NO_THROW(operators().find(op));
  }
  const std::string unknown = mistake_of("adam", {"x"});
  EXPECT_THAT(unknown, HasSubstr("unknown operator 'adam'"));
  EXPECT_THAT(unknown, ::testing::Not(HasSubstr("adamw"))) << "what cannot be used is not proposed";
}

TEST(Bytes, AnEmbeddingReadsTheRowsItLooksUp) {
  Graph g;
  const ValueId table = g.add_parameter("table", Shape{1000, 8}, {}), index = g.add_input("index", Shape{2, 3}, Format::i32);
  const ValueId y = g.apply("embedding", "y", {table, index});
  EXPECT_EQ(node_bytes(g, g.node(g.value(y).producer)), 6 * 8 * 4 * 2 + 6 * 4);
  const ValueId r = g.apply("relu", "r", {y});
  EXPECT_EQ(node_bytes(g, g.node(g.value(r).producer)), 6 * 8 * 4 * 2) << "other operators: what they read and write";
}

/// w → square → loss, differentiated and updated.
struct Updated {
  Graph graph;
  ValueId gradient, view, unscaled;
};
Updated updated() {
  Updated u;
  const ValueId w = u.graph.add_parameter("w", Shape{4}, {});
  const ValueId loss = u.graph.apply("sum", "loss", {u.graph.apply("mul", "square", {w, w})});
  const std::vector<ParameterGradient> gradients = differentiate(u.graph, loss);
  u.gradient = gradients.at(0).gradient;
  u.view = u.graph.apply("reshape", "view", {u.gradient}, {{"shape", std::vector<std::int64_t>{2, 2}}});
  add_update(u.graph, gradients, {});
  u.unscaled = u.graph.find("unscale_check");
  return u;
}

TEST(InPlace, WhatWasOverwrittenCannotBeRead) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const auto plan = [&](const Graph& g) { plan_memory(g, device->kernels(), false, {}, 1); };
  Updated u = updated();
  EXPECT_NO_THROW(plan(u.graph));
  u.graph.apply("relu", "fine", {u.unscaled});
  EXPECT_NO_THROW(plan(u.graph)) << "what is there now can be read";

  const std::string gradient = u.graph.value(u.gradient).name;
  u.graph.apply("relu", "late", {u.gradient});
  EXPECT_THAT([&] { plan(u.graph); },
              ThrowsMessage<Error>(HasSubstr("node 'late' reads '" + gradient + "' after node 'unscale_check' overwrote it")));
  u = updated();
  u.graph.apply("relu", "late", {u.view});
  EXPECT_THAT([&] { plan(u.graph); }, ThrowsMessage<Error>(HasSubstr("node 'late' reads 'view'"))) << "through a view";
  u = updated();
  u.graph.apply("relu", "late", {u.graph.find("w")});
  EXPECT_THAT([&] { plan(u.graph); }, ThrowsMessage<Error>(HasSubstr("after node 'w.update' overwrote it")));
}

}  // namespace
}  // namespace ulpscope::engine
