#include "kernels/formats/bf16.h"

#include <gtest/gtest.h>

#include "tests/kernels/formats/reference.h"

namespace ulpscope {
namespace {

const FormatInfo& bf16 = info(Format::bf16);

TEST(Bf16, PublishedVectors) {  // CUDA's __float2bfloat16_rn
  EXPECT_EQ(bf16_from_float(3.3961775e38f), 0x7f80);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_from_float(-std::numeric_limits<float>::max()), 0xff80);
  EXPECT_EQ(bf16_from_float(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_from_float(1.0f + 3.0f * 0x1p-8f), 0x3f82);
  EXPECT_EQ(bf16_from_float(0x1p-133f), 0x0001);
  EXPECT_EQ(bf16_from_float(0x1p-134f), 0x0000);
  EXPECT_EQ(bf16_from_float(-0x1p-134f), 0x8000);
}

TEST(Bf16, EveryPatternThereAndBack) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(pattern));
    ASSERT_TRUE(reference::same(static_cast<double>(value), reference::decode(bf16, pattern))) << std::hex << pattern;
    const bool nan = (pattern & 0x7fffu) > 0x7f80u;
    ASSERT_EQ(bf16_from_float(value), nan ? pattern | 0x0040u : pattern) << std::hex << pattern;
  }
}

TEST(Bf16, RoundsEveryBoundaryToNearestEven) {
  for (const float x : reference::boundaries(bf16, 0x7f7f)) {
    const double stored = static_cast<double>(bf16_to_float(bf16_from_float(x)));
    ASSERT_TRUE(reference::same(stored, reference::round_to(bf16, static_cast<double>(x)))) << std::hexfloat << x;
  }
}

TEST(Bf16, RoundsPatternsFromAllOverFp32) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 8191) {
    const float x = float_from_bits(static_cast<std::uint32_t>(bits));
    const double stored = static_cast<double>(bf16_to_float(bf16_from_float(x)));
    ASSERT_TRUE(reference::same(stored, reference::round_to(bf16, static_cast<double>(x)))) << std::hexfloat << x;
  }
}

TEST(Bf16, NanStaysNan) {
  EXPECT_EQ(bf16_from_float(float_from_bits(0x7f800001u)), 0x7fc0);  // its payload would vanish: infinity
  EXPECT_EQ(bf16_from_float(float_from_bits(0x7fffffffu)), 0x7fff);  // a plain addition would carry into the sign
  EXPECT_EQ(bf16_from_float(float_from_bits(0xffffffffu)), 0xffff);
}

TEST(Bf16, FromDoubleRoundsOnce) {
  EXPECT_EQ(bf16_from_double(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(bf16_from_double(0x1p-134 + 0x1p-170), 0x0001);
  for (const float x : reference::boundaries(bf16, 0x7f7f)) {
    if (!std::isfinite(x)) continue;
    for (const double y :
         {std::nextafter(static_cast<double>(x), 1e300), std::nextafter(static_cast<double>(x), -1e300)})
      ASSERT_TRUE(reference::same(bf16_to_double(bf16_from_double(y)), reference::round_to(bf16, y)))
          << std::hexfloat << y;
  }
}

// Small updates to a large weight: nearest rounding loses each of them.
TEST(Bf16, NearestRoundingStagnates) {
  float weight = 1.0f;
  for (int i = 0; i < 1000; ++i) weight = bf16_to_float(bf16_from_float(weight + 0.001f));
  EXPECT_EQ(weight, 1.0f);
}

}  // namespace
}  // namespace ulpscope
