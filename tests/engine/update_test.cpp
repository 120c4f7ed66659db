// Loss scale and update, seen through the printed graph before and after.
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/autodiff.h"
#include "engine/passes/loss_scale.h"
#include "engine/passes/update.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

struct Small {
  Graph graph;
  ValueId loss;
};

Small small() {
  Small s;
  const ValueId a = s.graph.add_parameter("a", Shape{3}, {}), b = s.graph.add_parameter("b", Shape{3}, {});
  s.loss = s.graph.apply("mse_loss", "loss", {a, b});
  return s;
}

std::string added(const Graph& after, const std::string& before) {
  const std::string text = to_string(after);
  EXPECT_EQ(text.substr(0, before.size()), before);
  return text.substr(before.size());
}

TEST(LossScale, IsOneNodeOnTheLoss) {
  Small s = small();
  const std::string before = to_string(s.graph);
  const ValueId scaled = scale_loss(s.graph, s.loss);
  EXPECT_EQ(s.graph.value(scaled).name, "scale_loss");
  EXPECT_EQ(added(s.graph, before), "scale_loss: scale_loss(loss fp32) -> fp32[]\n");
}

TEST(Update, AdamwUpdatesInPlaceAfterTheCheckAndTheNorm) {
  Small s = small();
  const std::vector<ParameterGradient> gradients = differentiate(s.graph, s.loss);
  const std::string before = to_string(s.graph);
  add_update(s.graph, gradients, {});
  EXPECT_EQ(added(s.graph, before),
            "unscale_check: unscale_check(loss.dprediction fp32, loss.dtarget fp32) -> fp32[3], fp32[3]\n"
            "global_norm: global_norm(unscale_check fp32, unscale_check:1 fp32) -> fp32[] {max_norm=1}\n"
            "a.update: adamw(unscale_check fp32, global_norm fp32, a fp32, a.m fp32, a.v fp32) -> fp32[3], fp32[3], fp32[3] "
            "{beta1=0.9 beta2=0.95 epsilon=1e-08 weight_decay=0.1}\n"
            "b.update: adamw(unscale_check:1 fp32, global_norm fp32, b fp32, b.m fp32, b.v fp32) -> fp32[3], fp32[3], fp32[3] "
            "{beta1=0.9 beta2=0.95 epsilon=1e-08 weight_decay=0.1}\n");
  EXPECT_EQ(s.graph.memory_owner(s.graph.find("a.update")), s.graph.find("a"));
  EXPECT_EQ(s.graph.memory_owner(s.graph.find("a.update:2")), s.graph.find("a.v"));
  EXPECT_EQ(s.graph.memory_owner(s.graph.find("unscale_check:1")), s.graph.find("loss.dtarget"));
}

TEST(Update, SgdWithoutMomentumKeepsNoState) {
  Small s = small();
  const std::vector<ParameterGradient> gradients = differentiate(s.graph, s.loss);
  OptimizerConfig config;
  config.kind = OptimizerKind::sgd;
  config.momentum = 0.0;
  add_update(s.graph, gradients, config);
  EXPECT_TRUE(s.graph.with_role(Role::optimizer_state).empty());
}

/// A momentum that rounds to 0 in fp32 still has its buffer.
TEST(Update, SgdWithATinyMomentumRuns) {
  Small s = small();
  OptimizerConfig config;
  config.kind = OptimizerKind::sgd;
  config.momentum = 1e-50;
  config.weight_decay = config.clip = 0.0;
  add_update(s.graph, differentiate(s.graph, s.loss), config);
  testing::GraphRun run(std::move(s.graph));
  run.set("a", {1.5, 1.5, 1.5});
  run.state().learning_rate = 1.0;
  run.run();
  EXPECT_EQ(run.get("a"), (std::vector<double>{0.5, 0.5, 0.5}));   // d/da mean((a - b)^2) = 2 (a - b) / 3
  EXPECT_EQ(run.get("a.momentum"), (std::vector<double>{1.0, 1.0, 1.0}));
}

/// PyTorch keeps the learning rate in double: 0.1 is not rounded to fp32 before it is used.
TEST(Update, TheLearningRateIsADouble) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    Graph g;
    const ValueId w = g.add_parameter("w", Shape{1}, {}, Format::fp64);
    OptimizerConfig config;
    config.kind = kind;
    config.momentum = config.clip = config.epsilon = config.weight_decay = 0.0;
    add_update(g, differentiate(g, g.apply("sum", "loss", {w})), config);
    testing::GraphRun run(std::move(g));
    run.state().learning_rate = 0.1;
    run.run();
    EXPECT_NEAR(run.get("w").front(), -0.1, 1e-15) << (kind == OptimizerKind::sgd ? "sgd" : "adamw");   // fp32(0.1) is 1.5e-9 away
  }
}

/// The step can be skipped or run again between these two: nothing before the update phase writes a persistent value.
TEST(Update, NothingIsCommittedBeforeTheUpdatePhase) {
  Small s = small();
  add_update(s.graph, differentiate(s.graph, s.loss), {});
  for (const Node& node : s.graph.nodes()) {
    for (const ValueId v : node.outputs) {
      const Role role = s.graph.value(v).role;
      const bool persistent = role == Role::parameter || role == Role::optimizer_state;
      EXPECT_TRUE(!persistent || node.phase == Phase::update) << node.name;
    }
  }
}

}  // namespace
}  // namespace ulpscope::engine
