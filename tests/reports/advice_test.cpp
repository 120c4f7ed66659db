// The decision: situations of device, numerics and memory, each with the advice that is expected and its reason.
#include "reports/analysis/advice.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/reports/advice_cases.h"

namespace ulpscope::reports {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto recommended = AdviceOutcome::recommended;
constexpr auto undecided = AdviceOutcome::undecided;
constexpr auto none = AdviceOutcome::none;

struct Situation {
  const char* name;
  const char* gpu;
  std::vector<ModeEvidence> modes;
  AdviceOutcome outcome;
  const char* winner;
  const char* runner_up;
  const char* reason;   ///< in the sentence
  const char* refused;  ///< "mode: why", of one that is; "" none
  const char* change;   ///< among what would change (or decide) it
  const char* said;     ///< among what has to be known
};

// Times in ms. Projected unless measured.
const std::vector<Situation>& situations() {
  using V = std::vector<ModeEvidence>;
  static const std::vector<Situation> all{
      // Which generation has what: cases 46 and 48.
      {"T4FromFp16", "T4", V{mode("fp32", 100), mode("tf32", 100), mode("fp16", 30), mode("bf16", 30)}, recommended, "fp16", "fp32", "3.33 x fp32's speed", "bf16: emulated on T4", "a run measured on T4", ""},
      {"V100FromFp16", "V100 SXM2 16GB", V{mode("fp32", 100), mode("fp16", 25), mode("bf16", 25)}, recommended, "fp16", "fp32", "loss inside fp32's seed noise, 3 seeds", "bf16: has no bf16: emulated through fp32", "", ""},
      {"T4NeverBf16WhateverItsNumbers", "T4", V{mode("fp32", 100).measured(100), mode("bf16", 10).measured(10)}, recommended, "fp32", "", "every other mode is refused", "bf16: emulated on T4", "fp16 is native there and not weighed", ""},
      {"T4Tf32HasNoEffect", "T4", V{mode("fp32", 100), mode("tf32", 40)}, recommended, "fp32", "", "every other mode is refused", "tf32: no effect", "", ""},
      {"T4Tf32BesideFp16IsNothing", "T4", V{mode("fp32", 100), mode("fp16", 30), mode("fp16+tf32", 25)}, recommended, "fp16", "fp32", "3.33 x", "fp16+tf32: fp16 is the same without it", "", ""},
      {"A100FromBf16", "A100 SXM 80GB", V{mode("fp32", 100), mode("tf32", 50), mode("fp16", 30), mode("bf16", 30)}, recommended, "bf16", "fp16", "3.33 x", "", "", ""},
      {"H100FromBf16", "H100 SXM", V{mode("fp32", 100), mode("tf32", 50), mode("fp16", 29.5), mode("bf16", 30)}, recommended, "bf16", "fp16", "3.33 x", "", "", ""},
      {"H100Fp16WhereItIsFasterByMore", "H100 SXM", V{mode("fp32", 100), mode("fp16", 20), mode("bf16", 30)}, recommended, "fp16", "bf16", "5.00 x", "", "", ""},
      {"P100StaysInFp32", "P100 SXM2", V{mode("fp32", 100), mode("fp16", 60), mode("bf16", 60)}, recommended, "fp32", "", "every other mode is refused", "fp16: emulated on P100 SXM2", "fp16 measured on it", ""},
      {"P100ByMeasurement", "P100 SXM2", V{mode("fp32", 100).measured(100), mode("fp16", 60).measured(70)}, recommended, "fp16", "fp32", "1.43 x fp32's speed (1.40…1.46) [measured]", "", "", ""},
      {"P100MeasuredSlower", "P100 SXM2", V{mode("fp32", 100).measured(100), mode("fp16", 60).measured(130)}, recommended, "fp32", "", "every other mode is refused", "fp16: emulated", "", ""},
      {"P100MeasuredBf16IsEmulatedAllTheSame", "P100 SXM2", V{mode("fp32", 100).measured(100), mode("bf16", 60).measured(50)}, recommended, "fp32", "", "every other", "bf16: emulated", "", ""},
      {"Sm61StaysInFp32", "sm_61", V{mode("fp32", 100), mode("fp16", 60).measured(10)}, recommended, "fp32", "", "every other mode is refused", "fp16: run at fp32's rate at best", "", ""},
      {"TuringWithoutAKnownRate", "GTX 1660", V{mode("fp32", 100), mode("fp16", 30)}, recommended, "fp32", "", "every other mode is refused", "fp16: not known on GTX 1660", "", ""},
      {"Fp8BelowAda", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16", 30), mode("fp8", 10)}, recommended, "bf16", "fp32", "3.33 x", "fp8: absent on A100", "", ""},
      // tf32 is no gain where products with fp32 sums are halved.
      {"Rtx3090Tf32IsNoGain", "RTX 3090", V{mode("fp32", 100), mode("tf32", 50)}, recommended, "fp32", "", "every other mode is refused", "tf32: no gain: its peak (35.6 TFLOP/s) is fp32's", "", "tf32 is no gain there"},
      {"Rtx4090Tf32BesideBf16IsNoGain", "RTX 4090", V{mode("fp32", 100), mode("bf16", 50), mode("bf16+tf32", 30)}, recommended, "bf16", "fp32", "2.00 x", "bf16+tf32: bf16 is the same without it", "", ""},
      {"L40Tf32IsNoGain", "L40", V{mode("fp32", 100), mode("tf32", 50)}, recommended, "fp32", "", "every other", "tf32: no gain", "bf16 are native there and not weighed", ""},
      {"L40STf32IsOne", "L40S", V{mode("fp32", 100), mode("tf32", 60)}, recommended, "tf32", "fp32", "1.67 x", "", "fp16, bf16 are native there and not weighed", ""},
      // Range.
      {"OverflowMakesBf16", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 20).diverged().overflow(), mode("bf16", 30)}, recommended, "bf16", "fp32", "3.33 x", "fp16: not finite from step 37", "a change that mends fp16", ""},
      {"OverflowOnT4LeavesFp32", "T4", V{mode("fp32", 100), mode("fp16", 30).one_seed().overflow()}, recommended, "fp32", "", "every other mode is refused", "fp16: overflow found: layer2.linear", "ulpscope mend", ""},
      {"AMendThatWasRunIsNamed", "T4", V{mode("fp32", 100), mode("fp16", 30).one_seed().overflow().mended("layer2.linear stays fp32 (train.keep_fp32=layer2.linear)")}, recommended, "fp32", "", "every other", "fp16: overflow found", "was run and mends it: layer2.linear stays fp32", ""},
      {"Fp16WithoutAScalerAndFlushed", "T4", V{mode("fp32", 100), mode("fp16", 30).bare().flushed()}, recommended, "fp32", "", "every other mode is refused", "fp16: no loss scaler, and gradients are flushed: 36.9 %", "a loss scaler for fp16", ""},
      {"PureFp16WithoutAScalerAndFlushed", "H100 SXM", V{mode("fp32", 100), mode("bf16", 40), mode("fp16_pure", 20).flushed()}, recommended, "bf16", "fp32", "2.50 x", "fp16_pure: no loss scaler", "", ""},
      {"Fp16WithoutAScalerAndNotObserved", "T4", V{mode("fp32", 100), mode("fp16", 30).bare().unobserved()}, undecided, "fp16", "fp32", "whether gradients are flushed was not observed", "", "observed steps", ""},
      {"NoScaleSuitsFp16", "T4", V{mode("fp32", 100), mode("fp16", 30).one_seed().no_scale()}, recommended, "fp32", "", "every other", "fp16: no one loss scale suits", "", ""},
      {"ForeseenOverflowOfWhatWasNotTrained", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 30).untrained().overflow_foreseen(), mode("bf16", 30).untrained()}, undecided, "bf16", "fp32", "it was not trained", "fp16: overflow foreseen: layer2.linear", "bf16 trained beside fp32", ""},
      // Rounding and convergence.
      {"WorseInBf16MakesFp16", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 30), mode("bf16", 30).worse()}, recommended, "fp16", "fp32", "3.33 x", "bf16: worse than fp32 beyond seed noise", "", ""},
      {"PureBf16LosesUpdates", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16", 40), mode("bf16_pure", 20).one_seed().lost()}, recommended, "bf16", "fp32", "2.50 x", "bf16_pure: lost updates found: 93 %", "an fp32 master copy (mode bf16)", ""},
      {"PureBf16LosesUpdatesAndIsInsideAllTheSame", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16_pure", 20).lost()}, undecided, "bf16_pure", "fp32", "inside seed noise, and yet lost updates found", "", "ulpscope mend", ""},
      {"DamageIsRefused", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16_pure", 20).one_seed().damaged()}, recommended, "fp32", "", "every other", "fp16_pure: damage found: epsilon is 0", "", ""},
      {"OneSeedIsUndecided", "A100 SXM 80GB", V{mode("fp32", 100).one_seed(), mode("fp16", 30).one_seed(), mode("bf16", 30).one_seed()}, undecided, "bf16", "fp16", "its loss against fp32 is undecided (on 1 seed", "", "3 seeds of each mode", ""},
      {"ManySeedsMayBeUndecidedToo", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16", 30).loss(Verdict::undecided, 5, "between")}, undecided, "bf16", "fp32", "undecided (between)", "", "more seeds, or more steps", ""},
      {"NoModeTrains", "A100 SXM 80GB", V{mode("fp32", 100).diverged(), mode("fp16", 30).diverged(), mode("bf16", 30).diverged()}, none, "", "", "no matter of precision", "fp32: not finite from step 37", "", ""},
      {"ARunThatDidNotEnd", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16", 30).unfinished()}, undecided, "bf16", "fp32", "interrupted after 12 of 200 steps", "", "--resume", ""},
      {"ANonStandardRun", "A100 SXM 80GB", V{mode("fp32", 100), mode("bf16", 30).non_standard()}, undecided, "bf16", "fp32", "non-standard", "", "without the non-standard knobs", ""},
      {"UntrainedIsNotRecommended", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 40), mode("bf16", 20).untrained()}, recommended, "fp16", "bf16", "2.50 x", "", "bf16 may be faster (5.00 x", ""},
      {"Fp32AloneSaysNothing", "A100 SXM 80GB", V{mode("fp32", 100)}, undecided, "fp32", "", "fp32 alone was run", "", "the other modes trained beside fp32", ""},
      {"WithoutFp32AndRefused", "T4", V{mode("fp16", 30).one_seed().bare().flushed()}, none, "", "", "every mode that was weighed is refused, and fp32 was not", "fp16: no loss scaler", "fp32 trained", ""},
      {"WithoutFp32", "A100 SXM 80GB", V{mode("fp16", 30).one_seed(), mode("bf16", 30).one_seed()}, undecided, "bf16", "fp16", "there is no fp32 run to hold its loss against", "", "fp32 trained", ""},
      {"ACheckpointIn16Bits", "A100 SXM 80GB", V{mode("fp32", 100).came_in_16_bits(), mode("bf16", 30).came_in_16_bits()}, recommended, "bf16", "fp32", "3.33 x", "", "", "their fp32 master is missing"},
      // Time.
      {"LaunchBoundStaysInFp32", "H100 SXM", V{mode("fp32", 1.0), mode("tf32", 1.0), mode("fp16", 1.1).launches(0.9), mode("bf16", 1.1).launches(0.9)}, recommended, "fp32", "tf32", "the step waits for launches", "", "a larger batch", ""},
      {"LaunchBoundInTf32Too", "A100 SXM 80GB", V{mode("fp32", 1.0), mode("tf32", 0.8).gain(1.1, 1.25, 1.4), mode("bf16", 1.1).launches(0.9)}, recommended, "tf32", "fp32", "1.25 x", "", "a larger batch", ""},
      {"AGainThatIsNotCertain", "L4", V{mode("fp32", 100), mode("bf16", 77).range(60, 140)}, undecided, "bf16", "fp32", "its gain is not certain: 1.30 x", "", "a run measured on the device", ""},
      {"AGainThatIsPossible", "L4", V{mode("fp32", 100), mode("bf16", 98).range(60, 140)}, recommended, "fp32", "bf16", "no other mode is shown to gain 5 %", "", "bf16 may gain (1.02 x", ""},
      {"NoTimeKnown", "L4", V{mode("fp32", 100), mode("bf16", 50).untimed("a rate is not known")}, undecided, "fp32", "bf16", "what bf16 would gain is not known", "", "a run measured on the device", ""},
      {"MeasuredGoesBeforeProjected", "A100 SXM 80GB", V{mode("fp32", 100).measured(90), mode("bf16", 30).measured(85)}, undecided, "bf16", "fp32", "1.06 x fp32's speed (1.04…1.08) [measured]", "", "", ""},
      {"MeasuredIsNotHeldAgainstProjected", "A100 SXM 80GB", V{mode("fp32", 100).measured(10), mode("bf16", 50)}, recommended, "bf16", "fp32", "2.00 x fp32's speed (1.50…2.67) [projected]", "", "", ""},
      // Where two were measured there, what is projected is spoken of and not ranked.
      {"MeasuredBeatsProjected", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("fp16", 29).measured(59), mode("bf16", 25)}, recommended, "fp16", "fp32", "1.69 x fp32's speed (1.66…1.73) [measured]", "", "bf16 measured there: it may be faster (4.00 x", ""},
      {"MeasuredBeatsProjectedOfItself", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("fp16", 20).measured(59), mode("bf16", 40).measured(50)}, recommended, "bf16", "fp16", "2.00 x fp32's speed (1.96…2.04) [measured]", "", "", ""},
      {"MeasuredSlowerThanFp32IsNotLeanedTo", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("fp16", 20).measured(130), mode("bf16", 99)}, recommended, "fp32", "fp16", "no other mode is shown to gain 5 %", "", "bf16 may gain (1.01 x", ""},
      {"TimesOfTwoKinds", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("fp16", 30).measured_alone(59), mode("bf16", 35)}, recommended, "fp16", "fp32", "1.69 x fp32's speed", "", "bf16 measured there: it may be faster (2.86 x", ""},
      {"OneMeasuredAndOneProjectedRankNothing", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 30).measured_alone(59), mode("bf16", 35)}, undecided, "bf16", "fp32", "times of one kind are not known of all: fp16 measured, fp32, bf16 projected alone", "", "a run of fp32, bf16 measured", ""},
      {"Fp32WasNotMeasuredThere", "A100 SXM 80GB", V{mode("fp32", 100).untimed("a rate is not known"), mode("fp16", 30).measured(59), mode("bf16", 35).measured(70)}, undecided, "fp16", "bf16", "what it gains is not known: fp32 was not measured there", "", "a run of fp32 measured", ""},
      {"TheCertainOnesAreRankedByTheirOwnTimes", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("tf32", 60).measured(70), mode("fp16", 30).measured_alone(59), mode("bf16", 20).untrained()}, recommended, "fp16", "tf32", "1.69 x fp32's speed", "", "bf16 measured there: it may be faster (5.00 x", ""},
      {"Fp32LeadsAmongThoseMeasuredAndAnotherMayGain", "A100 SXM 80GB", V{mode("fp32", 100).measured(100), mode("fp16", 30).measured(120), mode("bf16", 35)}, undecided, "fp32", "fp16", "no mode that was measured gains 5 %, but bf16 was not measured: 2.86 x", "", "a run of bf16 measured on the device", ""},
      // Of a ratio of two steps, products of each format, bandwidth and launch cost are uncertain by themselves.
      {"AProjectionThatCannotTellFromOne", "T4", V{mode("fp32", 100), mode("fp16", 93).gain(0.82, 1.07, 1.31)}, undecided, "fp16", "fp32", "its gain is not certain: 1.07 x fp32's speed (0.82…1.31) [projected]", "", "a run measured on the device", ""},
      {"AProjectionOfMoreThatCannotTellFromOne", "RTX 3090", V{mode("fp32", 100), mode("bf16", 66).gain(0.63, 1.5, 3.1)}, undecided, "bf16", "fp32", "its gain is not certain: 1.50 x", "", "a run measured on the device", ""},
      {"AProjectionThatCanTell", "T4", V{mode("fp32", 100), mode("fp16", 40).gain(1.2, 2.5, 4.4)}, recommended, "fp16", "fp32", "2.50 x fp32's speed (1.20…4.40) [projected]", "", "a run measured on T4", ""},
      {"AModeWithoutATimeIsNamed", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 30), mode("bf16", 35).untimed("a rate is not known")}, recommended, "fp16", "fp32", "3.33 x", "", "bf16, whose time is not known", ""},
      {"ALogThatSaysNothingOfAScaler", "T4", V{mode("fp32", 100), mode("fp16", 30).unobserved().scaling_unknown()}, undecided, "fp16", "fp32", "whether it has a loss scaler is not on record, and whether gradients are flushed", "", "observed steps", ""},
      // Memory: case 49 and case 50; what is not known of it.
      {"WhetherItFitsIsNotKnown", "T4", V{mode("fp32", 100), mode("fp16", 30).memory_unknown()}, undecided, "fp16", "fp32", "whether it fits is not known", "", "a run on the device", ""},
      {"WhetherFp32FitsIsNotKnown", "T4", V{mode("fp32", 100).memory_unknown(), mode("fp16", 99)}, recommended, "fp16", "fp32", "it fits, and whether fp32 does is not known", "", "", ""},
      {"WhetherFp32FitsIsNotKnownAndItLeads", "T4", V{mode("fp32", 100).memory_unknown(), mode("fp16", 140)}, undecided, "fp32", "fp16", "whether fp32 fits is not known, and no other mode gains 5 %", "", "a plan of fp32", ""},
      {"TheOneThatFitsGoesBeforeOneOfWhichItIsNotKnown", "A100 SXM 80GB", V{mode("fp32", 100), mode("fp16", 30), mode("bf16", 30).memory_unknown()}, recommended, "fp16", "bf16", "3.33 x", "", "", ""},
      {"ARunThereShowsThatItFits", "T4", V{mode("fp32", 100).measured(100).memory_unknown(), mode("fp16", 30).measured(30).memory_unknown()}, recommended, "fp16", "fp32", "3.33 x", "", "", ""},
      {"Fp32DoesNotFit", "T4", V{mode("fp32", 100).memory(18, Fits::no, 40), mode("fp16", 98).memory(12, Fits::yes)}, recommended, "fp16", "", "fp32 is refused (does not fit", "fp32: it needs 17.8 GB at least", "a batch of 40 or less: fp32 fits", ""},
      {"NothingFits", "T4", V{mode("fp32", 100).memory(30, Fits::no, 0), mode("fp16", 30).memory(20, Fits::no, 40)}, none, "", "", "no mode fits", "fp16: does not fit", "a batch of 40 or less: fp16 fits", ""},
      {"TheFasterMayNotFit", "T4", V{mode("fp32", 100), mode("fp16", 30).memory(15.8, Fits::maybe, 60)}, undecided, "fp16", "fp32", "it may not fit", "", "a batch of 60 or less", ""},
      {"Fp32MayNotFit", "T4", V{mode("fp32", 100).memory(15.8, Fits::maybe, 60), mode("fp16", 99)}, recommended, "fp16", "fp32", "it fits, and fp32 may not", "", "", ""},
      {"Case49MoreMemoryAndTooMuch", "T4", V{mode("fp32", 100).memory(15.0, Fits::yes), mode("fp16", 30).memory(17.0, Fits::no)}, recommended, "fp32", "", "every other", "fp16: does not fit", "", "fp16 needs 2 GB more memory than fp32, not less: 16-bit copies of the weights (2 bytes each of 100 million parameters, 200 MB)"},
      {"Case49MoreMemoryAndFaster", "A100 SXM 40GB", V{mode("fp32", 100).memory(15.0, Fits::yes), mode("bf16", 30).memory(17.0, Fits::yes)}, recommended, "bf16", "fp32", "3.33 x", "", "", "bf16 needs 2 GB more memory than fp32"},
      {"Case50CastOfABroadcastView", "A100 SXM 40GB", V{mode("fp32", 100).memory(8, Fits::yes), mode("bf16", 60).memory(245, Fits::no).casts(0.98, "cast of base writes 5.41 GB; cast before expanding: 5.29 MB")}, recommended, "fp32", "", "every other", "bf16: does not fit", "", "bf16: casts hold 98 % of the planned peak; cast of base writes 5.41 GB; cast before expanding"},
      {"Case50ThatFits", "H100 SXM", V{mode("fp32", 100), mode("bf16", 60).memory(20, Fits::yes).casts(0.7, "")}, recommended, "bf16", "fp32", "1.67 x", "", "", "cast before what is broadcast is expanded"},
  };
  return all;
}

class Advised : public testing::TestWithParam<Situation> {};

TEST_P(Advised, AsExpected) {
  const Situation& s = GetParam();
  const DeviceAdvice advice = advise_on(gpu_of_case(s.gpu), s.modes);
  EXPECT_EQ(name(advice.outcome), name(s.outcome)) << advice.reason;
  EXPECT_EQ(advice.winner, s.winner) << advice.reason;
  EXPECT_EQ(advice.runner_up, s.runner_up);
  EXPECT_THAT(advice.reason, HasSubstr(s.reason));
  const std::string refused = s.refused;
  EXPECT_TRUE(refused.empty() || std::any_of(advice.modes.begin(), advice.modes.end(), [&](const ModeAdvice& m) { return m.evidence.mode == refused.substr(0, refused.find(':')); }))
      << "the mode of \"" << refused << "\" was not weighed";
  for (const ModeAdvice& m : advice.modes) {
    const bool expected = !refused.empty() && m.evidence.mode == refused.substr(0, refused.find(':'));
    if (expected) {
      EXPECT_THAT(m.refused, Contains(HasSubstr(refused.substr(refused.find(':') + 2))));
    }
    if (m.evidence.mode == advice.winner) {
      EXPECT_THAT(m.refused, IsEmpty());
    }
  }
  if (*s.change != '\0') {
    EXPECT_THAT(advice.would_change, Contains(HasSubstr(s.change)));
  }
  if (*s.said != '\0') {
    EXPECT_THAT(advice.said, Contains(HasSubstr(s.said)));
  }
  if (advice.outcome == undecided) {
    EXPECT_THAT(advice.would_change, Not(IsEmpty())) << "undecided says what would decide it";
  }
  EXPECT_EQ(advice.settings.pytorch.empty(), advice.winner.empty() || advice.winner == "fp8");
}

INSTANTIATE_TEST_SUITE_P(Situations, Advised, testing::ValuesIn(situations()), [](const testing::TestParamInfo<Situation>& of) { return std::string(of.param.name); });

TEST(Advice, ThirtySituationsAtLeast) { EXPECT_GE(situations().size(), 30u); }

/// Modes whose every number but the one that forbids them speaks for them.
TEST(Advice, TheHardRulesHoldOnEveryGpuWhateverTheNumbersSay) {
  for (const Gpu& gpu : built_in_gpus())
    for (const std::string& name : known_modes()) {
      if (name == "fp32") continue;
      SCOPED_TRACE(gpu.name + ", " + name);
      const std::vector<ModeEvidence> best{mode("fp32", 100).measured(100).one_seed(), mode(name, 1).measured(1)};
      const DeviceAdvice advice = advise_on(gpu, best);
      const Support there = how_it_runs(gpu, name).support, tf32 = how_it_runs(gpu, "tf32").support;
      const bool shown_on_p100 = gpu.capability == 60 && name.starts_with("fp16");
      const bool allowed = (there == Support::native || shown_on_p100) && (!name.ends_with("+tf32") || tf32 == Support::native);
      EXPECT_EQ(advice.winner == name, allowed) << advice.reason;
      if (name.starts_with("bf16") && gpu.capability < 80) {
        EXPECT_EQ(advice.winner, "fp32");
      }
      // The same, but gradients are flushed and nothing scales the loss.
      const DeviceAdvice bare = advise_on(gpu, {mode("fp32", 100).measured(100), mode(name, 1).measured(1).bare().flushed()});
      if (name.starts_with("fp16")) {
        EXPECT_EQ(bare.winner, "fp32");
      }
      // A checkpoint in 16 bits is spoken of whoever wins.
      const DeviceAdvice narrow = advise_on(gpu, {mode("fp32", 100), mode(name, 1).came_in_16_bits()});
      EXPECT_THAT(narrow.said, Contains(AllOf(HasSubstr("fp32 master is missing"), HasSubstr("t5.safetensors"))));
    }
}

TEST(Advice, MarginAndCosts) {
  const DeviceAdvice advice = advise_on(gpu_of_case("A100 SXM 80GB"), {mode("fp32", 100), mode("fp16", 33), mode("bf16", 30)});
  EXPECT_EQ(advice.runner_up, "fp16");
  EXPECT_DOUBLE_EQ(*advice.margin.value, 1.1);
  EXPECT_EQ(advice.margin.provenance, Provenance::projected);
  EXPECT_THAT(advice.costs, Contains("memory: 2 GB less than fp32 (a plan of 5.5 GB against 7.5 GB, 27 % less; not half: weights, gradients and optimizer state stay fp32)"));
  EXPECT_THAT(advice.settings.hugging_face, HasSubstr("bf16=True"));
  Made scaled = mode("fp16", 30);
  scaled.e.steps = {.value = 600, .provenance = Provenance::counted};
  scaled.e.skipped = {.value = 3, .provenance = Provenance::counted};
  EXPECT_THAT(advise_on(gpu_of_case("T4"), {mode("fp32", 100), scaled}).costs, Contains("a loss scaler: 3 of 600 steps were skipped [counted]"));
  // What is measured of both is the margin; a measured and a projected one have none in common.
  const DeviceAdvice measured = advise_on(gpu_of_case("T4"), {mode("fp32", 100).measured(80), mode("fp16", 30).measured(20)});
  EXPECT_DOUBLE_EQ(*measured.margin.value, 4.0);
  EXPECT_EQ(measured.margin.provenance, Provenance::measured);
  Made only_measured = mode("fp16", 30).measured(20);
  only_measured.e.projected = {};
  EXPECT_FALSE(advise_on(gpu_of_case("T4"), {mode("fp32", 100), only_measured}).margin.value);
}

TEST(Advice, TheContextIsNoPartOfWhatAModeSaves) {
  // 512 MB with the context, 12 MB and 7 MB without.
  const auto small = [](const char* name, double ms, std::int64_t plan) {
    Made made = mode(name, ms).memory(0.5 + 1e-9 * static_cast<double>(plan), Fits::yes);
    made.e.plan_bytes = plan;
    return made;
  };
  EXPECT_THAT(advise_on(gpu_of_case("A100 SXM 80GB"), {small("fp32", 100, 12'000'000), small("bf16", 30, 6'500'000)}).costs, Contains("memory: 5.5 MB less than fp32 (a plan of 6.5 MB against 12 MB, 46 % less)"));
}

TEST(Advice, NoMarginOfTimesThatTheyAreNotRankedBy) {
  const Gpu a100 = gpu_of_case("A100 SXM 80GB");
  // Only fp32 was measured: all are ranked by what is projected.
  const DeviceAdvice projected = advise_on(a100, {mode("fp32", 100).measured(100), mode("fp16", 29), mode("bf16", 35)});
  EXPECT_DOUBLE_EQ(*projected.margin.value, 35.0 / 29.0);
  EXPECT_EQ(projected.margin.provenance, Provenance::projected);
  const DeviceAdvice measured = advise_on(a100, {mode("fp32", 100).measured(100), mode("fp16", 40).measured(50), mode("bf16", 20).measured(59)});
  EXPECT_DOUBLE_EQ(*measured.margin.value, 59.0 / 50.0);
  EXPECT_NEAR(*measured.margin.low, 59.0 * 0.99 / (50.0 * 1.01), 1e-12);
  EXPECT_FALSE(advise_on(a100, {mode("fp32", 100), mode("fp16", 30).measured_alone(59), mode("bf16", 35)}).margin.value);
}

TEST(Advice, WithoutAGpuTheNumericsAreSaid) {
  const DeviceAdvice advice = advise_numerics({mode("fp32", 100), mode("fp16", 1).overflow().one_seed(), mode("bf16", 1), mode("tf32", 1).one_seed()});
  EXPECT_EQ(advice.outcome, undecided);
  EXPECT_EQ(advice.winner, "") << "no mode is chosen without a device";
  EXPECT_THAT(advice.reason, AllOf(HasSubstr("other machines' times say nothing of one"), HasSubstr("by their numerics fp32, bf16 can be used"), HasSubstr("open: tf32")));
  EXPECT_THAT(advice.modes[1].refused, Contains(HasSubstr("overflow found")));
  EXPECT_THAT(advice.would_change, AllOf(Contains(HasSubstr("--gpu")), Contains(HasSubstr("3 seeds of each mode"))));
  EXPECT_THAT(advice.modes[2].in_favour, Each(Not(HasSubstr("speed")))) << "times of no device";
  EXPECT_EQ(advise_numerics({mode("fp32", 1).diverged()}).outcome, none);
}

}  // namespace
}  // namespace ulpscope::reports
