// Whole training steps with the kernels of GPUs, on the emulated grid and on the GPU that ULPSCOPE_TEST_GPU names, beside the CPU's. Products add up in another order there, so
// losses agree within what the mode's formats allow; decisions (skips, scales) are the same.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "kernels/error.h"
#include "engine/train/trainer.h"
#include "kernels/cuda/lt_product.h"
#include "kernels/ops/rounding_counts.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/engine/support/model_batches.h"
#include "tests/kernels/emulated/emulated_device.h"
#include "tests/kernels/gpu_device.h"

namespace ulpscope::engine {
namespace {

using testing::model_batches;
using testing::named_models;
using testing::NamedModel;

constexpr std::int64_t batch = 2;
constexpr int steps = 3;

struct Course {
  std::vector<StepResult> steps;
  std::map<std::string, std::int64_t> counted;   ///< elements, by value, of the observed step
  double evaluation = 0.0;
};

Course train(const ModelConfig& model, const char* mode, Device& device, float first_scale) {
  TrainConfig config;
  config.batch = batch;
  config.schedule.learning_rate = 1e-3;
  config.evaluation_batches = 1;
  scaling::PytorchScaler scaler;
  scaler.initial_scale = first_scale;
  config.scaler = scaler;
  const testing::ListDataset data(model_batches(model, batch, 2));
  Topics topics;
  Course course;
  Trainer t(device, data, TrainerSetup{model, find_mode(mode), config, 3}, topics);
  const Subscription on_tensor = topics.tensor.subscribe([&](const TensorEvent& e) {
    if (e.inner || e.attempt != 0) return;
    // What is computed again to save memory depends on the kernels' workspace.
    const std::string& name = t.plan().graph.value(e.value).name;
    if (!name.ends_with(".again")) course.counted[name] += e.counts->elements;
  });
  t.observe(Observation{[](const Node&) { return true; }, [](std::int64_t iteration) { return iteration == 1; }, {}, false});
  for (int i = 0; i < steps; ++i) course.steps.push_back(t.step());
  course.evaluation = t.evaluate().loss;
  return course;
}

void expect_as_on_the_cpu(const ModelConfig& model, Device& device) {
  SCOPED_TRACE(device.description().name);
  // Of the loss: some units in the last place of what is multiplied, since roundings may fall otherwise.
  const std::map<std::string, float> tolerance = {{"fp32", 2e-6f}, {"fp16", 2e-3f}, {"bf16", 1.6e-2f}};
  for (const auto& [mode, most] : tolerance) {
    const Course cpu = train(model, mode.c_str(), *make_cpu_device({2, ""}), 0x1p20f);
    const Course gpu = train(model, mode.c_str(), device, 0x1p20f);
    for (std::size_t i = 0; i < cpu.steps.size(); ++i) {
      EXPECT_NEAR(gpu.steps[i].loss, cpu.steps[i].loss, most * std::fabs(cpu.steps[i].loss)) << mode << ", step " << i;
      EXPECT_EQ(gpu.steps[i].skipped, cpu.steps[i].skipped) << mode << ", step " << i;
      EXPECT_EQ(gpu.steps[i].next_loss_scale, cpu.steps[i].next_loss_scale) << mode << ", step " << i;
      if (cpu.steps[i].finite) {
        EXPECT_NEAR(gpu.steps[i].gradient_norm, cpu.steps[i].gradient_norm, 20 * most * cpu.steps[i].gradient_norm) << mode << ", step " << i;
      }
    }
    EXPECT_NEAR(gpu.evaluation, cpu.evaluation, static_cast<double>(most) * std::fabs(cpu.evaluation)) << mode;
    EXPECT_EQ(gpu.counted, cpu.counted) << mode << ": the same values are looked at";
    EXPECT_GT(gpu.counted.size(), 20u);
  }
}

TEST(MatrixUnits, AreEmulatedOnTheCpuAlone) {
  TrainConfig config;
  config.accumulate_as = MatrixUnit::hopper;
  const Model model = build_model(MlpConfig{}, 2, true);
  EXPECT_NO_THROW(plan_step(*make_cpu_device({1, ""}), model, find_mode("fp16"), config));
  EXPECT_THROW(plan_step(*test::make_emulated_device(), model, find_mode("fp16"), config), UsageError);
}

class EmulatedGrid : public ::testing::TestWithParam<NamedModel> {};

TEST_P(EmulatedGrid, TrainsAsTheCpuDoes) {
  expect_as_on_the_cpu(GetParam().model, *test::make_emulated_device());
  if (Device* const gpu = test::gpu_device()) expect_as_on_the_cpu(GetParam().model, *gpu);
}

/// What the library was to compute.
std::set<std::string>& planned_calls() {
  static std::set<std::string> calls;
  return calls;
}

/// Autocast has 16-bit operands, which the matrix units multiply: widened to fp32 they would give the same numbers many times as slowly.
TEST_P(EmulatedGrid, HandsOperandsToTheLibraryInTheFormatsOfTheMode) {
  if (test::gpu_device() != nullptr) GTEST_SKIP() << "the plan is the emulated grid's to tell; scripts/gpu_check has no seconds for it";
  cuda::emulated_library_lacks = [](const cuda::LtCall& call) {
    planned_calls().insert(std::string(name(call.a.format)) + " " + name(call.b.format) + ", " + name(call.compute));
    return false;
  };
  const std::map<std::string, std::string> as = {{"fp32", "fp32 fp32, fp32 pedantic"}, {"tf32", "fp32 fp32, fast tf32"}, {"fp16", "fp16 fp16, fp32"}, {"bf16", "bf16 bf16, fp32"}};
  for (const auto& [mode, expected] : as) {
    planned_calls().clear();
    const std::unique_ptr<Device> device = test::make_emulated_device();
    const testing::ListDataset data(model_batches(GetParam().model, batch, 1));
    TrainConfig config;
    config.batch = batch;
    Topics topics;
    Trainer t(*device, data, TrainerSetup{GetParam().model, find_mode(mode), config, 3}, topics);
    t.step();
    EXPECT_EQ(planned_calls(), std::set<std::string>{expected}) << mode;
  }
  cuda::emulated_library_lacks = nullptr;
}

/// Losses, norms and all weights after some steps; and how many launches are several operations.
struct Weights {
  std::vector<float> numbers;
  std::size_t groups = 0;
};
Weights train_weights(const ModelConfig& model, const char* mode, Device& device, bool fusion) {
  TrainConfig config;
  config.batch = batch;
  config.fusion = fusion;
  const testing::ListDataset data(model_batches(model, batch, 2));
  Topics topics;
  Trainer t(device, data, TrainerSetup{model, find_mode(mode), config, 3}, topics);
  Weights w;
  for (int i = 0; i < 2; ++i) {
    const StepResult r = t.step();
    w.numbers.insert(w.numbers.end(), {r.loss, r.gradient_norm});
  }
  for (const ValueId v : t.plan().graph.with_role(Role::parameter)) {
    const std::vector<float> values = t.read(t.plan().graph.value(v).name);
    w.numbers.insert(w.numbers.end(), values.begin(), values.end());
  }
  for (float& x : w.numbers)
    if (std::isnan(x)) x = 0x1p100f;   // equal, whatever their payloads
  for (const FusionGroup& group : t.plan().memory.fusion.groups) w.groups += group.kind == FusionKind::elements ? 1 : 0;
  return w;
}

TEST_P(EmulatedGrid, FusedLaunchesHaveTheBitsOfSeparateOnes) {
  std::unique_ptr<Device> emulated = test::make_emulated_device();
  for (Device* device : {emulated.get(), test::gpu_device()}) {
    if (device == nullptr) continue;
    for (const char* mode : {"fp32", "fp16", "bf16_pure"}) {
      const Weights fused = train_weights(GetParam().model, mode, *device, true), alone = train_weights(GetParam().model, mode, *device, false);
      EXPECT_EQ(alone.groups, 0u);
      EXPECT_EQ(fused.numbers, alone.numbers) << mode << " on " << device->description().name;
      EXPECT_TRUE(fused.groups > 0u || std::string(mode) != "fp16");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Named, EmulatedGrid, ::testing::ValuesIn(named_models()), [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace ulpscope::engine
