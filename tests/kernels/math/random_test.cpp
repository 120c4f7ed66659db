#include "kernels/math/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ulpscope::math {
namespace {

void expect_words(const Philox4x32& got, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  EXPECT_EQ(got.word[0], a);
  EXPECT_EQ(got.word[1], b);
  EXPECT_EQ(got.word[2], c);
  EXPECT_EQ(got.word[3], d);
}

TEST(Random, PhiloxKnownAnswers) {  // Random123, kat_vectors, philox4x32 10
  expect_words(philox4x32_10({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u);
  const std::uint32_t ones = 0xffffffffu;
  expect_words(philox4x32_10({{ones, ones, ones, ones}}, ones, ones), 0x408f276du, 0x41c83b0eu, 0xa20bc7c6u,
               0x6d5451fdu);
  expect_words(philox4x32_10({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u),
               0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u);
}

TEST(Random, SplitMixAndFnvKnownAnswers) {
  EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(splitmix64(1234567), 6457827717110365317u);
  EXPECT_EQ(splitmix64(1234567 + 0x9e3779b97f4a7c15u), 3203168211198807973u);
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

TEST(Random, KeyAndCounterAreWhatTheHeaderSays) {
  const std::uint64_t key = random_key(11, hash_name("block0.dropout"));
  EXPECT_EQ(key, splitmix64(11 ^ splitmix64(hash_name("block0.dropout"))));
  const std::uint64_t block = 0x123456789abcdefu;
  const Philox4x32 expected = philox4x32_10({{0x89abcdefu, 0x01234567u, 0x00000007u, 3u}},
                                            static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
  // Of the iteration the lower 32 bits count.
  const Philox4x32 got = random_block(key, block, 0x500000007, 3);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(got.word[i], expected.word[i]);
    EXPECT_EQ(random_word(key, 4 * block + i, 0x500000007, 3), expected.word[i]);
  }
}

TEST(Random, EverythingThatShouldChangeTheNumberDoes) {
  std::set<std::uint32_t> words;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (std::uint64_t stream = 0; stream < 3; ++stream)
      for (std::uint64_t index = 0; index < 9; ++index)
        for (std::int64_t iteration = 0; iteration < 3; ++iteration)
          for (std::int32_t micro = 0; micro < 3; ++micro)
            words.insert(random_word(random_key(seed, stream), index, iteration, micro));
  EXPECT_EQ(words.size(), 3u * 3 * 9 * 3 * 3);
}

TEST(Random, UniformIsInRangeAndUniform) {
  EXPECT_EQ(uniform_from_word(0), 0.0f);
  EXPECT_EQ(uniform_from_word(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform_from_word(0x80000000u), 0.5f);
  const std::uint64_t key = random_key(1, 2);
  const int n = 100000;
  double sum = 0.0;
  int tenth[10] = {};
  for (int i = 0; i < n; ++i) {
    const float u = random_uniform(key, static_cast<std::uint64_t>(i), 0, 0);
    ASSERT_TRUE(u >= 0.0f && u < 1.0f);
    sum += static_cast<double>(u);
    ++tenth[static_cast<int>(u * 10.0f)];
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  for (const int count : tenth) EXPECT_NEAR(count, n / 10, 5 * std::sqrt(n * 0.1 * 0.9));
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  const std::uint64_t key = random_key(3, hash_name("weights"));
  const int n = 100000;
  double sum[5] = {};
  double product = 0.0;
  for (int i = 0; i < n; ++i) {
    const double x = static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i), 0, 0));
    for (int power_of_x = 1; power_of_x <= 4; ++power_of_x) sum[power_of_x] += std::pow(x, power_of_x);
    if (i % 2 == 0) product += x * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i + 1), 0, 0));
  }
  // Five standard deviations of the estimates: var(x) = 1, var(x^2) = 2, var(x^3) = 15, var(x^4) = 96.
  EXPECT_NEAR(sum[1] / n, 0.0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(sum[2] / n, 1.0, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(sum[3] / n, 0.0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(sum[4] / n, 3.0, 5 * std::sqrt(96.0 / n));
  EXPECT_NEAR(product / (n / 2), 0.0, 5 * std::sqrt(2.0 / n));  // the two of a pair are uncorrelated
}

TEST(Random, NormalFollowsBoxMuller) {
  const double tau = 6.28318530717958648;
  for (const std::uint32_t a : {0u, 0x00000100u, 0x80000000u, 0xffffffffu})
    for (const std::uint32_t b : {0u, 0x40000000u, 0x12345678u, 0xffffffffu}) {
      const double u = (static_cast<double>(a >> 8) + 1.0) * 0x1p-24;
      const double v = static_cast<double>(b >> 8) * 0x1p-24;
      const double radius = std::sqrt(-2.0 * std::log(u));
      const NormalPair pair = normals_from_words(a, b);
      // Three roundings and three functions of one ulp each; the angle is rounded to 2^-22 near tau.
      EXPECT_NEAR(static_cast<double>(pair.first), radius * std::cos(tau * v), radius * 0x1p-21 + 1e-30);
      EXPECT_NEAR(static_cast<double>(pair.second), radius * std::sin(tau * v), radius * 0x1p-21 + 1e-30);
    }
  EXPECT_LE(normals_from_words(0, 0).first, 5.7685f);
}

}  // namespace
}  // namespace ulpscope::math
