// Values that leave the range and are replaced, bounded or outweighed before they matter, beside those that are not: what is foreseen, and
// what a run of the same file then shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/support/foreseen.h"

namespace ulpscope::profiler {
namespace {

using reports::Foreseen;
using reports::Gravity;
using reports::Outcome;
using ::testing::HasSubstr;

using ForeseenSwallowed = ForeseenGraph;

constexpr const char* still = "lr = 0.0, optimizer = \"sgd\", momentum = 0.0, clip = 0.0, scaler = {init = 256}";

/// Rows of 8 times 0.5: the first row of y is 4 first = 1.2e5 or so, the others are 4.
std::string rows(const std::string& first, const std::string& then) {
  return "{name = \"x\", op = \"input\", shape = [4, 8], values = {first = [" + first + ", " + first + ", " + first + ", " + first + ", " + first + ", " + first + ", " + first + ", " + first +
         "], rest = 1.0}},\n{name = \"w\", op = \"parameter\", shape = [8, 8], init = 0.5}, {name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]},\n" + then +
         ", {name = \"loss\", op = \"mean\", inputs = \"end\"}";
}

std::string filled(const char* mask) {
  return std::string("{name = \"m\", op = \"input\", format = \"i32\", shape = [4, 1], values = [") + mask + "]}, {name = \"end\", op = \"masked_fill\", inputs = [\"y\", \"m\"], value = 0.0}";
}

std::string chosen(const char* condition) {
  return std::string("{name = \"m\", op = \"input\", format = \"i32\", shape = [4, 1], values = [") + condition +
         "]}, {name = \"z\", op = \"constant\", shape = [1], init = 0.25}, {name = \"end\", op = \"where\", inputs = [\"m\", \"y\", \"z\"]}";
}

/// A function of y.
std::string of_y(const char* function) { return std::string("{name = \"end\", inputs = \"y\", ") + function + "}"; }

struct Case {
  std::string nodes;
  const char* forecast;
  Outcome outcome;
  Gravity gravity;
};

TEST_F(ForeseenSwallowed, ReplacedOrBounded) {
  for (const Case& c : {Case{rows("3e4", filled("1, 0, 0, 0")), "safe", Outcome::harmless, Gravity::contained}, Case{rows("3e4", filled("0, 1, 0, 0")), "overflow", Outcome::fatal, Gravity::fatal},
                        Case{rows("3e4", chosen("0, 1, 1, 1")), "safe", Outcome::harmless, Gravity::contained}, Case{rows("3e4", chosen("1, 1, 1, 1")), "overflow", Outcome::fatal, Gravity::fatal},
                        Case{rows("-3e4", of_y("op = \"relu\"")), "safe", Outcome::harmless, Gravity::contained}, Case{rows("3e4", of_y("op = \"relu\"")), "overflow", Outcome::fatal, Gravity::fatal},
                        Case{rows("3e4", of_y("op = \"tanh\"")), "safe", Outcome::harmless, Gravity::contained}, Case{rows("-3e4", of_y("op = \"sigmoid\"")), "safe", Outcome::harmless, Gravity::contained},
                        Case{rows("3e4", of_y("op = \"clamp\", min = -6.0, max = 6.0")), "safe", Outcome::harmless, Gravity::contained},
                        // The bound itself is beyond fp16: of the infinity it is what it is of the value, and overflows in its own rounding.
                        Case{rows("3e4", of_y("op = \"clamp\", min = -9e4, max = 9e4")), "overflow", Outcome::fatal, Gravity::contained}}) {
    const Told told = of("fp16", c.nodes, still);
    told.expect_both(c.forecast, c.outcome);
    EXPECT_EQ(told.foreseen("activation_too_large", "y").gravity, c.gravity) << c.nodes;
    EXPECT_EQ(told.cause("activation_too_large", "y").gravity, c.gravity) << c.nodes;
  }
}

/// y is in fp16, what is made of it in fp32.
TEST_F(ForeseenSwallowed, AnotherNumberIsLeftBehind) {
  const Told told = of("fp16", rows("3e4", "{name = \"u\", op = \"scale\", inputs = \"y\", factor = 1e-5}, {name = \"end\", op = \"tanh\", inputs = \"u\"}"), still);
  told.expect_both("damage", Outcome::damaged);
  const Foreseen f = told.foreseen("activation_too_large", "y");
  EXPECT_EQ(f.gravity, Gravity::damage);
  EXPECT_THAT(f.what, HasSubstr("end (tanh) makes 1 of the infinity, and 0.8336546 of 1.2"));
}

/// Queries of 1.6 (the last of them 0) times keys of 1, and one of v; the causal mask would leave the last out for all but the last query.
std::string scores(const std::string& v, const std::string& mask) {
  return "{name = \"q\", op = \"input\", shape = [1, 4, 8], values = {first = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], rest = 0.0}},\n"
         "{name = \"w\", op = \"parameter\", shape = [8, 8], init = 0.2}, {name = \"g\", op = \"linear\", inputs = [\"q\", \"w\"]},\n"
         "{name = \"k\", op = \"input\", shape = [1, 4, 8], values = {first = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], rest = " + v + "}},\n"
         "{name = \"s\", op = \"matmul\", inputs = [\"g\", \"k\"], trans_b = true},\n" + mask +
         "{name = \"square\", op = \"mul\", inputs = [\"p\", \"p\"]}, {name = \"loss\", op = \"mean\", inputs = \"square\"}";
}

TEST_F(ForeseenSwallowed, ScoresBeforeASoftmax) {
  const char* const plain = "{name = \"p\", op = \"softmax\", inputs = \"s\"},\n";
  const Told beside_a_greater_one = of("fp16", scores("-1e4", plain), still);   // 8 x 1.6 x 1e4 = 1.28e5
  beside_a_greater_one.expect_both("safe", Outcome::harmless);
  EXPECT_EQ(beside_a_greater_one.foreseen("activation_too_large", "s").gravity, Gravity::contained);
  // The softmax reads what was rounded itself; its greatest finite score is 12.8.
  of("fp16", scores("-1e4", plain), still, "override = [{nodes = \"p\", compute = \"fp16\"}]").expect_both("safe", Outcome::harmless);
  of("fp16", scores("1e4", plain), still).expect_both("overflow", Outcome::fatal);
  const Told masked = of("fp16", scores("1e4", "{name = \"c\", op = \"causal_mask\", inputs = \"s\"}, {name = \"p\", op = \"softmax\", inputs = \"c\"},\n"), still);
  masked.expect_both("safe", Outcome::harmless);
  EXPECT_EQ(masked.foreseen("activation_too_large", "s").gravity, Gravity::contained);
}

std::string pooled(const char* first) {
  return std::string("{name = \"x\", op = \"input\", shape = [1, 1, 8], values = {first = [") + first +
         "], rest = 1.0}}, {name = \"w\", op = \"parameter\", shape = [2, 1, 1], init = 2.0}, {name = \"c\", op = \"conv1d\", inputs = [\"x\", \"w\"]},\n"
         "{name = \"p\", op = \"max_pool1d\", inputs = \"c\", kernel = 4}, {name = \"loss\", op = \"mean\", inputs = \"p\"}";
}

TEST_F(ForeseenSwallowed, BesideAGreaterOneInAPool) {
  const Told below = of("fp16", pooled("-4e4, -4e4"), still);
  below.expect_both("safe", Outcome::harmless);
  EXPECT_EQ(below.foreseen("activation_too_large", "c").gravity, Gravity::contained);
  of("fp16", pooled("4e4, 4e4"), still).expect_both("overflow", Outcome::fatal);
  of("fp16", pooled("-4e4, -4e4, -4e4, -4e4"), still).expect_both("overflow", Outcome::fatal);
}

// 1 / inf = 0, and 1 / 0 in what follows.
TEST_F(ForeseenSwallowed, AZeroThatAnInfinityLeavesIsDividedBy) {
  const Told told = of("fp16", rows("3e4", "{name = \"one\", op = \"constant\", shape = [1], init = 1.0}, {name = \"r\", op = \"div\", inputs = [\"one\", \"y\"]}, {name = \"end\", op = \"div\", inputs = [\"one\", \"r\"]}"), still,
                       "override = [{nodes = \"end\", compute = \"fp32\"}]");
  told.expect_both("overflow", Outcome::fatal);
  const Foreseen f = told.foreseen("activation_too_large", "y");
  EXPECT_EQ(f.gravity, Gravity::fatal);
  EXPECT_THAT(f.what, HasSubstr("end (div, forward) then fails on what is made of it"));
}

}  // namespace
}  // namespace ulpscope::profiler
