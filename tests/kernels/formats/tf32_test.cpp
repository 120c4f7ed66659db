#include "kernels/formats/tf32.h"

#include <gtest/gtest.h>

#include "tests/kernels/formats/reference.h"

namespace ulpscope {
namespace {

const FormatInfo& tf32 = info(Format::tf32);
constexpr Tf32Rounding away = Tf32Rounding::nearest_away;
constexpr Tf32Rounding even = Tf32Rounding::nearest_even;
constexpr Tf32Rounding zero = Tf32Rounding::toward_zero;

reference::Tie tie_of(Tf32Rounding rounding) {
  return rounding == away ? reference::Tie::away : rounding == even ? reference::Tie::even : reference::Tie::truncate;
}

TEST(Tf32, VectorsThatTellTheRoundingsApart) {
  struct Vector {
    float in, away, even, zero;
  };
  for (const Vector& v : {Vector{1.0f + 0x1p-11f, 1.0f + 0x1p-10f, 1.0f, 1.0f},
                          Vector{1.0f + 3 * 0x1p-11f, 1.0f + 0x1p-9f, 1.0f + 0x1p-9f, 1.0f + 0x1p-10f},
                          Vector{1.0f + 3 * 0x1p-12f, 1.0f + 0x1p-10f, 1.0f + 0x1p-10f, 1.0f},
                          Vector{1024.5f, 1025.0f, 1024.0f, 1024.0f}})
    for (const float sign : {1.0f, -1.0f}) {
      EXPECT_EQ(tf32_round(sign * v.in), sign * v.away);
      EXPECT_EQ(tf32_round(sign * v.in, away), sign * v.away);
      EXPECT_EQ(tf32_round(sign * v.in, even), sign * v.even);
      EXPECT_EQ(tf32_round(sign * v.in, zero), sign * v.zero);
    }
}

TEST(Tf32, RoundsPatternsFromAllOverFp32) {
  for (const Tf32Rounding rounding : {away, even, zero})
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 0x1000 - 1) {
      for (const std::uint32_t ending : {0u, 0x0fffu, 0x1000u, 0x1001u}) {
        const float x = float_from_bits((static_cast<std::uint32_t>(bits) & 0xffffe000u) | ending);
        if (std::isinf(x) && rounding == zero) continue;
        double expected = reference::round_to(tf32, static_cast<double>(x), tie_of(rounding));
        const float y = tf32_round(x, rounding);
        ASSERT_TRUE(reference::same(static_cast<double>(y), expected)) << std::hexfloat << x;
        ASSERT_EQ(float_bits(y) & 0x1fffu, 0u);
      }
    }
}

TEST(Tf32, Ends) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isinf(tf32_round(largest)));
  EXPECT_TRUE(std::isinf(tf32_round(largest, even)));
  EXPECT_EQ(static_cast<double>(tf32_round(largest, zero)), tf32.max_finite);
  const float infinite = std::numeric_limits<float>::infinity();
  for (const Tf32Rounding rounding : {away, even, zero}) {
    EXPECT_EQ(tf32_round(infinite, rounding), infinite);
    EXPECT_EQ(tf32_round(-infinite, rounding), -infinite);
    EXPECT_TRUE(std::isnan(tf32_round(float_from_bits(0x7f800001u), rounding)));
    EXPECT_TRUE(std::isnan(tf32_round(float_from_bits(0x7fffffffu), rounding)));
    EXPECT_EQ(float_bits(tf32_round(-0.0f, rounding)), 0x80000000u);
  }
  EXPECT_EQ(tf32_round(0x1p-136f), 0x1p-136f);
  EXPECT_EQ(tf32_round(0x1p-137f), 0x1p-136f);  // a tie, away
  EXPECT_EQ(tf32_round(0x1p-137f, even), 0.0f);
}

TEST(Tf32, FromDoubleRoundsOnce) {
  EXPECT_EQ(tf32_from_double(1.0 + 0x1p-11 - 0x1p-40), 1.0f);  // the nearest float is the tie
  EXPECT_EQ(tf32_from_double(1.0 + 0x1p-11 + 0x1p-40, even), 1.0f + 0x1p-10f);
  EXPECT_EQ(tf32_from_double(1.0 + 0x1p-10 - 0x1p-40, zero), 1.0f);
  EXPECT_EQ(static_cast<double>(tf32_from_double(1e300, zero)), tf32.max_finite);
  EXPECT_TRUE(std::isinf(tf32_from_double(1e300)));
}

}  // namespace
}  // namespace ulpscope
