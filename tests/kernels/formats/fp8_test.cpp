#include "kernels/formats/fp8.h"

#include <gtest/gtest.h>

#include "tests/kernels/formats/reference.h"

namespace ulpscope {
namespace {

const FormatInfo& e4m3 = info(Format::fp8_e4m3);
const FormatInfo& e5m2 = info(Format::fp8_e5m2);
constexpr Fp8Saturation satfinite = Fp8Saturation::satfinite;
constexpr Fp8Saturation nosat = Fp8Saturation::nosat;
const float infinite = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

TEST(Fp8, PublishedVectorsE4m3) {  // CUDA's __nv_cvt_float_to_fp8
  EXPECT_EQ(fp8_e4m3_from_float(464.0f, satfinite), 0x7e);
  EXPECT_EQ(fp8_e4m3_from_float(464.0f, nosat), 0x7e);
  EXPECT_EQ(fp8_e4m3_from_float(464.0001f, satfinite), 0x7e);
  EXPECT_EQ(fp8_e4m3_from_float(464.0001f, nosat), 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(-1e30f, nosat) & 0x7f, 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(infinite, satfinite), 0x7e);
  EXPECT_EQ(fp8_e4m3_from_float(-infinite, satfinite), 0xfe);
  EXPECT_EQ(fp8_e4m3_from_float(infinite, nosat) & 0x7f, 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(-infinite, nosat) & 0x7f, 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(nan, satfinite), 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(-nan, nosat), 0x7f);
  EXPECT_EQ(fp8_e4m3_from_float(0x1p-9f, nosat), 0x01);
  EXPECT_EQ(fp8_e4m3_from_float(0x1p-10f, nosat), 0x00);
  EXPECT_EQ(fp8_e4m3_from_float(std::nextafter(0x1p-10f, 1.0f), nosat), 0x01);
}

TEST(Fp8, PublishedVectorsE5m2) {
  EXPECT_EQ(fp8_e5m2_from_float(61439.0f, satfinite), 0x7b);
  EXPECT_EQ(fp8_e5m2_from_float(61439.0f, nosat), 0x7b);
  EXPECT_EQ(fp8_e5m2_from_float(61440.0f, satfinite), 0x7b);
  EXPECT_EQ(fp8_e5m2_from_float(61440.0f, nosat), 0x7c);
  EXPECT_EQ(fp8_e5m2_from_float(infinite, satfinite), 0x7b);
  EXPECT_EQ(fp8_e5m2_from_float(-infinite, satfinite), 0xfb);
  EXPECT_EQ(fp8_e5m2_from_float(infinite, nosat), 0x7c);
  EXPECT_EQ(fp8_e5m2_from_float(-infinite, nosat), 0xfc);
  EXPECT_GT(fp8_e5m2_from_float(nan, satfinite) & 0x7f, 0x7c);
  EXPECT_GT(fp8_e5m2_from_float(nan, nosat) & 0x7f, 0x7c);
  EXPECT_EQ(fp8_e5m2_from_float(0x1p-16f, nosat), 0x01);
  EXPECT_EQ(fp8_e5m2_from_float(0x1p-17f, nosat), 0x00);
}

TEST(Fp8, EveryPatternThereAndBack) {
  for (std::uint32_t pattern = 0; pattern < 0x100; ++pattern) {
    SCOPED_TRACE(pattern);
    const auto byte = static_cast<std::uint8_t>(pattern);
    const float a = fp8_e4m3_to_float(byte);
    ASSERT_TRUE(reference::same(static_cast<double>(a), reference::decode(e4m3, pattern)));
    const bool a_nan = (pattern & 0x7fu) == 0x7fu;
    ASSERT_EQ(fp8_e4m3_from_float(a, satfinite), a_nan ? 0x7fu : pattern);
    ASSERT_EQ(fp8_e4m3_from_float(a, nosat), a_nan ? 0x7fu : pattern);
    const float b = fp8_e5m2_to_float(byte);
    ASSERT_TRUE(reference::same(static_cast<double>(b), reference::decode(e5m2, pattern)));
    const bool b_nan = (pattern & 0x7fu) > 0x7cu;
    ASSERT_EQ(fp8_e5m2_from_float(b, nosat), b_nan ? 0x7fu : pattern);
  }
}

// Reference for both saturations: round_to gives infinity above the range.
void expect_rounded(float x) {
  const double wide = static_cast<double>(x);
  for (const Fp8Saturation saturation : {satfinite, nosat}) {
    double a = reference::round_to(e4m3, wide);
    double b = reference::round_to(e5m2, wide);
    if (saturation == satfinite && std::isinf(a)) a = std::copysign(e4m3.max_finite, a);
    if (saturation == satfinite && std::isinf(b)) b = std::copysign(e5m2.max_finite, b);
    if (std::isinf(a)) a = std::numeric_limits<double>::quiet_NaN();
    const double got_a = static_cast<double>(fp8_e4m3_to_float(fp8_e4m3_from_float(x, saturation)));
    const double got_b = static_cast<double>(fp8_e5m2_to_float(fp8_e5m2_from_float(x, saturation)));
    ASSERT_TRUE(reference::same(got_a, a)) << std::hexfloat << x;
    ASSERT_TRUE(reference::same(got_b, b)) << std::hexfloat << x;
    ASSERT_EQ(fp8_e4m3_from_double(wide, saturation), fp8_e4m3_from_float(x, saturation));
    ASSERT_EQ(fp8_e5m2_from_double(wide, saturation), fp8_e5m2_from_float(x, saturation));
  }
}

TEST(Fp8, RoundsEveryBoundaryToNearestEven) {
  for (const float x : reference::boundaries(e4m3, 0x7e)) expect_rounded(x);
  for (const float x : reference::boundaries(e5m2, 0x7b)) expect_rounded(x);
}

TEST(Fp8, RoundsPatternsFromAllOverFp32) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 65521)
    expect_rounded(float_from_bits(static_cast<std::uint32_t>(bits)));
}

}  // namespace
}  // namespace ulpscope
