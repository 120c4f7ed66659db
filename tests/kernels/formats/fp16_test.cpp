#include "kernels/formats/fp16.h"

#include <gtest/gtest.h>

#include "tests/kernels/formats/reference.h"

namespace ulpscope {
namespace {

const FormatInfo& fp16 = info(Format::fp16);

TEST(Fp16, PublishedVectors) {  // CUDA's __float2half_rn
  EXPECT_EQ(fp16_from_float(65519.99f), 0x7bff);
  EXPECT_EQ(fp16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(fp16_from_float(0x1p-25f), 0x0000);
  EXPECT_EQ(fp16_from_float(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(fp16_from_float(1.5f * 0x1p-24f), 0x0002);
  EXPECT_EQ(fp16_from_float(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(fp16_from_float(1.0f + 3.0f * 0x1p-11f), 0x3c02);
  EXPECT_EQ(fp16_from_float(-0.0f), 0x8000);
  EXPECT_EQ(fp16_from_float(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(fp16_from_float(-std::numeric_limits<float>::max()), 0xfc00);
}

TEST(Fp16, EveryPatternThereAndBack) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float value = fp16_to_float(static_cast<std::uint16_t>(pattern));
    ASSERT_TRUE(reference::same(static_cast<double>(value), reference::decode(fp16, pattern))) << std::hex << pattern;
    const std::uint16_t back = fp16_from_float(value);
    const bool nan = (pattern & 0x7fffu) > 0x7c00u;
    ASSERT_EQ(back, nan ? pattern | 0x0200u : pattern) << std::hex << pattern;
  }
}

TEST(Fp16, RoundsEveryBoundaryToNearestEven) {
  for (const float x : reference::boundaries(fp16, 0x7bff)) {
    const double stored = static_cast<double>(fp16_to_float(fp16_from_float(x)));
    ASSERT_TRUE(reference::same(stored, reference::round_to(fp16, static_cast<double>(x)))) << std::hexfloat << x;
  }
}

TEST(Fp16, RoundsPatternsFromAllOverFp32) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 8191) {
    const float x = float_from_bits(static_cast<std::uint32_t>(bits));
    const double stored = static_cast<double>(fp16_to_float(fp16_from_float(x)));
    ASSERT_TRUE(reference::same(stored, reference::round_to(fp16, static_cast<double>(x)))) << std::hexfloat << x;
  }
}

TEST(Fp16, NanIsQuietAndKeepsItsUpperPayload) {
  EXPECT_EQ(fp16_from_float(float_from_bits(0x7fc00000u)), 0x7e00);
  EXPECT_EQ(fp16_from_float(float_from_bits(0xffffffffu)), 0xffff);
  EXPECT_EQ(fp16_from_float(float_from_bits(0x7f800001u)), 0x7e00);  // signalling, payload below what fp16 keeps
  EXPECT_EQ(fp16_from_float(float_from_bits(0x7fa02000u)), 0x7f01);
  EXPECT_EQ(float_bits(fp16_to_float(0x7d01)), 0x7fe02000u);
}

TEST(Fp16, FromDoubleRoundsOnce) {
  // By way of the nearest float both would be ties and go to even.
  EXPECT_EQ(fp16_from_double(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(fp16_from_double(1.0 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(fp16_from_double(0x1p-25 + 0x1p-60), 0x0001);
  EXPECT_EQ(fp16_from_double(65520.0 - 0x1p-30), 0x7bff);
  EXPECT_EQ(fp16_from_double(-1e300), 0xfc00);
  EXPECT_EQ(fp16_from_double(-1e-300), 0x8000);
  EXPECT_GT(fp16_from_double(std::numeric_limits<double>::quiet_NaN()) & 0x7fff, 0x7c00);
  for (const float x : reference::boundaries(fp16, 0x7bff))
    for (const double y : {static_cast<double>(x), std::nextafter(static_cast<double>(x), 1e300),
                           std::nextafter(static_cast<double>(x), -1e300)}) {
      ASSERT_TRUE(reference::same(fp16_to_double(fp16_from_double(y)), reference::round_to(fp16, y)))
          << std::hexfloat << y;
    }
}

}  // namespace
}  // namespace ulpscope
