// The models: each trains, gives every parameter a gradient in every mode, evaluates, and refuses sizes that do not fit.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/autodiff.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "tests/engine/support/model_batches.h"

namespace ulpscope::engine {
namespace {

using testing::model_batches;
using testing::named_models;
using testing::NamedModel;

constexpr std::int64_t batch = 6;

TrainConfig config_of() {
  TrainConfig config;
  config.batch = batch;
  config.schedule.learning_rate = 5e-3;
  config.evaluation_batches = 1;
  return config;
}

class Models : public ::testing::TestWithParam<NamedModel> {};

TEST_P(Models, TrainInEveryMixedMode) {
  for (const char* mode : {"fp32", "fp16", "bf16"}) {
    const std::unique_ptr<Device> device = make_cpu_device({2, ""});
    const testing::ListDataset data(model_batches(GetParam().model, batch, 2));   // two batches, seen again and again
    Topics topics;
    Trainer t(*device, data, TrainerSetup{GetParam().model, find_mode(mode), config_of(), 3}, topics);
    std::vector<float> losses;
    for (int i = 0; i < 30; ++i) losses.push_back(t.step().loss);
    const auto mean = [&](std::size_t from, std::size_t to) {
      return std::accumulate(losses.begin() + static_cast<std::ptrdiff_t>(from), losses.begin() + static_cast<std::ptrdiff_t>(to), 0.0f) / static_cast<float>(to - from);
    };
    EXPECT_LT(mean(26, 30), 0.8f * mean(0, 4)) << mode << ": the loss does not fall";
    const Trainer::Evaluation held_out = t.evaluate();
    EXPECT_TRUE(held_out.available);
    EXPECT_TRUE(std::isfinite(held_out.loss)) << mode;
  }
}

TEST_P(Models, EveryParameterHasAGradientThatIsNotZero) {
  Model model = build_model(GetParam().model, batch, true);
  const std::vector<ParameterGradient> gradients = differentiate(model.graph, model.loss);
  EXPECT_EQ(gradients.size(), model.graph.with_role(Role::parameter).size());
  std::vector<std::string> names;
  for (const ValueId v : model.inputs) names.push_back(model.graph.value(v).name);
  testing::GraphRun run(std::move(model.graph), 3);
  const std::vector<std::vector<float>> inputs = model_batches(GetParam().model, batch, 2)(0);
  for (std::size_t i = 0; i < names.size(); ++i) run.set(names[i], {inputs[i].begin(), inputs[i].end()});
  run.run();
  for (const ParameterGradient& g : gradients) {
    double size = 0.0;
    for (const double x : run.get(g.gradient)) size += std::abs(x);
    const std::string& name = run.graph().value(g.parameter).name;
    EXPECT_TRUE(std::isfinite(size)) << name;
    // A constant added to every score of a query changes no probability: a key's bias has no gradient.
    if (name.find("k_proj.bias") != std::string::npos) continue;
    EXPECT_GT(size, 0.0) << name;
  }
}

TEST_P(Models, CanBePlannedInEveryMode) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  for (const Mode& mode : modes()) {
    const StepPlan plan = plan_step(*device, build_model(GetParam().model, batch, true), mode, config_of());
    EXPECT_GT(plan.memory.arena_bytes, 0) << mode.name;
    double flops = 0.0;
    for (const Node& node : plan.graph.nodes()) flops += node_flops(plan.graph, node) + node_bytes(plan.graph, node);
    EXPECT_TRUE(flops > 0.0 && std::isfinite(flops)) << mode.name;
    plan_evaluation(*device, build_model(GetParam().model, batch, false), mode, config_of());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Models, ::testing::ValuesIn(named_models()), [](const auto& p) { return p.param.name; });

/// The composed form computes what the fused operator does: the same losses, but for the roundings inside.
TEST(Attention, ComposedAgreesWithFused) {
  for (const NamedModel& m : named_models()) {
    const std::string fused_name = m.name.substr(0, m.name.find("_composed"));
    if (fused_name == m.name) continue;
    float losses[2] = {};
    int i = 0;
    for (const NamedModel& other : named_models()) {
      if (other.name != m.name && other.name != fused_name) continue;
      const std::unique_ptr<Device> device = make_cpu_device({1, ""});
      const testing::ListDataset data(model_batches(other.model, batch, 2));
      Topics topics;
      Trainer t(*device, data, TrainerSetup{other.model, find_mode("fp32"), config_of(), 3}, topics);
      for (int step = 0; step < 3; ++step) losses[i] = t.step().loss;
      ++i;
    }
    EXPECT_NEAR(losses[0], losses[1], 2e-5f) << m.name;
  }
}

/// Padding changes nothing: a sequence gives the loss of the same sequence with other tokens behind it that are padding.
TEST(Encoder, DoesNotSeePadding) {
  EncoderConfig c;
  c.context = 12;
  c.width = 16;
  c.heads = 2;
  c.classes = 5;
  for (const char* pooling : {"mean", "first"}) {
    c.pooling = pooling;
    std::vector<double> losses;
    for (const std::int64_t context : {8, 12}) {
      c.context = context;
      Model model = build_model(c, 2, false);
      const std::string loss = model.graph.value(model.loss).name;
      testing::GraphRun run(std::move(model.graph), 4);
      std::vector<double> tokens;
      for (std::int64_t i = 0; i < 2 * context; ++i) tokens.push_back(i % context < 7 ? static_cast<double>(1 + i % context * 31) : 0.0);
      run.set("tokens", tokens);
      run.set("targets", {1, 3});
      // The same positions in both.
      std::vector<double> positions = testing::numbers(static_cast<std::size_t>(12 * c.width), 0.5, 9);
      positions.resize(static_cast<std::size_t>(context * c.width));
      run.set("wpe.weight", positions);
      run.run();
      losses.push_back(run.get(loss).front());
    }
    EXPECT_NEAR(losses[0], losses[1], 1e-6) << pooling;
  }
}

TEST(Cnn, KeepsRunningStatisticsForTheEvaluation) {
  CnnConfig c;
  c.shape = {2, 6, 6};
  c.channels = 4;
  c.blocks = 1;
  c.classes = 3;
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const testing::ListDataset data(model_batches(c, batch, 1));
  Topics topics;
  TrainConfig config = config_of();
  config.schedule.learning_rate = 1e-12;   // the weights stay
  Trainer t(*device, data, TrainerSetup{c, find_mode("fp32"), config, 3}, topics);
  for (const float v : t.read("stem.bn.running_var")) EXPECT_EQ(v, 1.0f);
  const float first = t.step().loss;
  const std::vector<float> after_one = t.read("stem.bn.running_mean");
  for (int i = 0; i < 200; ++i) t.step();
  const std::vector<float> settled = t.read("stem.bn.running_mean");
  for (std::size_t i = 0; i < settled.size(); ++i) EXPECT_NEAR(after_one[i], 0.1f * settled[i], 1e-4f);   // momentum 0.1, from 0
  // With the statistics of the one batch there is, evaluation gives nearly the training loss (the variance is unbiased).
  EXPECT_NEAR(t.evaluate().loss, static_cast<double>(first), 0.05 * static_cast<double>(first));
}

std::string refusal(const ModelConfig& config) {
  try {
    build_model(config, 2, true);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Models, RefuseSizesThatDoNotFit) {
  LlamaConfig llama;
  llama.kv_heads = 3;
  EXPECT_THAT(refusal(llama), ::testing::HasSubstr("model.heads 4 is not divisible by model.kv_heads 3"));
  llama = {};
  llama.width = 12;
  EXPECT_THAT(refusal(llama), ::testing::HasSubstr("must be even"));
  CnnConfig cnn;
  cnn.kernel = 4;
  EXPECT_THAT(refusal(cnn), ::testing::HasSubstr("model.kernel must be odd"));
  cnn = {};
  cnn.shape = {28};
  EXPECT_THAT(refusal(cnn), ::testing::HasSubstr("model.shape has 1 dimensions"));
  EncoderConfig encoder;
  encoder.pooling = "max";
  EXPECT_THAT(refusal(encoder), ::testing::HasSubstr("Choices: mean, first"));
  EXPECT_THROW(text_options(ModelConfig{CnnConfig{}}, 0.1), UsageError);
  encoder = {};
  encoder.classes = 2;
  EXPECT_THROW(text_options(ModelConfig{encoder}, 0.1), UsageError);
}

TEST(Models, TakeTheirSizesFromTheData) {
  ModelConfig cnn = CnnConfig{}, encoder = EncoderConfig{};
  fit_to_data(cnn, Example{Shape{3, 8, 9}, false, true, Shape{}, 7});
  EXPECT_EQ(std::get<CnnConfig>(cnn).shape, (std::vector<std::int64_t>{3, 8, 9}));
  EXPECT_EQ(std::get<CnnConfig>(cnn).classes, 7);
  fit_to_data(encoder, Example{Shape{20}, true, true, Shape{}, 2});
  EXPECT_EQ(std::get<EncoderConfig>(encoder).context, 20);
  EXPECT_EQ(std::get<EncoderConfig>(encoder).classes, 2);
  EXPECT_THROW(fit_to_data(encoder, Example{Shape{20}, false, true, Shape{}, 2}), UsageError);
  EXPECT_THROW(fit_to_data(cnn, Example{Shape{784}, false, true, Shape{}, 2}), UsageError);
  for (const Shape& mnist : {Shape{28, 28}, Shape{784}}) {
    cnn = CnnConfig{};
    fit_to_data(cnn, Example{mnist, true, true, Shape{}, 10});
    EXPECT_EQ(std::get<CnnConfig>(cnn).shape, (std::vector<std::int64_t>{1, 28, 28}));
  }
}

/// One table for both ends: the gradients of the look-up and of the product add up.
TEST(Tied, HasOneTableLess) {
  for (const bool tied : {false, true}) {
    GptConfig gpt;
    gpt.tied = tied;
    LlamaConfig llama;
    llama.tied = tied;
    EXPECT_EQ(build_model(gpt, 2, true).graph.contains("lm_head.weight"), !tied);
    EXPECT_EQ(build_model(llama, 2, true).graph.contains("lm_head.weight"), !tied);
  }
}

}  // namespace
}  // namespace ulpscope::engine
