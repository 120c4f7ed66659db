// From which batch on a mode is faster than fp32, from forged run files.
#include "reports/analysis/break_even.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class BreakEvenTest : public Scratch {
 protected:
  struct Row {
    std::int64_t batch;
    double fp32_ms, fp16_ms;
    double spread_ms = 0.05;
  };
  static ForgedTime gpu(const std::string& mode, std::int64_t id, const Row& row, double ms) {
    ForgedTime t(mode, id);
    t.forged.run.device = "Testium GPU";
    t.forged.run.device_kind = "cuda";
    t.forged.run.time_provenance = Provenance::measured;
    t.forged.run.batch = row.batch;
    for (const double offset : {-1.0, -0.5, 0.0, 0.5, 1.0}) t.sample(1e-3 * (ms + offset * row.spread_ms));
    return t;
  }
  TimeReport report(const Row& row, std::int64_t busy_us = 0) {
    ForgedTime fp32 = gpu("fp32", 1, row, row.fp32_ms);
    const ForgedTime fp16 = gpu("fp16", 2, row, row.fp16_ms);
    if (busy_us > 0) fp32.kernel("gemm", 1, fp32.id("y"), 1000, busy_us);
    return time_report(write_times(in(std::to_string(row.batch) + ".ulp"), {&fp32, &fp16}));
  }
};

// The difference goes from +1.5 ms at 32 to -2.5 ms at 64: it is zero at 32 + 32 · 1.5 / 4 = 44.
TEST_F(BreakEvenTest, IsInterpolatedBetweenTheBatchesThatWereMeasured) {
  const BreakEven result = break_even({report({64, 10.0, 7.5}), report({8, 2.0, 4.0}), report({32, 6.0, 7.5})});
  ASSERT_EQ(result.modes.size(), 1u);
  const BreakEvenMode& mode = result.modes[0];
  EXPECT_EQ(mode.points.front().batch, 8);
  EXPECT_NEAR(*mode.batch.value, 44.0, 1e-9);
  EXPECT_EQ(mode.batch.low, 32.0);
  EXPECT_EQ(mode.batch.high, 64.0);
  EXPECT_EQ(mode.batch.provenance, Provenance::inferred);
  EXPECT_THAT(mode.text, HasSubstr("break-even at batch ~44, by interpolation: slower than fp32 at 32, faster at 64"));
}

TEST_F(BreakEvenTest, BatchesWithinTheNoiseWidenItsRange) {
  const BreakEven result = break_even({report({16, 4.0, 6.0}), report({32, 6.0, 6.1, 1.0}), report({64, 10.0, 9.8, 1.0}), report({128, 20.0, 12.0})});
  const BreakEvenMode& mode = result.modes[0];
  EXPECT_EQ(mode.points[1].verdict, AgainstFp32::undecided);
  EXPECT_EQ(mode.batch.low, 16.0);
  EXPECT_EQ(mode.batch.high, 128.0);
  EXPECT_GT(*mode.batch.value, 32.0);
  EXPECT_LT(*mode.batch.value, 64.0);
}

TEST_F(BreakEvenTest, WithoutAChangeThereIsNone) {
  const auto text = [&](const Row& a, const Row& b) {
    const BreakEven result = break_even({report(a), report(b)});
    EXPECT_FALSE(result.modes[0].batch.value);
    return result.modes[0].text;
  };
  EXPECT_THAT(text({8, 4.0, 2.0}, {64, 10.0, 5.0}), HasSubstr("faster than fp32 at every batch from 8 to 64"));
  EXPECT_THAT(text({8, 2.0, 4.0}, {64, 5.0, 10.0}), HasSubstr("slower than fp32 at every batch from 8 to 64"));
  EXPECT_THAT(text({8, 4.0, 4.1, 1.0}, {64, 5.1, 5.0, 1.0}), HasSubstr("undecided"));
  EXPECT_THAT(text({8, 4.0, 4.1, 1.0}, {64, 8.0, 5.0}), HasSubstr("undecided")) << "it was slower nowhere";
}

TEST_F(BreakEvenTest, WhereTheGpuWaitsThereIsNoReasonOfSpeed) {
  const BreakEven result = break_even({report({8, 2.0, 4.0}, 600), report({64, 10.0, 7.5}, 9000)});
  EXPECT_NEAR(*result.modes[0].points[0].busy, 0.3, 1e-9);
  EXPECT_EQ(result.modes[0].launch_bound_up_to, 8);
  EXPECT_THAT(result.modes[0].text, HasSubstr("up to batch 8 the GPU is busy for less than 50 % of the step: stay with fp32 or tf32, there is no reason of speed"));
}

TEST_F(BreakEvenTest, EmulatedTimesInferNothing) {
  const auto emulated = [&](std::int64_t batch, double ms) {
    ForgedTime fp32("fp32", 1), fp16("fp16", 2);
    for (ForgedTime* t : {&fp32, &fp16}) {
      t->forged.run.batch = batch;
      for (int i = 0; i < 5; ++i) t->sample(1e-3 * (t == &fp32 ? 5.0 : ms));
    }
    return time_report(write_times(in(std::to_string(batch) + "e.ulp"), {&fp32, &fp16}));
  };
  const BreakEven result = break_even({emulated(8, 7.0), emulated(16, 3.0)});
  EXPECT_FALSE(result.modes[0].batch.value);
  EXPECT_THAT(result.modes[0].text, HasSubstr("emulated on this processor"));
}

TEST_F(BreakEvenTest, RunsThatDifferInMoreAreRefused) {
  const auto refusal = [](const std::vector<TimeReport>& reports) { return message_of<UsageError>([&] { break_even(reports); }); };
  EXPECT_THAT(refusal({report({8, 2.0, 4.0})}), HasSubstr("two batches or more"));
  TimeReport other = report({16, 2.0, 4.0});
  for (ModeTime& m : other.modes) m.run.model_json = "{\"width\": 9}";
  EXPECT_THAT(refusal({report({8, 2.0, 4.0}), other}), AllOf(HasSubstr("differ in their model"), HasSubstr("8.ulp"), HasSubstr("16.ulp")));
  EXPECT_THAT(refusal({report({8, 2.0, 4.0}), report({8, 3.0, 4.0})}), HasSubstr("both have a batch of 8"));
  TimeReport without = report({16, 2.0, 4.0});
  std::erase_if(without.modes, [](const ModeTime& m) { return m.run.mode == "fp32"; });
  EXPECT_THAT(refusal({report({8, 2.0, 4.0}), without}), HasSubstr("there is no fp32 run in"));
}

TEST_F(BreakEvenTest, TheThreeFormsSayTheSame) {
  const BreakEven result = break_even({report({32, 6.0, 7.5}), report({64, 10.0, 7.5})});
  const auto written = [&](const char* form) {
    std::ostringstream out;
    make_exporter(form)->write(result, out);
    return out.str();
  };
  const nlohmann::json json = nlohmann::json::parse(written("json"));
  EXPECT_NEAR(json.at("modes").at(0).at("break_even_batch").at("value").get<double>(), 44.0, 1e-9);
  EXPECT_EQ(json.at("modes").at(0).at("break_even_batch").at("provenance"), "inferred");
  EXPECT_EQ(json.at("modes").at(0).at("points").at(0).at("against_fp32"), "slower");
  const std::string text = written("text");
  EXPECT_THAT(text, AllOf(HasSubstr("break-even at batch ~44"), HasSubstr("[inferred]"), HasSubstr("0.80 x")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_THAT(written("csv"), HasSubstr("fp16,,,break_even,44"));
}

}  // namespace
}  // namespace ulpscope::reports
