// Whether a number that a diagnosis tells is what it is said to be: sums or means, with the loss scale or without it, skips that are due.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "profiler/experiment/experiment_file.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Fact;
using reports::Kind;
using reports::RunDiagnosis;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ToldNumbers : public ::testing::Test {
 protected:
  RunDiagnosis of(const std::string& toml) {
    Settings settings;
    settings.add_text("model = {kind = \"graph\", loss = \"loss\"}\n" + toml, "made-up.toml");
    record_experiment(settings.build(), scratch_("a.ulp"));
    return reports::diagnose(reports::RunFileReader(scratch_("a.ulp"))).runs.at(0);
  }
  static const Cause* stuck(const RunDiagnosis& run) {
    for (const Cause& c : run.causes)
      if (c.kind == Kind::sum_stuck) return &c;
    return nullptr;
  }
  static Fact fact(const Cause& cause, const std::string& key) {
    for (const Fact& f : cause.facts)
      if (f.key == key) return f;
    return {};
  }
  ScratchFolder scratch_;
};

/// Micro-batches whose gradients are the numbers over how many they are: their sum is the numbers.
std::string accumulated(const std::string& mode, const std::string& numbers, int micro_batches, const std::string& more = "") {
  return fmt::format("train = {{steps = 2, lr = 1.0, schedule = \"constant\", optimizer = \"sgd\", momentum = 0.0, weight_decay = 0.0, clip = 0.0, micro_batches = {}, "
                     "accumulator_format = \"bf16\"{}}}\nrun = {{modes = [\"{}\"]}}\n"
                     "node = [{{name = \"c\", op = \"constant\", init = {}}}, {{name = \"w\", op = \"parameter\", shape = [{}]}},\n"
                     "{{name = \"p\", op = \"mul\", inputs = [\"w\", \"c\"]}}, {{name = \"loss\", op = \"sum\", inputs = \"p\"}}]\n",
                     micro_batches, more, mode, numbers, std::count(numbers.begin(), numbers.end(), ',') + 1);
}

// 600 gradients of 1 and of 0.005: 600 and 3, 301.5 on average. In fp16 they are summed times 65536, which is no part of them.
TEST_F(ToldNumbers, ASumOfElementsIsTheirMeanWithoutTheScale) {
  for (const char* mode : {"fp32", "fp16"}) {
    const RunDiagnosis d = of(accumulated(mode, "[600.0, 3.0]", 600));
    const Cause* const c = stuck(d);
    ASSERT_NE(c, nullptr) << d.verdict;
    const Fact expected = fact(*c, "expected");
    EXPECT_NEAR(expected.value.value_or(NAN), 301.5, 1e-3) << mode;
    EXPECT_THAT(expected.text, HasSubstr("301.5 (mean of its 2 elements")) << mode;
    EXPECT_THAT(c->what, HasSubstr("of the sum, which would come to 301.5 (mean of its 2 elements"));
    EXPECT_EQ(expected.text.find("the loss scale taken out") != std::string::npos, std::string(mode) == "fp16") << expected.text;
    EXPECT_THAT(c->what, Not(HasSubstr("e+07")));
  }
}

// 512 equal ones stand still at 256 in bf16, whatever power of two they are multiplied by.
TEST_F(ToldNumbers, WhereASumStandsStill) {
  for (const char* mode : {"fp32", "fp16"}) {
    const RunDiagnosis d = of(accumulated(mode, "[512.0]", 512));
    const Cause* const c = stuck(d);
    ASSERT_NE(c, nullptr) << d.verdict;
    EXPECT_EQ(fact(*c, "stuck_at").value, 256.0) << mode;
    EXPECT_EQ(fact(*c, "expected").value, 512.0) << mode;
    EXPECT_THAT(c->what, HasSubstr("the sum stands at 256 (of its one element"));
    EXPECT_THAT(c->what, HasSubstr(": 50 % of 512 is missing"));
  }
}

/// A loss of |w1 + w2 - 0.5|: gradients of 1.
std::string two_weights(const std::string& mode, const std::string& train) {
  return fmt::format("train = {{lr = 0.0, optimizer = \"sgd\", momentum = 0.0, weight_decay = 0.0, {}}}\nrun = {{modes = [\"{}\"]}}\nobserve = {{every = 1}}\n"
                     "node = [{{name = \"x\", op = \"input\", values = [[1, 1]]}}, {{name = \"w\", op = \"parameter\", init = [[0.5, 0.25]]}},\n"
                     "{{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}}, {{name = \"t\", op = \"input\", values = [[0.5]]}},\n"
                     "{{name = \"loss\", op = \"l1_loss\", inputs = [\"y\", \"t\"]}}]\n",
                     train, mode);
}

// In fp32 the scale goes to 65536 x 10^33 = 6.5536e37 and no further: a gradient of 1 still fits there.
TEST_F(ToldNumbers, SkipsThatAreDueAreThoseOfThePolicyAndTheFormat) {
  const RunDiagnosis wide = of(two_weights("fp32", "steps = 40, scale_all = true, scaler = {growth = 10.0, interval = 1}"));
  EXPECT_THAT(wide.reasons, Contains(AllOf(HasSubstr("overflows: 0 in 40 steps (none due, were the greatest gradient of every step 1 [computed], as it was first: the scale grows "
                                                     "after every good step, to 6.554e+37 at most"),
                                           HasSubstr("of the limit 3.403e+38"), Not(HasSubstr("about 40")))))
      << fmt::format("{}", fmt::join(wide.reasons, "\n"));
  // In fp16 65536 does not fit: one skip, then every other step.
  const RunDiagnosis narrow = of(two_weights("fp16", "steps = 11, scaler = {interval = 1}"));
  EXPECT_EQ(narrow.skipped, 6);
  EXPECT_THAT(narrow.reasons, Contains(HasSubstr("later overflows: 5 in 10 steps (5 due, were the greatest gradient of every step 1 [computed], as it was first: the scale grows "
                                                 "after every good step)")))
      << fmt::format("{}", fmt::join(narrow.reasons, "\n"));
  const RunDiagnosis usual = of(two_weights("fp16", "steps = 11"));
  EXPECT_THAT(usual.reasons, Contains(HasSubstr("later overflows: 0 in 10 steps (none due: the scale first grows after 2000 good steps)")));
}

}  // namespace
}  // namespace ulpscope::profiler
