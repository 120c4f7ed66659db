// The products of a step alone: which there are and how often, what they are timed as, and the command; the example of GPT-2's size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "profiler/sweep/bare_products.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StepProductsTest : public TinyExperiment {
 protected:
  engine::StepPlan plan(const std::string& mode, const std::vector<std::string>& assignments = {}) {
    const Experiment e = experiment(assignments);
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

/// FLOPs of a GPT's products, counted by hand: linear layers thrice (forwards, both backwards), attention's two products thrice.
double gpt_flops(double tokens, double context, double width, double layers, double vocabulary) {
  return 3.0 * 2.0 * tokens * (layers * (12.0 * width * width + 2.0 * context * width) + width * vocabulary);
}

TEST_F(StepProductsTest, AddUpToTheFlopsOfTheModel) {
  for (const char* mode : {"fp32", "fp16"}) {
    const StepProducts products = step_products(plan(mode));
    EXPECT_DOUBLE_EQ(products.flops, gpt_flops(2 * 8, 8, 16, 1, 256)) << mode;
    EXPECT_EQ(products.left_out, 0.0);
  }
  // Composed attention has the same products; micro-batches have them as often again.
  EXPECT_DOUBLE_EQ(step_products(plan("fp16", {"model.attention=composed"})).flops, gpt_flops(2 * 8, 8, 16, 1, 256));
  EXPECT_DOUBLE_EQ(step_products(plan("fp16", {"train.micro_batches=3"})).flops, 3 * gpt_flops(2 * 8, 8, 16, 1, 256));
}

TEST_F(StepProductsTest, ProductsThatAreAlikeAreOneWithACount) {
  const StepProducts two = step_products(plan("fp16", {"model.layers=2"})), one = step_products(plan("fp16"));
  EXPECT_EQ(two.products.size(), one.products.size());
  std::int64_t launches = 0;
  for (const StepProduct& p : two.products) launches += p.count;
  EXPECT_EQ(launches, 2 * (4 * 3 + 6) + 3);
  for (const StepProduct& p : two.products) EXPECT_EQ(p.product.compute_format(), "fp16") << p.product.node;
}

TEST_F(StepProductsTest, ConvolutionsAreLeftOutAndSaidToBe) {
  std::ofstream(in("cnn.toml")) << "[model]\nkind = 'cnn'\n[run]\nmodes = ['fp32']\nthreads = 1\n";
  Settings settings;
  settings.add_file(in("cnn.toml"));
  const Experiment e = settings.build();
  const StepProducts products = step_products(engine::plan_step(*device_, engine::build_model(e.model, e.train.batch, true), engine::find_mode("fp32"), e.train));
  EXPECT_GT(products.left_out, products.flops);
  EXPECT_EQ(products.products.size(), 3u) << "the head's";
}

TEST_F(StepProductsTest, EachIsTimedInEveryRoundAndCountsAsOftenAsTheStepHasIt) {
  BareJob job{.device = *device_, .modes = {}, .rounds = 5};
  for (const char* mode : {"fp32", "fp16", "fp16+tf32"}) job.modes.push_back({mode, step_products(plan(mode)), reports::Provenance::measured});
  std::size_t told = 0;
  const std::vector<BareTimes> times = bare_times(job, [&](std::size_t products, double) { told = products; }, [] { return false; });
  EXPECT_GT(told, times[0].products.size()) << "fp32's and fp16's are not the same";
  ASSERT_EQ(times.size(), 3u);
  for (const BareTimes& mode : times) {
    ASSERT_TRUE(mode.seconds.value);
    EXPECT_EQ(mode.seconds.samples, 5);
    EXPECT_FALSE(mode.by_device);
    double least = 0.0, most = 0.0;
    for (const BareProduct& p : mode.products) {
      EXPECT_EQ(p.problem, "");
      least += *p.seconds.low * static_cast<double>(p.product.count) * 0.2;
      most += *p.seconds.high * static_cast<double>(p.product.count) * 5.0;
    }
    EXPECT_GT(*mode.seconds.value, least);
    EXPECT_LT(*mode.seconds.value, most);
  }
  EXPECT_EQ(*times[1].seconds.value, *times[2].seconds.value) << "the same products are timed once for both";
  EXPECT_EQ(device_->live_bytes(), 0u);
  // A stop before a round is whole: no time, not 0.
  int asked = 0;
  for (const BareTimes& mode : bare_times(job, [](std::size_t, double) { ADD_FAILURE() << "there are no rounds"; }, [&] { return ++asked > 3; })) EXPECT_FALSE(mode.seconds.value);
}

/// A time that cannot be true is in no sum, and says why: faster than the hardware, or two clocks that differ.
TEST_F(StepProductsTest, ATimeThatCannotBeTrueIsInNoSum) {
  BareJob::Mode mode{"fp16", step_products(plan("fp16")), reports::Provenance::measured};
  ASSERT_GE(mode.products.products.size(), 2u);
  const auto peaks = reports::device_peaks("NVIDIA H200");
  ASSERT_TRUE(peaks && peaks->fp16);
  struct Case {
    double seconds, device;   ///< of the first product
    const char* says;
  };
  const double flops = mode.products.products[0].flops() / static_cast<double>(mode.products.products[0].count);
  const double true_one = 10.0 * 1e-12 * flops / *peaks->fp16;
  for (const Case& c : {Case{true_one, true_one, ""}, Case{true_one, 1.09 * true_one, ""}, Case{true_one, 1.2 * true_one, "the device's clock says"},
                        Case{0.01 * true_one, 0.01 * true_one, "is faster than the hardware"}}) {
    std::vector<std::unique_ptr<TimedProduct>> owned;
    std::vector<TimedProduct*> timed;
    for (const StepProduct& p : mode.products.products) {
      timed.push_back(owned.emplace_back(std::make_unique<TimedProduct>(p.product)).get());
      const bool first = timed.size() == 1;
      timed.back()->seconds.assign(3, first ? c.seconds : 1.0);
      timed.back()->device_seconds.assign(3, first ? c.device : 1.0);
    }
    const BareTimes times = bare_times_of(mode, timed, 3, peaks);
    EXPECT_TRUE(times.by_device);
    EXPECT_EQ(times.products[0].seconds.value, c.device) << "it is said all the same";
    if (*c.says == '\0') {
      EXPECT_EQ(times.why, "");
      EXPECT_EQ(times.products[0].invalid, "");
      ASSERT_TRUE(times.seconds.value);
      EXPECT_GT(*times.seconds.value, 1.0);
    } else {
      EXPECT_THAT(times.products[0].invalid, HasSubstr(c.says));
      EXPECT_THAT(times.why, AllOf(HasSubstr("the time of " + mode.products.products[0].product.node + " is invalid"), HasSubstr(c.says)));
      EXPECT_FALSE(times.seconds.value) << "unknown, not less";
      EXPECT_EQ(times.products[1].invalid, "");
    }
    // Of emulated products no peak is known; of a GPU that is not in the table neither.
    mode.provenance = reports::Provenance::emulated;
    EXPECT_THAT(bare_times_of(mode, timed, 3, peaks).why, testing::Not(HasSubstr("faster")));
    mode.provenance = reports::Provenance::measured;
    EXPECT_THAT(bare_times_of(mode, timed, 3, {}).why, testing::Not(HasSubstr("faster")));
    EXPECT_EQ(bare_times_of(mode, timed, 0, peaks).why, "it was ended before a round was whole");
    timed[1]->problem = "refused";
    EXPECT_THAT(bare_times_of(mode, timed, 3, peaks).why, testing::AnyOf(HasSubstr("has no time: refused"), HasSubstr("is invalid")));
  }
}

TEST_F(StepProductsTest, TheCommandHoldsARunsStepsAgainstThem) {
  const std::string path = in("tiny.toml");
  const Ended run = program({"run", path, "--modes", "fp32,fp16", "--seeds", "1", "--set", "run.timing_steps=10", "--set", "train.scaler.init=1024", "-o", in("r.ulp")});
  ASSERT_EQ(run.code, 0) << run.err;
  const Ended ended = program({"sweep", path, "--products", "--modes", "fp32,fp16,bf16", "--rounds", "3", "--beside", in("r.ulp"), "-o", in("p.json")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("products in 3 rounds"));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("matrix products of a step of tiny, alone"), HasSubstr("step ÷ products"), HasSubstr("emulated"), HasSubstr("unknown")));
  std::ifstream file(in("p.json"));
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json["modes"].size(), 3u);
  EXPECT_EQ(json["modes"][0]["mode"], "fp32");
  EXPECT_EQ(json["modes"][0]["clock"], "host");
  EXPECT_DOUBLE_EQ(json["modes"][0]["step_by_products"].get<double>(),
                   json["modes"][0]["step_seconds"]["value"].get<double>() / json["modes"][0]["seconds"]["value"].get<double>());
  EXPECT_TRUE(json["modes"][2]["step_by_products"].is_null()) << "bf16 was not run";
  EXPECT_THAT(json["modes"][2]["why_no_step"].get<std::string>(), HasSubstr("r.ulp has no run of this mode"));
  EXPECT_THAT(ended.out, HasSubstr("bf16: no step beside it"));
  EXPECT_TRUE(json["modes"][0]["why_no_step"].is_null());
  EXPECT_TRUE(json["modes"][0]["why_unknown"].is_null());
  EXPECT_TRUE(json["modes"][0]["products"][0]["why_invalid"].is_null());
  EXPECT_TRUE(json["gpu_condition"].is_null());
  EXPECT_THAT(json["gpu_unknown"].get<std::string>(), HasSubstr("on a CPU"));
  EXPECT_DOUBLE_EQ(json["modes"][0]["flops"].get<double>(), gpt_flops(2 * 8, 8, 16, 1, 256));
  for (const auto& [flags, words] : {std::pair<std::vector<std::string>, std::string>{{"--products", "--around", "lm_head"}, "--products times every product"},
                                     {{"--around", "lm_head", "--beside", in("r.ulp")}, "--beside goes with --products"},
                                     {{"--products", "--beside", in("none.ulp")}, "none.ulp"},
                                     {{"--products", "-o", in("p.csv")}, "the file is JSON"},
                                     {{"--products", "--set", "train.batch=3", "--beside", in("r.ulp")}, "with batch 2, not of gpt with batch 3"},
                                     {{"--products", "--set", "model.layers=2", "--beside", in("r.ulp")}, "a gpt of other sizes"},
                                     {{"--products", "--set", "train.micro_batches=2", "--beside", in("r.ulp")}, "of other sizes"}}) {
    std::vector<std::string> arguments{"sweep", path};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ended refused = program(arguments);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(words));
  }
}

TEST_F(StepProductsTest, TheExampleOfGpt2HasItsSize) {
  const std::string path = std::string(ULPSCOPE_SOURCE_DIR) + "/examples/gpt2-124m.toml";
  const Ended ended = program({"plan", path, "--mode", "bf16", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  // 50257 x 768 + 1024 x 768 + 12 (12 x 768^2 + 13 x 768) + 2 x 768
  EXPECT_EQ(json["parameters"], 124439808);
  Settings settings;
  settings.add_file(path);
  const Experiment e = settings.build();
  const engine::StepPlan plan = engine::plan_step(*device_, engine::build_model(e.model, e.train.batch, true), engine::find_mode("bf16"), e.train);
  EXPECT_DOUBLE_EQ(step_products(plan).flops, gpt_flops(16 * 1024, 1024, 768, 12, 50257));
  EXPECT_EQ(plan.tokens, 16 * 1024);
}

TEST_F(StepProductsTest, RandomTokensTakeThePlaceOfAText) {
  std::ofstream(in("random.toml")) << "[model]\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\nvocabulary = 1000\n[data]\nrandom = true\nheld_out = 0\n"
                                      "[train]\nsteps = 3\nbatch = 2\n[run]\nmodes = ['fp32']\ntiming_steps = 0\nthreads = 1\n";
  const Ended run = program({"run", in("random.toml"), "-o", in("r.ulp")});
  ASSERT_EQ(run.code, 0) << run.err;
  const reports::RunFileReader file(in("r.ulp"));
  EXPECT_THAT(file.runs().front().data, HasSubstr("random: tokens drawn uniformly from 1000"));
  // The loss of what cannot be learned: ln 1000.
  EXPECT_NEAR(*file.steps(file.runs().front().id).back().loss, 6.908, 0.15);
  const Ended both = program({"run", in("random.toml"), "--data", in("text.txt"), "-o", in("b.ulp")});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("data.random and data.path or data.features are both given"));
  std::ofstream(in("cnn.toml")) << "[model]\nkind = 'cnn'\n[data]\nrandom = true\n";
  EXPECT_THAT(program({"run", in("cnn.toml"), "-o", in("c.ulp")}).err, HasSubstr("data.random: this model reads no tokens"));
  std::ofstream(in("encoder.toml")) << "[model]\nkind = 'encoder'\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\nvocabulary = 1000\n[data]\nrandom = true\nheld_out = 0\n";
  const Ended classes = program({"run", in("encoder.toml"), "-o", in("e.ulp")});
  EXPECT_EQ(classes.code, 2) << "targets of 1000 tokens, and 256 classes";
  EXPECT_THAT(classes.err, HasSubstr("a vocabulary of 1000"));
  EXPECT_EQ(std::count(classes.err.begin(), classes.err.end(), '\n'), 1) << classes.err;
}

}  // namespace
}  // namespace ulpscope::profiler
