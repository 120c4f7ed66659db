// The sampled form: differences as computed by hand, and the bias of truncation in a long sum.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "kernels/tensor_core/reference.h"
#include "kernels/tensor_core/sample.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::tensor_core {
namespace {

TEST(Sample, DifferencesByHand) {
  SumDifference d;
  d.add(3.0, 4.0);
  d.add(-1.0, -3.0);
  d.add(HUGE_VAL, 1.0);
  EXPECT_EQ(d.elements, 2);
  EXPECT_EQ(d.not_finite, 1);
  EXPECT_DOUBLE_EQ(*d.relative_rms(), std::sqrt(5.0 / 25.0));
  EXPECT_DOUBLE_EQ(*d.relative_greatest(), 2.0 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(*d.relative_bias(), -3.0 / 7.0);
  SumDifference more = d;
  more.merge(d);
  EXPECT_EQ(more.elements, 4);
  EXPECT_DOUBLE_EQ(*more.relative_rms(), *d.relative_rms());
  EXPECT_FALSE(SumDifference{}.relative_rms()) << "unknown, not 0";
  EXPECT_FALSE(SumDifference{}.relative_greatest());
  EXPECT_FALSE(SumDifference{}.relative_bias());
}

TEST(Sample, ASumOfThirdsIsDrawnToZero) {
  constexpr std::int64_t k = 65536;
  const std::vector<float> ones(k, 1.0f), thirds(k, 0.333251953125f);
  const float plain = plain_sum(ones.data(), 1, thirds.data(), 1, k);
  EXPECT_NEAR(plain, 21840.0, 21840.0 * 2e-4);   // fp32's own additions are rounded, without a drift toward zero
  SumDifference d;
  d.add(static_cast<double>(reference_sum(*rule_of(MatrixUnit::v100, Format::fp16), ones.data(), 1, thirds.data(), 1, k, 0.0f)), 21840.0);
  EXPECT_NEAR(*d.relative_bias(), -1.33e-3, 5e-6);
}

TEST(Sample, SizesAndPlaces) {
  EXPECT_EQ(sample_size(0.001, 5), 5);
  EXPECT_EQ(sample_size(0.001, 1000), least_sampled);
  EXPECT_EQ(sample_size(0.01, 100000), 1000);
  EXPECT_EQ(sample_size(1.0, 1000000), most_sampled);
  std::set<std::int64_t> places, others;
  for (std::int64_t i = 0; i < 200; ++i) {
    places.insert(sampled_element(1, i, 1000));
    others.insert(sampled_element(2, i, 1000));
  }
  EXPECT_GE(*places.begin(), 0);
  EXPECT_LT(*places.rbegin(), 1000);
  EXPECT_GT(places.size(), 150u);
  EXPECT_NE(places, others);
}

}  // namespace
}  // namespace ulpscope::tensor_core
