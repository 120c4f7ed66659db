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

// Differences of +2, -2, +2, -2 ms: they are zero half way between the batches.
TEST_F(BreakEvenTest, SeveralCrossingsAreListedAndNoneIsTheBreakEven) {
  const BreakEven result = break_even({report({8, 2.0, 4.0}), report({16, 6.0, 4.0}), report({32, 6.0, 8.0}), report({64, 12.0, 10.0})});
  const BreakEvenMode& mode = result.modes[0];
  EXPECT_FALSE(mode.batch.value) << "none of them is the one";
  ASSERT_EQ(mode.crossings.size(), 3u);
  EXPECT_NEAR(*mode.crossings[0].batch.value, 12.0, 1e-9);
  EXPECT_EQ(mode.crossings[0].to, AgainstFp32::faster);
  EXPECT_NEAR(*mode.crossings[1].batch.value, 24.0, 1e-9);
  EXPECT_EQ(mode.crossings[1].to, AgainstFp32::slower);
  EXPECT_EQ(mode.crossings[2].batch.low, 32.0);
  EXPECT_EQ(mode.crossings[2].batch.high, 64.0);
  EXPECT_EQ(mode.text, "there is no single break-even, from 8 to 64 it changes sides 3 times, by interpolation: at ~12 it becomes faster (slower at 8, faster at 16), "
                       "at ~24 it becomes slower (faster at 16, slower at 32), at ~48 it becomes faster (slower at 32, faster at 64)");
  std::ostringstream json, csv, text;
  make_exporter("json")->write(result, json);
  make_exporter("csv")->write(result, csv);
  make_exporter("text")->write(result, text);
  EXPECT_TRUE(nlohmann::json::parse(json.str()).at("modes").at(0).at("break_even_batch").at("value").is_null());
  EXPECT_EQ(nlohmann::json::parse(json.str()).at("modes").at(0).at("crossings").at(1).at("to"), "slower");
  EXPECT_THAT(csv.str(), AllOf(HasSubstr("crossing,12,examples,inferred,to faster"), HasSubstr("crossing,24,examples,inferred,to slower")));
  EXPECT_THAT(text.str(), HasSubstr("[inferred]"));
}

TEST_F(BreakEvenTest, TheLowerEndIsTheGreatestBatchAtWhichItIsSlower) {
  // At 16 the median is below fp32's, within the noise: at 32 it is slower all the same.
  const BreakEven result = break_even({report({8, 2.0, 4.0}), report({16, 5.0, 4.9, 1.0}), report({32, 6.0, 7.5}), report({64, 10.0, 7.5})});
  EXPECT_EQ(result.modes[0].points[1].verdict, AgainstFp32::undecided);
  EXPECT_EQ(result.modes[0].batch.low, 32.0);
  EXPECT_NEAR(*result.modes[0].batch.value, 44.0, 1e-9);
}

TEST_F(BreakEvenTest, ACrossingToSlowerIsNoBreakEven) {
  const BreakEven result = break_even({report({8, 4.0, 2.0}), report({16, 4.0, 6.0})});
  EXPECT_FALSE(result.modes[0].batch.value);
  EXPECT_THAT(result.modes[0].text, HasSubstr("no batch from which on it is faster than fp32, but one from which on it is not, by interpolation: at ~12 it becomes slower"));
}

TEST_F(BreakEvenTest, TheTitleHasAllBatches) {
  EXPECT_THAT(break_even({report({64, 10.0, 7.5}), report({8, 2.0, 4.0})}).experiment, AllOf(HasSubstr("batches 8 to 64"), testing::Not(HasSubstr("batch 8"))));
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

TEST_F(BreakEvenTest, BatchesBehindOneThatIsNotKnownSayNothingOfThoseBefore) {
  const BreakEven result = break_even({report({8, 2.0, 4.0}), report({64, 10.0, 10.1, 1.0}, 1000)});   // at 8 nothing was traced
  EXPECT_FALSE(result.modes[0].points[0].busy);
  EXPECT_FALSE(result.modes[0].launch_bound_up_to);
}

TEST_F(BreakEvenTest, TooFewStepsDecideNothing) {
  const auto few = [&](std::int64_t batch, double ms) {
    const Row row{batch, 5.0, ms};
    ForgedTime fp32 = gpu("fp32", 1, row, row.fp32_ms), fp16("fp16", 2);
    fp16.forged.run = gpu("fp16", 2, row, ms).forged.run;
    for (int i = 0; i < 4; ++i) fp16.sample(1e-3 * ms);
    return time_report(write_times(in(std::to_string(batch) + ".ulp"), {&fp32, &fp16}));
  };
  const BreakEven result = break_even({few(8, 9.0), few(64, 2.0)});
  EXPECT_EQ(result.modes[0].points[0].verdict, AgainstFp32::unknown);
  EXPECT_FALSE(result.modes[0].batch.value);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("fp16 at batch 8: 4 steps are too few")));
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
  std::ostringstream csv, json;
  make_exporter("csv")->write(result, csv);
  make_exporter("json")->write(result, json);
  EXPECT_THAT(csv.str(), AllOf(HasSubstr(",emulated,emulated\r\n"), testing::Not(HasSubstr("speed,0.7142857142857143,,computed")))) << csv.str();
  EXPECT_EQ(nlohmann::json::parse(json.str()).at("modes").at(0).at("points").at(0).at("speed").at("provenance"), "emulated");
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
