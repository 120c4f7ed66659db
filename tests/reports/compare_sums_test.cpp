// Runs with the sums of matrix units beside runs with plain ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "reports/analysis/compare.h"
#include "tests/reports/compared_runs.h"

namespace ulpscope::reports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CompareSums : public ComparedRuns {};

/// Three seeds of fp32 (1.9, 2.0, 2.1) and of fp16, whose losses lie above by `offset`.
std::vector<MadeUpRun> against_fp32(double offset) {
  std::vector<MadeUpRun> runs;
  for (std::int64_t seed = 0; seed < 3; ++seed) {
    const double loss = 1.9 + 0.1 * static_cast<double>(seed);
    runs.push_back(made_up("fp32", seed, loss));
    runs.push_back(made_up("fp16", seed, loss + offset));
  }
  return runs;
}

MadeUpRun with_sums(MadeUpRun run, const std::string& asked, int of_unit) {
  run.run.attributes_json = R"({"train": {"accumulate_as": ")" + (asked.empty() ? "none" : asked) + R"("})";
  if (!asked.empty())
    run.run.attributes_json += R"(, "sums": {"as": ")" + asked + R"(", "of_unit": )" + std::to_string(of_unit) + R"(, "words": ["rule of )" + asked + R"("]})";
  run.run.attributes_json += "}";
  return run;
}

TEST_F(CompareSums, SaysWhatTheSumsOfAMatrixUnitChange) {
  const auto runs = [&](const std::string& asked, double offset) {
    std::vector<MadeUpRun> all = against_fp32(0.3 + offset);
    for (MadeUpRun& run : all) run = with_sums(run, asked, run.run.mode == "fp32" ? 0 : 17);
    return all;
  };
  const RunFileReader plain = make_run_file(in("plain.ulp"), runs("", 0.0)), v100 = make_run_file(in("v100.ulp"), runs("v100", 0.2)),
                      hopper = make_run_file(in("hopper.ulp"), runs("hopper", 0.01));
  const Comparison all = compare({&plain, &v100, &hopper});
  EXPECT_THAT(order(all), ElementsAre("fp32", "fp16", "fp16@hopper", "fp16@v100"));   // one setting, fp32 once
  EXPECT_THAT(all.warnings, IsEmpty());
  EXPECT_EQ(mode(all, "fp16").sums, "");
  EXPECT_FALSE(mode(all, "fp16").sums_distance.known());
  const ModeResult &worse = mode(all, "fp16@v100"), &inside = mode(all, "fp16@hopper");
  EXPECT_EQ(worse.sums, "v100");
  EXPECT_NEAR(*worse.sums_distance.value, 0.2, 1e-12);
  EXPECT_NEAR(*worse.distance.value, 0.5, 1e-12);
  EXPECT_EQ(worse.against_plain.verdict, Verdict::worse);    // beyond ±0.1 between fp32 seeds
  EXPECT_EQ(worse.judgement.verdict, Verdict::worse);
  EXPECT_EQ(inside.against_plain.verdict, Verdict::inside);
  EXPECT_EQ(inside.judgement.verdict, Verdict::worse);       // against fp32 it is what plain fp16 is, too
  EXPECT_THAT(worse.notes, Contains("rule of v100"));
  EXPECT_THAT(worse.notes, Contains(HasSubstr("what v100's sums change: worse: held-out loss +0.2 against fp16 with plain sums")));
}

TEST_F(CompareSums, SumsInOneFileAndWithoutSeedsToTellTheNoise) {
  std::vector<MadeUpRun> runs;
  for (std::int64_t seed = 0; seed < 3; ++seed) {
    runs.push_back(with_sums(made_up("fp16", seed, 2.0), "", 0));
    runs.push_back(with_sums(made_up("fp16", seed, 2.5), "turing", 3));
  }
  const Comparison comparison = of(runs);
  EXPECT_THAT(order(comparison), ElementsAre("fp16", "fp16@turing"));
  EXPECT_EQ(mode(comparison, "fp16@turing").against_plain.verdict, Verdict::undecided);
  EXPECT_THAT(mode(comparison, "fp16@turing").against_plain.reason, HasSubstr("no fp32 seeds to tell the noise by"));
}

}  // namespace
}  // namespace ulpscope::reports
