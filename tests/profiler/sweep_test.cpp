// The sweep from an experiment: which product a node is, and what is timed.
#include "profiler/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using reports::SweepDimension;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SweepTest : public TinyExperiment {
 protected:
  engine::StepPlan plan(const std::string& mode) {
    const Experiment e = experiment({});
    return engine::plan_step(*device_, engine::build_model(e.model, e.train.batch, true), engine::find_mode(mode), e.train);
  }
  struct Ended {
    int code;
    std::string out, err;
  };
  static Ended program(std::vector<std::string> arguments) {
    std::ostringstream out, err;
    const int code = run_program(std::move(arguments), out, err);
    return {code, out.str(), err.str()};
  }
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1, .instruction_set = {}});
};

TEST_F(SweepTest, AProductIsWhatTheModeMakesOfTheNode) {
  const SweptProduct fp32 = find_product(plan("fp32"), "lm_head"), fp16 = find_product(plan("fp16"), "lm_head"), tf32 = find_product(plan("tf32"), "lm_head");
  EXPECT_EQ(fp32.operation, "linear");
  EXPECT_EQ(fp32.columns, 256);
  EXPECT_TRUE(fp32.trans_b) << "a weight is stored [columns, inner]";
  EXPECT_EQ(fp32.compute_format(), "fp32");
  EXPECT_EQ(tf32.compute_format(), "tf32");
  EXPECT_EQ(tf32.a, Format::fp32);
  EXPECT_EQ(fp16.compute_format(), "fp16");
  EXPECT_EQ(fp16.formats(), "fp16, fp16 > fp16");
  // dweight [columns, inner] = dy' x: its columns are the inner size of the forward product.
  const SweptProduct dweight = find_product(plan("fp32"), "lm_head.dweight");
  EXPECT_TRUE(dweight.trans_a);
  EXPECT_EQ(dweight.rows, fp32.columns);
  EXPECT_EQ(dweight.columns, fp32.inner);
  EXPECT_EQ(dweight.inner, fp32.rows);
}

TEST_F(SweepTest, OtherNodesAreRefusedWithThoseThatAreProducts) {
  const auto refusal = [&](const std::string& node) -> std::string {
    try {
      find_product(plan("fp32"), node);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("lm_hed"), AllOf(HasSubstr("there is no node lm_hed; did you mean lm_head?"), HasSubstr("block0.attn.qkv")));
  EXPECT_THAT(refusal("ln_f"), HasSubstr("ln_f is a layer_norm, and a sweep takes matrix products: "));
}

TEST_F(SweepTest, EverySizeIsTimedInEveryRoundAndTheGivenOneTwice) {
  SweepJob job{.device = *device_, .experiment = "tiny", .modes = {}, .dimension = SweepDimension::columns, .sizes = {7, 256, 257}, .rounds = 6};
  for (const char* mode : {"fp32", "fp16"}) job.modes.push_back({mode, find_product(plan(mode), "lm_head"), mode == std::string("fp32") ? reports::Provenance::measured : reports::Provenance::emulated});
  std::int64_t told = 0;
  const reports::SweepInput in = run_sweep(job, [&](std::int64_t rounds, double) { told = rounds; }, [] { return false; });
  EXPECT_EQ(told, 6);
  ASSERT_EQ(in.modes.size(), 2u);
  for (const auto& mode : in.modes) {
    ASSERT_EQ(mode.timings.size(), 3u);
    for (const auto& timing : mode.timings) {
      EXPECT_EQ(timing.seconds.size(), 6u);
      EXPECT_EQ(timing.again.size(), timing.size == 256 ? 6u : 0u);
      EXPECT_TRUE(timing.device_seconds.empty());
      for (const double s : timing.seconds) EXPECT_GT(s, 0.0);
      EXPECT_EQ(timing.problem, "");
    }
  }
  EXPECT_EQ(device_->live_bytes(), 0u);
  // A stop keeps the rounds that are whole: there are 8 products, so the second round is under way.
  int asked = 0;
  const reports::SweepInput part = run_sweep(job, [](std::int64_t, double) {}, [&] { return ++asked > 8 + 10; });
  for (const auto& mode : part.modes)
    for (const auto& timing : mode.timings) EXPECT_EQ(timing.seconds.size(), 1u);
  const reports::Sweep result = reports::sweep_result(part);
  for (const auto& row : result.sizes) EXPECT_NE(row.times[0].verdict, reports::SweepVerdict::faster) << "one round is no claim";
}

TEST_F(SweepTest, TheCommandWritesTextAndAFile) {
  const std::string path = in("tiny.toml");
  const Ended ended = program({"sweep", path, "--around", "lm_head", "--modes", "fp32,bf16", "--sizes", "250,264", "--rounds", "5", "-o", in("s.json")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("its columns around 256"), HasSubstr("> 256"), HasSubstr("250"), HasSubstr("emulated"), HasSubstr("256 mod 8 = 0")));
  EXPECT_THAT(ended.out, Not(HasSubstr("bf16: 2"))) << "nothing is claimed from emulated times";
  EXPECT_THAT(ended.err, HasSubstr("timing 3 sizes in 2 modes, 5 rounds"));
  std::ifstream file(in("s.json"));
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(json, HasSubstr("\"kind\": \"ulpscope sweep\""));
  const Ended again = program({"sweep", path, "--around", "lm_head", "-o", in("s.json")});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("s.json is there already"));
  for (const auto& [flags, words] : {std::pair<std::vector<std::string>, std::string>{{}, "--around which node?"},
                                     {{"--around", "lm_head", "--sizes", "0"}, "\"0\" is no size"},
                                     {{"--around", "lm_head", "--dimension", "depth"}, "choices are rows, columns, inner"},
                                     {{"--around", "lm_head", "--rounds", "-1"}, "--rounds -1"}}) {
    std::vector<std::string> arguments{"sweep", path};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ended refused = program(arguments);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(words));
  }
}

TEST_F(SweepTest, FlagsThatMeanNothingForAProductAreNotOffered) {
  const std::string path = in("tiny.toml"), help = program({"sweep", "--help"}).out;
  for (const char* flag : {"--accumulate", "--ranges", "--shadow", "--no-replay", "--no-fusion", "--widen", "--recompute"}) EXPECT_THAT(help, Not(HasSubstr(flag)));
  for (const char* flag : {"--keep-fp32", "--threads", "--model", "--set"}) EXPECT_THAT(help, HasSubstr(flag));
  for (const char* flag : {"--ranges", "--shadow", "--no-fusion"}) {
    const Ended refused = program({"sweep", path, "--around", "lm_head", flag});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(std::string("unknown flag ") + flag));
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--accumulate", "hopper"}, {"--set", "train.accumulate_as=hopper"}}) {
    std::vector<std::string> arguments{"sweep", path, "--around", "lm_head"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Ended refused = program(arguments);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(words[0]), HasSubstr("train.accumulate_as: a sweep times plain sums")));
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1);
  }
}

TEST_F(SweepTest, ThePlaceOfTheFileIsLookedAtBeforeTheClock) {
  std::ofstream(in("file")) << "x";
  for (const std::string& place : {in("no/such/s.json"), in("file/s.json"), folder_}) {
    const Ended refused = program({"sweep", in("tiny.toml"), "--around", "lm_head", "--rounds", "1", "-o", place});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("-o " + place), Not(HasSubstr("timing "))));
  }
}

TEST_F(SweepTest, OneIsOne) {
  const Ended ended = program({"sweep", in("tiny.toml"), "--around", "lm_head", "--modes", "fp32", "--sizes", "256", "--rounds", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("timing 1 size in 1 mode, 1 round, "));
}

TEST_F(SweepTest, TimeOfSeveralFilesNeedsBatchesThatDiffer) {
  const auto record = [&](const std::string& name, const std::string& batch) {
    return program({"run", in("tiny.toml"), "-o", in(name), "--modes", "fp32,fp16", "--set", "run.seeds=1", "--set", "train.steps=2", "--set", "train.batch=" + batch}).code;
  };
  ASSERT_EQ(record("a.ulp", "2"), 0);
  ASSERT_EQ(record("b.ulp", "4"), 0);
  const Ended ended = program({"time", in("a.ulp"), in("b.ulp")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("fp16: emulated on this processor: from its times no break-even is inferred"));
  const Ended top = program({"time", in("a.ulp"), in("b.ulp"), "--top", "3"});
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("--top goes with one run file"));
  const Ended same = program({"time", in("a.ulp"), in("a.ulp")});
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.err, HasSubstr("both have a batch of 2"));
}

TEST(SweepOrder, EveryEntryIsFirstInTurn) {
  for (std::int64_t n = 1; n <= 60; ++n) {
    std::set<std::int64_t> first;
    for (std::int64_t round = 0; round < n; ++round) first.insert(first_of_round(round, n));
    EXPECT_EQ(static_cast<std::int64_t>(first.size()), n);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
