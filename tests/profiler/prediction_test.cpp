// What is foreseen of examples/cases before anything is trained, and that healthy twins are called safe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "profiler/predict/predict.h"
#include "reports/export/exporter.h"
#include "tests/profiler/support/answer.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {
namespace {

using reports::Foreseen;
using reports::ModePrediction;
using reports::Prediction;
using ::testing::HasSubstr;

Prediction foresee(const std::string& name, const std::string& mode, const std::vector<std::string>& assignments = {}) {
  return predict(case_settings(name, assignments), mode, std::nullopt);
}

Prediction foresee_toml(const std::string& toml, const std::string& mode) {
  Settings settings;
  settings.add_text(toml, "made-up.toml");
  return predict(settings, mode, std::nullopt);
}

const ModePrediction& of(const Prediction& prediction, const std::string& mode) {
  for (const ModePrediction& m : prediction.modes)
    if (m.mode == mode) return m;
  throw std::runtime_error("no prediction for " + mode);
}

std::string told(const ModePrediction& m) {
  Prediction one;
  one.modes.push_back(m);
  std::ostringstream text;
  reports::make_exporter("text")->write(one, text);
  return text.str();
}

const Foreseen& fault(const ModePrediction& m, const std::string& kind, const std::string& node = "") {
  for (const Foreseen& f : m.foreseen)
    if (f.kind == kind && (node.empty() || f.node == node)) return f;
  throw std::runtime_error("no " + kind + " at " + node + " in " + told(m));
}

double fact_of(const Foreseen& f, const std::string& key) {
  for (const reports::Fact& fact : f.facts)
    if (fact.key == key) return fact.value.value_or(NAN);
  throw std::runtime_error("no fact " + key + " in " + f.what);
}

#define EXPECT_FORECAST(m, forecast_) EXPECT_EQ(reports::name((m).forecast), forecast_) << told(m)

TEST(Prediction, AnActivationAboveTheLimit) {
  const Prediction p = foresee("01", "fp16");
  const ModePrediction& fp16 = of(p, "fp16");
  EXPECT_FORECAST(fp16, "overflow");
  EXPECT_THAT(fp16.verdict, HasSubstr("will overflow at layer2.linear"));
  const Foreseen& f = fault(fp16, "activation_too_large", "layer2.linear");
  EXPECT_NEAR(fact_of(f, "greatest_magnitude"), 66246.39, 0.25);
  EXPECT_THAT(f.what, HasSubstr("1.011 x the fp16 limit"));
  EXPECT_EQ(f.facts.front().provenance, reports::Provenance::computed);
  EXPECT_FORECAST(of(p, "bf16"), "safe");
  EXPECT_FALSE(of(p, "bf16").asked);
  EXPECT_THAT(p.advice, HasSubstr("bf16 has the range of fp32"));
}

TEST(Prediction, TheTwinThatKeepsTheLayerInFp32IsSafe) {
  const Prediction p = foresee("01", "fp16", {"train.keep_fp32=layer2.*", "train.scaler.init=256"});
  EXPECT_FORECAST(of(p, "fp16"), "safe");
}

TEST(Prediction, TheProductOfTwoModestTensors) {
  const Prediction p = foresee("05", "fp16");
  const Foreseen& f = fault(of(p, "fp16"), "activation_too_large");
  EXPECT_EQ(f.node, "mlp.product") << "one operation before the projection";
  EXPECT_NEAR(fact_of(f, "times_limit"), 66975.28 / 65520.0, 1e-4);
  EXPECT_FORECAST(of(p, "bf16"), "safe");
}

TEST(Prediction, MasksThatNeverFitAndSumsThatLeaveTheRange) {
  const Prediction p = foresee("07", "fp16");
  const ModePrediction& fp16 = of(p, "fp16");
  EXPECT_FORECAST(fp16, "overflow");
  const Foreseen& constant = fault(fp16, "mask_constant_out_of_range", "masked.in1.fp16");
  EXPECT_EQ(fact_of(constant, "not_finite"), 3.0);
  EXPECT_EQ(fact_of(constant, "greatest_magnitude"), 1e9);
  const Foreseen& sum = fault(fp16, "mask_sum", "masked");
  EXPECT_EQ(fact_of(sum, "not_finite"), 2.0);
  EXPECT_EQ(fact_of(sum, "greatest_magnitude"), 65520.0);
  EXPECT_EQ(fact_of(sum, "rows_without_score"), 2.0);
  EXPECT_EQ(fact_of(sum, "mask"), -65504.0);
  EXPECT_FORECAST(of(p, "bf16"), "safe");
}

constexpr const char* masked =
    "[model]\nkind = 'graph'\nloss = 'loss'\n[train]\nsteps = 1\noptimizer = 'sgd'\nscaler.init = "
    "256\n[[override]]\nnodes = 'masked'\ncompute = 'lower'\n"
    "[[node]]\nname = 'raw'\nop = 'input'\nvalues = [[[1.0, 2.0], [3.0, 4.0]]]\n[[node]]\nname = 'mask'\nop = "
    "'constant'\ninit = ";
constexpr const char* then_softmax =
    "\n[[node]]\nname = 't'\nop = 'parameter'\nshape = [1]\ninit = 1.0\n[[node]]\nname = 'scores'\nop = 'mul'\ninputs "
    "= ['raw', 't']\n[[node]]\nname = 'masked'\nop = 'add'\n"
    "inputs = ['scores', 'mask']\n[[node]]\nname = 'softmax'\nop = 'softmax'\ninputs = 'masked'\n[[node]]\nname = "
    "'loss'\nop = 'sum'\ninputs = 'softmax'\n";

TEST(Prediction, AMaskedPositionBesideALiveOneIsNoFault) {
  const ModePrediction fp16 =
      of(foresee_toml(std::string(masked) + "[[-1e9, 0.0], [0.0, 0.0]]" + then_softmax, "fp16"), "fp16");
  EXPECT_FORECAST(fp16, "safe");
  for (const Foreseen& f : fp16.foreseen) EXPECT_FALSE(f.overflow) << f.what << ": that is what a mask is for";
}

TEST(Prediction, AConstantMayOverflowBf16Too) {
  const Prediction p = foresee_toml(std::string(masked) + "[[-3.4e38, -3.4e38], [0.0, 0.0]]" + then_softmax, "fp16");
  EXPECT_FORECAST(of(p, "fp16"), "overflow");
  EXPECT_FORECAST(of(p, "bf16"), "overflow");
  EXPECT_THAT(p.advice, HasSubstr("bf16 does not help: a constant overflows there, too"));
}

constexpr const char* divided =
    "model = {kind = 'graph', loss = 'loss'}\ntrain = {optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0}\n"
    "override = [{nodes = 'q', compute = 'fp16'}]\nnode = [\n"
    "{name = 'x', op = 'input', shape = [4, 8], values = 0.5},\n"
    "{name = 'w', op = 'parameter', shape = [8, 8], init = 0.25},\n"
    "{name = 'y', op = 'linear', inputs = ['x', 'w']},\n"
    "{name = 'eps', op = 'input', shape = [8], values = ";
constexpr const char* by_it =
    "},\n{name = 'q', op = 'div', inputs = ['y', 'eps']},\n"
    "{name = 's', op = 'scale', inputs = 'q', factor = 1e-7},\n"
    "{name = 'loss', op = 'mean', inputs = 's'},\n]\n";

// 2^-25 = 2.98e-8 is the greatest number that fp16 rounds to zero. The first step in fp32 is finite, and 1 / 1e-8 overflows fp16
// even so: what has to change is the epsilon, not the quotient.
TEST(Prediction, ADivisorThatIsZeroInFp16) {
  const auto with = [](const char* epsilon) {
    return of(foresee_toml(std::string(divided) + epsilon + by_it, "fp16"), "fp16");
  };
  const ModePrediction gone = with("1e-8");
  EXPECT_FORECAST(gone, "overflow");
  const Foreseen& f = fault(gone, "epsilon_vanished", "q");
  EXPECT_EQ(&f, &gone.foreseen.front()) << told(gone);
  EXPECT_EQ(f.gravity, reports::Gravity::fatal);
  EXPECT_EQ(fact_of(f, "zeros"), 8.0);
  EXPECT_EQ(f.tensor, "q.in1.fp16");
  const ModePrediction stays = with("1e-3");   // 1 / 1e-3 fits as well
  EXPECT_TRUE(std::none_of(stays.foreseen.begin(), stays.foreseen.end(),
                           [](const Foreseen& other) { return other.kind == "epsilon_vanished"; }))
      << told(stays);
}

TEST(Prediction, SumsAndCountsThatAreKeptNarrow) {
  const ModePrediction fp16 = of(foresee("10", "fp16"), "fp16");
  EXPECT_FORECAST(fp16, "damage");
  const Foreseen& count = fault(fp16, "divisor_overflowed", "count.normals");
  EXPECT_EQ(fact_of(count, "count"), 65536.0);
  EXPECT_EQ(count.gravity, reports::Gravity::damage);
  EXPECT_EQ(fault(fp16, "activation_too_large", "sum.65520").gravity, reports::Gravity::contained)
      << "the loss does not read it";
  fault(fp16, "reduction_too_long", "tree.65519");
  fault(fp16, "reduction_too_long", "lanes.65520");
  for (const Foreseen& f : fp16.foreseen) {
    EXPECT_NE(f.node, "tree.65504");
    EXPECT_NE(f.node, "sum.65519");
    EXPECT_NE(f.node, "mean.262144");
    EXPECT_NE(f.node, "count.65519");
  }
}

TEST(Prediction, AdamInPureFp16) {
  const ModePrediction fp16 = of(foresee("17", "fp16_pure"), "fp16_pure");
  EXPECT_THAT(fp16.verdict, HasSubstr("will fail at w.update: the optimizer, not the model"));
  const Foreseen& f = fault(fp16, "epsilon_vanished");
  EXPECT_EQ(fact_of(f, "v_zero"), 3.0);
  EXPECT_NEAR(fact_of(f, "v_threshold"), 5.459e-3, 1e-6);
  const Foreseen& lost = fault(fp16, "update_lost");
  EXPECT_EQ(fact_of(lost, "lost_updates"), 1.0);
  EXPECT_EQ(fact_of(lost, "half_ulp_greatest"), 2.44140625e-4);
  EXPECT_FORECAST(of(foresee("17", "fp16"), "fp16"), "safe");
}

TEST(Prediction, GradientsThatNeedAScale) {
  const Prediction p = foresee("18", "fp16");
  const ModePrediction& fp16 = of(p, "fp16");
  EXPECT_FORECAST(fp16, "needs_scale");
  EXPECT_THAT(fp16.verdict, HasSubstr("gradients need a scale in [2^1, "));
  const Foreseen& f = fault(fp16, "gradient_below_range");
  EXPECT_EQ(fact_of(f, "smallest_scale"), 2.0);
  EXPECT_EQ(fact_of(f, "full_scale"), 4096.0);
  EXPECT_FORECAST(of(foresee("18", "fp16", {"train.scaler.fixed=1024"}), "fp16"), "safe");
  EXPECT_FORECAST(of(p, "bf16"), "safe");
}

TEST(Prediction, ABetaThatIsOne) {
  const ModePrediction bf16 = of(foresee("25", "bf16"), "bf16");
  EXPECT_THAT(bf16.verdict, HasSubstr("beta2 0.999 is 1 in bf16"));
  EXPECT_EQ(fault(bf16, "beta_vanished").gravity, reports::Gravity::fatal);
  const ModePrediction truncated = of(foresee("25", "bf16", {"train.scalar_rounding=truncate"}), "bf16");
  EXPECT_FORECAST(truncated, "safe");
  EXPECT_THAT(fault(truncated, "beta_vanished").what, HasSubstr("it reaches back 256 steps, not 1000"));
  EXPECT_FORECAST(of(foresee("25", "bf16", {"train.scalar_format=fp32"}), "bf16"), "safe");
}

TEST(Prediction, TheFirstSkipsAreCase32s) {
  // The gradient of w is x: 100 fits from 2^9 on, seven halvings below 2^16.
  const ModePrediction fp16 =
      of(foresee_toml("[model]\nkind = 'graph'\nloss = 'loss'\n[train]\nsteps = 8\noptimizer = 'sgd'\n[[node]]\nname = "
                      "'x'\nop = 'input'\nvalues = [[100.0]]\n[[node]]\n"
                      "name = 'w'\nop = 'parameter'\nshape = [1, 1]\ninit = 1.0\n[[node]]\nname = 'y'\nop = "
                      "'linear'\ninputs = ['x', 'w']\n[[node]]\nname = 'loss'\nop = 'sum'\n"
                      "inputs = 'y'\n",
                      "fp16"),
         "fp16");
  EXPECT_FORECAST(fp16, "safe");
  EXPECT_EQ(fp16.first_skips, 7);
  EXPECT_EQ(fp16.settled_scale, 512.0);
  EXPECT_EQ(fault(fp16, "gradient_too_large_for_scale").gravity, reports::Gravity::normal);
}

/// A loss of 20 times the scale leaves fp16 until 2^11; no gradient is computed from that number, and theirs begin with the scale itself.
TEST(Prediction, TheScaledLossCostsNoSkips) {
  const Prediction p = foresee_toml(R"(model = {kind = "graph", loss = "loss"}
train = {steps = 4, optimizer = "sgd", momentum = 0.0, weight_decay = 0.0, lr = 0.01}
run = {modes = ["fp16"], timing_steps = 0}
node = [
  {name = "x", op = "input", values = [[0.5, 1.0]]},
  {name = "w", op = "parameter", init = [[20.0, 10.0]]},
  {name = "y", op = "linear", inputs = ["x", "w"]},
  {name = "loss", op = "mean", inputs = "y"},
])", "fp16");
  EXPECT_FORECAST(of(p, "fp16"), "safe");
  EXPECT_EQ(of(p, "fp16").first_skips, 1) << told(of(p, "fp16"));
}

TEST(Prediction, PositionsThatFallTogetherInBf16) {
  std::string list = "[[0.0";
  for (int i = 1; i < 512; ++i) list += ", " + std::to_string(i) + ".0";
  const std::string toml =
      "[model]\nkind = 'graph'\nloss = 'loss'\n[train]\nsteps = 1\noptimizer = 'sgd'\nscaler.init = 1\n[[node]]\nname "
      "= 'positions'\nop = 'constant'\ninit = " +
      list +
      "]]\n[[node]]\nname = 'x'\nop = 'input'\nvalues = [[0.0]]\n[[node]]\nname = 'w'\nop = 'parameter'\nshape = [1, "
      "512]\ninit = 0.001\n[[node]]\nname = 'y'\nop = 'linear'\n"
      "inputs = ['positions', 'w']\n[[node]]\nname = 'loss'\nop = 'sum'\ninputs = 'y'\n";
  const Prediction p = foresee_toml(toml, "bf16");
  const Foreseen& f = fault(of(p, "bf16"), "positions_collide");
  EXPECT_EQ(fact_of(f, "distinct"), 512.0);
  EXPECT_THAT(f.what, HasSubstr("512 different whole numbers"));
  EXPECT_THAT(f.what, HasSubstr("become 385 in bf16"));  // 0 to 256, then every second one to 512, to which 511 rounds
  for (const Foreseen& other : of(p, "fp16").foreseen) EXPECT_NE(other.kind, "positions_collide") << "fp16 holds them";
}

TEST(Prediction, BothRangesSufficeThenRoundingDecides) {
  const Prediction p = foresee("25", "fp16", {"train.scalar_format=fp32", "train.scaler.init=1024"});
  EXPECT_FORECAST(of(p, "fp16"), "safe");
  EXPECT_THAT(p.advice, HasSubstr("fp16 has steps 8 times as fine"));
}

TEST(Prediction, WhatIsNotFiniteInFp32IsNeverSafe) {
  const std::string head = "model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1, optimizer = 'sgd', scaler = {init = 1}}\n";
  const Prediction p = foresee_toml(head + "node = [{name = 'x', op = 'input', values = [90.0, 1.0]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                           "{name = 'y', op = 'mul', inputs = ['x', 'w']}, {name = 'e', op = 'exp', inputs = 'y'},\n"
                                           "{name = 'loss', op = 'mean', inputs = 'e'}]\n", "fp16");
  for (const ModePrediction& m : p.modes) {
    EXPECT_NE(reports::name(m.forecast), "safe") << m.mode;
    const Foreseen& f = fault(m, "not_finite_in_fp32", "e");
    EXPECT_THAT(f.what, HasSubstr("the loss is not finite in fp32 either: e (exp, forward) has 1 of 2 elements not finite, from inputs up to 90 in magnitude"));
    EXPECT_EQ(&f, &m.foreseen.front()) << "it comes first";
  }
  ASSERT_EQ(p.remarks.size(), 1u);
  EXPECT_THAT(p.remarks.front(), HasSubstr("from e on"));
  EXPECT_THAT(p.advice, HasSubstr("no mode helps"));
  // A gradient alone, of sqrt at 0; behind scores that a mask set to -inf, which are none of it.
  const Prediction root = foresee_toml(head + "node = [{name = 'x', op = 'input', values = [[0.0, 1.0], [2.0, 3.0]]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                              "{name = 'y', op = 'mul', inputs = ['x', 'w']}, {name = 'm', op = 'causal_mask', inputs = 'y'}, {name = 'p', op = 'softmax', inputs = 'm'},\n"
                                              "{name = 's', op = 'sqrt', inputs = 'y'}, {name = 'a', op = 'add', inputs = ['s', 'p']},\n"
                                              "{name = 'loss', op = 'mean', inputs = 'a'}]\n", "bf16");
  EXPECT_NE(reports::name(of(root, "bf16").forecast), "safe");
  EXPECT_THAT(fault(of(root, "bf16"), "not_finite_in_fp32").what, HasSubstr("a gradient is not finite in fp32 either: s.dx (sqrt_backward, backward)"));
}

TEST(Prediction, DecayThatIsNotRoundedToNearestIsNotLost) {
  const std::string toml = "[model]\nkind = 'graph'\nloss = 'loss'\n[train]\nsteps = 1\nweight_decay = 0.1\nlr = 0.001\nclip = 0.0\nupdate_rounding = 'ROUNDING'\n"
                           "[[node]]\nname = 'w'\nop = 'parameter'\ninit = [0.25, 0.25]\n[[node]]\nname = 'loss'\nop = 'sum'\ninputs = 'w'\n";
  const auto lost = [&](const std::string& rounding) {
    std::string text = toml;
    text.replace(text.find("ROUNDING"), 8, rounding);
    const Prediction p = foresee_toml(text, "bf16_pure");
    const auto& foreseen = of(p, "bf16_pure").foreseen;
    return std::any_of(foreseen.begin(), foreseen.end(), [](const Foreseen& f) { return f.kind == "weight_decay_lost"; });
  };
  EXPECT_TRUE(lost("nearest"));
  EXPECT_FALSE(lost("kahan"));
  EXPECT_FALSE(lost("stochastic"));
}

TEST(Prediction, TheProgramPrintsIt) {
  const auto run = [](std::vector<std::string> arguments) {
    std::ostringstream out, err;
    const int code = run_program(std::move(arguments), out, err);
    return std::tuple(code, out.str(), err.str());
  };
  const std::string file = std::string(ULPSCOPE_SOURCE_DIR) + "/examples/cases/01.toml";
  const auto [code, out, err] = run({"diagnose", file, "--mode", "fp16", "--predict"});
  EXPECT_EQ(code, exit_ok) << err;
  EXPECT_THAT(out, HasSubstr("fp16: overflow"));
  EXPECT_THAT(out, HasSubstr("[computed]"));
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const auto document =
      nlohmann::json::parse(std::get<1>(run({"diagnose", file, "--mode", "fp16", "--predict", "--json"})));
  EXPECT_EQ(document["kind"], "ulpscope prediction");
  EXPECT_EQ(document["modes"][0]["foreseen"][0]["node"], "layer2.linear");
  EXPECT_THAT(std::get<1>(run({"diagnose", file, "--predict", "--csv"})), HasSubstr("fp16,verdict,overflow"));
  EXPECT_EQ(std::get<0>(run({"diagnose", "x.ulp", "--predict"})), exit_usage);
  EXPECT_EQ(std::get<0>(run({"diagnose", file, "--predict", "--mode", "fp17"})), exit_usage);
  EXPECT_EQ(std::get<0>(run({"diagnose", file, "--predict", "--step", "2"})), exit_usage);
}

TEST(Prediction, TheProgramTakesKeys) {
  const std::string file = std::string(ULPSCOPE_SOURCE_DIR) + "/examples/cases/01.toml";
  const Answer twin = ulpscope({"diagnose", "--mode", "fp16", "--predict", "--set", "train.keep_fp32=layer2.*", "--set", "train.scaler.init=256", file});
  EXPECT_EQ(twin.code, exit_ok) << twin.err;
  EXPECT_THAT(twin.out, HasSubstr("fp16: safe"));
  for (const char* wrong : {"train.lrr=1", "train.lr", "train.lr=fast", "run.modes=fp17"}) {
    const Answer here = ulpscope({"diagnose", file, "--predict", "--set", wrong}), there = ulpscope({"run", file, "--set", wrong});
    EXPECT_EQ(here.code, exit_usage) << wrong;
    EXPECT_EQ(here.err, there.err) << "said as ulpscope run says it";
  }
  const Answer recorded = ulpscope({"diagnose", "x.ulp", "--set", "train.lr=1"});
  EXPECT_EQ(recorded.code, exit_usage);
  EXPECT_THAT(recorded.err, HasSubstr("--set goes with --predict"));
}

}  // namespace
}  // namespace ulpscope::profiler
