#include "profiler/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "kernels/error.h"
#include "profiler/cli/arguments.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

/// What `ulpscope run <words>` would train.
Experiment experiment_of(Words words) {
  CLI::App app;
  ExperimentFlags flags;
  flags.declare_for_run(app);
  words = attach_values(app, words);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return flags.settings().build();
}

Experiment gpt(Words words) {
  words.insert(words.begin(), {"--model", "gpt", "--data", "x.txt"});
  return experiment_of(std::move(words));
}

std::string mistake(Words words) {
  try {
    gpt(std::move(words));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

TEST(Flags, OwnFlagsWriteKeys) {
  const Experiment e = experiment_of(
      {"--model", "mlp", "--data", "a,b", "--data",    "c", "--modes",     "fp32,bf16", "--steps",        "5",
       "--seeds", "3",   "--seed", "7",   "--threads", "1", "--keep-fp32", "hidden*",   "--timing-steps", "20",
       "--recompute", "layer0.*,layer1.*"});
  EXPECT_EQ(engine::name(e.model), "mlp");
  EXPECT_EQ(e.data.paths.size(), 3u);
  EXPECT_EQ(e.run.modes, (Words{"fp32", "bf16"}));
  EXPECT_EQ(e.train.steps, 5);
  EXPECT_EQ(e.run.seeds, 3);
  EXPECT_EQ(e.run.seed, 7);
  EXPECT_EQ(e.run.threads, 1);
  EXPECT_EQ(e.train.keep_fp32, (Words{"hidden*"}));
  EXPECT_EQ(e.train.recompute, (Words{"layer0.*", "layer1.*"}));
  EXPECT_EQ(gpt({"--recompute", "blocks"}).train.recompute, Words{"blocks"});
  EXPECT_EQ(gpt({"--recompute", "none"}).train.recompute, Words{});
  EXPECT_EQ(e.run.timing_steps, 20);
}

TEST(Flags, HuggingFaceFlagsWriteTheSameKeysInBothSpellings) {
  for (const bool dashes : {false, true}) {
    const auto flag = [&](std::string name) {
      if (dashes) std::replace(name.begin() + 2, name.end(), '_', '-');
      return name;
    };
    const Experiment e = gpt({flag("--learning_rate"),
                              "5e-5",
                              flag("--max_steps"),
                              "30",
                              flag("--per_device_train_batch_size"),
                              "2",
                              flag("--warmup_steps"),
                              "3",
                              flag("--lr_scheduler_type"),
                              "linear",
                              flag("--weight_decay"),
                              "0.01",
                              flag("--max_grad_norm"),
                              "0.7",
                              flag("--adam_beta1"),
                              "0.8",
                              flag("--adam_beta2"),
                              "0.9",
                              flag("--adam_epsilon"),
                              "1e-6",
                              "--optim",
                              "adamw_torch",
                              "--seed",
                              "42"});
    EXPECT_EQ(e.train.schedule.learning_rate, 5e-5);
    EXPECT_EQ(e.train.steps, 30);
    EXPECT_EQ(e.train.batch, 2);
    EXPECT_EQ(e.train.schedule.warmup, 3);
    EXPECT_EQ(e.train.schedule.kind, engine::ScheduleKind::linear);
    EXPECT_EQ(e.train.schedule.final_fraction, 0.0) << "it ends at 0 there";
    EXPECT_EQ(e.train.optimizer.weight_decay, 0.01);
    EXPECT_EQ(e.train.optimizer.clip, 0.7);
    EXPECT_EQ(e.train.optimizer.beta1, 0.8);
    EXPECT_EQ(e.train.optimizer.beta2, 0.9);
    EXPECT_EQ(e.train.optimizer.epsilon, 1e-6);
    EXPECT_EQ(e.train.optimizer.kind, engine::OptimizerKind::adamw);
    EXPECT_EQ(e.run.seed, 42);
  }
}

TEST(Flags, SchedulesAndOptimizersOfHuggingFace) {
  const Experiment constant = gpt({"--warmup_steps", "9", "--lr_scheduler_type", "constant"});
  EXPECT_EQ(constant.train.schedule.kind, engine::ScheduleKind::constant);
  EXPECT_EQ(constant.train.schedule.warmup, 0) << "\"constant\" has no warm-up there";
  const Experiment warm = gpt({"--warmup_steps", "9", "--lr_scheduler_type", "constant_with_warmup"});
  EXPECT_EQ(warm.train.schedule.kind, engine::ScheduleKind::constant);
  EXPECT_EQ(warm.train.schedule.warmup, 9);
  EXPECT_EQ(gpt({"--lr_scheduler_type", "cosine"}).train.schedule.kind, engine::ScheduleKind::cosine);
  EXPECT_THAT(mistake({"--lr_scheduler_type", "cosin"}),
              HasSubstr("did you mean cosine? Schedules: linear, cosine, constant, "));
  const Experiment sgd = gpt({"--optim", "sgd"});
  EXPECT_EQ(sgd.train.optimizer.kind, engine::OptimizerKind::sgd);
  EXPECT_EQ(sgd.train.optimizer.momentum, 0.0);
  EXPECT_THAT(mistake({"--optim", "adamw"}), HasSubstr("did you mean adamw_torch?"));
}

TEST(Flags, PrecisionFlagsChooseOneMode) {
  EXPECT_EQ(gpt({"--bf16"}).run.modes, Words{"bf16"});
  EXPECT_EQ(gpt({"--fp16"}).run.modes, Words{"fp16"});
  EXPECT_EQ(gpt({"--tf32"}).run.modes, Words{"tf32"});
  EXPECT_EQ(gpt({"--bf16", "--tf32"}).run.modes, Words{"bf16+tf32"});
  EXPECT_EQ(gpt({"--fp16", "True", "--tf32", "true"}).run.modes, Words{"fp16+tf32"});
  EXPECT_EQ(gpt({"--bf16", "--tf32", "false"}).run.modes, Words{"bf16"});
  EXPECT_EQ(gpt({"--bf16=false"}).run.modes, Words{"fp32"});
  EXPECT_EQ(gpt({}).run.modes, (Words{"fp32", "tf32", "fp16", "bf16"})) << "nothing chosen: all four";
  EXPECT_THAT(mistake({"--fp16", "--bf16"}), HasSubstr("at most one of --fp16 and --bf16 can be true"));
  EXPECT_THAT(mistake({"--bf16", "--modes", "fp32"}), HasSubstr("does not go with"));
  EXPECT_THAT(mistake({"--tf32=maybe"}), HasSubstr("true or false"));
}

TEST(Flags, AFileAfterAnOptionalFlagIsAFile) {
  const std::string path = testing::TempDir() + "after_flag.toml";
  std::ofstream(path) << "[train]\nsteps = 11\n[data]\npath = 'x'\n";
  const Experiment e = experiment_of({"--bf16", "--tf32", path});
  EXPECT_EQ(e.train.steps, 11);
  EXPECT_EQ(e.run.modes, Words{"bf16+tf32"});
  EXPECT_EQ(experiment_of({path, "--steps", "12"}).train.steps, 12) << "a flag overrides the file";
  EXPECT_EQ(experiment_of({path, "--steps", "12", "--set", "train.steps=13"}).train.steps, 13)
      << "--set overrides both";
}

TEST(Flags, AFlagThatMayBeRepeatedTakesOneWordATime) {
  const std::string path = testing::TempDir() + "after_value.toml";
  std::ofstream(path) << "[train]\nsteps = 11\n[model]\nkind = 'gpt'\n";
  for (const Words& before :
       {Words{"--model", "gpt", "--data", "t.txt"}, Words{"--data", "a,b", "--data", "t.txt"},
        Words{"--keep-fp32", "block*", "--data=t.txt"}, Words{"--data", "t.txt", "--set", "train.lr=1"}}) {
    Words words = before;
    words.push_back(path);
    const Experiment e = experiment_of(words);
    EXPECT_EQ(e.train.steps, 11) << "the last word is the experiment file";
    EXPECT_THAT(e.data.paths.back(), testing::EndsWith("/t.txt"));
  }
  EXPECT_THAT(experiment_of({"--data", "a,b", "--data", "c", path}).data.paths, testing::SizeIs(3));
}

TEST(Flags, OfAFlagGivenTwiceTheLastCounts) {
  EXPECT_EQ(gpt({"--steps", "5", "--steps", "6"}).train.steps, 6);
  EXPECT_THAT(mistake({"--steps", "5", "--steps", "0"}),
              testing::StartsWith("--steps 0 (given 2 times, the last counts): train.steps = 0 is out of range"));
  EXPECT_THAT(mistake({"--steps", "0"}), testing::StartsWith("--steps 0: train.steps"));
}

TEST(Flags, Mistakes) {
  EXPECT_THAT(mistake({"--output_dir", "out"}), HasSubstr("give it with -o NAME.ulp"));
  EXPECT_THAT(mistake({"--learning_rate", "-1"}), HasSubstr("--learning_rate -1: train.lr = -1.0 is out of range"));
  EXPECT_THAT(mistake({"--steps", "x"}), HasSubstr("--steps x: train.steps = \"x\" has the wrong type"));
  EXPECT_THAT(mistake({"--modes", "fp32,fp61"}), HasSubstr("did you mean \"fp16\"?"));
  EXPECT_THROW(experiment_of({"--data", "x"}), UsageError) << "neither file nor model";
}

TEST(Arguments, Quoting) {
  EXPECT_EQ(quoted({"run", "a b.toml", "--set", "x=1", "it's", ""}), "run 'a b.toml' --set x=1 'it'\\''s' ''");
  EXPECT_EQ(quoted({"a\x1b[31m\n\xc2\x9bz 'x\\"}), "$'a\\033[31m\\012\\302\\233z \\'x\\\\'") << "no name drives a terminal";
  EXPECT_EQ(quoted({"\xc3\xbc \xc2\xb1"}), "'\xc3\xbc \xc2\xb1'");
}

}  // namespace
}  // namespace ulpscope::profiler
