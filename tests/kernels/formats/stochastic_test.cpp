#include "kernels/formats/stochastic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/math/random.h"

namespace ulpscope {
namespace {

const float infinite = std::numeric_limits<float>::infinity();

// Counting over all random words that matter gives the probability exactly.
TEST(Stochastic, Fp16NormalIsUnbiased) {
  for (const std::uint32_t base : {0x3f800000u, 0x38800000u, 0x477fc000u, 0xc2f6e000u})
    for (const std::uint32_t rest : {0u, 1u, 100u, 4096u, 8191u}) {
      const float x = float_from_bits(base | rest);
      const std::uint16_t below = fp16_from_float(float_from_bits(base));
      std::uint32_t up = 0;
      for (std::uint32_t random = 0; random < 8192; ++random) {
        const std::uint16_t y = fp16_stochastic(x, random | 0xabcde000u);
        ASSERT_TRUE(y == below || y == below + 1);
        up += y == below + 1 ? 1u : 0u;
      }
      EXPECT_EQ(up, rest) << std::hexfloat << x;
    }
}

TEST(Stochastic, Fp16SubnormalIsUnbiased) {
  for (const float units : {0.25f, 0.5f, 1.75f, 3.0f, 511.03125f, 1022.5f, 1023.75f}) {
    const float x = units * 0x1p-24f;
    const auto below = static_cast<std::uint16_t>(units);
    std::uint32_t up = 0;
    for (std::uint32_t random = 0; random < 65536; ++random) {
      const std::uint16_t y = fp16_stochastic(x, random << 16);
      ASSERT_TRUE(y == below || y == below + 1);
      up += y == below + 1 ? 1u : 0u;
    }
    EXPECT_EQ(static_cast<float>(up) / 65536.0f, units - std::floor(units)) << units;
  }
}

TEST(Stochastic, Bf16IsUnbiasedSubnormalsToo) {
  for (const std::uint32_t base : {0x3f800000u, 0x00010000u, 0x00000000u, 0x7f7f0000u, 0xc0490000u})
    for (const std::uint32_t rest : {0u, 1u, 32768u, 65535u}) {
      const float x = float_from_bits(base | rest);
      const auto below = static_cast<std::uint16_t>(base >> 16);
      std::uint32_t up = 0;
      for (std::uint32_t random = 0; random < 65536; ++random) {
        const std::uint16_t y = bf16_stochastic(x, random | 0x12340000u);
        ASSERT_TRUE(y == below || y == below + 1);
        up += y == below + 1 ? 1u : 0u;
      }
      EXPECT_EQ(up, rest) << std::hexfloat << x;
    }
}

TEST(Stochastic, Tf32IsUnbiased) {
  for (const std::uint32_t rest : {0u, 3u, 4096u, 8191u}) {
    const float x = float_from_bits(0x3f812000u | rest);
    std::uint32_t up = 0;
    for (std::uint32_t random = 0; random < 8192; ++random) {
      const std::uint32_t y = float_bits(tf32_stochastic(x, random));
      ASSERT_TRUE(y == 0x3f812000u || y == 0x3f814000u);
      up += y == 0x3f814000u ? 1u : 0u;
    }
    EXPECT_EQ(up, rest);
  }
}

TEST(Stochastic, ValuesOfTheFormatAreNeverChanged) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern)
    for (const std::uint32_t random : {0u, 0x5a5a5a5au, 0xffffffffu}) {
      const auto half = static_cast<std::uint16_t>(pattern);
      if ((pattern & 0x7fffu) <= 0x7c00u) {
        ASSERT_EQ(fp16_stochastic(fp16_to_float(half), random), half);
      }
      if ((pattern & 0x7fffu) <= 0x7f80u) {
        ASSERT_EQ(bf16_stochastic(bf16_to_float(half), random), half);
      }
    }
}

TEST(Stochastic, UpperEnd) {
  std::uint32_t overflows = 0;
  for (std::uint32_t random = 0; random < 8192; ++random)
    overflows += fp16_stochastic(65520.0f, random) == 0x7c00 ? 1u : 0u;
  EXPECT_EQ(overflows, 4096u);
  EXPECT_EQ(fp16_stochastic(65536.0f, 0), 0x7c00);
  EXPECT_EQ(fp16_stochastic(-1e30f, 0), 0xfc00);
  EXPECT_EQ(fp16_stochastic(infinite, 0xffffffffu), 0x7c00);
  EXPECT_EQ(bf16_stochastic(-infinite, 0xffffffffu), 0xff80);
  EXPECT_EQ(tf32_stochastic(infinite, 0xffffffffu), infinite);
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffffffffu})
    for (const std::uint32_t random : {0u, 0xffffffffu}) {
      EXPECT_GT(fp16_stochastic(float_from_bits(bits), random) & 0x7fff, 0x7c00);
      EXPECT_GT(bf16_stochastic(float_from_bits(bits), random) & 0x7fff, 0x7f80);
      EXPECT_TRUE(std::isnan(tf32_stochastic(float_from_bits(bits), random)));
    }
}

// A thousand times 0.001 added to 1 in bf16: nearest rounding stays at 1; here the mean of 64 runs is 2 within five of
// its standard deviations. One addition has the variance p (1 - p) u^2 with u = 2^-7, p <= 0.128: 0.0833 a run, 0.0104
// the mean.
TEST(Stochastic, SmallUpdatesAddUpOnAverage) {
  double sum = 0.0;
  for (std::uint64_t run = 0; run < 64; ++run) {
    const std::uint64_t key = math::random_key(7, run);
    float weight = 1.0f;
    for (std::uint64_t i = 0; i < 1000; ++i)
      weight = bf16_to_float(bf16_stochastic(weight + 0.001f, math::random_word(key, i, 0, 0)));
    sum += static_cast<double>(weight);
  }
  EXPECT_NEAR(sum / 64, 2.0, 0.052);
}

}  // namespace
}  // namespace ulpscope
