// Squares inside norms, running statistics, sums with an epsilon, norms for clipping, updates: what is foreseen, and what a run of the
// same file then shows. Numbers are worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/profiler/support/foreseen.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Foreseen;
using reports::Gravity;
using ::testing::HasSubstr;

struct Both : Told {
  const Foreseen* foreseen(const std::string& kind, const std::string& node) const {
    for (const Foreseen& f : before.foreseen)
      if (f.kind == kind && f.node == node) return &f;
    return nullptr;
  }
  const Cause* cause(const std::string& kind, const std::string& node) const {
    for (const Cause& c : after.causes)
      if (reports::name(c.kind) == kind && c.node == node) return &c;
    return nullptr;
  }
  /// Both say so.
  bool both(const std::string& kind, const std::string& node) const { return foreseen(kind, node) != nullptr && cause(kind, node) != nullptr; }
  bool neither(const std::string& kind, const std::string& node) const { return foreseen(kind, node) == nullptr && cause(kind, node) == nullptr; }
};

double value(const Foreseen* f, const std::string& key) {
  if (f == nullptr) return NAN;
  for (const reports::Fact& fact : f->facts)
    if (fact.key == key) return fact.value.value_or(NAN);
  return NAN;
}

class ForeseenNorms : public ForeseenGraph {
 protected:
  Both of(const std::string& mode, const std::string& nodes, const std::string& more = "", const std::string& train = "lr = 0.0, optimizer = \"sgd\", momentum = 0.0") {
    return {ForeseenGraph::of(mode, nodes, (train.find("steps") == std::string::npos ? "steps = 2, " : "") + train, more)};
  }
};

/// Two channels: of one the elements are +-a, of the other 1 and 2.
std::string batch_norm(const std::string& a, const std::string& epsilon) {
  return fmt::format("{{name = \"x\", op = \"input\", values = [[[{0}, -{0}], [1.0, 2.0]], [[{0}, -{0}], [2.0, 1.0]]]}},\n"
                     "{{name = \"k\", op = \"parameter\", shape = [1], init = 1.0}}, {{name = \"s\", op = \"mul\", inputs = [\"x\", \"k\"]}},\n"
                     "{{name = \"g\", op = \"parameter\", shape = [2], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [2], init = 0.25}},\n"
                     "{{name = \"rm\", op = \"buffer\", shape = [2]}}, {{name = \"rv\", op = \"buffer\", shape = [2]}},\n"
                     "{{name = \"bn\", op = \"batch_norm\", inputs = [\"s\", \"g\", \"b\", \"rm\", \"rv\"], epsilon = {1}}},\n"
                     "{{name = \"loss\", op = \"mean\", inputs = \"bn\"}}",
                     a, epsilon);
}

// 9e38 is beyond fp32, in which batch norm sums whatever the mode: the channel becomes its bias.
TEST_F(ForeseenNorms, SquaresInsideBatchNorm) {
  const Both bad = of("bf16", batch_norm("3e19", "1e-5"));
  ASSERT_TRUE(bad.both("norm_overflowed", "bn")) << bad.before.verdict << bad.after.verdict;
  const Foreseen* const f = bad.foreseen("norm_overflowed", "bn");
  EXPECT_EQ(f->gravity, Gravity::damage);
  EXPECT_EQ(value(f, "channels"), 1.0);
  EXPECT_NEAR(value(f, "square"), 9e38, 1e33);
  EXPECT_THAT(f->what, HasSubstr("of 1 of 2 channels is infinite in fp32"));
  const Both good = of("bf16", batch_norm("1e18", "1e-5"));
  EXPECT_TRUE(good.neither("norm_overflowed", "bn")) << good.before.verdict << good.after.verdict;
}

/// What batch_norm reads, all of it at most a.
std::string small(const std::string& a, const std::string& epsilon) {
  std::string nodes = batch_norm(a, epsilon);
  for (const auto& [row, with] : {std::pair{"[1.0, 2.0]", "[0.0, {0}]"}, std::pair{"[2.0, 1.0]", "[{0}, 0.0]"}})
    nodes.replace(nodes.find(row), std::string(row).size(), fmt::format(fmt::runtime(with), a));
  return nodes;
}

// 1e-9 is zero in fp16: a variance of 0, and no epsilon.
TEST_F(ForeseenNorms, NothingLeftToDivideBy) {
  const Both bad = of("fp16_pure", small("1e-9", "0.0"));
  ASSERT_TRUE(bad.both("epsilon_vanished", "bn")) << bad.before.verdict << bad.after.verdict;
  EXPECT_EQ(bad.foreseen("epsilon_vanished", "bn")->gravity, Gravity::fatal);
  EXPECT_TRUE(of("fp16_pure", small("1e-9", "1e-5")).neither("epsilon_vanished", "bn"));
  EXPECT_TRUE(of("fp16_pure", small("1e-2", "0.0")).neither("epsilon_vanished", "bn"));
}

// The unbiased variance of +-1000, four of them, is 4e6 / 3; a tenth of it, 133333, is the first running variance.
TEST_F(ForeseenNorms, RunningVariancesInSixteenBits) {
  const Both over = of("fp16_pure", batch_norm("1000.0", "1e-5"));
  const Foreseen* const f = over.foreseen("buffers_poisoned", "rv.ema");
  ASSERT_NE(f, nullptr) << over.before.verdict;
  EXPECT_NEAR(value(f, "greatest_magnitude"), 4e5 / 3, 0.1);
  EXPECT_NE(over.cause("buffers_poisoned", ""), nullptr) << over.after.verdict;
  EXPECT_EQ(over.foreseen("activation_too_large", "rv.ema"), nullptr) << "said once";
  const Both fits = of("fp16_pure", batch_norm("300.0", "1e-5"));
  EXPECT_EQ(fits.foreseen("buffers_poisoned", "rv.ema"), nullptr);
  EXPECT_EQ(fits.cause("buffers_poisoned", ""), nullptr);
  // Of +-1e-4 it is 1.3e-9: zero, and evaluation divides by the root of epsilon, which is smaller still or is not.
  const Both zero = of("fp16_pure", small("1e-4", "1e-12"));
  ASSERT_TRUE(zero.both("activation_below_range", "rv.ema")) << zero.before.verdict << zero.after.verdict;
  EXPECT_THAT(zero.cause("activation_below_range", "rv.ema")->what, HasSubstr("2 of 2 that are not 0"));
  EXPECT_TRUE(of("fp16_pure", small("1e-4", "1e-5")).cause("activation_below_range", "rv.ema") == nullptr);
}

/// Two numbers in each of two channels: of one +-a, of the other +-1.
std::string two_of_each(const std::string& a, const std::string& begin) {
  return fmt::format("{{name = \"x\", op = \"input\", values = [[[{0}, -{0}], [1.0, -1.0]]]}},\n"
                     "{{name = \"k\", op = \"parameter\", shape = [1], init = 1.0}}, {{name = \"s\", op = \"mul\", inputs = [\"x\", \"k\"]}},\n"
                     "{{name = \"g\", op = \"parameter\", shape = [2], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [2], init = 0.25}},\n"
                     "{{name = \"rm\", op = \"buffer\", shape = [2]}}, {{name = \"rv\", op = \"buffer\", shape = [2], init = {1}}},\n"
                     "{{name = \"bn\", op = \"batch_norm\", inputs = [\"s\", \"g\", \"b\", \"rm\", \"rv\"]}},\n"
                     "{{name = \"loss\", op = \"mean\", inputs = \"bn\"}}",
                     a, begin);
}

// The variance of +-300, two of them, is 180000. From 1 on a tenth of it is taken in a step, in fp16: 18000 (of 18000.9), 34208 (of 34200),
// 48800, 61920 and then 73728, which does not fit.
TEST_F(ForeseenNorms, ARunningVarianceLeavesTheRangeStepsLater) {
  const auto with = [this](const std::string& mode, int steps, const std::string& more = "") {
    return of(mode, two_of_each("300.0", "1.0"), "", fmt::format("steps = {}, lr = 0.0, optimizer = \"sgd\", momentum = 0.0{}", steps, more));
  };
  const Both over = with("fp16_pure", 8);
  const Foreseen* const f = over.foreseen("buffers_poisoned", "rv.ema");
  ASSERT_NE(f, nullptr) << over.before.verdict;
  EXPECT_EQ(value(f, "applied_step"), 5.0);
  EXPECT_EQ(value(f, "greatest_magnitude"), 73728.0);
  EXPECT_THAT(f->what, HasSubstr("averages 180000 in the first batch, and were every one like it, it would have 73728 = 1.125 x the fp16 limit (65520 rounds to inf) in the applied "
                                 "step 5 of 8 planned (1 of 2 elements then)"));
  EXPECT_EQ(over.before.forecast, reports::Forecast::damage);
  const Cause* const found = over.cause("activation_too_large", "rv.ema");
  ASSERT_NE(found, nullptr) << over.after.verdict;
  EXPECT_EQ(found->step, 4) << "the fifth";
  const Both short_run = with("fp16_pure", 4);
  EXPECT_EQ(short_run.foreseen("buffers_poisoned", "rv.ema"), nullptr) << "the four steps that are planned do not come to it";
  const Cause* const later = short_run.cause("activation_too_large", "rv.ema");
  ASSERT_NE(later, nullptr) << short_run.after.verdict;
  EXPECT_EQ(later->gravity, Gravity::note) << "it has not left the range: that it will is foreseen";
  EXPECT_EQ(with("bf16_pure", 8).foreseen("buffers_poisoned", "rv.ema"), nullptr);
  EXPECT_EQ(with("fp16", 8).foreseen("buffers_poisoned", "rv.ema"), nullptr) << "a mixed mode keeps it in fp32";
  // Two micro-batches a step take it in twice: in the third step the fifth time.
  EXPECT_EQ(value(with("fp16_pure", 8, ", micro_batches = 2").foreseen("buffers_poisoned", "rv.ema"), "applied_step"), 3.0);
}

/// batch_norm with a first channel of a and b, alternating.
std::string far_from_zero(const std::string& a, const std::string& b) {
  std::string nodes = batch_norm("1.0", "1e-5");
  for (std::size_t at = nodes.find("[1.0, -1.0]"); at != std::string::npos; at = nodes.find("[1.0, -1.0]"))
    nodes.replace(at, std::string("[1.0, -1.0]").size(), "[" + a + ", " + b + "]");
  return nodes;
}

// Near 1000 the numbers of bf16 are 4 apart: 999 and 1001 both become 1000. Those of fp16 are 0.5 apart.
TEST_F(ForeseenNorms, ValuesThatFallTogetherBesideTheirMean) {
  const Both bad = of("bf16_pure", far_from_zero("999.0", "1001.0"));
  const Foreseen* const f = bad.foreseen("variance_lost", "bn");
  ASSERT_NE(f, nullptr) << bad.before.verdict;
  EXPECT_EQ(f->gravity, Gravity::damage);
  EXPECT_EQ(value(f, "groups"), 1.0) << "the other channel is near 0";
  EXPECT_EQ(value(f, "collapsed"), 1.0);
  EXPECT_EQ(value(f, "variance"), 1.0);
  EXPECT_THAT(f->what, HasSubstr("the mean is 1000 and the standard deviation 1, and the numbers of bf16 there are 4 apart; the variance that the norm divides by becomes 0 instead of 1"));
  EXPECT_EQ(bad.before.forecast, reports::Forecast::damage) << bad.before.verdict;
  EXPECT_EQ(of("bf16_pure", far_from_zero("900.0", "1100.0")).foreseen("variance_lost", "bn"), nullptr);
  EXPECT_EQ(of("fp16_pure", far_from_zero("999.0", "1001.0")).foreseen("variance_lost", "bn"), nullptr) << "exact there";
  EXPECT_EQ(of("bf16", far_from_zero("999.0", "1001.0")).foreseen("variance_lost", "bn"), nullptr) << "its input is fp32's";
}

std::string layer_norm(const std::string& a) {
  return fmt::format("{{name = \"x\", op = \"input\", values = [[{0}, -{0}, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]]}},\n"
                     "{{name = \"g\", op = \"parameter\", shape = [4], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [4], init = 0.5}},\n"
                     "{{name = \"ln\", op = \"layer_norm\", inputs = [\"x\", \"g\", \"b\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"ln\"}}",
                     a);
}

// 2 x 200^2 is beyond fp16 in one row of two, though each square fits and the rows' average does; 2 x 150^2 is not.
TEST_F(ForeseenNorms, OneRowOfALayerNorm) {
  const char* const narrow = "override = [{nodes = \"ln\", accumulate = \"fp16\"}]";
  const Both bad = of("fp16", layer_norm("200.0"), narrow);
  ASSERT_TRUE(bad.both("norm_overflowed", "ln")) << bad.before.verdict << bad.after.verdict;
  EXPECT_EQ(value(bad.foreseen("norm_overflowed", "ln"), "rows"), 1.0);
  EXPECT_TRUE(of("fp16", layer_norm("150.0"), narrow).neither("norm_overflowed", "ln"));
  EXPECT_TRUE(of("fp16", layer_norm("200.0")).neither("norm_overflowed", "ln")) << "fp32 sums";
}

// 128 numbers of 600 add up to 76800, beyond fp16: the mean is infinite. 64 of 2000 and 64 of -2000 add up to 0, and one after the other to 128000 on the way.
TEST_F(ForeseenNorms, AMeanThatIsInfinite) {
  const auto row = [](const std::string& numbers) {
    return fmt::format("{{name = \"x\", op = \"input\", shape = [1, 128], values = {}}}, {{name = \"k\", op = \"parameter\", init = 1.0}}, {{name = \"y\", op = \"mul\", inputs = [\"x\", \"k\"]}},\n"
                       "{{name = \"g\", op = \"parameter\", shape = [128], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [128]}},\n"
                       "{{name = \"ln\", op = \"layer_norm\", inputs = [\"y\", \"g\", \"b\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"ln\"}}", numbers);
  };
  const char* const narrow = "override = [{nodes = \"ln\", accumulate = \"fp16\", order = \"serial\"}]";
  const Both whole = of("fp16", row("{first = [600.0], rest = 600.0}"), narrow);
  ASSERT_TRUE(whole.both("norm_overflowed", "ln")) << whole.before.verdict << whole.after.verdict;
  EXPECT_EQ(whole.foreseen("norm_overflowed", "ln")->gravity, Gravity::fatal);
  EXPECT_EQ(value(whole.foreseen("norm_overflowed", "ln"), "sum"), 76800.0);
  EXPECT_THAT(whole.foreseen("norm_overflowed", "ln")->what, HasSubstr("of the worst it comes to 76800 = 1.172 x the fp16 limit"));
  EXPECT_TRUE(of("fp16", row("{first = [500.0], rest = 500.0}"), narrow).neither("norm_overflowed", "ln"));
  std::string numbers;
  for (int i = 0; i < 128; ++i) numbers += i < 64 ? "2000.0, " : "-2000.0, ";
  const Both part = of("fp16", row("[[" + numbers + "]]"), narrow);
  ASSERT_TRUE(part.both("norm_overflowed", "ln")) << part.before.verdict << part.after.verdict;
  EXPECT_THAT(part.foreseen("norm_overflowed", "ln")->what, HasSubstr("in which it is kept, on the way: the whole of it would fit"));
}

/// Two rows of four, which a layer norm reads as they are or behind a reshape of all eight.
std::string behind(bool view, const char* row) {
  const std::string rows = fmt::format("[{}{}1.0, 2.0, 3.0, 4.0]", row, view ? ", " : "], [");
  return fmt::format("{{name = \"x\", op = \"input\", values = [{}]}}, {{name = \"k\", op = \"parameter\", shape = [1], init = 1.0}},\n"
                     "{{name = \"{}\", op = \"mul\", inputs = [\"x\", \"k\"]}},{}\n"
                     "{{name = \"g\", op = \"parameter\", shape = [4], init = 1.0}}, {{name = \"b\", op = \"parameter\", shape = [4], init = 0.5}},\n"
                     "{{name = \"ln\", op = \"layer_norm\", inputs = [\"r\", \"g\", \"b\"]}}, {{name = \"loss\", op = \"mean\", inputs = \"ln\"}}",
                     rows, view ? "s" : "r", view ? " {name = \"r\", op = \"reshape\", inputs = \"s\", shape = [2, 4]}," : "");
}

// A row of 16 numbers, 300 and 15 of 2: its mean is 20.625, and (300 - 20.625)^2 = 78050.39 is the greatest square, not 90000.
TEST_F(ForeseenNorms, TheGreatestSquareIsThatOfWhatIsLeftOfTheMean) {
  const auto row = [](const char* op) {
    return fmt::format("{{name = \"x\", op = \"input\", shape = [1, 16], values = {{first = [300.0], rest = 2.0}}}},\n"
                       "{{name = \"k\", op = \"parameter\", init = 1.0}}, {{name = \"xs\", op = \"mul\", inputs = [\"x\", \"k\"]}},\n"
                       "{{name = \"gain\", op = \"parameter\", shape = [16], init = 1.0}},\n{}\n{{name = \"loss\", op = \"mean\", inputs = \"n\"}}",
                       op);
  };
  const std::string narrow = "override = [{nodes = \"n\", accumulate = \"lower\"}]";
  const Both layer = of("fp16", row("{name = \"bias\", op = \"parameter\", shape = [16]}, {name = \"n\", op = \"layer_norm\", inputs = [\"xs\", \"gain\", \"bias\"]},"), narrow);
  const Foreseen* const f = layer.foreseen("norm_overflowed", "n");
  ASSERT_NE(f, nullptr) << layer.before.verdict;
  EXPECT_NEAR(value(f, "square"), 78050.390625, 1e-6);
  EXPECT_EQ(f->facts.front().label, "greatest square, less the mean");
  const Both rms = of("fp16", row("{name = \"n\", op = \"rms_norm\", inputs = [\"xs\", \"gain\"]},"), narrow);
  EXPECT_EQ(value(rms.foreseen("norm_overflowed", "n"), "square"), 90000.0) << "which takes no mean away";
}

// Near 4000 the numbers of fp16 are 2 apart: 3999 and 4001 both become 4000. Of a view there are no numbers but those of what it shows.
TEST_F(ForeseenNorms, NormsBehindAReshapeAreLookedAt) {
  for (const bool view : {false, true}) {
    const Both lost = of("fp16_pure", behind(view, "3999.0, 4001.0, 3999.0, 4001.0"));
    const Foreseen* const f = lost.foreseen("variance_lost", "ln");
    ASSERT_NE(f, nullptr) << view << lost.before.verdict;
    EXPECT_EQ(f->gravity, Gravity::damage);
    EXPECT_EQ(value(f, "groups"), 1.0);
    EXPECT_EQ(value(f, "mean"), 4000.0);
    EXPECT_THAT(f->what, HasSubstr("1 of 2 rows of r lie so far from 0"));
    EXPECT_EQ(of("fp16_pure", behind(view, "1999.0, 2001.0, 1999.0, 2001.0")).foreseen("variance_lost", "ln"), nullptr) << "exact there";
    // As in OneRowOfALayerNorm, where the numbers that go in come from the batch.
    const char* const narrow = "override = [{nodes = \"ln\", accumulate = \"fp16\"}]";
    const Both bad = of("fp16", behind(view, "200.0, -200.0, 1.0, 2.0"), narrow);
    ASSERT_TRUE(bad.both("norm_overflowed", "ln")) << view << bad.before.verdict << bad.after.verdict;
    EXPECT_EQ(value(bad.foreseen("norm_overflowed", "ln"), "rows"), 1.0);
    EXPECT_TRUE(of("fp16", behind(view, "150.0, -150.0, 1.0, 2.0"), narrow).neither("norm_overflowed", "ln"));
  }
}

// Squares of 1e-8 are zero in fp16 (2^-25 = 2.98e-8); those of 9e-8 become 2 x 2^-24 = 1.19e-7: of 32 of each 32e-8 / (32e-8 + 3.8e-6) is missing.
TEST_F(ForeseenNorms, SquaresThatBecomeZero) {
  const auto nodes = [](const char* epsilon) {
    std::string values;
    for (int i = 0; i < 64; ++i) values += i % 2 == 0 ? "1e-4, " : "3e-4, ";
    return fmt::format("{{name = \"x\", op = \"input\", values = [[{}]]}}, {{name = \"g\", op = \"parameter\", shape = [64], init = 1.0}},\n"
                       "{{name = \"rn\", op = \"rms_norm\", inputs = [\"x\", \"g\"], epsilon = {}}}, {{name = \"loss\", op = \"mean\", inputs = \"rn\"}}",
                       values, epsilon);
  };
  const char* const narrow = "override = [{nodes = \"rn\", accumulate = \"fp16\"}]";
  const Both bad = of("fp16", nodes("1e-12"), narrow);
  ASSERT_TRUE(bad.both("activation_below_range", "rn")) << bad.before.verdict << bad.after.verdict;
  EXPECT_EQ(value(bad.foreseen("activation_below_range", "rn"), "flushed"), 32.0);
  EXPECT_NEAR(value(bad.foreseen("activation_below_range", "rn"), "missing"), 32e-8 / (32e-8 + 64 * 0x1p-24), 1e-4);
  const Both fine = of("fp16", nodes("1e-5"), narrow);
  EXPECT_EQ(fine.foreseen("activation_below_range", "rn"), nullptr) << fine.before.verdict;
  ASSERT_NE(fine.cause("activation_below_range", "rn"), nullptr);
  EXPECT_EQ(fine.cause("activation_below_range", "rn")->gravity, Gravity::note) << "beside that epsilon it is nothing";
  EXPECT_EQ(fine.after.outcome, reports::Outcome::healthy) << fine.after.verdict;
}

// 0 + 2e-8 is 0 in fp16, and 1 / 1e-3 fits.
TEST_F(ForeseenNorms, AnEpsilonInASum) {
  const auto nodes = [](const char* epsilon) {
    return fmt::format("{{name = \"x\", op = \"input\", values = [[0.0, 2.0]]}}, {{name = \"w\", op = \"parameter\", init = 1.0}},\n"
                       "{{name = \"s\", op = \"mul\", inputs = [\"x\", \"w\"]}}, {{name = \"eps\", op = \"constant\", init = {}}},\n"
                       "{{name = \"den\", op = \"add\", inputs = [\"s\", \"eps\"]}}, {{name = \"one\", op = \"constant\", init = [[0.0, 1.0]]}},\n"
                       "{{name = \"q\", op = \"div\", inputs = [\"one\", \"den\"]}}, {{name = \"loss\", op = \"sum\", inputs = \"q\"}}",
                       epsilon);
  };
  const char* const lower = "override = [{nodes = [\"den\", \"q\"], compute = \"lower\"}]";
  const char* const train = "lr = 0.0, optimizer = \"sgd\", momentum = 0.0, scaler = {init = 16}";
  const Both bad = of("fp16", nodes("2e-8"), lower, train);
  ASSERT_TRUE(bad.both("epsilon_vanished", "q")) << bad.before.verdict << bad.after.verdict;
  EXPECT_EQ(bad.foreseen("epsilon_vanished", "q")->gravity, Gravity::fatal);
  EXPECT_TRUE(of("fp16", nodes("1e-3"), lower, train).neither("epsilon_vanished", "q"));
}

// 5000 x 4^2 = 80000 is beyond fp16, 3000 x 4^2 = 48000 is not.
TEST_F(ForeseenNorms, ANormForClippingOfManySquares) {
  const auto nodes = [](int n) {
    return fmt::format("{{name = \"w\", op = \"parameter\", shape = [{0}], init = 0.5}}, {{name = \"x\", op = \"constant\", shape = [{0}], init = 4.0}},\n"
                       "{{name = \"y\", op = \"mul\", inputs = [\"w\", \"x\"]}}, {{name = \"loss\", op = \"sum\", inputs = \"y\"}}",
                       n);
  };
  const char* const train = "lr = 0.1, optimizer = \"sgd\", momentum = 0.0, clip = 2.0, norm_accumulate = \"fp16\"";
  const Both bad = of("bf16", nodes(5000), "", train);
  ASSERT_TRUE(bad.both("clip_overflowed", "global_norm")) << bad.before.verdict << bad.after.verdict;
  EXPECT_THAT(bad.foreseen("clip_overflowed", "global_norm")->what, HasSubstr("5000 squares, each of which fits (the greatest is 16)"));
  EXPECT_TRUE(of("bf16", nodes(3000), "", train).neither("clip_overflowed", "global_norm"));
}

// 1 - 1000 x 70 = -69999 does not fit fp16; 1 - 100 x 70 does.
TEST_F(ForeseenNorms, AnUpdateThatDoesNotFit) {
  const char* const nodes =
      "{name = \"w\", op = \"parameter\", init = [[1.0, 2.0]]}, {name = \"x\", op = \"input\", values = [[70.0, 1.0]]},\n"
      "{name = \"y\", op = \"mul\", inputs = [\"w\", \"x\"]}, {name = \"loss\", op = \"sum\", inputs = \"y\"}";
  const auto train = [](const char* rate) { return fmt::format("lr = {}, optimizer = \"sgd\", momentum = 0.0, clip = 0.0", rate); };
  const Both bad = of("fp16_pure", nodes, "", train("1000.0"));
  ASSERT_TRUE(bad.both("update_overflowed", "w.update")) << bad.before.verdict << bad.after.verdict;
  EXPECT_EQ(value(bad.foreseen("update_overflowed", "w.update"), "greatest_weight"), 69999.0);
  EXPECT_TRUE(of("fp16_pure", nodes, "", train("100.0")).neither("update_overflowed", "w.update"));
}

}  // namespace
}  // namespace ulpscope::profiler
