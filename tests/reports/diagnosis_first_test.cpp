// Which of several infinities is behind the next: an operation is handed those that were there before it rounds, and makes those that overflow
// in its rounding, or come of operands that are finite. And what grows steadily enough to be said to leave its format.
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

class DiagnosisFirstTest : public Scratch {
 protected:
  RunDiagnosis of(const ForgedRun& run) { return diagnose(forge(in("a.ulp"), {&run})).runs.at(0); }
};

/// a overflows in one of four elements, b = relu(a) leaves it out, and two others overflow when c = 100 b is rounded.
TEST_F(DiagnosisFirstTest, AnInfinityThatIsLeftOutIsNotBehindOnesThatOverflowLater) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp32");
  run.source("w", TensorRole::master_weight, "fp32");
  run.node("linear", "a", {"x", "w"}, "fp16");
  run.node("relu", "b", {"a"}, "fp16");
  run.node("scale", "c", {"b"}, "fp16", Phase::forward, {4}, R"({"factor": 100.0})");
  run.node("mean", "loss", {"c"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
  for (int i = 0; i < 4; ++i) run.step(inf_number, false, 64.0);
  run.observe(0, {{"a", {.greatest = 70000.0, .overflowed = 1}}, {"c", {.greatest = 90000.0, .overflowed = 2}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.outcome, Outcome::fatal) << d.verdict;
  EXPECT_EQ(d.causes.at(0).node, "c") << d.causes.at(0).what;
  const auto a = std::find_if(d.causes.begin(), d.causes.end(), [](const Cause& c) { return c.node == "a"; });
  ASSERT_NE(a, d.causes.end());
  EXPECT_EQ(a->gravity, Gravity::contained) << a->reaches;
  EXPECT_EQ(std::find(a->chain.begin(), a->chain.end(), "c"), a->chain.end());
}

/// where takes what is finite of a, and 70000 of y, which fp16 does not hold.
TEST_F(DiagnosisFirstTest, WhatOverflowsInItsOwnRoundingWasNotHandedOn) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp32");
  run.source("y", TensorRole::input, "fp32");
  run.source("w", TensorRole::master_weight, "fp32");
  run.node("linear", "a", {"x", "w"}, "fp16");
  run.node("where", "b", {"x", "a", "y"}, "fp16");
  run.node("mean", "loss", {"b"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
  for (int i = 0; i < 4; ++i) run.step(inf_number, false, 64.0);
  run.observe(0, {{"y", {.greatest = 70000.0}}, {"a", {.greatest = 90000.0, .overflowed = 1}}, {"b", {.greatest = 70000.0, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.causes.at(0).node, "b") << d.causes.at(0).what;
  for (const Cause& cause : d.causes) EXPECT_TRUE(cause.node != "a" || cause.gravity == Gravity::contained) << cause.reaches;
}

/// exp(-inf) is 0: of a score that a mask has taken out and of one of 100 only the latter is infinite (e^100 is beyond fp32).
TEST_F(DiagnosisFirstTest, AFunctionThatMakesZeroOfAnInfinityHasMadeItsOwn) {
  for (const bool own : {true, false}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp32");
    run.node("masked_fill", "m", {"x"}, "fp32", Phase::forward, {4}, R"({"value": "-inf"})");
    run.node("exp", "e", {"m"}, "fp32");
    run.node("mean", "loss", {"e"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    for (int i = 0; i < 4; ++i) run.step(inf_number, false, 64.0);
    Counts masked{.greatest = own ? 100.0 : 1.0, .negative_infinite = 1};
    if (!own) masked.positive_infinite = 1;
    run.observe(0, {{"m", masked}, {"e", {.positive_infinite = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
    const RunDiagnosis d = of(run);
    EXPECT_EQ(d.outcome, Outcome::fatal) << d.verdict;
    EXPECT_EQ(d.causes.at(0).node, own ? "e" : "m") << d.causes.at(0).what;
  }
}

/// 1 / inf is 0, and 1 / 0 is another infinity.
TEST_F(DiagnosisFirstTest, AZeroDivisorBesideAnInfiniteOneIsTheFirst) {
  ForgedRun run("fp16");
  run.source("x", TensorRole::input, "fp32");
  run.source("w", TensorRole::master_weight, "fp32");
  run.node("linear", "a", {"x", "w"}, "fp16");
  run.node("div", "q", {"x", "a"}, "fp32");
  run.node("mean", "loss", {"q"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
  for (int i = 0; i < 4; ++i) run.step(inf_number, false, 64.0);
  run.observe(0, {{"a", {.greatest = 70000.0, .overflowed = 1, .zero = 1}}, {"q", {.positive_infinite = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.causes.at(0).node, "q") << d.causes.at(0).what;
  EXPECT_EQ(d.causes.at(0).kind, Kind::zero_divisor) << d.causes.at(0).what;
}

/// What is watched of y (linear, fp16), whose greatest magnitudes in the observed steps are these, 10 steps apart.
class WatchTest : public DiagnosisFirstTest {
 protected:
  std::optional<Watched> watched(const std::vector<double>& greatest) {
    ForgedRun run("fp16");
    run.run.steps_planned = 1000;
    run.source("x", TensorRole::input, "fp32");
    run.source("w", TensorRole::master_weight, "fp32");
    run.node("linear", "y", {"x", "w"}, "fp16");
    run.node("mean", "loss", {"y"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    for (std::size_t i = 0; i < 10 * greatest.size(); ++i) run.step(1.0, false, 64.0);
    for (std::size_t i = 0; i < greatest.size(); ++i) run.observe(static_cast<std::int64_t>(10 * i), {{"y", {.greatest = greatest[i]}}});
    for (const Watched& w : of(run).watch)
      if (w.tensor == "y") return w;
    return std::nullopt;
  }
};

/// Doubled every 10 steps: 65504 / 4096 is 16 less a bit, 4 times 10 steps after the last; the run is at step 49 then.
TEST_F(WatchTest, WhatGrowsSteadilyIsSaidToLeave) {
  const auto w = watched({256.0, 512.0, 1024.0, 2048.0, 4096.0});
  ASSERT_TRUE(w);
  EXPECT_NEAR(*w->growth, 0.1, 1e-12);
  ASSERT_TRUE(w->leaves);
  EXPECT_NEAR(static_cast<double>(*w->leaves), 80.0, 1.0);
}

/// The slowest stretch counts: 12 bits in the first half, 0.3 in each quarter behind it.
TEST_F(WatchTest, WhatGrewAtTheStartAloneIsNot) {
  EXPECT_FALSE(watched({0.25, 64.0, 1024.0, 1024.0, 1024.0})) << "it has stopped";
  EXPECT_FALSE(watched({1024.0, 512.0, 4096.0, 1024.0, 2048.0})) << "it swings";
  EXPECT_FALSE(watched({256.0, 512.0, 1024.0, 3500.0, 3500.0})) << "it has stopped of late";
  EXPECT_FALSE(watched({1.0, 1024.0})) << "of two steps nobody knows a trend";
  const auto slow = watched({1.0, 64.0, 4096.0, 4096.0 * 1.23114441334, 4096.0 * 1.51571656651});   // 0.3 bits a quarter
  ASSERT_TRUE(slow);
  EXPECT_NEAR(*slow->growth, 0.03, 1e-9);
}

/// What nobody reads is wrong in silence for nobody; a running average is read by evaluation.
TEST_F(DiagnosisFirstTest, DamageThatReachesNothingIsContained) {
  for (const std::string reader : {"", "loss", "ema"}) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp32");
    run.source("average", TensorRole::buffer, "fp32", {});
    run.node("sum", "s", {"x"}, "fp16", Phase::forward, {}, R"({"accumulate": "fp16", "order": "serial"})");
    run.inner_sum();
    if (reader == "ema") run.node("ema", "average.new", {"average", "s"}, "fp32", Phase::forward, {}, R"({"momentum": 0.1})", TensorRole::buffer);
    if (reader == "loss") run.node("add", "loss", {"s", "s"}, "fp32", Phase::forward, {});
    else run.node("mean", "loss", {"x"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward);
    run.step(1.0, false, 64.0);
    run.observe(0, {{"x", {.elements = 3000, .mean = 1.0, .rms = 1.0}},
                    {"s", {.elements = 1, .greatest = 2048.0, .mean = 2048.0, .rms = 2048.0}},
                    {"s.sum", {.elements = 2999, .greatest = 2048.0, .lost = 952}}});
    const RunDiagnosis d = of(run);
    ASSERT_FALSE(d.causes.empty()) << reader;
    EXPECT_EQ(d.causes.at(0).kind, Kind::sum_stuck) << d.causes[0].what;
    EXPECT_EQ(d.causes[0].gravity, reader.empty() ? Gravity::contained : Gravity::damage) << reader;
    EXPECT_EQ(d.outcome, reader.empty() ? Outcome::harmless : Outcome::damaged) << reader << d.verdict;
    EXPECT_EQ(d.verdict.find("what goes wrong in s reaches neither the loss") != std::string::npos, reader.empty()) << d.verdict;
  }
}

/// scores - mask: the mask is what pulls down, though it is positive.
TEST_F(DiagnosisFirstTest, AMaskThatIsSubtracted) {
  ForgedRun run("fp16");
  run.source("scores", TensorRole::input, "fp16", {4, 2});
  run.source("mask", TensorRole::input, "fp16", {4, 2});
  run.node("sub", "masked", {"scores", "mask"}, "fp16", Phase::forward, {4, 2});
  run.node("softmax", "p", {"masked"}, "fp16", Phase::forward, {4, 2});
  run.node("sum", "loss", {"p"}, "fp32", Phase::forward, {});
  run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4, 2});
  run.step(nan_number, true, 64.0);
  run.observe(0, {{"scores", {.elements = 8, .greatest = 16.0, .mean = -16.0}},
                  {"mask", {.elements = 8, .greatest = 65504.0, .mean = 32752.0}},
                  {"masked", {.elements = 8, .greatest = 65520.0, .mean = -32000.0, .overflowed = 2}},
                  {"p", {.elements = 8, .nan = 2}},
                  {"loss", {.elements = 1, .nan = 1}}});
  const RunDiagnosis d = of(run);
  EXPECT_EQ(d.causes.at(0).kind, Kind::mask_sum) << d.causes[0].what;
  EXPECT_NE(d.causes[0].what.find("a mask of -65504 and a score add up to -65520"), std::string::npos) << d.causes[0].what;
}

/// sgd moves a weight of 1 by 1e-3 times what is flushed (2.98e-8 / 64 at most): half an ulp of it is 3e-8. A weight of 1e-6 has its ulp at 1e-13.
TEST_F(DiagnosisFirstTest, GradientsThatWouldMoveNothingAreNotMissed) {
  for (const double weight : {1.0, 1e-6}) {
    ForgedRun run("fp16");
    run.small_model();
    for (int i = 0; i < 4; ++i) run.step(1.0, false, 64.0);
    run.observe(0, {{"w", {.greatest = weight, .rms = weight}}, {"y.cast", {.greatest = 5e-8, .flushed = 3, .least = 1e-9, .rms = 3e-8}}});
    const RunDiagnosis d = of(run);
    const bool told = std::any_of(d.causes.begin(), d.causes.end(), [](const Cause& c) { return c.kind == Kind::gradient_below_range; });
    EXPECT_EQ(told, weight < 1.0) << d.verdict;
  }
}

}  // namespace
}  // namespace ulpscope::reports
