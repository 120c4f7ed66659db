// Training in every mode: the same start, the same batches, it learns, the ledger is the allocator's.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/initialise.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "kernels/formats/instruction_set.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

GptConfig tiny_gpt() {
  GptConfig c;
  c.context = 16;
  c.width = 32;
  c.layers = 2;
  c.heads = 2;
  return c;
}

TrainConfig short_training() {
  TrainConfig c;
  c.batch = 8;
  c.steps = 60;
  c.schedule.kind = ScheduleKind::constant;
  c.schedule.learning_rate = 3e-3;
  c.schedule.warmup = 10;
  c.schedule.steps = 60;
  return c;
}

class Training : public ::testing::Test {
 protected:
  Training() {
    path_ = std::filesystem::temp_directory_path() / ("ulpscope_trainer_test_" + std::to_string(::getpid()) + ".txt");
    std::ofstream(path_) << testing::made_up_text(20000);
    text_ = load_text({path_.string()}, text_options(ModelConfig{tiny_gpt()}, 0.1));
  }
  ~Training() override { std::filesystem::remove(path_); }

  std::unique_ptr<Trainer> trainer(const std::string& mode, const ModelConfig& model = tiny_gpt(), std::uint64_t seed = 1,
                                   Device* device = nullptr) {
    TrainConfig config = short_training();
    if (find_mode(mode).pure) config.optimizer.epsilon = 1e-3;   // 1e-8 is 0 in fp16
    return std::make_unique<Trainer>(device != nullptr ? *device : *device_, *text_,
                                     TrainerSetup{model, find_mode(mode), config, seed}, topics_);
  }

  std::filesystem::path path_;
  std::unique_ptr<Dataset> text_;
  std::unique_ptr<Device> device_ = make_cpu_device({2, ""});
  Topics topics_;
};

std::vector<float> every_parameter(const Trainer& t) {
  std::vector<float> all;
  for (const ValueId v : t.plan().graph.with_role(Role::parameter)) {
    const std::vector<float> values = t.read(t.plan().graph.value(v).name);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<std::uint16_t> narrowed(const std::vector<float>& values, Format format) {
  std::vector<std::uint16_t> stored(values.size());
  store(values, format, stored.data());
  return stored;
}

TEST_F(Training, EveryModeStartsFromTheSameWeights) {
  const std::vector<float> expected = every_parameter(*trainer("fp32"));
  double sum = 0.0;
  for (const float w : expected) sum += std::abs(static_cast<double>(w));
  EXPECT_GT(sum, 100.0);
  for (const Mode& mode : modes()) {
    std::vector<float> start = expected;   // pure modes round it once
    if (mode.pure) start = load(mode.lower, narrowed(start, mode.lower).data(), static_cast<std::int64_t>(start.size()));
    EXPECT_EQ(every_parameter(*trainer(mode.name)), start) << mode.name;
  }
  EXPECT_NE(every_parameter(*trainer("fp32", tiny_gpt(), 2)), expected);
}

TEST_F(Training, EveryModeSeesTheSameBatches) {
  std::vector<float> expected;
  for (const Mode& mode : modes()) {
    const std::unique_ptr<Trainer> t = trainer(mode.name);
    t->step();
    t->step();
    if (expected.empty()) expected = t->read("tokens");
    EXPECT_EQ(t->read("tokens"), expected) << mode.name;
  }
}

TEST_F(Training, TheGptLearnsInEveryMode) {
  for (const Mode& mode : modes()) {
    const std::unique_ptr<Trainer> t = trainer(mode.name);
    const float first = t->step().loss;
    EXPECT_NEAR(first, std::log(256.0), 0.2) << mode.name;   // nothing known yet: uniform over the bytes
    StepResult last;
    for (int i = 1; i < 60; ++i) last = t->step();
    EXPECT_LT(last.loss, 2.2f) << mode.name;
    const Trainer::Evaluation held_out = t->evaluate();
    EXPECT_TRUE(held_out.available);
    EXPECT_LT(held_out.loss, 2.4) << mode.name;
    EXPECT_EQ(t->applied(), 60) << mode.name;
  }
}

TEST_F(Training, TheMlpLearnsInEveryMode) {
  MlpConfig mlp;
  mlp.width = 64;
  text_ = load_text({path_.string()}, text_options(ModelConfig{mlp}, 0.1));
  for (const Mode& mode : modes()) {
    const std::unique_ptr<Trainer> t = trainer(mode.name, mlp);
    StepResult last;
    for (int i = 0; i < 200; ++i) last = t->step();
    EXPECT_LT(last.loss, 2.2f) << mode.name;
  }
}

TEST_F(Training, ModesDiffer) {
  std::vector<float> losses;
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16"}) {
    const std::unique_ptr<Trainer> t = trainer(mode);
    for (int i = 0; i < 4; ++i) t->step();
    losses.push_back(t->step().loss);
  }
  // bf16 rounds to 2^-8, fp16 and tf32 to 2^-11: all near fp32, none the same.
  for (std::size_t i = 1; i < losses.size(); ++i) {
    EXPECT_NE(losses[i], losses[0]);
    EXPECT_NEAR(losses[i], losses[0], i == 3 ? 2e-2 : 4e-3);
  }
}

/// With products; tests/engine/bits_test.cpp has every instruction set, without them.
TEST_F(Training, TheSameBitsForAnyNumberOfThreads) {
  GptConfig model = tiny_gpt();
  model.dropout = 0.1;
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16"}) {
    std::vector<float> expected;
    double expected_loss = 0.0;
    for (const int threads : {1, 2, 3}) {
      const std::unique_ptr<Device> device = make_cpu_device({threads, ""});
      const std::unique_ptr<Trainer> t = trainer(mode, model, 1, device.get());
      for (int i = 0; i < 5; ++i) t->step();
      const std::vector<float> got = every_parameter(*t);
      const double loss = t->evaluate().loss;
      if (expected.empty()) expected = got, expected_loss = loss;
      EXPECT_EQ(got, expected) << mode << ", " << threads << " threads";
      EXPECT_EQ(loss, expected_loss) << mode << ", " << threads << " threads";
    }
  }
}

/// Products too have the same bits in AVX2 and AVX-512 and for any number of threads (kernels/matmul.h). Tensors of more
/// than one chunk of the reduction tree: 8 · 40 · 64 elements.
TEST_F(Training, TheSameBitsInAvx2AndAvx512) {
  GptConfig model = tiny_gpt();
  model.context = 40;
  model.width = 64;
  model.dropout = 0.1;
  text_ = load_text({path_.string()}, text_options(ModelConfig{model}, 0.1));
  std::vector<float> expected;
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512}) {
    if (!available(set)) continue;
    for (const int threads : {1, 2, 3}) {
      const std::unique_ptr<Device> device = make_cpu_device({threads, name(set)});
      const std::unique_ptr<Trainer> t = trainer("fp16", model, 1, device.get());
      for (int i = 0; i < 2; ++i) t->step();
      std::vector<float> got = every_parameter(*t);
      got.push_back(static_cast<float>(t->evaluate().loss));
      if (expected.empty()) expected = got;
      EXPECT_TRUE(got == expected) << name(set) << ", " << threads << " threads";
    }
  }
}

TEST_F(Training, ObservingChangesNoBit) {
  GptConfig fused = tiny_gpt(), composed = tiny_gpt();
  fused.dropout = composed.dropout = 0.1;
  composed.attention = "composed";
  for (const Mode& mode : modes())
    for (const GptConfig& model : {fused, composed}) {
      const std::unique_ptr<Trainer> bare = trainer(mode.name, model), observed = trainer(mode.name, model);
      std::int64_t events = 0;
      const Subscription s = topics_.tensor.subscribe([&](const TensorEvent&) { ++events; });
      observed->observe([](const Node&) { return true; });
      for (int i = 0; i < 3; ++i) EXPECT_EQ(bare->step().loss, observed->step().loss) << mode.name << ", " << model.attention;
      EXPECT_EQ(every_parameter(*bare), every_parameter(*observed)) << mode.name << ", " << model.attention;
      EXPECT_GT(events, 100) << mode.name;
    }
}

TEST_F(Training, TheLedgerIsTheAllocatorsPeakToTheByte) {
  for (const Mode& mode : modes()) {
    const std::unique_ptr<Device> device = make_cpu_device({2, ""});
    const std::unique_ptr<Trainer> t = trainer(mode.name, tiny_gpt(), 1, device.get());
    t->step();
    t->evaluate();
    std::int64_t sum = 0;
    for (const auto& [category, bytes] : t->memory_by_category()) sum += bytes;
    EXPECT_EQ(sum, static_cast<std::int64_t>(device->peak_bytes())) << mode.name;
    EXPECT_EQ(sum, static_cast<std::int64_t>(device->live_bytes())) << mode.name;
  }
}

TEST_F(Training, ComposedAttentionTrainsLikeTheFusedOne) {
  GptConfig composed = tiny_gpt();
  composed.attention = "composed";
  const std::unique_ptr<Trainer> a = trainer("fp32"), b = trainer("fp32", composed);
  for (int i = 0; i < 10; ++i) {
    const float loss = a->step().loss;
    EXPECT_NEAR(b->step().loss, loss, 1e-5f * loss) << i;   // the same sums, each rounded at other places
  }
}

TEST_F(Training, EvaluationChangesNothing) {
  const std::unique_ptr<Trainer> a = trainer("fp16"), b = trainer("fp16");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a->step().loss, b->step().loss);
    a->evaluate();
  }
  EXPECT_EQ(every_parameter(*a), every_parameter(*b));
}

std::string mistake_of(Device& device, const Model& training, const Model& evaluation) {
  Topics topics;
  const testing::ListDataset data(std::vector<std::vector<float>>{{1.0f, 2.0f}});
  try {
    Trainer(device, data, GraphSetup{training, evaluation, find_mode("fp32"), {}, 1}, topics);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing was refused";
}

/// sum(x w c).
Model product(const char* weight, const Shape& shape, Format format, double constant) {
  Model m;
  const ValueId x = m.graph.add_input("x", Shape{2}, Format::fp32), w = m.graph.add_parameter(weight, shape, {}, format);
  const ValueId c = m.graph.add_constant("c", Shape{}, {Initial::Kind::constant, constant, {}});
  m.loss = m.graph.apply("sum", "loss", {m.graph.apply("mul", "xwc", {m.graph.apply("mul", "xw", {x, w}), c})});
  m.inputs = {x};
  return m;
}

TEST_F(Training, AnEvaluationThatDoesNotFitIsRefusedByName) {
  const Model trained = product("w", Shape{2}, Format::fp32, 1.0);
  EXPECT_EQ(mistake_of(*device_, trained, trained), "nothing was refused");
  EXPECT_THAT(mistake_of(*device_, trained, product("w", Shape{1}, Format::fp32, 1.0)),
              ::testing::HasSubstr("'w' is a parameter fp32 [1], in the model that is trained a parameter fp32 [2]"));
  EXPECT_THAT(mistake_of(*device_, trained, product("w", Shape{2}, Format::fp64, 1.0)), ::testing::HasSubstr("'w' is a parameter fp64 [2]"));
  EXPECT_THAT(mistake_of(*device_, trained, product("v", Shape{2}, Format::fp32, 1.0)),
              ::testing::HasSubstr("the parameter 'v' is not in the model that is trained"));
  EXPECT_THAT(mistake_of(*device_, trained, product("w", Shape{2}, Format::fp32, 2.0)), ::testing::HasSubstr("the constant 'c'"));
}

/// Dropout is there in training only: a pattern for it fits the training, and the evaluation is not asked.
TEST_F(Training, APatternNeedNotFitTheEvaluation) {
  GptConfig config = tiny_gpt();
  config.dropout = 0.1;
  TrainConfig train = short_training();
  train.keep_fp32 = {"*.dropout"};
  Trainer t(*device_, *text_, TrainerSetup{config, find_mode("fp16"), train, 1}, topics_);
  EXPECT_EQ(t.plan().graph.value(t.plan().graph.find("block0.mlp.dropout")).format, Format::fp32);
  train.keep_fp32 = {"*.dropuot"};
  EXPECT_THAT([&] { Trainer(*device_, *text_, TrainerSetup{config, find_mode("fp16"), train, 1}, topics_); },
              ::testing::ThrowsMessage<UsageError>(::testing::StartsWith("keep_fp32: '*.dropuot' matches no node")));
}

}  // namespace
}  // namespace ulpscope::engine
