// Faults with other operators and numbers than the cases have: recorded and diagnosed, held against a calculation by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/predict/predict.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Kind;
using reports::Outcome;
using reports::RunDiagnosis;
using ::testing::HasSubstr;

class DiagnosisKinds : public ::testing::Test {
 protected:
  /// A graph with a loss named so; one or more steps that change nothing, unless train says more.
  Settings graph(const std::string& mode, const std::string& nodes, const std::string& more = "", const std::string& train = "lr = 0.0") {
    Settings settings;
    settings.add_text(fmt::format("model = {{kind = \"graph\", loss = \"loss\"}}\ntrain = {{{}weight_decay = 0.0, {}}}\n"
                                  "run = {{modes = [\"{}\"]}}\n{}\nnode = [\n{}\n]\n",
                                  train.starts_with("steps") ? "" : "steps = 3, ", train, mode, more, nodes),
                      "made-up.toml");
    return settings;
  }
  RunDiagnosis of(const Settings& settings) {
    record_experiment(settings.build(), scratch_("a.ulp"));
    return reports::diagnose(reports::RunFileReader(scratch_("a.ulp"))).runs.at(0);
  }
  static const Cause* find(const RunDiagnosis& run, Kind kind, const std::string& node) {
    for (const Cause& c : run.causes)
      if (c.kind == kind && c.node == node) return &c;
    return nullptr;
  }
  static double value(const Cause& cause, const std::string& key) {
    for (const reports::Fact& fact : cause.facts)
      if (fact.key == key) return fact.value.value_or(NAN);
    return NAN;
  }
  ScratchFolder scratch_;
};

/// 4 x 3 x 3 products of 40 and 46 are 66240; with 45 they are 64800.
TEST_F(DiagnosisKinds, ConvolutionsOverflow) {
  for (const auto& [weight, bad] : {std::pair{46.0, true}, std::pair{45.0, false}}) {
    const RunDiagnosis d = of(graph("fp16", fmt::format("{{name = \"x\", op = \"constant\", shape = [1, 4, 8, 8], init = 40.0}}, {{name = \"k\", op = \"parameter\", shape = [2, 4, 3, 3], init = {}}},\n"
                                                        "{{name = \"conv\", op = \"conv2d\", inputs = [\"x\", \"k\"]}}, {{name = \"m\", op = \"mean\", inputs = \"conv\"}}, {{name = \"loss\", op = \"scale\", inputs = \"m\", factor = 1e-4}}", weight)));
    const Cause* const c = find(d, Kind::activation_too_large, "conv");
    EXPECT_EQ(c != nullptr, bad) << d.verdict;
    if (c != nullptr) {
      EXPECT_EQ(c->operation, "conv2d");
      EXPECT_EQ(c->gravity, reports::Gravity::fatal);
      EXPECT_EQ(value(*c, "greatest_magnitude"), 66240.0) << c->what;
    } else {
      EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
    }
  }
}

/// y / z has the derivative -(y / z) / z, whatever the loss scale: 3000 / 0.0625 = 48000 fits, 48000 / 0.0625 = 768000 does not; with 0.25 both do.
TEST_F(DiagnosisKinds, SlopesThatNoLossScaleMultiplies) {
  for (const auto& [divisor, bad] : {std::pair{0.0625, true}, std::pair{0.25, false}}) {
    const Settings settings = graph("fp16", fmt::format("{{name = \"x\", op = \"constant\", shape = [1, 1], init = 1.0}}, {{name = \"a\", op = \"parameter\", shape = [1, 1], init = 3000.0}},\n"
                                                        "{{name = \"b\", op = \"parameter\", shape = [1, 1], init = {}}}, {{name = \"k\", op = \"constant\", shape = [1], init = 1e-4}},\n"
                                                        "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"a\"]}}, {{name = \"z\", op = \"linear\", inputs = [\"x\", \"b\"]}},\n"
                                                        "{{name = \"q\", op = \"div\", inputs = [\"y\", \"z\"]}}, {{name = \"p\", op = \"mul\", inputs = [\"q\", \"k\"]}},\n"
                                                        "{{name = \"loss\", op = \"mean\", inputs = \"p\"}}", divisor),
                                    "observe = {every = 1}", "optimizer = \"sgd\", momentum = 0.0, clip = 0.0, lr = 0.0, scaler = {init = 256}");
    const RunDiagnosis d = of(settings);
    const Cause* const c = find(d, Kind::activation_too_large, "q.db.ratio");
    ASSERT_EQ(c != nullptr, bad) << d.verdict;
    EXPECT_EQ(d.outcome, bad ? Outcome::fatal : Outcome::healthy) << d.verdict;
    const reports::Prediction before = predict(settings, "fp16", std::nullopt);
    const auto here = std::find_if(before.modes.begin(), before.modes.end(), [](const auto& m) { return m.mode == "fp16"; });
    ASSERT_NE(here, before.modes.end());
    const auto f = std::find_if(here->foreseen.begin(), here->foreseen.end(), [](const auto& foreseen) { return foreseen.tensor == "q.db.ratio"; });
    EXPECT_EQ(f != here->foreseen.end() && f->overflow, bad) << here->verdict;
    if (!bad) continue;
    EXPECT_EQ(c->gravity, reports::Gravity::fatal);
    EXPECT_EQ(c->phase, "backward");
    EXPECT_EQ(value(*c, "greatest_magnitude"), 768000.0) << c->what;
    EXPECT_THAT(c->what, HasSubstr("The loss scale has no part in it"));
    for (const reports::Remedy& remedy : c->remedies) EXPECT_NE(remedy.mend, "scale") << remedy.change;
    EXPECT_EQ(find(d, Kind::gradient_too_large_for_scale, "q.db.ratio"), nullptr);
    ASSERT_FALSE(d.reasons.empty());
    EXPECT_THAT(d.reasons.front(), HasSubstr("q.db.ratio is not finite at any scale"));
    EXPECT_EQ(f->kind, "activation_too_large");
    EXPECT_EQ(f->phase, "backward");
    EXPECT_EQ(f->gravity, reports::Gravity::fatal) << f->what;
  }
}

/// (1e20)^2 = 1e40 is more than fp32 holds: to compute the norm in fp32 is what was done.
TEST_F(DiagnosisKinds, NormsThatFp32DoesNotHoldAreNotMendedByFp32) {
  const RunDiagnosis d = of(graph("fp32", "{name = \"w\", op = \"parameter\", init = 0.0}, {name = \"b\", op = \"constant\", init = 1e20}, {name = \"loss\", op = \"mul\", inputs = [\"w\", \"b\"]}",
                                  "observe = {every = 1}", "lr = 0.0, clip = 1.0"));
  const Cause* const c = find(d, Kind::clip_overflowed, "global_norm");
  ASSERT_NE(c, nullptr) << d.verdict;
  ASSERT_EQ(c->remedies.size(), 1u);
  EXPECT_EQ(c->remedies[0].mend, "clip_value");
  EXPECT_TRUE(c->remedies[0].ulpscope.empty());
}

/// p = e / t with e = 1 and t = 60000 has the slope p / t = 2.8e-10 beside 1: half of the slopes are 0 in fp16, at every loss scale.
TEST_F(DiagnosisKinds, SlopesThatVanishAtEveryLossScale) {
  for (const int scale : {1, 32768}) {
    const RunDiagnosis d = of(graph("fp16_pure", "{name = \"e\", op = \"parameter\", init = [1.0, 1.0]}, {name = \"t\", op = \"parameter\", init = [60000.0, 1.0]},\n"
                                                 "{name = \"p\", op = \"div\", inputs = [\"e\", \"t\"]}, {name = \"loss\", op = \"sum\", inputs = \"p\"}",
                                    "observe = {every = 1}", fmt::format("scale_pure = true, lr = 0.0, clip = 0.0, scaler = {{fixed = {}}}", scale)));
    for (const Cause& c : d.causes) EXPECT_FALSE(c.kind == Kind::gradient_below_range && c.tensor == "p.db.ratio") << c.what;
  }
}

/// (1 - 0.99) x 1e-3^2 = 1e-8 is 0 in fp16, and 1e-7 is 1.192e-7 there: an update of 1e-3 / 1.192e-7 learning rates.
TEST_F(DiagnosisKinds, SecondMomentsThatVanishBesideAnEpsilonThatDoesNot) {
  for (const auto& [slope, lost] : {std::pair{1e-3, true}, std::pair{2e-2, false}}) {
    const Settings settings = graph("fp16_pure",
                                    fmt::format("{{name = \"w\", op = \"parameter\", shape = [3], init = 0.5}}, {{name = \"c\", op = \"constant\", shape = [3], init = {}}},\n"
                                                "{{name = \"p\", op = \"mul\", inputs = [\"w\", \"c\"]}}, {{name = \"loss\", op = \"sum\", inputs = \"p\"}}", slope),
                                    "", "optimizer = \"adamw\", beta2 = 0.99, epsilon = 1e-7, lr = 1e-3, clip = 0.0, scaler = {policy = \"none\"}");
    const RunDiagnosis d = of(settings);
    const Cause* const c = find(d, Kind::second_moment_below_range, "w.update");
    ASSERT_EQ(c != nullptr, lost) << d.verdict;
    EXPECT_EQ(d.outcome, lost ? Outcome::damaged : Outcome::healthy);
    if (c == nullptr) continue;
    EXPECT_EQ(value(*c, "v_flushed"), 3.0);
    EXPECT_NEAR(value(*c, "v_threshold"), std::sqrt(0x1p-25 / 0.01), 1e-9);
    EXPECT_EQ(value(*c, "epsilon"), 0x1p-23) << "1e-7 as fp16 has it";
    EXPECT_NEAR(value(*c, "update"), 1e-3 / 0x1p-23, 10);
    ASSERT_FALSE(c->remedies.empty());
    EXPECT_EQ(c->remedies.front().mend, "moments_fp32");
  }
}

/// Means of 1000, elements 300 from them: squares of 90000, not of 1300; rows become the bias, not zero.
TEST_F(DiagnosisKinds, LayerNormSquaresWhatIsLeftOfTheMean) {
  const RunDiagnosis d = of(graph("fp16",
                                  "{name = \"x\", op = \"constant\", init = [[700, 1300, 700, 1300], [1300, 700, 1300, 700]]}, {name = \"g\", op = \"parameter\", shape = [4], init = 1.0},\n"
                                  "{name = \"b\", op = \"parameter\", shape = [4], init = 0.5}, {name = \"norm\", op = \"layer_norm\", inputs = [\"x\", \"g\", \"b\"]}, {name = \"loss\", op = \"mean\", inputs = \"norm\"}",
                                  "override = [{nodes = \"norm\", accumulate = \"lower\", compute = \"lower\"}]"));
  const Cause* const c = find(d, Kind::norm_overflowed, "norm");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_EQ(value(*c, "inner_greatest"), 90000.0) << c->what;
  EXPECT_EQ(value(*c, "zero_rows"), 2.0);
  EXPECT_THAT(c->what, HasSubstr("the bias, whatever went in"));
}

/// Four elements of 2e38 are finite in fp32, their sum is not.
TEST_F(DiagnosisKinds, AMeanThatIsInfiniteOfFiniteElements) {
  const RunDiagnosis d = of(graph("fp32",
                                  "{name = \"x\", op = \"constant\", init = [[2e38, 2e38, 2e38, 2e38]]}, {name = \"g\", op = \"parameter\", shape = [4], init = 1.0},\n"
                                  "{name = \"b\", op = \"parameter\", shape = [4], init = 0.5}, {name = \"norm\", op = \"layer_norm\", inputs = [\"x\", \"g\", \"b\"]}, {name = \"loss\", op = \"mean\", inputs = \"norm\"}"));
  const Cause* const c = find(d, Kind::norm_overflowed, "norm");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, HasSubstr("the sum of a row, whose elements are finite (greatest 2e+38), is more than fp32 holds: 1 of 1 mean are inf"));
}

/// 128 numbers of 600 add up to 76800, beyond fp16; less a mean that is infinite each is -inf, and that times 1/inf is NaN. 128 of 500 add up to 64000.
TEST_F(DiagnosisKinds, AMeanThatOverflowsInNarrowSums) {
  for (const auto& [element, bad] : {std::pair{600, true}, std::pair{500, false}}) {
    const RunDiagnosis d = of(graph("fp16", fmt::format("{{name = \"x\", op = \"constant\", shape = [1, 128], init = {{first = [{}], rest = {}}}}}, {{name = \"g\", op = \"parameter\", shape = [128], init = 1.0}},\n"
                                                        "{{name = \"b\", op = \"parameter\", shape = [128]}}, {{name = \"norm\", op = \"layer_norm\", inputs = [\"x\", \"g\", \"b\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"norm\"}}", element, element),
                                    "override = [{nodes = \"norm\", accumulate = \"fp16\"}]"));
    const Cause* const c = find(d, Kind::norm_overflowed, "norm");
    ASSERT_EQ(c != nullptr, bad) << d.verdict;
    if (c == nullptr) continue;
    EXPECT_EQ(c->gravity, reports::Gravity::fatal) << c->what;
    EXPECT_EQ(d.outcome, Outcome::fatal) << d.verdict;
    EXPECT_EQ(value(*c, "inner_greatest"), 76800.0) << c->what;
    EXPECT_THAT(c->what, HasSubstr("the sum of the elements of a row, for its mean, leaves fp16: it came to 76800 = 1.172 x the fp16 limit"));
  }
}

/// A gradient of 7000 adds up to 70000 in a momentum of 0.9, which the pure mode keeps in fp16, as it rounds each operation to fp16: nothing there is beyond fp32.
TEST_F(DiagnosisKinds, AMomentumThatOutgrowsFp16) {
  const RunDiagnosis d = of(graph("fp16_pure",
                                  "{name = \"w\", op = \"parameter\", init = [1.0]}, {name = \"c\", op = \"constant\", init = [7000.0]}, {name = \"p\", op = \"mul\", inputs = [\"w\", \"c\"]},\n"
                                  "{name = \"z\", op = \"sub\", inputs = [\"p\", \"c\"]}, {name = \"loss\", op = \"sum\", inputs = \"z\"}",
                                  "observe = {every = 1}", "steps = 40, lr = 1e-6, schedule = \"constant\", optimizer = \"sgd\", momentum = 0.9, clip = 0.0"));
  const Cause* const c = find(d, Kind::update_overflowed, "w.update");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, HasSubstr("more than fp16 holds, to which every operation of the update is rounded"));
  for (const reports::Fact& fact : c->facts) EXPECT_NE(fact.key, "beyond_fp32");
}

/// Squares of 1e20 are beyond fp32: batch norm's result is finite (the bias), the variance that the running one takes over is not.
TEST_F(DiagnosisKinds, AVarianceThatRunningStatisticsTakeOver) {
  const RunDiagnosis d = of(graph("fp32",
                                  "{name = \"x\", op = \"constant\", init = [[1e20], [-1e20], [1e20], [-1e20]]}, {name = \"w\", op = \"parameter\", shape = [1], init = 1.0},\n"
                                  "{name = \"h\", op = \"mul\", inputs = [\"x\", \"w\"]}, {name = \"b\", op = \"parameter\", shape = [1], init = 0.5}, {name = \"mean\", op = \"buffer\", shape = [1]},\n"
                                  "{name = \"var\", op = \"buffer\", shape = [1], init = 1.0}, {name = \"bn\", op = \"batch_norm\", inputs = [\"h\", \"w\", \"b\", \"mean\", \"var\"]}, {name = \"loss\", op = \"mean\", inputs = \"bn\"}"));
  const Cause* const c = find(d, Kind::norm_overflowed, "bn");
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_THAT(c->what, HasSubstr("and so is the variance that the running statistics take over")) << d.verdict;
  EXPECT_NEAR(value(*c, "square"), 1e40, 1e34);
}

/// 1e-4 squared is below fp16's range: all squares vanish inside rms_norm, and a product that is written out has the same fault.
TEST_F(DiagnosisKinds, SquaresThatVanishAreForeseenAndFound) {
  const std::string x = "{name = \"x\", op = \"constant\", init = [[1e-4, -1e-4, 1e-4, -1e-4]]}, {name = \"g\", op = \"parameter\", shape = [4], init = 1.0},\n";
  const Settings norm = graph("fp16", x + "{name = \"norm\", op = \"rms_norm\", inputs = [\"x\", \"g\"], epsilon = 1e-9}, {name = \"square\", op = \"mul\", inputs = [\"norm\", \"norm\"]}, {name = \"loss\", op = \"mean\", inputs = \"square\"}",
                              "override = [{nodes = \"norm\", accumulate = \"lower\", compute = \"lower\"}]");
  const Settings written = graph("fp16_pure", x + "{name = \"h\", op = \"mul\", inputs = [\"x\", \"g\"]}, {name = \"square\", op = \"mul\", inputs = [\"h\", \"h\"]}, {name = \"loss\", op = \"mean\", inputs = \"square\"}",
                                 "", "lr = 0.0, scaler = {policy = \"none\"}");
  for (const auto& [settings, mode, node] : {std::tuple{&norm, "fp16", "norm"}, std::tuple{&written, "fp16_pure", "square"}}) {
    const RunDiagnosis d = of(*settings);
    const Cause* const c = find(d, Kind::activation_below_range, node);
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(c->gravity, reports::Gravity::damage);
    EXPECT_EQ(value(*c, "flushed"), 4.0);
    bool foreseen = false;
    for (const reports::ModePrediction& m : predict(*settings, mode, std::nullopt).modes)
      for (const reports::Foreseen& f : m.foreseen)
        foreseen = foreseen || (m.mode == mode && f.kind == "activation_below_range" && f.node == node && f.gravity == reports::Gravity::damage);
    EXPECT_TRUE(foreseen) << mode;
  }
}

/// y = 66000 is an infinity in fp16, and 0.66 behind a factor of 1e-5: sigma(0.66) = 0.659260 and not 1. The loss is the mean with that of the second row.
TEST_F(DiagnosisKinds, AnInfinityThatASaturatingFunctionSwallows) {
  struct Case {
    const char* operation;
    double weight, made, would, fp32, fp16;
  };
  const double second = 0.0066;   // 660 x 1e-5
  const auto sigma = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  for (const Case& c : {Case{"sigmoid", 220.0, 1.0, sigma(0.66), (sigma(0.66) + sigma(second)) / 2.0, (1.0 + sigma(second)) / 2.0},
                        Case{"exp", -220.0, 0.0, std::exp(-0.66), (std::exp(-0.66) + std::exp(-second)) / 2.0, std::exp(-second) / 2.0},
                        Case{"tanh", -220.0, -1.0, -std::tanh(0.66), -(std::tanh(0.66) + std::tanh(second)) / 2.0, -(1.0 + std::tanh(second)) / 2.0}}) {
    const std::string nodes = fmt::format("{{name = \"x\", op = \"input\", values = [[100, 200], [1, 2]]}}, {{name = \"w\", op = \"parameter\", init = [[{0}, {0}]]}},\n"
                                          "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}}, {{name = \"k\", op = \"scale\", inputs = \"y\", factor = 1e-5}},\n"
                                          "{{name = \"s\", op = \"{1}\", inputs = \"k\"}}, {{name = \"loss\", op = \"mean\", inputs = \"s\"}}", c.weight, c.operation);
    record_experiment(graph("fp32\", \"fp16", nodes, "observe = {every = 1}").build(), scratch_("b.ulp"));
    const RunDiagnosis d = reports::diagnose(reports::RunFileReader(scratch_("b.ulp")), {.mode = "fp16"}).runs.at(0);
    EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
    const Cause* const cause = find(d, Kind::activation_too_large, "y");
    ASSERT_NE(cause, nullptr) << d.verdict;
    EXPECT_EQ(cause->gravity, reports::Gravity::damage);
    EXPECT_EQ(value(*cause, "made"), c.made) << cause->what;
    EXPECT_NEAR(value(*cause, "would"), c.would, 1e-5) << cause->what;
    EXPECT_NEAR(value(*cause, "fp32_loss"), c.fp32, 1e-5) << cause->what;
    const std::string told = "the loss of step 1 is ";
    const std::size_t at = cause->what.find(told);
    ASSERT_NE(at, std::string::npos) << cause->what;
    EXPECT_NEAR(std::stod(cause->what.substr(at + told.size())), c.fp16, 1e-3) << cause->what;
    // Alone it is no less damage.
    EXPECT_EQ(of(graph("fp16", nodes)).outcome, Outcome::damaged) << c.operation;
  }
}

/// What the function makes of 66000 itself is what it makes of the infinity.
TEST_F(DiagnosisKinds, AnInfinityThatIsSaturatedAnyway) {
  for (const std::string op : {"op = \"tanh\"", "op = \"sigmoid\"", "op = \"clamp\", min = 0.0, max = 6.0"}) {
    const RunDiagnosis d = of(graph("fp16", fmt::format("{{name = \"x\", op = \"input\", values = [[100, 200], [1, 2]]}}, {{name = \"w\", op = \"parameter\", init = [[220.0, 220.0]]}},\n"
                                                        "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}}, {{name = \"s\", {}, inputs = \"y\"}}, {{name = \"loss\", op = \"mean\", inputs = \"s\"}}", op)));
    EXPECT_EQ(d.outcome, Outcome::harmless) << op << d.verdict;
  }
}

/// 2000 times 0.1, one after another in fp16, is 230.125; the sum is 200.
TEST_F(DiagnosisKinds, ASumThatIsRoundedUpwardsIsSeenInTheRun) {
  for (const auto& [order, bad] : {std::pair{"serial", true}, std::pair{"pairwise", false}}) {
    const RunDiagnosis d = of(graph("fp16", "{name = \"table\", op = \"parameter\", shape = [3, 2]}, {name = \"i\", op = \"input\", shape = [2000], format = \"i32\", values = {constant = 1}},\n"
                                            "{name = \"look\", op = \"embedding\", inputs = [\"table\", \"i\"]}, {name = \"sc\", op = \"scale\", inputs = \"look\", factor = 0.1}, {name = \"loss\", op = \"sum\", inputs = \"sc\"}",
                                    fmt::format("override = [{{nodes = \"look\", accumulate = \"lower\", order = \"{}\"}}]", order), "lr = 0.0, scaler = {policy = \"none\"}"));
    const Cause* const c = find(d, Kind::sum_stuck, "look.dtable");
    ASSERT_EQ(c != nullptr, bad) << d.verdict;
    if (c == nullptr) continue;
    EXPECT_NEAR(value(*c, "missing"), 1.0 - 230.125 / 200.0, 1e-3) << c->what;
  }
}

/// Gradients of 1e-8 and 2.9e-8 are 0 in fp16, 3e-8 and 1e-3 are not: the weights of two channels of four get nothing, in a tensor with an rms of 5e-4.
TEST_F(DiagnosisKinds, ChannelsWhoseGradientVanishesBesideALargeOne) {
  std::string gradients;
  for (const double g : {1e-8, 2.9e-8, 3e-8, 1e-3})
    for (int i = 0; i < 8; ++i) gradients += fmt::format("{}{}", gradients.empty() ? "" : ", ", g);
  const std::string nodes = "{name = \"x\", op = \"input\", shape = [1, 1, 8], values = 1.0}, {name = \"w\", op = \"parameter\", shape = [4, 1, 1], init = [0.1, 0.2, 0.3, 0.4]}, {name = \"c\", op = \"conv1d\", inputs = [\"x\", \"w\"]},\n"
                            "{name = \"k\", op = \"constant\", shape = [1, 4, 8], init = [" + gradients + "]}, {name = \"m\", op = \"mul\", inputs = [\"c\", \"k\"]}, {name = \"loss\", op = \"sum\", inputs = \"m\"}";
  for (const std::string train : {"optimizer = \"sgd\", momentum = 0.0, lr = 1.0", "lr = 0.01"}) {
    const RunDiagnosis d = of(graph("fp16", nodes, "observe = {every = 1}", train + ", clip = 0.0, schedule = \"constant\", scaler = {fixed = 1}"));
    EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
    const Cause* const c = find(d, Kind::gradient_below_range, "m.d0.cast");
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(value(*c, "flushed"), 16.0);
    EXPECT_EQ(value(*c, "still"), 2.0) << c->what;
  }
}

/// A mask that is set nowhere in the second of two sequences.
TEST_F(DiagnosisKinds, AMeanOverNothingSaysWhy) {
  const RunDiagnosis masked = of(graph("fp16", "{name = \"x\", op = \"input\", shape = [2, 3, 2], values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}, {name = \"k\", op = \"input\", format = \"i32\", shape = [2, 3], values = [1, 1, 0, 0, 0, 0]},\n"
                                               "{name = \"w\", op = \"parameter\", init = 1.0}, {name = \"h\", op = \"mul\", inputs = [\"x\", \"w\"]}, {name = \"m\", op = \"masked_mean\", inputs = [\"h\", \"k\"]}, {name = \"loss\", op = \"mean\", inputs = \"m\"}"));
  const Cause* const c = find(masked, Kind::zero_divisor, "m");
  ASSERT_NE(c, nullptr) << masked.verdict;
  EXPECT_THAT(c->what, HasSubstr("1 of 2 means are NaN from finite elements"));
}

}  // namespace
}  // namespace ulpscope::profiler
