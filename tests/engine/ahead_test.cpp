// Steps launched before the last one has ended are the steps that are made one by one, to the bit: on a device that does nothing before
// the host waits for it, and in whose memory the host cannot look.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/train/trainer.h"
#include "kernels/command_queue.h"
#include "kernels/error.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/engine/support/model_batches.h"
#include "tests/engine/support/small_training.h"
#include "tests/kernels/emulated/emulated_device.h"
#include "tests/kernels/gpu_device.h"

namespace ulpscope::engine {
namespace {

using testing::MicroDataset;
using testing::plain_training;
using testing::weighted_sum;

constexpr float infinite = std::numeric_limits<float>::infinity();

struct Course {
  std::vector<StepResult> steps;
  TrainerState end;
  int replays = 0;
};

struct Plan {
  GraphSetup setup;
  const Dataset* data;
  std::vector<std::int64_t> bursts = {1, 2, 5, 4};
  bool replay = false;
};

Course train(const Plan& plan, Device& device, bool ahead) {
  const std::size_t held_before = device.live_bytes();
  Topics topics;
  Course course;
  std::vector<std::int64_t> announced;
  const Subscription ended = topics.step_end.subscribe([&](const StepResult& r) { announced.push_back(r.iteration); });
  {
    Trainer t(device, *plan.data, plan.setup, topics);
    if (plan.replay)
      t.observe(Observation{{}, {}, [&](const StepResult&) { return ++course.replays > 0; }, false});
    EXPECT_TRUE(t.can_run_ahead());
    for (const std::int64_t burst : plan.bursts) {
      const auto keep = [&](const StepResult& r) { course.steps.push_back(r); };
      if (ahead) {
        t.run_ahead(burst, keep);
      } else {
        for (std::int64_t i = 0; i < burst; ++i) {
          keep(t.step());
          if (course.steps.back().stopped) break;
        }
      }
      if (!course.steps.empty() && course.steps.back().stopped) break;
    }
    course.end = t.state();
    std::int64_t held = 0;
    for (const auto& [category, bytes] : t.memory_by_category()) held += bytes;
    EXPECT_EQ(static_cast<std::size_t>(held), device.live_bytes() - held_before);
  }
  EXPECT_EQ(device.live_bytes(), held_before) << "what its kernels observed with, too";
  EXPECT_EQ(announced.size(), course.steps.size());
  for (std::size_t i = 0; i < announced.size(); ++i) EXPECT_EQ(announced[i], static_cast<std::int64_t>(i));
  return course;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Course expect_the_same(const Plan& plan, Device& device) {
  SCOPED_TRACE(device.description().name);
  const Course one_by_one = train(plan, device, false), ahead = train(plan, device, true);
  EXPECT_EQ(one_by_one.steps.size(), ahead.steps.size());
  for (std::size_t i = 0; i < std::min(one_by_one.steps.size(), ahead.steps.size()); ++i) {
    SCOPED_TRACE(i);
    const StepResult &a = one_by_one.steps[i], &b = ahead.steps[i];
    EXPECT_EQ(a.iteration, b.iteration);
    EXPECT_EQ(a.applied, b.applied);
    EXPECT_TRUE(same(a.loss, b.loss)) << a.loss << " " << b.loss;
    EXPECT_EQ(a.loss_scale, b.loss_scale);
    EXPECT_EQ(a.next_loss_scale, b.next_loss_scale);
    EXPECT_EQ(a.learning_rate, b.learning_rate);
    EXPECT_TRUE(same(a.gradient_norm, b.gradient_norm)) << a.gradient_norm << " " << b.gradient_norm;
    EXPECT_TRUE(same(a.clip_coefficient, b.clip_coefficient));
    EXPECT_EQ(a.finite, b.finite);
    EXPECT_EQ(a.skipped, b.skipped);
    EXPECT_EQ(a.stopped, b.stopped);
    EXPECT_EQ(a.scale_event, b.scale_event);
    EXPECT_EQ(a.replay, b.replay);
    EXPECT_FALSE(a.device_seconds);
  }
  EXPECT_EQ(one_by_one.replays, ahead.replays);
  EXPECT_EQ(one_by_one.end.iteration, ahead.end.iteration);
  EXPECT_EQ(one_by_one.end.applied, ahead.end.applied);
  EXPECT_EQ(one_by_one.end.scaler, ahead.end.scaler);
  EXPECT_EQ(one_by_one.end.tensors.size(), ahead.end.tensors.size());
  for (std::size_t i = 0; i < std::min(one_by_one.end.tensors.size(), ahead.end.tensors.size()); ++i)
    EXPECT_EQ(one_by_one.end.tensors[i].data, ahead.end.tensors[i].data) << one_by_one.end.tensors[i].name;
  return ahead;
}

/// On the emulated device, and on the GPU that ULPSCOPE_TEST_GPU names.
Course expect_the_same(const Plan& plan) {
  if (Device* const gpu = test::gpu_device()) expect_the_same(plan, *gpu);
  return expect_the_same(plan, *test::make_queued_device());
}

/// loss = sum(w x), with x given for each step.
Plan small(const MicroDataset& data, const char* mode, TrainConfig config) {
  const Model m = weighted_sum({0.5f, 0.25f});
  return {{m, m, find_mode(mode), config, 1}, &data};
}

/// Gradients that are too great for the scale now and then: 2^20 × 1 is no number of fp16.
MicroDataset spiking() {
  return MicroDataset([](std::int64_t iteration, std::int32_t micro_batch) -> std::vector<std::vector<float>> {
    const bool spike = iteration % 4 == 2 && micro_batch == 0;
    return {{spike ? 3000.0f : 0.01f * static_cast<float>(iteration + 1), 0.02f + static_cast<float>(micro_batch)}};
  });
}

TrainConfig scaled(const scaling::Policy& policy) {
  TrainConfig c = plain_training(OptimizerKind::adamw, 1e-2);
  c.schedule.kind = ScheduleKind::cosine;
  c.schedule.steps = 20;
  c.schedule.warmup = 5;
  c.optimizer.clip = 1.0;
  c.scaler = policy;
  c.scale_all = true;
  return c;
}

TEST(RunAhead, ScaleAndScheduleFollowWhatTheStepBeforeDid) {
  const MicroDataset data = spiking();
  scaling::PytorchScaler policy;
  policy.growth_interval = 2;
  policy.initial_scale = 0x1p30f;   // far above what fp16 has room for
  const Course pytorch = expect_the_same(small(data, "fp16_pure", [&] {
    TrainConfig c = scaled(policy);
    c.scale_pure = true;
    return c;
  }()));
  int skipped = 0, applied = 0;
  for (const StepResult& r : pytorch.steps) ++(r.skipped ? skipped : applied);
  EXPECT_GT(skipped, 2);
}

TEST(RunAhead, EveryPolicy) {
  const MicroDataset data = spiking();
  for (const std::string& name : scaling::policy_names()) {
    if (name == "none") continue;
    SCOPED_TRACE(name);
    TrainConfig c = scaled(scaling::find_policy(name, "test"));
    c.scale_pure = true;
    expect_the_same(small(data, "fp16_pure", c));
  }
}

TEST(RunAhead, AScalerThatGivesUpEndsTheRunAndNothingBehindItCounts) {
  const MicroDataset data([](std::int64_t iteration, std::int32_t) -> std::vector<std::vector<float>> {
    return {{iteration == 3 || iteration == 4 ? infinite : 0.5f, 0.5f}};
  });
  scaling::DeepspeedScaler policy;
  policy.initial_scale = 2.0f;
  policy.hysteresis = 1;
  const Course course = expect_the_same(small(data, "fp16", scaled(policy)));
  ASSERT_FALSE(course.steps.empty());
  EXPECT_TRUE(course.steps.back().stopped);
  EXPECT_EQ(course.steps.back().scale_event, scaling::ScaleEvent::gave_up);
  EXPECT_EQ(course.end.applied, 3);
}

TEST(RunAhead, WithoutAScalerAStepThatIsNotFiniteStopsOrIsAppliedAnyway) {
  const MicroDataset data([](std::int64_t iteration, std::int32_t) -> std::vector<std::vector<float>> {
    return {{iteration == 4 ? infinite : 0.5f, 0.25f}};
  });
  TrainConfig c = plain_training(OptimizerKind::sgd, 0.1);
  const Course stopped = expect_the_same(small(data, "bf16", c));
  ASSERT_EQ(stopped.steps.size(), 5u);
  EXPECT_EQ(stopped.end.applied, 4);
  c.non_finite = NonFinite::apply;
  const Course applied = expect_the_same(small(data, "bf16", c));
  EXPECT_EQ(applied.steps.size(), 12u);
  EXPECT_EQ(applied.end.applied, 12);
}

TEST(RunAhead, MicroBatches) {
  const MicroDataset data = spiking();
  TrainConfig c = scaled(scaling::PytorchScaler{});
  c.scale_pure = true;
  c.micro_batches = 3;
  expect_the_same(small(data, "fp16_pure", c));
}

TEST(RunAhead, ABadStepHaltsWhatIsBehindItAndIsReplayed) {
  const MicroDataset data([](std::int64_t iteration, std::int32_t micro_batch) -> std::vector<std::vector<float>> {
    if (iteration == 5 && micro_batch == 0) return {{std::numeric_limits<float>::quiet_NaN(), 0.5f}};
    return {{iteration % 3 == 1 ? infinite : 0.5f, 0.25f}};
  });
  for (const std::int64_t micro_batches : {1, 2}) {
    SCOPED_TRACE(micro_batches);
    TrainConfig c = scaled(scaling::PytorchScaler{});
    c.micro_batches = micro_batches;
    Plan plan = small(data, "fp16", c);
    plan.replay = true;
    const Course course = expect_the_same(plan);
    EXPECT_EQ(course.steps.size(), 12u);
    EXPECT_EQ(course.replays, 5);
    EXPECT_EQ(course.steps[1].replay, Replay::same);
  }
}

TEST(RunAhead, AWholeModelWithDropoutAndBuffers) {
  for (const testing::NamedModel& named : testing::named_models(0.1)) {
    if (named.name != "gpt_tied" && named.name != "cnn" && named.name != "encoder_composed") continue;
    SCOPED_TRACE(named.name);
    constexpr std::int64_t batch = 2;
    const testing::ListDataset data(testing::model_batches(named.model, batch, 4));
    TrainConfig c;
    c.batch = batch;
    scaling::PytorchScaler policy;
    policy.initial_scale = 0x1p22f;
    c.scaler = policy;
    expect_the_same({{build_model(named.model, batch, true), build_model(named.model, batch, false), find_mode("fp16"), c, 3}, &data, {4}});
  }
}

TEST(RunAhead, WhoeverBeginsToLookMeanwhileSeesTheNextStepAndNoneIsLostOrMadeTwice) {
  const MicroDataset data = spiking();
  const Model m = weighted_sum({0.5f, 0.25f});
  const auto device = test::make_queued_device();
  const GraphSetup setup{m, m, find_mode("fp32"), plain_training(OptimizerKind::sgd, 0.1), 1};
  Topics quiet, topics;
  Trainer reference(*device, data, setup, quiet), t(*device, data, setup, topics);
  std::vector<float> expected, got;
  for (int i = 0; i < 6; ++i) expected.push_back(reference.step().loss);
  Subscription looks;
  std::int64_t looked_at = -1;
  t.run_ahead(6, [&](const StepResult& r) {
    got.push_back(r.loss);
    if (r.iteration == 1) looks = topics.step_begin.subscribe([&](const StepBegin& b) { looked_at = looked_at < 0 ? b.iteration : looked_at; });
  });
  EXPECT_EQ(got, expected);
  EXPECT_EQ(looked_at, 3) << "step 2 was in flight";
  EXPECT_EQ(t.state().tensors.front().data, reference.state().tensors.front().data);
}

TEST(RunAhead, WhileAStepIsInFlightNobodyAsksWhereTheRunStands) {
  const MicroDataset data = spiking();
  const Model m = weighted_sum({0.5f, 0.25f});
  const auto device = test::make_queued_device();
  Topics topics;
  Trainer t(*device, data, GraphSetup{m, m, find_mode("fp32"), plain_training(OptimizerKind::sgd, 0.1), 1}, topics);
  EXPECT_THROW(t.run_ahead(3, [&](const StepResult&) { t.state(); }), Error);
  EXPECT_THROW(t.step(), Error) << "the step after the fault may have been committed";
  EXPECT_THROW(t.observe(Observation{}), Error);
  EXPECT_THROW(t.run_ahead(1, {}), Error);
}

TEST(RunAhead, AStepsTimeOnTheDeviceIsFromTheEndOfTheOneBefore) {
  const MicroDataset data([](std::int64_t, std::int32_t) -> std::vector<std::vector<float>> { return {{0.5f, 0.25f}}; });
  const auto device = test::make_queued_device();
  Topics topics;
  const Model m = weighted_sum({0.5f, 0.25f});
  Trainer t(*device, data, GraphSetup{m, m, find_mode("fp32"), plain_training(OptimizerKind::sgd, 0.1), 1}, topics);
  for (int row = 0; row < 2; ++row) {
    std::vector<std::optional<double>> seconds;
    t.run_ahead(4, [&](const StepResult& r) { seconds.push_back(r.device_seconds); });
    ASSERT_EQ(seconds.size(), 4u);
    EXPECT_FALSE(seconds[0]) << "the first waits for the host";
    // Every step is the same work, and the queue counts a millisecond for each piece of it.
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(seconds[i], seconds[1]) << i;
    EXPECT_GT(seconds[1].value_or(0.0), 5e-3);
  }
}

TEST(RunAhead, WhereTheHostIsNeededStepsAreMadeOneByOne) {
  const MicroDataset data = spiking();
  const Model m = weighted_sum({0.5f, 0.25f});
  const TrainConfig c = plain_training(OptimizerKind::sgd, 0.1);
  Topics topics;
  const auto cpu = make_cpu_device({1, ""});
  Trainer on_cpu(*cpu, data, GraphSetup{m, m, find_mode("fp32"), c, 1}, topics);
  EXPECT_FALSE(on_cpu.can_run_ahead()) << "the CPU has no queue";
  int ended = 0;
  on_cpu.run_ahead(3, [&](const StepResult&) { ++ended; });
  EXPECT_EQ(ended, 3);
  const auto device = test::make_queued_device();
  Trainer t(*device, data, GraphSetup{m, m, find_mode("fp32"), c, 1}, topics);
  EXPECT_TRUE(t.can_run_ahead());
  {
    const Subscription listens = topics.node_end.subscribe([](const NodeEvent&) {});
    EXPECT_FALSE(t.can_run_ahead());
  }
  t.observe([](const Node&) { return true; });
  EXPECT_FALSE(t.can_run_ahead());
}

}  // namespace
}  // namespace ulpscope::engine
