// The keys of [train] that say how a step is made: read, written back, refused, and shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "profiler/cli/plan_text.h"
#include "profiler/experiment/experiment_file.h"

#include <nlohmann/json.hpp>

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Experiment build(const std::string& keys) {
  Settings settings;
  settings.add_text("[model]\nkind = 'mlp'\nwidth = 32\n[data]\npath = 'a'\n[train]\n" + keys, "dir/mlp.toml");
  return settings.build();
}

std::string mistake_in(const std::string& keys) {
  try {
    build(keys);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

const char* const every_key = R"(micro_batches = 4
accumulator_format = "bf16"
gradient_format = "fp16"
moment_format = "bf16"
update_rounding = "kahan"
update_arithmetic = "fp32"
scalar_format = "bf16"
scalar_rounding = "truncate"
norm_accumulate = "fp16"
clip_order = "before_unscale"
unscale = "early"
schedule_counts = "iterations"
buffers = "always"
scale_pure = true
warmup_from_zero = true
)";

TEST(StepKeys, EveryOneIsRead) {
  const engine::TrainConfig c = build(every_key).train;
  EXPECT_EQ(c.micro_batches, 4);
  EXPECT_EQ(c.accumulator_format, Format::bf16);
  EXPECT_EQ(c.gradient_format, Format::fp16);
  EXPECT_EQ(c.optimizer.moment_format, Format::bf16);
  EXPECT_EQ(c.optimizer.rounding, UpdateRounding::kahan);
  EXPECT_EQ(c.optimizer.arithmetic, engine::UpdateArithmetic::fp32);
  EXPECT_EQ(c.optimizer.scalar_format, Format::bf16);
  EXPECT_EQ(c.optimizer.scalar_rounding, engine::ScalarRounding::truncate);
  EXPECT_EQ(c.optimizer.norm_accumulate, Format::fp16);
  EXPECT_TRUE(c.optimizer.clip_before_unscale);
  EXPECT_TRUE(c.early_unscale);
  EXPECT_EQ(c.schedule_counts, engine::ScheduleCounts::iterations);
  EXPECT_EQ(c.buffers, engine::BufferCommit::always);
  EXPECT_TRUE(c.scale_pure);
  EXPECT_TRUE(c.schedule.warmup_from_zero);
}

TEST(StepKeys, WrittenOutTheyReadBackTheSame) {
  for (const char* keys : {"", every_key}) {
    const std::string written = to_toml(build(keys));
    Settings again;
    again.add_text(written, "elsewhere/again.toml");
    EXPECT_EQ(to_toml(again.build()), written);
  }
  EXPECT_THAT(to_toml(build("")),
              AllOf(HasSubstr("micro_batches = 1\n"), HasSubstr("gradient_format = \"weights\"\n"), HasSubstr("accumulator_format = \"fp32\"\n"),
                    HasSubstr("update_rounding = \"nearest\"\n"), HasSubstr("unscale = \"standard\"\n")));
}

TEST(StepKeys, MistakesNameThePlaceAndTheChoices) {
  EXPECT_THAT(mistake_in("micro_batches = 0"), AllOf(HasSubstr("dir/mlp.toml:7: train.micro_batches = 0"), HasSubstr("at least 1")));
  EXPECT_THAT(mistake_in("update_rounding = 'stochastc'"),
              AllOf(HasSubstr("did you mean \"stochastic\"?"), HasSubstr("nearest, stochastic, kahan")));
  EXPECT_THAT(mistake_in("gradient_format = 'fp8'"), HasSubstr("weights, fp32, fp16, bf16"));
  EXPECT_THAT(mistake_in("gradient_accumulation_steps = 4"), HasSubstr("did you mean train.micro_batches?"));
  EXPECT_THAT(mistake_in("unscale = 'early'"), AllOf(HasSubstr("train.unscale"), HasSubstr("train.micro_batches to 2 or more")));
}

std::string plan_of(const std::string& keys, const char* mode, nlohmann::json* json = nullptr) {
  const Experiment e = build(keys);
  const std::unique_ptr<Device> device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const auto model = [&](bool training) { return engine::build_model(e.model, e.train.batch, training); };
  const engine::StepPlan step = engine::plan_step(*device, model(true), engine::find_mode(mode), e.train);
  const engine::StepPlan evaluation = engine::plan_evaluation(*device, model(false), engine::find_mode(mode), e.train);
  const PlanView view{e.name, "mlp", engine::find_mode(mode), "cpu", "none", step, evaluation, {"train.x = \"y\": a fault"}};
  if (json != nullptr) *json = plan_json(view);
  return plan_text(view);
}

TEST(StepKeys, ThePlanShowsWhatAParameterCosts) {
  EXPECT_THAT(plan_of("", "fp32"), AllOf(HasSubstr("16 bytes for each parameter: weights 4, gradients 4, optimizer state 8."),
                                         Not(HasSubstr("micro-batch")), HasSubstr("non-standard: train.x = \"y\": a fault")));
  EXPECT_THAT(plan_of("", "bf16_pure"), HasSubstr("8 bytes for each parameter: weights 2, gradients 2, optimizer state 4."));
  EXPECT_THAT(plan_of("update_rounding = 'kahan'", "bf16_pure"), HasSubstr("10 bytes for each parameter"));
  nlohmann::json json;
  EXPECT_THAT(plan_of("micro_batches = 3\nmoment_format = 'bf16'\naccumulator_format = 'bf16'", "fp32", &json),
              AllOf(HasSubstr("10 bytes for each parameter: weights 4, gradients 2, optimizer state 4."),
                    HasSubstr("Forward and backward run 3 times in a step")));
  EXPECT_EQ(json["micro_batches"], 3);
  EXPECT_EQ(json["tokens_per_step"], 3 * 8);
  EXPECT_EQ(json["bytes_per_parameter"]["total"], 10.0);
  EXPECT_EQ(json["non_standard"].size(), 1u);
}

}  // namespace
}  // namespace ulpscope::profiler
