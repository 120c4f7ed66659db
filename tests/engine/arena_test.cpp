// The arena's buffers are used again and again within a step. A step in an arena full of NaN has the bits of a step in
// which every value has memory of its own: nothing is read before it is written, nothing alive is overwritten.
#include <gtest/gtest.h>

#include "engine/optim/schedule.h"
#include "engine/train/trainer.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/engine/support/watched_device.h"

namespace ulpscope::engine {
namespace {

using testing::GraphRun;

struct Case {
  const char* model;   ///< mlp, fused, composed
  const char* mode;
  double dropout;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* mode : {"fp32", "fp16", "bf16"}) {
    all.push_back({"mlp", mode, 0.0});   // has no dropout
    for (const char* attention : {"fused", "composed"})
      for (const double dropout : {0.0, 0.1}) all.push_back({attention, mode, dropout});
  }
  return all;
}

constexpr std::int64_t batch = 4, context = 16;
constexpr int threads = 2;
constexpr std::uint64_t seed = 5;

ModelConfig model_of(const Case& c) {
  if (std::string(c.model) == "mlp") {
    MlpConfig m;
    m.context = context;
    m.width = 48;
    return m;
  }
  GptConfig m;
  m.context = context;
  m.width = 32;
  m.layers = 2;
  m.heads = 2;
  m.attention = c.model;
  m.dropout = c.dropout;
  return m;
}

/// Tokens and targets of an iteration: bytes.
std::vector<std::vector<float>> batch_of(const Case& c, std::int64_t iteration) {
  const auto bytes = [&](std::int64_t n, std::int64_t shift) {
    std::vector<float> list;
    for (std::int64_t i = 0; i < n; ++i) list.push_back(static_cast<float>((i * 7 + iteration * 13 + shift) * 31 % 256));
    return list;
  };
  return {bytes(batch * context, 0), bytes(std::string(c.model) == "mlp" ? batch : batch * context, 7)};
}

std::vector<double> as_double(const std::vector<float>& list) { return {list.begin(), list.end()}; }

class Arena : public ::testing::TestWithParam<Case> {
 protected:
  Arena() {
    config_.batch = batch;
    config_.schedule.warmup = 2;
    config_.scaler = scaling::FixedScaling{1024.0f};
  }

  /// Fills the arena of a trainer with NaN, whatever format looks at it.
  void poison(const Trainer& t) {
    const auto bytes = static_cast<std::size_t>(std::max(t.plan().memory.arena_bytes, t.evaluation_plan().memory.arena_bytes));
    int found = 0;
    for (const auto& [memory, size] : device_.allocations()) {
      if (size != bytes) continue;
      ++found;
      device_.fill(memory, 0xff, bytes);
    }
    ASSERT_EQ(found, 1) << "the arena is known by its size";
  }

  void set_inputs(GraphRun& run, const StepPlan& plan, const std::vector<std::vector<float>>& lists) {
    for (std::size_t i = 0; i < lists.size(); ++i) run.set(plan.graph.value(plan.inputs[i]).name, as_double(lists[i]));
  }

  TrainConfig config_;
  testing::WatchedDevice device_{threads};
  Topics topics_;
};

TEST_P(Arena, ReuseChangesNoBit) {
  const Case& c = GetParam();
  const testing::ListDataset data([&](std::int64_t iteration) { return batch_of(c, iteration); });
  Trainer t(device_, data, TrainerSetup{model_of(c), find_mode(c.mode), config_, seed}, topics_);
  ASSERT_EQ(scales_loss(find_mode(c.mode), config_), std::string(c.mode) == "fp16");
  const StepPlan &plan = t.plan(), &evaluation_plan = t.evaluation_plan();
  GraphRun own(plan.graph, seed, threads), own_evaluation(evaluation_plan.graph, seed, threads);
  std::vector<std::string> persistent;
  for (const Role role : {Role::parameter, Role::optimizer_state})
    for (const ValueId v : plan.graph.with_role(role)) persistent.push_back(plan.graph.value(v).name);

  for (std::int64_t i = 0; i < 4; ++i) {
    poison(t);
    StepState state;
    state.loss_scale = t.scaler().scale;
    state.inverse_scale = scaling::inverse(state.loss_scale);
    state.learning_rate = learning_rate(config_.schedule, t.applied());
    state.iteration = i;
    state.applied = t.applied();
    const StepResult step = t.step();

    own.state() = state;
    set_inputs(own, plan, batch_of(c, i));
    own.run();
    ASSERT_TRUE(step.finite && !step.skipped);
    EXPECT_EQ(static_cast<double>(step.loss), own.get(plan.loss).front()) << i;
    EXPECT_EQ(step.gradient_norm, own.state().gradient_norm) << i;
    EXPECT_EQ(step.clip_coefficient, own.state().clip_coefficient) << i;
    for (const std::string& name : persistent) ASSERT_EQ(as_double(t.read(name)), own.get(name)) << name << " after step " << i;

    poison(t);
    const Trainer::Evaluation evaluation = t.evaluate();
    for (const ValueId v : evaluation_plan.graph.with_role(Role::parameter)) {
      const std::string& name = evaluation_plan.graph.value(v).name;
      own_evaluation.set(name, own.get(name));
    }
    set_inputs(own_evaluation, evaluation_plan, batch_of(c, 0));
    own_evaluation.run();
    ASSERT_EQ(evaluation.batches, 1);
    EXPECT_EQ(evaluation.loss, own_evaluation.get(evaluation_plan.loss).front()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Arena, ::testing::ValuesIn(cases()), [](const auto& param) {
  const Case& c = param.param;
  return std::string(c.model) + "_" + c.mode + (c.dropout > 0.0 ? "_dropout" : "");
});

}  // namespace
}  // namespace ulpscope::engine
