#include "profiler/experiment/experiment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string mistake(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

Experiment build(const std::string& toml, const std::string& path = "dir/gpt.toml") {
  Settings settings;
  settings.add_text(toml, path);
  return settings.build();
}

std::string mistake_in(const std::string& toml) {
  return mistake([&] { build(toml); });
}

std::string mistake_in_set(const std::string& assignment) {
  return mistake([&] {
    Settings settings;
    settings.add_assignment(assignment);
    settings.build();
  });
}

TEST(Nearest, CountsEditsAndSwapsIgnoringCase) {
  const std::vector<std::string> names = {"fp32", "tf32", "fp16", "bf16"};
  EXPECT_EQ(nearest("fp61", names), "fp16");
  EXPECT_EQ(nearest("BF16", names), "bf16");
  EXPECT_EQ(nearest("tf3", names), "tf32");
  EXPECT_EQ(nearest("fp32", names), "fp32");
  EXPECT_EQ(nearest("fp", names), "fp32") << "the first of equals";
  EXPECT_EQ(nearest("adamw", std::vector<std::string>{"sgd", "adamw_torch"}), "adamw_torch") << "typed half";
  EXPECT_EQ(nearest("x", std::vector<std::string>{}), "");
}

TEST(ExperimentFile, EveryKeyIsRead) {
  const Experiment e = build(R"(
    [model]
    kind = "gpt"
    context = 32
    width = 48
    layers = 3
    heads = 6
    dropout = 0.25
    attention = "composed"
    [data]
    path = ["a.txt", "/tmp/b"]
    held_out = 0.2
    [train]
    steps = 77
    batch = 4
    lr = 1e-3
    warmup = 5
    schedule = "linear"
    final_fraction = 0
    optimizer = "sgd"
    momentum = 0.8
    nesterov = true
    weight_decay = 0.02
    clip = 0.5
    evaluate_every = 10
    evaluation_batches = 3
    non_finite = "apply"
    policy = "torch_cpu"
    keep_fp32 = ["block0.*", "head"]
    recompute = ["block*", "*.gelu"]
    weight_copies = "recast"
    [train.scaler]
    init = 1024
    growth = 4
    backoff = 0.25
    interval = 100
    [run]
    modes = ["fp32", "bf16+tf32"]
    seeds = 3
    seed = 9
    timing_steps = 12
    threads = 1
    output = "x.ulp"
  )");
  const auto& model = std::get<engine::GptConfig>(e.model);
  EXPECT_EQ(model.context, 32);
  EXPECT_EQ(model.width, 48);
  EXPECT_EQ(model.layers, 3);
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.dropout, 0.25);
  EXPECT_EQ(model.attention, "composed");
  const std::string folder = (std::filesystem::current_path() / "dir").string();
  EXPECT_EQ(e.data.paths, (std::vector<std::string>{folder + "/a.txt", "/tmp/b"})) << "relative to the experiment file";
  EXPECT_EQ(e.data.held_out, 0.2);
  EXPECT_EQ(e.train.steps, 77);
  EXPECT_EQ(e.train.schedule.steps, 77) << "the schedule ends with the training";
  EXPECT_EQ(e.train.batch, 4);
  EXPECT_EQ(e.train.schedule.learning_rate, 1e-3);
  EXPECT_EQ(e.train.schedule.warmup, 5);
  EXPECT_EQ(e.train.schedule.kind, engine::ScheduleKind::linear);
  EXPECT_EQ(e.train.schedule.final_fraction, 0.0);
  EXPECT_EQ(e.train.optimizer.kind, engine::OptimizerKind::sgd);
  EXPECT_EQ(e.train.optimizer.momentum, 0.8);
  EXPECT_TRUE(e.train.optimizer.nesterov);
  EXPECT_EQ(e.train.optimizer.weight_decay, 0.02);
  EXPECT_EQ(e.train.optimizer.clip, 0.5);
  EXPECT_EQ(e.train.evaluate_every, 10);
  EXPECT_EQ(e.train.evaluation_batches, 3);
  EXPECT_EQ(e.train.non_finite, engine::NonFinite::apply);
  EXPECT_EQ(e.train.policy, "torch_cpu");
  EXPECT_EQ(e.train.keep_fp32, (std::vector<std::string>{"block0.*", "head"}));
  EXPECT_EQ(e.train.recompute, (std::vector<std::string>{"block*", "*.gelu"}));
  EXPECT_EQ(e.train.weight_copies, engine::WeightCopies::recast);
  const auto& scaler = std::get<scaling::PytorchScaler>(e.train.scaler);
  EXPECT_EQ(scaler.initial_scale, 1024.0f);
  EXPECT_EQ(scaler.growth_factor, 4.0);
  EXPECT_EQ(scaler.backoff_factor, 0.25);
  EXPECT_EQ(scaler.growth_interval, 100);
  EXPECT_EQ(e.run.modes, (std::vector<std::string>{"fp32", "bf16+tf32"}));
  EXPECT_EQ(e.run.seeds, 3);
  EXPECT_EQ(e.run.seed, 9);
  EXPECT_EQ(e.run.timing_steps, 12);
  EXPECT_EQ(e.run.threads, 1);
  EXPECT_EQ(e.run.output, "x.ulp");
  EXPECT_EQ(e.name, "gpt");
}

TEST(ExperimentFile, WrittenOutItReadsBackTheSame) {
  for (const char* toml :
       {"[data]\npath = 'a \"quoted\" \\path'\n[train]\nlr = 0.1\nepsilon = 1e-300\n[run]\nseed = 9007199254740992",
        "[model]\nkind = 'mlp'\nactivation = 'tanh'\n[data]\npath = 'b'\n[train]\nkeep_fp32 = ['x*']\nrecompute = ['a*', 'b']\n",
        "[train]\nrecompute = 'blocks'\nweight_copies = 'keep'\n",
        "[data]\npath = 'c'\n[train.scaler]\npolicy = 'deepspeed'\nhysteresis = 1\n",
        "[data]\npath = 'c'\n[train.scaler]\nfixed = 1\n[run]\noutput = 'ä.ulp'\n"}) {
    const Experiment once = build(toml);
    const std::string written = to_toml(once);
    EXPECT_EQ(to_toml(build(written, "elsewhere/again.toml")), written);
    EXPECT_THAT(written, HasSubstr("[model]\nkind = "));
  }
  const std::string defaults = to_toml(build(""));
  EXPECT_EQ(to_toml(build(defaults)), defaults);
  EXPECT_THAT(defaults, HasSubstr("weight_decay = 0.1\n"));
  EXPECT_THAT(defaults, HasSubstr("init = 65536.0\n"));
}

TEST(ExperimentFile, KeysAreUniqueAndDocumented) {
  std::set<std::string> names;
  for (const Key& key : keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.doc.empty()) << key.name;
    EXPECT_TRUE(key.set && key.get) << key.name;
  }
}

TEST(ExperimentFile, KeysDeeperThanTheStackAreRefusedBeforeTheyAreParsed) {
  std::string parts;
  for (int i = 0; i < 100000; ++i) parts += "a.";
  EXPECT_THAT(mistake_in("# a comment\n" + parts + "b = 1\n"), HasSubstr("gpt.toml:2: a key of more than 16 parts"));
  EXPECT_THAT(mistake_in("[" + parts + "b]\n"), HasSubstr("a key of more than 16 parts"));
  EXPECT_THAT(mistake_in("x = \"\"\"\"quoted\"\"\"\"\ny = {" + parts + "b = 1}\n"), HasSubstr("gpt.toml:2: a key of more"));
  EXPECT_THAT(mistake_in_set("run.modes=[{" + parts + "b = 1}]"), HasSubstr("run.modes"));
  EXPECT_EQ(build("[data]\npath = 'a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.txt'   # a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r\n").data.paths.size(), 1u)
      << "dots in texts and comments are none of a key";
}

TEST(ExperimentFile, UnknownKeyNamesPlaceNearestAndChoices) {
  const std::string message = mistake_in("[train]\nsteps = 3\nstpes = 4\n");
  EXPECT_THAT(message, StartsWith("dir/gpt.toml:3: unknown key train.stpes; did you mean train.steps?"));
  EXPECT_THAT(message, HasSubstr("warmup"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  EXPECT_THAT(mistake_in("[train]\nlearning_rate = 1\n"), HasSubstr("did you mean train.lr?")) << "what others call it";
  EXPECT_THAT(mistake_in("[model]\nn_head = 1\n"), HasSubstr("did you mean model.heads?"));
  EXPECT_THAT(mistake_in("lr = 1\n"), HasSubstr("did you mean train.lr?")) << "the table was forgotten";
  EXPECT_THAT(mistake_in("[trian]\nlr = 1\n"),
              StartsWith("dir/gpt.toml:1: unknown table [trian]; did you mean [train]?"));
  EXPECT_THAT(mistake_in("[train.scalar]\ninit = 1\n"), HasSubstr("did you mean [train.scaler]?"));
}

TEST(ExperimentFile, WrongTypeNamesWhatIsTaken) {
  EXPECT_THAT(mistake_in("[train]\nsteps = 'many'\n"),
              AllOf(StartsWith("dir/gpt.toml:2: train.steps = "), HasSubstr("wrong type"),
                    HasSubstr("a whole number, at least 1")));
  EXPECT_THAT(mistake_in("[train]\nsteps = 1.5\n"), HasSubstr("a whole number"));
  EXPECT_THAT(mistake_in("[train]\nlr = true\n"), HasSubstr("a number"));
  EXPECT_THAT(mistake_in("[train]\nnesterov = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(mistake_in("[model]\nkind = 3\n"), HasSubstr("one of "));
  EXPECT_THAT(mistake_in("[run]\nmodes = ['fp32', 16]\n"), HasSubstr("an element that is not a text"));
  EXPECT_THAT(mistake_in("[train]\nlr = 1979-05-27\n"), HasSubstr("train.lr has the wrong type"));
  EXPECT_EQ(build("[train]\nlr = 1\n").train.schedule.learning_rate, 1.0) << "a whole number is a number";
  EXPECT_EQ(build("[train]\nsteps = 1e3\n").train.steps, 1000);
}

TEST(ExperimentFile, OutOfRangeNamesTheRange) {
  EXPECT_THAT(mistake_in("[train]\nsteps = 0\n"), HasSubstr("train.steps = 0 is out of range: it must be at least 1"));
  EXPECT_THAT(mistake_in("[train]\nlr = -1.0\n"), HasSubstr("it must be at least 0"));
  EXPECT_THAT(mistake_in("[train]\nlr = nan\n"), HasSubstr("train.lr = nan is no finite number: it takes a number, at least 0"));
  EXPECT_THAT(mistake_in_set("train.lr=inf"), HasSubstr("train.lr = inf is no finite number: it takes a number, at least 0"));
  EXPECT_THAT(mistake_in("[train]\nbeta2 = 1.0\n"), HasSubstr("at least 0 and less than 1"));
  EXPECT_THAT(mistake_in("[train.scaler]\ngrowth = 1\n"), HasSubstr("greater than 1"));
  EXPECT_THAT(mistake_in("[train.scaler]\ninit = 1e39\n"), HasSubstr("out of range"));
  EXPECT_THAT(mistake_in("[train.scaler]\ninit = 1e-50\n"),
              StartsWith("dir/gpt.toml:2: train.scaler.init: 1e-50 is 0 in fp32: it must be from 1.4e-45 to "));
  EXPECT_THAT(mistake_in("[train.scaler]\nfixed = 1e-50\n"),
              StartsWith("dir/gpt.toml:2: train.scaler.fixed: 1e-50 is 0"));
  EXPECT_THAT(mistake_in("[train]\nlr = 1e400\n"), StartsWith("dir/gpt.toml:2: a number is out of range: "));
  EXPECT_THAT(
      mistake_in_set("train.lr=1e400"),
      StartsWith(
          "--set train.lr=1e400: train.lr = 1e400 is out of the range of 64 bits: it takes a number, at least 0"));
  EXPECT_THAT(mistake_in_set("train.steps=99999999999999999999"), HasSubstr("out of range"));
  EXPECT_THAT(mistake_in_set("train.steps=1e400"), HasSubstr("out of the range of 64 bits"));
  EXPECT_THAT(mistake_in("[run]\ntiming_steps = 9\n"), HasSubstr("at least 10 timed steps"));
  EXPECT_EQ(build("[run]\ntiming_steps = 0\n").run.timing_steps, 0);
  EXPECT_THAT(mistake_in("[data]\nheld_out = 1.0\n"),
              HasSubstr("data.held_out = 1.0 is out of range: it must be at least 0 and at most 0.9"));
}

TEST(ExperimentFile, ChoicesNameTheNearestAndAll) {
  EXPECT_THAT(mistake_in("[run]\nmodes = ['fp32', 'fp61']\n"),
              AllOf(HasSubstr("run.modes = \"fp61\" is not known; did you mean \"fp16\"?"), HasSubstr("bf16+tf32")));
  EXPECT_THAT(mistake_in("[model]\nkind = 'gtp'\n"), AllOf(HasSubstr("did you mean \"gpt\"?"), HasSubstr("mlp")));
  EXPECT_THAT(mistake_in("[train]\nschedule = 'cosin'\n"), HasSubstr("constant, cosine, linear"));
  EXPECT_THAT(mistake_in("[run]\ndevice = 'gpu'\n"), HasSubstr("'gpu' is no device; choices: auto, cpu, cuda"));
  EXPECT_THAT(mistake_in("[run]\nmodes = []\n"), HasSubstr("at least one mode"));
  EXPECT_THAT(mistake_in("[run]\nmodes = ['fp16', 'fp16']\n"), HasSubstr("mode fp16 is there twice"));
}

TEST(ExperimentFile, KeysBelongToTheirModel) {
  const std::string message = mistake_in("[model]\nkind = 'mlp'\nheads = 4\n");
  EXPECT_THAT(message, StartsWith("dir/gpt.toml:3: model.heads is not a key of model \"mlp\""));
  EXPECT_THAT(message, HasSubstr("model.activation"));
  EXPECT_THAT(mistake_in("[model]\nwidth = 100\nheads = 3\n"), StartsWith("dir/gpt.toml: ")) << "sizes that do not fit";
}

TEST(ExperimentFile, AScaleIsFixedOrDynamic) {
  EXPECT_THAT(mistake_in("[train.scaler]\nfixed = 8\ninterval = 3\n"),
              HasSubstr("train.scaler.interval does not go with"));
  EXPECT_EQ(std::get<scaling::FixedScaling>(build("[train.scaler]\nfixed = 8\n").train.scaler).scale, 8.0f);
  EXPECT_EQ(std::get<scaling::FixedScaling>(build("[train.scaler]\nfixed = 8\npolicy = 'fixed'\n").train.scaler).scale, 8.0f);
  // The policy comes first, wherever it stands.
  const auto deepspeed = std::get<scaling::DeepspeedScaler>(build("[train.scaler]\nhysteresis = 3\npolicy = 'deepspeed'\n").train.scaler);
  EXPECT_EQ(deepspeed.hysteresis, 3);
  EXPECT_EQ(deepspeed.growth_interval, 1000);
  EXPECT_THAT(mistake_in("[train.scaler]\npolicy = 'apex'\nbackoff = 0.5\n"),
              HasSubstr("train.scaler.backoff: the policy apex has no backoff; it has init, interval, floor, cap"));
  EXPECT_THAT(mistake_in("[train.scaler]\npolicy = 'apx'\n"), HasSubstr("apex"));
}

TEST(ExperimentFile, RecomputeTakesAWordOrPatterns) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(build("").train.recompute, Words{});
  EXPECT_THAT(to_toml(build("")), AllOf(HasSubstr("recompute = \"none\"\n"), HasSubstr("weight_copies = \"auto\"\n")));
  EXPECT_EQ(build("[train]\nrecompute = 'none'\n").train.recompute, Words{});
  EXPECT_EQ(build("[train]\nrecompute = 'blocks'\n").train.recompute, Words{"blocks"});
  EXPECT_EQ(build("[train]\nrecompute = ['block0.*', '*.ln?']\n").train.recompute, (Words{"block0.*", "*.ln?"}));
  EXPECT_THAT(mistake_in("[train]\nrecompute = ['none', 'block*']\n"),
              AllOf(StartsWith("dir/gpt.toml:2: train.recompute: "), HasSubstr("it takes none, blocks, or patterns")));
  EXPECT_THAT(mistake_in("[train]\nrecompute = true\n"), HasSubstr("a text or a list of texts"));
  EXPECT_THAT(mistake_in("[train]\ngradient_checkpointing = true\n"), HasSubstr("did you mean train.recompute?"));
  EXPECT_THAT(mistake_in("[train]\nweight_copies = 'kept'\n"), HasSubstr("did you mean \"keep\"?"));
}

TEST(ExperimentFile, APatternThatMatchesNothingIsBlamedOnItsPlace) {
  const auto refused = [](Settings& settings) {
    return mistake([&] { settings.placed([] { throw UsageError("keep_fp32: 'x' matches no node"); }); });
  };
  Settings settings;
  settings.add_text("[train]\nkeep_fp32 = ['x']\n", "a.toml");
  EXPECT_EQ(refused(settings), "a.toml:2: train.keep_fp32: 'x' matches no node");
  settings.add_words("train.keep_fp32", "x", "--keep_fp32 x");
  EXPECT_EQ(refused(settings), "--keep_fp32 x: train.keep_fp32: 'x' matches no node") << "the last counts";
  settings.add_words("train.recompute", "y", "--recompute y");
  EXPECT_EQ(mistake([&] { settings.placed([] { throw UsageError("recompute: 'y' saves nothing"); }); }),
            "--recompute y: train.recompute: 'y' saves nothing");
  EXPECT_EQ(mistake([&] { settings.placed([] { throw UsageError("no data"); }); }), "no data");
}

TEST(ExperimentFile, NotTomlNotThere) {
  EXPECT_THAT(mistake_in("[train\n"), StartsWith("dir/gpt.toml:1: not valid TOML: "));
  EXPECT_THAT(mistake_in("[train]\nlr = 1\nlr = 2\n"), StartsWith("dir/gpt.toml:3: not valid TOML: "));
  Settings settings;
  EXPECT_THAT(mistake([&] { settings.add_file("/nowhere/gpt.toml"); }), HasSubstr("No such file"));
  EXPECT_THAT(mistake([&] { settings.add_file("/tmp"); }), HasSubstr("/tmp is a folder"));
}

TEST(Set, OverridesTheFileWithTheSameErrors) {
  Settings settings;
  settings.add_text("[train]\nlr = 0.5\nsteps = 7\n[model]\nkind = 'gpt'\n", "a.toml");
  settings.add_assignment("train.lr=1e-3");
  settings.add_assignment("run.modes=fp32, bf16");
  settings.add_assignment("data.path=[\"x,y\"]");
  settings.add_assignment("train.nesterov=true");
  settings.add_assignment("train.steps=1e2");
  settings.add_assignment("model.attention=\"composed\"");
  const Experiment e = settings.build();
  EXPECT_EQ(e.train.schedule.learning_rate, 1e-3);
  EXPECT_EQ(e.run.modes, (std::vector<std::string>{"fp32", "bf16"}));
  EXPECT_EQ(e.data.paths.front(), (std::filesystem::current_path() / "x,y").string());
  EXPECT_TRUE(e.train.optimizer.nesterov);
  EXPECT_EQ(e.train.steps, 100);
  EXPECT_EQ(std::get<engine::GptConfig>(e.model).attention, "composed");

  EXPECT_THAT(mistake_in_set("train.lr=fast"),
              AllOf(StartsWith("--set train.lr=fast: train.lr = \"fast\""), HasSubstr("a number")));
  EXPECT_THAT(mistake_in_set("train.lr=-1"), HasSubstr("at least 0"));
  EXPECT_THAT(mistake_in_set("train.lr="), HasSubstr("a number"));
  EXPECT_THAT(mistake_in_set("train.lr=1x"), HasSubstr("a number"));
  EXPECT_THAT(mistake_in_set("trian.lr=1"), AllOf(StartsWith("--set trian.lr=1: unknown key"), HasSubstr("train.lr")));
  EXPECT_THAT(mistake_in_set("train.lr"), HasSubstr("there is no value: write --set train.lr=VALUE"));
  EXPECT_THAT(mistake_in_set("run.modes=fp32,fp8"), HasSubstr("is not known"));
  EXPECT_THAT(mistake_in_set("train.nesterov=maybe"), HasSubstr("true or false"));
}

TEST(Set, KindChangesTheModelBeforeItsKeysAreRead) {
  Settings settings;
  settings.add_assignment("model.activation=relu");
  settings.add_assignment("model.kind=mlp");
  EXPECT_EQ(std::get<engine::MlpConfig>(settings.build().model).activation, "relu");
}

}  // namespace
}  // namespace ulpscope::profiler
