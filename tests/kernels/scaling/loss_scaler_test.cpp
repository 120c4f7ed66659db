#include "kernels/scaling/loss_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.h"
#include "kernels/formats/fp16.h"

namespace ulpscope::scaling {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PytorchScaler every_step{65536.0f, 2.0, 0.5, 1};

TEST(LossScaler, DefaultsArePytorchs) {
  const Policy policy = PytorchScaler{};
  const ScalerState start = initial_state(policy);
  EXPECT_EQ(start, (ScalerState{65536.0f, 0}));
  ScalerState state = start;
  for (int i = 1; i < 2000; ++i) {
    const Transition t = next(policy, state, false);
    ASSERT_EQ(t.state, (ScalerState{65536.0f, i}));
    ASSERT_EQ(t.event, ScaleEvent::unchanged);
    state = t.state;
  }
  const Transition grown = next(policy, state, false);
  EXPECT_EQ(grown.state, (ScalerState{131072.0f, 0}));
  EXPECT_EQ(grown.event, ScaleEvent::grown);
}

TEST(LossScaler, OverflowBacksOffAndRestartsTheCount) {
  const Policy policy = PytorchScaler{1024.0f, 4.0, 0.25, 3};
  Transition t = next(policy, {1024.0f, 2}, true);
  EXPECT_EQ(t.state, (ScalerState{256.0f, 0}));
  EXPECT_EQ(t.event, ScaleEvent::backed_off);
  t = next(policy, {1024.0f, 2}, false);
  EXPECT_EQ(t.state, (ScalerState{4096.0f, 0}));
  EXPECT_EQ(t.event, ScaleEvent::grown);
}

TEST(LossScaler, FixedAndNoneNeverMove) {
  for (const Policy& policy : {Policy{NoScaling{}}, Policy{FixedScaling{128.0f}}}) {
    const ScalerState start = initial_state(policy);
    for (const bool overflow : {false, true}) {
      const Transition t = next(policy, start, overflow);
      EXPECT_EQ(t.state, start);
      EXPECT_EQ(t.event, ScaleEvent::unchanged);
    }
    EXPECT_FALSE(is_dynamic(policy));
  }
  EXPECT_EQ(initial_state(NoScaling{}).scale, 1.0f);
  EXPECT_EQ(initial_state(FixedScaling{128.0f}).scale, 128.0f);
  EXPECT_TRUE(is_dynamic(PytorchScaler{}));
}

// '1' is a step with an overflow; the result is log2 of the scale after each step.
std::vector<int> trace(const Policy& policy, std::string_view pattern) {
  ScalerState state = initial_state(policy);
  std::vector<int> exponents;
  for (const char step : pattern) {
    state = next(policy, state, step == '1').state;
    exponents.push_back(std::ilogb(state.scale));
  }
  return exponents;
}

/// Start 2^16, window 4.
template <class P>
P in_fours(P policy = {}) {
  policy.initial_scale = 65536.0f;
  policy.growth_interval = 4;
  return policy;
}

// Checked against the update code of the frameworks (NUMERICS 3.2).
TEST(LossScaler, WorkedTraces) {
  constexpr std::string_view first = "1001001001000000", second = "1110000100001000000001";
  const std::vector<int> halving = {15, 15, 15, 14, 14, 14, 13, 13, 13, 12, 12, 12, 12, 13, 13, 13};
  const std::vector<int> hysteresis = {16, 16, 16, 15, 15, 15, 14, 14, 14, 13, 13, 13, 13, 14, 14, 14};
  EXPECT_EQ(trace(in_fours<PytorchScaler>(), first), halving);
  EXPECT_EQ(trace(in_fours<TensorflowScaler>(), first), halving);
  EXPECT_EQ(trace(in_fours<KerasScaler>(), first), halving);
  EXPECT_EQ(trace(in_fours<FairseqScaler>(), first), halving);
  EXPECT_EQ(trace(in_fours<MegatronScaler>(), first), hysteresis);
  EXPECT_EQ(trace(in_fours<DeepspeedScaler>(), first), hysteresis);
  EXPECT_THAT(trace(in_fours(DeepspeedScaler{.consecutive_hysteresis = true}), first),
              ElementsAre(16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17));
  EXPECT_THAT(trace(in_fours(FairseqScaler{.tolerance = 0.5}), first),
              ElementsAre(15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 16, 16, 16));

  const std::vector<int> falling = {15, 14, 13, 13, 13, 13, 14, 13, 13, 13, 13, 14, 13, 13, 13, 13, 14, 14, 14, 14, 15, 14};
  const std::vector<int> climbing = {16, 15, 14, 14, 14, 14, 15, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17, 17, 17, 18, 18};
  EXPECT_EQ(trace(in_fours<PytorchScaler>(), second), falling);
  EXPECT_EQ(trace(in_fours<TensorflowScaler>(), second), falling);
  EXPECT_EQ(trace(in_fours<FairseqScaler>(), second), falling);
  EXPECT_EQ(trace(in_fours<MegatronScaler>(), second), climbing);
  EXPECT_EQ(trace(in_fours<DeepspeedScaler>(), second), climbing);
  EXPECT_EQ(trace(in_fours(DeepspeedScaler{.consecutive_hysteresis = true}), second), climbing);
}

TEST(LossScaler, DefaultsAreTheFrameworks) {
  EXPECT_EQ(initial_state(ApexScaler{}).scale, 0x1p16f);
  EXPECT_EQ(initial_state(DeepspeedScaler{}).scale, 0x1p16f);
  EXPECT_EQ(initial_state(MegatronScaler{}).scale, 0x1p32f);
  EXPECT_EQ(initial_state(FairseqScaler{}).scale, 0x1p7f);
  EXPECT_EQ(initial_state(TensorflowScaler{}).scale, 0x1p15f);
  EXPECT_EQ(initial_state(KerasScaler{}).scale, 0x1p15f);
}

/// Doublings of a scale that never overflows, in a number of steps.
int growths(const Policy& policy, int steps, float& scale) {
  ScalerState state = initial_state(policy);
  int grown = 0;
  for (int i = 0; i < steps; ++i) {
    const Transition t = next(policy, state, false);
    grown += t.event == ScaleEvent::grown ? 1 : 0;
    state = t.state;
  }
  scale = state.scale;
  return grown;
}

// case-29: what each policy makes of gradients that never overflow, from 2^16 with an interval of 1.
TEST(LossScaler, GrowthWithoutEnd) {
  float scale = 0.0f;
  EXPECT_EQ(growths(KerasScaler{0x1p16f, 1}, 112, scale), 112);
  EXPECT_TRUE(std::isinf(scale));   // unguarded
  EXPECT_EQ(growths(KerasScaler{0x1p16f, 1}, 111, scale), 111);
  EXPECT_EQ(scale, 0x1p127f);
  growths(KerasScaler{0x1p16f, 2000}, 223999, scale);
  EXPECT_FALSE(std::isinf(scale));
  growths(KerasScaler{0x1p16f, 2000}, 224000, scale);
  EXPECT_TRUE(std::isinf(scale));
  EXPECT_EQ(growths(PytorchScaler{0x1p16f, 2.0, 0.5, 1}, 150, scale), 111);
  EXPECT_EQ(scale, 0x1p127f);
  EXPECT_EQ(growths(ApexScaler{.growth_interval = 1}, 150, scale), 8);
  EXPECT_EQ(scale, 0x1p24f);
  growths(TensorflowScaler{0x1p16f, 2.0, 1}, 150, scale);
  EXPECT_EQ(scale, 0x1p127f);
}

/// Overflows in a row until the scale no longer falls.
ScaleEvent fall(const Policy& policy, float& scale) {
  ScalerState state = initial_state(policy);
  for (int i = 0; i < 3000; ++i) {
    const Transition t = next(policy, state, true);
    if (t.event == ScaleEvent::gave_up) {
      scale = t.state.scale;
      return t.event;
    }
    state = t.state;
  }
  scale = state.scale;
  return ScaleEvent::backed_off;
}

TEST(LossScaler, Floors) {
  float scale = 0.0f;
  EXPECT_EQ(fall(DeepspeedScaler{}, scale), ScaleEvent::gave_up);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(fall(DeepspeedScaler{.stop_at_floor = false}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(fall(MegatronScaler{}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(fall(TensorflowScaler{}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(fall(FairseqScaler{}, scale), ScaleEvent::gave_up);
  EXPECT_EQ(scale, 0x1p-13f);   // the next, 6.1e-5, would lie below 1e-4
  EXPECT_EQ(fall(ApexScaler{}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 0.0f);
  EXPECT_EQ(fall(ApexScaler{.least_scale = 8.0f}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 8.0f);
  EXPECT_EQ(fall(KerasScaler{}, scale), ScaleEvent::backed_off);
  EXPECT_EQ(scale, 0.0f);
}

TEST(LossScaler, EveryPolicyIsFoundByItsName) {
  const std::vector<std::string> names = policy_names();
  EXPECT_EQ(names.size(), 9u);
  for (const std::string& each : names) {
    EXPECT_EQ(name(find_policy(each, "x")), each);
    check(find_policy(each, "x"), "x");
  }
  try {
    find_policy("megatronn", "train.scaler.policy");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.scaler.policy: unknown policy 'megatronn'; did you mean megatron?"));
  }
}

TEST(LossScaler, ScaleNeverBecomesInfinite) {
  ScalerState state = initial_state(every_step);
  int grown = 0;
  int not_taken = 0;
  for (int step = 0; step < 150; ++step) {
    const Transition t = next(every_step, state, false);
    grown += t.event == ScaleEvent::grown ? 1 : 0;
    not_taken += t.event == ScaleEvent::growth_not_taken ? 1 : 0;
    EXPECT_EQ(t.state.growth_tracker, 0);
    state = t.state;
  }
  EXPECT_EQ(state.scale, 0x1p127f);
  EXPECT_EQ(grown, 111);
  EXPECT_EQ(not_taken, 39);
  EXPECT_EQ(next(every_step, state, true).state.scale, 0x1p126f);  // and can still come down

  const Policy tenfold = PytorchScaler{65536.0f, 10.0, 0.5, 1};
  state = initial_state(tenfold);
  grown = 0;
  while (next(tenfold, state, false).event == ScaleEvent::grown) {
    state = next(tenfold, state, false).state;
    ++grown;
  }
  EXPECT_EQ(grown, 33);  // the 34th would be infinite
  EXPECT_TRUE(std::isfinite(state.scale));
}

TEST(LossScaler, HalvingsToZero) {
  ScalerState state = initial_state(every_step);
  int halvings = 0;
  while (state.scale != 0.0f) {
    const Transition t = next(every_step, state, true);
    ASSERT_EQ(t.event, ScaleEvent::backed_off);
    state = t.state;
    ++halvings;
  }
  EXPECT_EQ(halvings, 166);
  EXPECT_EQ(next(every_step, state, true).state.scale, 0.0f);
}

// A gradient of constant size: how many steps are skipped until the scale fits fp16, and where it settles.
TEST(LossScaler, SearchForTheScale) {
  struct Row {
    int start, skips, settled;
    float gradient;
  };
  for (const Row& row : {Row{32, 17, 15, 1.0f}, Row{32, 10, 22, 0.01f}, Row{32, 23, 9, 100.0f}, Row{32, 7, 25, 1e-3f},
                         Row{16, 1, 15, 1.0f}, Row{16, 7, 9, 100.0f}, Row{16, 0, 16, 0.01f}, Row{16, 0, 16, 1e-3f}}) {
    PytorchScaler scaler;
    scaler.initial_scale = std::ldexp(1.0f, row.start);
    ScalerState state = initial_state(scaler);
    int skips = 0;
    for (int step = 0; step < 100; ++step) {
      const bool overflow = std::isinf(fp16_to_float(fp16_from_float(row.gradient * state.scale)));
      skips += overflow ? 1 : 0;
      state = next(scaler, state, overflow).state;
    }
    EXPECT_EQ(skips, row.skips) << row.gradient;
    EXPECT_EQ(std::ilogb(state.scale), row.settled) << row.gradient;
  }
}

TEST(LossScaler, ProductsAreRoundedOnce) {
  // 1.1 is no float: the product with the nearest double, rounded to float, is what PyTorch stores.
  const Policy policy = PytorchScaler{3.0f, 1.1, 0.9, 1};
  EXPECT_EQ(next(policy, {3.0f, 0}, false).state.scale, static_cast<float>(3.0 * 1.1));
  EXPECT_EQ(next(policy, {16777215.0f, 0}, true).state.scale, static_cast<float>(16777215.0 * 0.9));
  EXPECT_NE(static_cast<float>(16777215.0 * 0.9), 16777215.0f * 0.9f);
}

TEST(LossScaler, Inverse) {
  EXPECT_EQ(inverse(65536.0f), 0x1p-16f);
  EXPECT_EQ(inverse(3.0f), static_cast<float>(1.0 / 3.0));
  EXPECT_EQ(inverse(0x1p127f), 0x1p-127f);
  EXPECT_EQ(inverse(0x1p-127f), 0x1p127f);      // a gradient of 1.0 unscaled: 1.70e38, still finite
  EXPECT_TRUE(std::isinf(inverse(0x1p-130f)));  // 2^130
  EXPECT_TRUE(std::isinf(inverse(0.0f)));
}

TEST(LossScaler, NamesAndChecks) {
  EXPECT_STREQ(name(Policy{NoScaling{}}), "none");
  EXPECT_STREQ(name(Policy{FixedScaling{}}), "fixed");
  EXPECT_STREQ(name(Policy{PytorchScaler{}}), "pytorch");
  EXPECT_STREQ(name(ScaleEvent::unchanged), "unchanged");
  EXPECT_STREQ(name(ScaleEvent::grown), "grown");
  EXPECT_STREQ(name(ScaleEvent::backed_off), "backed_off");
  EXPECT_STREQ(name(ScaleEvent::growth_not_taken), "growth_not_taken");
  EXPECT_STREQ(name(ScaleEvent::absorbed), "absorbed");
  EXPECT_STREQ(name(ScaleEvent::gave_up), "gave_up");
  check(PytorchScaler{}, "x");
  check(FixedScaling{}, "x");
  check(NoScaling{}, "x");
  const auto message = [](const Policy& policy) -> std::string {
    try {
      check(policy, "modes.fp16.loss_scale");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message(PytorchScaler{0.0f, 2.0, 0.5, 2000}), HasSubstr("modes.fp16.loss_scale: init is 0"));
  EXPECT_THAT(message(PytorchScaler{infinite, 2.0, 0.5, 2000}), HasSubstr("finite and above 0"));
  EXPECT_THAT(message(PytorchScaler{1.0f, 1.0, 0.5, 2000}), HasSubstr("growth is 1"));
  EXPECT_THAT(message(PytorchScaler{1.0f, 2.0, 1.0, 2000}), HasSubstr("backoff is 1"));
  EXPECT_THAT(message(PytorchScaler{1.0f, 2.0, 0.5, 0}), HasSubstr("interval is 0"));
  EXPECT_THAT(message(ApexScaler{.greatest_scale = 1024.0f}), HasSubstr("cap is 1024"));
  EXPECT_THAT(message(FairseqScaler{.tolerance = 2.0}), HasSubstr("tolerance is 2"));
  EXPECT_THAT(message(MegatronScaler{.hysteresis = 0}), HasSubstr("hysteresis is 0"));
  EXPECT_THAT(message(FixedScaling{-1.0f}), HasSubstr("fixed is -1"));
}

}  // namespace
}  // namespace ulpscope::scaling
