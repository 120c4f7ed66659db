// Infinities that become finite numbers on their way to the loss: harmless where the value itself gives the same, damage where it does not, and
// never harmless where nothing tells. Weights that get no gradient beside others that do; sums that are rounded badly; means over nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisSwallowedTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
  RunDiagnosis beside(const ForgedRun& fp32, const ForgedRun& run) { return diagnose(forge(in("b.ulp"), {&fp32, &run}), {.mode = run.run.mode}).runs.at(0); }
  static const Cause* find(const RunDiagnosis& run, Kind kind) {
    const auto found = std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return c.kind == kind; });
    return found == run.causes.end() ? nullptr : &*found;
  }
  static Number value(const Cause& cause, const std::string& key) {
    for (const Fact& fact : cause.facts)
      if (fact.key == key) return fact.value;
    return std::nullopt;
  }
  static bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }
};

/// x → y (linear, fp16, 66000 in one of four elements) → k (scale) → s → loss.
ForgedRun swallowing(const std::string& operation, double factor, const std::string& attributes = "", const std::string& mode = "fp16", std::int64_t id = 1) {
  ForgedRun run(mode, id);
  const std::string format = mode == "fp32" ? "fp32" : "fp16";
  run.source("x", TensorRole::input, "fp32");
  run.source("w", TensorRole::master_weight, "fp32");
  run.node("linear", "y", {"x", "w"}, format);
  run.node("scale", "k", {"y"}, "fp32", Phase::forward, {4}, "{\"factor\": " + std::to_string(factor) + "}");
  run.node(operation, "s", {"k"}, "fp32", Phase::forward, {4}, attributes);
  run.node("mean", "loss", {"s"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
  run.step(0.75, false, mode == "fp32" ? Number() : Number(64.0));
  return run;
}

std::map<std::string, Counts> swallowed(bool positive, double others = 6e-3) {
  return {{"y", {.greatest = 66000.0, .overflowed = 1}}, {"k", {.greatest = others, .positive_infinite = positive ? 1 : 0, .negative_infinite = positive ? 0 : 1}}};
}

/// 66000 x 1e-5 = 0.66: sigma(0.66) = 1 / (1 + e^-0.66) = 1 / 1.516851 = 0.659260, tanh(0.66) = 0.578363, e^-0.66 = 0.516851.
TEST_F(DiagnosisSwallowedTest, AFunctionThatEndsAtALimitMakesAnotherNumberOfTheValue) {
  struct Case {
    const char* operation;
    bool positive;
    double made, would;
  };
  for (const Case& c : {Case{"sigmoid", true, 1.0, 0.659260}, Case{"sigmoid", false, 0.0, 0.340740}, Case{"tanh", true, 1.0, 0.578363}, Case{"exp", false, 0.0, 0.516851},
                        Case{"silu", false, 0.0, -0.66 * 0.340740}}) {
    ForgedRun run = swallowing(c.operation, 1e-5);
    run.observe(0, swallowed(c.positive));
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::damaged) << c.operation << d.verdict;
    const Cause& cause = d.causes.at(0);
    EXPECT_EQ(cause.kind, Kind::activation_too_large);
    EXPECT_EQ(cause.gravity, Gravity::damage);
    EXPECT_EQ(value(cause, "made"), c.made) << c.operation;
    ASSERT_TRUE(value(cause, "would")) << cause.what;
    EXPECT_NEAR(*value(cause, "would"), c.would, 1e-5) << c.operation;
    EXPECT_TRUE(says(cause.what, std::string("; s (") + c.operation + ") makes ")) << cause.what;
    EXPECT_TRUE(says(cause.reaches, "as finite numbers")) << cause.reaches;
    EXPECT_TRUE(says(d.verdict, "wrong in silence")) << d.verdict;
  }
}

/// tanh(65520) = 1 to the last bit, and so on: what ends there anyway is no damage. 65520 x 1e-3 = 65.52 is beyond tanh's last bit, too (9.01).
TEST_F(DiagnosisSwallowedTest, WhatIsSaturatedAnywayIsHarmless) {
  struct Case {
    const char* operation;
    bool positive;
    double factor;
    const char* attributes;
  };
  for (const Case& c : {Case{"tanh", true, 1.0, ""}, Case{"tanh", false, 1e-3, ""}, Case{"sigmoid", true, 1.0, ""}, Case{"sigmoid", false, 1.0, ""}, Case{"exp", false, 1.0, ""},
                        Case{"relu", false, 1e-5, ""}, Case{"clamp", true, 1e-3, R"({"min": 0.0, "max": 6.0})"}, Case{"where", true, 1e-5, ""}, Case{"silu", false, 1.0, ""}}) {
    ForgedRun run = swallowing(c.operation, c.factor, c.attributes);
    run.observe(0, swallowed(c.positive));
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::harmless) << c.operation << d.verdict << d.causes.at(0).what;
    EXPECT_EQ(d.causes.at(0).gravity, Gravity::contained) << c.operation;
  }
  // A bound that the value is below: min(0.66, 6) = 0.66.
  ForgedRun run = swallowing("clamp", 1e-5, R"({"min": 0.0, "max": 6.0})");
  run.observe(0, swallowed(true));
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_NEAR(value(d.causes.at(0), "would").value_or(0.0), 0.66, 1e-9);
}

/// Of -66000 the share is 0 beside scores near 0; of -0.66 it is e^-0.66 or more of what the greatest has.
TEST_F(DiagnosisSwallowedTest, TheShareOfAScoreThatIsMinusInfinity) {
  for (const bool near : {true, false}) {
    ForgedRun run = swallowing("softmax", near ? 1e-5 : 1.0);
    run.observe(0, swallowed(false));
    EXPECT_EQ(of(run).outcome, near ? Outcome::damaged : Outcome::harmless) << near;
  }
}

/// Behind a product nobody knows the size: never harmless, and not said to be wrong. fp32 that has the same there, and the same loss, tells:
/// what is nothing beside the rest may be made large further on.
TEST_F(DiagnosisSwallowedTest, WhereNothingTellsItMayBe) {
  for (const std::string fp32_has : {"", "the same", "another", "the same, and another loss"}) {
    ForgedRun run("fp16", 2), fp32("fp32", 1);
    for (ForgedRun* r : {&fp32, &run}) {
      const std::string format = r == &run ? "fp16" : "fp32";
      r->source("x", TensorRole::input, "fp32");
      r->source("w", TensorRole::master_weight, "fp32");
      r->node("linear", "y", {"x", "w"}, format);
      r->node("matmul", "k", {"y", "x"}, "fp32");
      r->node("tanh", "s", {"k"}, "fp32");
      r->node("mean", "loss", {"s"}, "fp32", Phase::forward, {});
      r->node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
      r->step(r == &run || fp32_has == "the same" ? 0.75 : 0.58, false, r == &run ? Number(64.0) : Number());
    }
    run.observe(0, swallowed(true));
    fp32.observe(0, {{"y", {.greatest = 66000.0}}, {"s", {.mean = fp32_has == "another" ? 0.4 : 0.5}}});
    const RunDiagnosis d = fp32_has.empty() ? of(run) : beside(fp32, run);
    EXPECT_EQ(d.outcome, fp32_has == "the same" ? Outcome::harmless : Outcome::damaged) << fp32_has << d.verdict;
    if (fp32_has == "the same") continue;
    const Cause& cause = d.causes.at(0);
    EXPECT_TRUE(says(d.verdict, "may be damaged (activation_too_large)")) << d.verdict;
    EXPECT_TRUE(says(cause.what, "whether they are those of the value itself is not known")) << cause.what;
    EXPECT_EQ(says(cause.what, "observe.shadow"), fp32_has.empty()) << cause.what;
    EXPECT_EQ(says(cause.what, "the loss of step 1 is 0.75, in fp32 it is 0.58"), !fp32_has.empty()) << cause.what;
    EXPECT_EQ(value(cause, "fp32_loss"), fp32_has.empty() ? Number() : Number(0.58));
  }
}

/// What was not observed between the infinity and a finite loss.
TEST_F(DiagnosisSwallowedTest, WhereItWasNotObservedItMayBe) {
  ForgedRun run = swallowing("sigmoid", 1e-5);
  run.observe(0, swallowed(true));
  std::erase_if(run.stats, [&](const TensorStatsRecord& r) { return run.tensors.at(static_cast<std::size_t>(r.tensor)).name == "s"; });
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_TRUE(says(d.causes.at(0).what, "behind s (sigmoid), which was not observed")) << d.causes[0].what;
}

/// A shadow of the same step: no element is off by more than sqrt(4) x its relative error.
TEST_F(DiagnosisSwallowedTest, AShadowTells) {
  for (const double error : {1e-3, 0.3}) {
    ForgedRun run = swallowing("sigmoid", 1e-5);
    run.observe(0, swallowed(true));
    for (TensorStatsRecord& row : run.stats)
      if (run.tensors.at(static_cast<std::size_t>(row.tensor)).name == "s") row.shadow_error = error;
    TensorStatsRecord loss = run.stats.back();
    for (const TensorRecord& tensor : run.tensors)
      if (tensor.name == "loss") loss.tensor = tensor.id;
    loss.observation = "shadow";
    loss.mean = error > 0.1 ? 0.58 : 0.75;
    run.stats.push_back(loss);
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, error > 0.1 ? Outcome::damaged : Outcome::harmless) << d.verdict;
    EXPECT_EQ(value(d.causes.at(0), "fp32_loss"), error > 0.1 ? Number(0.58) : Number());
  }
}

/// 1700 elements of at most 40 have a mean of at most 40, whatever their sum of 68000 is in fp16: 0.4 after the factor, tanh(0.4) = 0.379949.
TEST_F(DiagnosisSwallowedTest, AMeanIsNoLargerThanItsElements) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp32", {1700});
  run.node("mean", "m", {"x"}, "fp32", Phase::forward, {}, R"({"accumulate": "fp16"})");
  run.inner_sum();
  run.node("scale", "k", {"m"}, "fp32", Phase::forward, {}, R"({"factor": 0.01})");
  run.node("tanh", "loss", {"k"}, "fp32", Phase::forward, {});
  run.node("tanh_backward", "loss.dx", {"loss"}, "fp32", Phase::backward, {});
  run.step(1.0, false, 1.0);
  run.observe(0, {{"x", {.elements = 1700, .greatest = 40.0, .mean = 40.0}},
                  {"m", {.elements = 1, .positive_infinite = 1}},
                  {"m.sum", {.elements = 1699, .greatest = 68000.0, .overflowed = 1}},
                  {"k", {.elements = 1, .positive_infinite = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  EXPECT_EQ(d.causes.at(0).kind, Kind::reduction_too_long);
  EXPECT_NEAR(value(d.causes[0], "would").value_or(0.0), 0.379949, 1e-6) << d.causes[0].what;
}

/// A share of 0 that 1 / 1e12 is in fp16, too, is no damage; 1 / 66000 = 1.5e-5 is no 0 there.
TEST_F(DiagnosisSwallowedTest, AShareThatIsZeroAnyway) {
  for (const double factor : {1.0, 1e9}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16");
    run.node("sum", "total", {"x"}, "fp16", Phase::forward, {});
    run.node("scale", "large", {"total"}, "fp16", Phase::forward, {}, "{\"factor\": " + std::to_string(factor) + "}");
    run.node("div", "share", {"x", "large"}, "fp16");
    run.node("mean", "loss", {"share"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(0.1, false, 1024.0);
    run.observe(0, {{"total", {.elements = 1, .greatest = 66000.0, .overflowed = 1}}, {"large", {.elements = 1, .positive_infinite = 1}}, {"share", {.greatest = 0.0, .zero = 4}}});
    EXPECT_EQ(of(run).outcome, factor == 1.0 ? Outcome::damaged : Outcome::harmless) << factor;
  }
}

/// Half of a gradient's elements are flushed beside others of 1e-3: the weights of two channels of four stand still.
struct Channels : ForgedRun {
  explicit Channels(const std::string& optimizer, double rate = 1.0) : ForgedRun("fp16") {
    run.optimizer = optimizer;
    source("x", TensorRole::input, "fp16", {8});
    source("w", TensorRole::master_weight, "fp32");
    node("cast", "w.fp16", {"w"}, "fp16", Phase::forward, {4}, "", TensorRole::weight);
    node("conv1d", "c", {"x", "w.fp16"}, "fp16", Phase::forward, {32});
    node("sum", "loss", {"c"}, "fp32", Phase::forward, {});
    node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {32}, "", TensorRole::gradient);
    node("cast", "c.dy", {"loss.dx"}, "fp16", Phase::backward, {32}, "", TensorRole::gradient);
    node("conv1d_backward_weights", "c.dweight", {"c.dy", "x"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
    node("cast", "c.dweight.fp32", {"c.dweight"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
    node("unscale_check", "unscale_check", {"c.dweight.fp32"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
    node(optimizer, "w.update", {"unscale_check", "w"}, "fp32", Phase::update, {4}, "", TensorRole::weight);
    step(1.0, false, 1.0, rate);
  }
  void see(std::int64_t zeros, std::int64_t zeros_in_x = 0) {
    observe(0, {{"x", {.elements = 8, .zero = zeros_in_x}},
                {"w", {.rms = 0.27}},
                {"c.dy", {.elements = 32, .greatest = 1e-3, .flushed = 16, .least = 1e-8, .rms = 5e-4}},
                {"c.dweight", {.greatest = 8e-3, .zero = zeros, .rms = 4e-3}},
                {"c.dweight.fp32", {.greatest = 8e-3, .zero = zeros, .rms = 4e-3}},
                {"unscale_check", {.greatest = 8e-3, .zero = zeros, .rms = 4e-3}}});
  }
};

TEST_F(DiagnosisSwallowedTest, ChannelsWhoseGradientVanishes) {
  Channels still("sgd");
  still.see(2);
  const RunDiagnosis d = of(still);
  EXPECT_EQ(d.outcome, Outcome::damaged) << d.verdict;
  const Cause* const c = find(d, Kind::gradient_below_range);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(value(*c, "still"), 2.0) << c->what;
  EXPECT_TRUE(says(c->what, "50 % of the gradient elements of c.dy (16 of 32 that are not 0)")) << c->what;
  EXPECT_TRUE(says(c->what, "2 of 4 elements of c.dweight are exactly 0 for that")) << c->what;

  Channels moves("sgd");   // every weight gets something of the larger ones
  moves.see(0);
  EXPECT_EQ(of(moves).outcome, Outcome::healthy);
  Channels off("sgd");     // half of x is zero: so many columns may have no gradient for that
  off.see(2, 4);
  EXPECT_EQ(of(off).outcome, Outcome::healthy);
  // A weight of 0.27 has half an ulp of 2^-26 = 1.5e-8; 8 x 2.98e-8 x 0.01 = 2.4e-9 moves it in no format.
  Channels slow("sgd", 0.01);
  slow.see(2);
  EXPECT_EQ(of(slow).outcome, Outcome::healthy);

  // Adam moves each weight by the learning rate, whatever the size of its gradient: those that have none stand still ...
  Channels stands("adamw", 0.01);
  stands.see(2);
  const RunDiagnosis two = of(stands);
  EXPECT_EQ(two.outcome, Outcome::damaged) << two.verdict;
  ASSERT_NE(find(two, Kind::gradient_below_range), nullptr);
  EXPECT_EQ(value(*find(two, Kind::gradient_below_range), "still"), 2.0);
  // ... and what was lost on the way to gradients that are there is beside larger ones in each of them.
  Channels added("adamw", 0.01);
  added.see(0);
  EXPECT_EQ(of(added).outcome, Outcome::healthy);
  // In the gradient of the weights itself it is all that these have.
  Channels adam("adamw", 0.01);
  adam.observe(0, {{"x", {.elements = 8}}, {"w", {.rms = 0.27}}, {"c.dy", {.elements = 32}}, {"c.dweight", {.greatest = 8e-3, .flushed = 2, .least = 1e-8, .rms = 4e-3}}});
  const RunDiagnosis a = of(adam);
  EXPECT_EQ(a.outcome, Outcome::damaged) << a.verdict;
  ASSERT_NE(find(a, Kind::gradient_below_range), nullptr);
  EXPECT_TRUE(says(find(a, Kind::gradient_below_range)->what, "Adam divides each weight's gradient by its own size")) << a.causes[0].what;
}

/// 2000 addends of 0.1 come to 200, of which fp16 makes 230.125 one after another: 6 elements, of which two are not 0.
TEST_F(DiagnosisSwallowedTest, ASumThatIsRoundedUpwards) {
  for (const double got : {230.125, 200.5}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp16", {4000});
    run.node("sum", "loss", {"x"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp16", Phase::backward, {4000});
    run.node("embedding_backward", "look.dtable", {"loss.dx"}, "fp16", Phase::backward, {6}, R"({"accumulate": "fp16", "order": "serial"})");
    run.inner_sum();
    run.step(1.0, false, 4.0);
    run.observe(0, {{"x", {.elements = 4000}},
                    {"loss.dx", {.elements = 4000, .greatest = 0.4, .mean = 0.4, .rms = 0.4}},
                    {"look.dtable", {.elements = 6, .greatest = 4.0 * got, .mean = 4.0 * got / 3.0, .zero = 4}},
                    {"look.dtable.sum", {.elements = 3998, .greatest = 4.0 * got}}});
    const RunDiagnosis d = of(run);
    const Cause* const c = find(d, Kind::sum_stuck);
    ASSERT_EQ(c != nullptr, got > 210.0) << d.verdict;
    EXPECT_EQ(d.outcome, c != nullptr ? Outcome::damaged : Outcome::healthy);
    if (c == nullptr) continue;
    EXPECT_NEAR(value(*c, "missing").value_or(0.0), 1.0 - 230.125 / 200.0, 1e-9);
    EXPECT_NEAR(value(*c, "expected").value_or(0.0), 200.0 / 3.0, 1e-9) << "of each of 6, the loss scale of 4 taken out";
    EXPECT_TRUE(says(c->what, "15.1 % too much")) << c->what;
  }
}

TEST_F(DiagnosisSwallowedTest, SumsOfWhichOnlySwallowedAdditionsAreSeenAreNamed) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp16");
  run.node("matmul", "scores", {"x", "x"}, "fp16", Phase::forward, {4}, R"({"accumulate": "fp16"})");
  run.inner_sum();
  run.node("mean", "loss", {"scores"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
  run.step(1.0, false, 1024.0);
  run.observe(0, {{"scores.sum", {.elements = 12}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::healthy) << d.verdict;
  EXPECT_TRUE(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return says(n, "inside scores (matmul), additions that change nothing are counted; how far rounding moves the others is not seen"); }));
}

TEST_F(DiagnosisSwallowedTest, MeansOverNothing) {
  ForgedRun run("fp16");
  run.source("h", TensorRole::input, "fp32", {2, 3, 2});
  run.node("masked_mean", "m", {"h"}, "fp32", Phase::forward, {2, 2});
  run.node("mean", "loss", {"m"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {2, 2});
  run.step(nan_number, false, 256.0);
  run.observe(0, {{"h", {.elements = 12, .greatest = 12.0}}, {"m", {.nan = 2}}, {"loss", {.elements = 1, .nan = 1}}});
  const RunDiagnosis d = of(run);
  const Cause& cause = d.causes.at(0);
  EXPECT_EQ(cause.kind, Kind::zero_divisor) << cause.what;
  EXPECT_EQ(value(cause, "empty"), 1.0);
  EXPECT_TRUE(says(cause.what, "m (masked_mean): 1 of 2 means are NaN from finite elements")) << cause.what;
  ASSERT_FALSE(cause.remedies.empty());
  EXPECT_EQ(cause.remedies.front().mend, "data");
}

/// A constant of 1e-8 that is 0 in the fp16 addition before a logarithm in fp32: the addition is what fp32 helps.
TEST_F(DiagnosisSwallowedTest, AnEpsilonIsKeptWhereItVanishes) {
  ForgedRun run("fp16");
  run.source("s", TensorRole::input, "fp16", {1, 2});
  run.source("eps", TensorRole::input, "fp32", {1});
  run.node("cast", "se.in1.fp16", {"eps"}, "fp16", Phase::forward, {1});
  run.node("add", "se", {"s", "se.in1.fp16"}, "fp16", Phase::forward, {1, 2});
  run.node("cast", "l.in0.fp32", {"se"}, "fp32", Phase::forward, {1, 2});
  run.node("log", "l", {"l.in0.fp32"}, "fp32", Phase::forward, {1, 2});
  run.node("mean", "loss", {"l"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {1, 2});
  for (int i = 0; i < 3; ++i) run.step(-inf_number, true, 64.0);
  run.observe(0, {{"s", {.elements = 2, .zero = 1}},
                  {"eps", {.elements = 1, .greatest = 1e-8}},
                  {"se.in1.fp16", {.elements = 1, .greatest = 1e-8, .flushed = 1, .least = 1e-8}},
                  {"se", {.elements = 2, .zero = 1}},
                  {"l.in0.fp32", {.elements = 2, .zero = 1}},
                  {"l", {.elements = 2, .negative_infinite = 1}},
                  {"loss", {.elements = 1, .negative_infinite = 1}}});
  const RunDiagnosis d = of(run);
  const Cause* const c = find(d, Kind::epsilon_vanished);
  ASSERT_NE(c, nullptr) << d.verdict;
  EXPECT_TRUE(says(c->what, "the epsilon 1e-08 of eps is 0 in its format, where se (add) reads it")) << c->what;
  const auto kept = std::find_if(c->remedies.begin(), c->remedies.end(), [](const Remedy& r) { return r.mend == "keep_fp32"; });
  ASSERT_NE(kept, c->remedies.end());
  EXPECT_EQ(kept->ulpscope, "train.keep_fp32=se");
}

}  // namespace
}  // namespace ulpscope::reports
