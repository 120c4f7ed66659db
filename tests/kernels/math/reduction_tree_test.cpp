#include "kernels/math/reduction_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/bits.h"
#include "kernels/math/random.h"

namespace ulpscope::math {
namespace {

// The definition, word for word, slow: lanes as lists of the elements they add.
template <class T>
T chunk_by_definition(const std::vector<T>& x) {
  if (x.empty()) return T(0);
  std::size_t width = 1;
  while (width < std::min<std::size_t>(x.size(), 256)) width *= 2;
  std::vector<T> lane;
  std::vector<bool> filled(width, false);
  lane.resize(width);
  for (std::size_t l = 0; l < width; ++l)
    for (std::size_t i = l; i < x.size(); i += 256) {
      lane[l] = filled[l] ? lane[l] + x[i] : x[i];
      filled[l] = true;
    }
  for (std::size_t w = width / 2; w >= 1; w /= 2)
    for (std::size_t l = 0; l < w; ++l)
      if (filled[l + w]) lane[l] = lane[l] + lane[l + w];
  return lane[0];
}

template <class T>
T sum_by_definition(std::vector<T> x) {
  while (x.size() > 16384) {
    std::vector<T> sums;
    for (std::size_t begin = 0; begin < x.size(); begin += 16384)
      sums.push_back(chunk_by_definition(
          std::vector<T>(x.begin() + static_cast<std::ptrdiff_t>(begin),
                         x.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 16384, x.size())))));
    x = std::move(sums);
  }
  return chunk_by_definition(x);
}

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<T>(random_normal(42, static_cast<std::uint64_t>(i), 0, 0)) * T(1.1);
  return x;
}

const std::int64_t lengths[] = {0,
                                1,
                                2,
                                3,
                                5,
                                8,
                                31,
                                100,
                                127,
                                128,
                                129,
                                200,
                                255,
                                256,
                                257,
                                300,
                                511,
                                512,
                                1023,
                                1024,
                                1025,
                                2000,
                                4096,
                                10007,
                                16383,
                                16384,
                                16385,
                                20000,
                                32768,
                                100000,
                                16384 * 20 + 77};

template <class T>
void expect_definition() {
  for (const std::int64_t n : lengths) {
    const std::vector<T> x = numbers<T>(n);
    const auto load = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
    const T expected = sum_by_definition(x);
    ASSERT_EQ(tree_sum<T>(n, load), expected) << n;
    // As threads do it: each chunk for itself, then the fold.
    std::vector<T> partial;
    for (std::int64_t c = 0; c < tree_chunks(n); ++c)
      partial.push_back(
          tree_chunk_sum<T>(tree_chunk_length(n, c), [&](std::int64_t i) { return load(c * tree_chunk + i); }));
    ASSERT_EQ(tree_fold_sum<T>(tree_chunks(n), partial.data()), expected) << n;
  }
}

TEST(ReductionTree, SumFollowsTheDefinitionInFloat) { expect_definition<float>(); }
TEST(ReductionTree, SumFollowsTheDefinitionInDouble) { expect_definition<double>(); }

TEST(ReductionTree, OrderMatters) {  // that the comparisons above compare something
  const std::vector<float> x = numbers<float>(10007);
  float ascending = 0.0f;
  for (const float v : x) ascending += v;
  EXPECT_NE(ascending, tree_sum<float>(10007, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; }));
}

TEST(ReductionTree, ThirdLevel) {
  // More chunks than a chunk has elements: what 2^28 elements and more need.
  for (const std::int64_t chunks : {16384, 16385, 16384 * 3 + 5}) {
    const std::vector<double> partial = numbers<double>(chunks);
    EXPECT_EQ(tree_fold_sum<double>(chunks, partial.data()), sum_by_definition(partial)) << chunks;
  }
}

TEST(ReductionTree, ZerosKeepTheirSign) {
  const auto negative = [](std::int64_t) { return -0.0f; };
  for (const std::int64_t n : {1, 2, 3, 100, 256, 257, 16384, 16385, 70000})
    EXPECT_EQ(float_bits(tree_sum<float>(n, negative)), 0x80000000u) << n;
  EXPECT_EQ(float_bits(tree_sum<float>(0, negative)), 0u);
  EXPECT_EQ(float_bits(tree_sum<float>(3, [](std::int64_t i) { return i == 1 ? 0.0f : -0.0f; })), 0u);
  const float one = -0.0f;
  EXPECT_EQ(float_bits(tree_fold_sum<float>(1, &one)), 0x80000000u);
}

TEST(ReductionTree, SumsOfMixedTypesAndSpecialValues) {
  const std::vector<float> x = numbers<float>(1000);
  const double wide = tree_sum<double>(1000, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  double plain = 0.0;
  for (const float v : x) plain += static_cast<double>(v);
  EXPECT_NEAR(wide, plain, 1e-10);
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(tree_sum<float>(300, [&](std::int64_t i) { return i == 299 ? infinite : 1.0f; }), infinite);
  EXPECT_TRUE(std::isnan(tree_sum<float>(300, [&](std::int64_t i) { return i == 7 ? infinite : -infinite; })));
}

TEST(ReductionTree, Maximum) {
  const float infinite = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t n : lengths) {
    const std::vector<float> x = numbers<float>(n);
    float expected = -infinite;
    for (const float v : x) expected = std::max(expected, v);
    ASSERT_EQ(tree_max<float>(n, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; }), expected) << n;
  }
  EXPECT_EQ(tree_max<float>(5, [&](std::int64_t) { return -infinite; }), -infinite);
  EXPECT_EQ(tree_max<double>(5, [&](std::int64_t i) { return -1.0 - static_cast<double>(i); }), -1.0);
  for (const std::int64_t n : {1, 3, 256, 300, 16385})
    for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1})
      EXPECT_TRUE(std::isnan(tree_max<float>(n, [&](std::int64_t i) { return i == place ? nan : infinite; }))) << n;
}

}  // namespace
}  // namespace ulpscope::math
