#include "reports/analysis/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// fp32 losses 1.9, 2.0, 2.1: standard deviation 0.1.
Judgement of(const std::vector<double>& differences, const std::vector<double>& reference = {1.9, 2.0, 2.1}) {
  std::vector<SeedPair> pairs;
  for (std::size_t i = 0; i < differences.size(); ++i)
    pairs.push_back({static_cast<std::int64_t>(i), reference[i], reference[i] + differences[i]});
  return judge(pairs, reference, "held-out loss");
}

// The half-width of the interval of {d − w, d, d + w} is 4.302653·w/√3 = 2.484138·w.
TEST(Verdict, InsideBetterWorseUndecided) {
  EXPECT_EQ(of({-0.01, 0.0, 0.01}).verdict, Verdict::inside);
  EXPECT_EQ(of({0.18, 0.2, 0.22}).verdict, Verdict::worse);  // 0.15 … 0.25
  EXPECT_EQ(of({-0.22, -0.2, -0.18}).verdict, Verdict::better);
  EXPECT_EQ(of({0.08, 0.1, 0.12}).verdict, Verdict::undecided);   // 0.05 … 0.15 straddles 0.1
  EXPECT_EQ(of({-0.3, 0.0, 0.3}).verdict, Verdict::undecided);    // as wide as a house
  EXPECT_EQ(of({0.03, 0.13, 0.23}).verdict, Verdict::undecided);  // straddles, and its mean is beyond
}

TEST(Verdict, TheEdgesOfTheBand) {
  // d + 2.484138·w against 0.1, from either side.
  EXPECT_EQ(of({0.05 - 0.02, 0.05, 0.05 + 0.02}).verdict, Verdict::inside);         // up to 0.09968
  EXPECT_EQ(of({0.05 - 0.0203, 0.05, 0.05 + 0.0203}).verdict, Verdict::undecided);  // up to 0.10043
  EXPECT_EQ(of({0.15 - 0.02, 0.15, 0.15 + 0.02}).verdict, Verdict::worse);          // from 0.10032
  EXPECT_EQ(of({0.15 - 0.0203, 0.15, 0.15 + 0.0203}).verdict, Verdict::undecided);
}

TEST(Verdict, SaysItsNumbers) {
  const Judgement judgement = of({0.18, 0.2, 0.22});
  EXPECT_EQ(judgement.pairs, 3);
  EXPECT_NEAR(*judgement.difference, 0.2, 1e-12);
  EXPECT_NEAR(*judgement.low, 0.2 - 2.484138 * 0.02, 1e-6);
  EXPECT_NEAR(*judgement.high, 0.2 + 2.484138 * 0.02, 1e-6);
  EXPECT_NEAR(*judgement.reference_spread, 0.1, 1e-12);
  EXPECT_EQ(judgement.reason,
            "held-out loss +0.2 against fp32 (95 % interval +0.15 to +0.25, 3 seeds), wholly beyond ±0.1, "
            "one standard deviation between fp32 seeds");
}

TEST(Verdict, PairingBySeedTakesTheSeedsOwnSpreadOut) {
  // Seeds far apart, the mode always 0.001 above: the interval is tight although the losses are not.
  EXPECT_EQ(of({0.001, 0.001, 0.001}, {1.0, 2.0, 3.0}).verdict, Verdict::inside);
  EXPECT_NEAR(*of({0.001, 0.001, 0.001}, {1.0, 2.0, 3.0}).high, 0.001, 1e-12);
}

TEST(Verdict, UnderThreeSeedsIsUndecided) {
  EXPECT_EQ(of({0.0, 0.0}, {1.9, 2.1}).verdict, Verdict::undecided);
  EXPECT_EQ(of({5.0, 5.0}, {1.9, 2.1}).verdict, Verdict::undecided);
  EXPECT_THAT(of({5.0}, {1.9}).reason, HasSubstr("on 1 seed; a verdict needs 3"));
  EXPECT_EQ(of({5.0}, {1.9}).low, std::nullopt);
  EXPECT_EQ(of({}, {}).verdict, Verdict::undecided);
  EXPECT_THAT(of({}, {}).reason, HasSubstr("no seed"));
}

TEST(Verdict, LossesThatAreNotFinite) {
  EXPECT_EQ(of({nan_value, inf, nan_value}).verdict, Verdict::worse);
  EXPECT_EQ(of({nan_value, 0.0, 0.0}).verdict, Verdict::undecided);
  EXPECT_THAT(of({nan_value, 0.0, 0.0}).reason, HasSubstr("not finite under 1 of 3 seeds"));
  EXPECT_EQ(of({nan_value, nan_value}, {1, 2}).verdict, Verdict::undecided);
  EXPECT_EQ(of({0.0, 0.0, 0.0}, {inf, 1, 2}).verdict, Verdict::undecided);
  EXPECT_THAT(of({0.0, 0.0, 0.0}, {inf, 1, 2}).reason, HasSubstr("fp32's own"));
  EXPECT_EQ(of({nan_value, 0.0, 0.0}).low, std::nullopt);
  // A fourth fp32 seed, unpaired, without a finite loss.
  EXPECT_EQ(judge({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, {1, 2, 3, nan_value}, "final loss").verdict, Verdict::undecided);
}

TEST(Verdict, DifferencesTooLargeForAnIntervalAreUndecided) {
  const Judgement judgement = of({1e200, -1e200, 3e200}, {1e200, 2e200, 3e200});
  EXPECT_EQ(judge({{1, 0, 1e200}, {2, 0, -1e200}, {3, 0, 3e200}}, {1.9, 2.0, 2.1}, "final loss").verdict,
            Verdict::undecided);
  EXPECT_EQ(judgement.verdict, Verdict::undecided);
}

TEST(Verdict, IdenticalFp32SeedsLeaveABandOfZero) {
  EXPECT_EQ(of({0.0, 0.0, 0.0}, {2, 2, 2}).verdict, Verdict::inside);
  EXPECT_EQ(of({0.1, 0.1, 0.1}, {2, 2, 2}).verdict, Verdict::worse);
}

}  // namespace
}  // namespace ulpscope::reports
