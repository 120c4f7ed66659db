#include "kernels/formats/storage.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/kernels/formats/reference.h"

namespace ulpscope {
namespace {

static_assert(std::is_same_v<Storage<Format::tf32>::type, float>);
static_assert(std::is_same_v<Storage<Format::bf16>::type, std::uint16_t>);
static_assert(std::is_same_v<Storage<Format::fp8_e5m2>::type, std::uint8_t>);
static_assert(std::is_same_v<Storage<Format::fp64>::type, double>);

template <Format F>
void expect_storage(float x, double wide) {
  static_assert(sizeof(typename Storage<F>::type) <= 8);
  EXPECT_EQ(static_cast<int>(sizeof(typename Storage<F>::type)), storage_bytes(F));
  const reference::Tie tie = F == Format::tf32 ? reference::Tie::away : reference::Tie::even;
  EXPECT_EQ(static_cast<double>(Storage<F>::widen(Storage<F>::round(x))),
            reference::round_to(info(F), static_cast<double>(x), tie));
  EXPECT_EQ(static_cast<double>(Storage<F>::widen(Storage<F>::round(wide))), reference::round_to(info(F), wide, tie));
}

TEST(Storage, EveryFormatRoundsAsItsTableSays) {
  for (const double wide : {1.0 + 0x1p-11 + 0x1p-40, 3.14159265358979, -0.1, 1e-3, 300.0, 0x1p-20, 1.0625 + 0x1p-50}) {
    const auto x = static_cast<float>(wide);
    expect_storage<Format::fp32>(x, wide);
    expect_storage<Format::tf32>(x, wide);
    expect_storage<Format::fp16>(x, wide);
    expect_storage<Format::bf16>(x, wide);
    expect_storage<Format::fp8_e4m3>(x, wide);
    expect_storage<Format::fp8_e5m2>(x, wide);
    expect_storage<Format::fp64>(x, wide);
  }
}

TEST(Storage, Fp8OverflowShows) {
  EXPECT_TRUE(std::isnan(Storage<Format::fp8_e4m3>::widen(Storage<Format::fp8_e4m3>::round(1000.0f))));
  EXPECT_TRUE(std::isinf(Storage<Format::fp8_e5m2>::widen(Storage<Format::fp8_e5m2>::round(1e6f))));
}

TEST(Storage, RoundToOddKeepsWhatASecondRoundingNeeds) {
  EXPECT_EQ(float_from_double_to_odd(1.0), 1.0f);
  EXPECT_EQ(float_from_double_to_odd(1.0 + 0x1p-50), 1.0f + 0x1p-23f);
  EXPECT_EQ(float_from_double_to_odd(1.0 - 0x1p-50), 1.0f - 0x1p-24f);
  EXPECT_EQ(float_from_double_to_odd(-1.0 - 0x1p-23 - 0x1p-50), -1.0f - 0x1p-23f);
  EXPECT_EQ(float_from_double_to_odd(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(float_from_double_to_odd(-1e-300), -0x1p-149f);
  EXPECT_TRUE(std::isinf(float_from_double_to_odd(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(float_from_double_to_odd(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace ulpscope
