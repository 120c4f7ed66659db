#include "kernels/formats/format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/formats/storage.h"
#include "kernels/math/elementary.h"

namespace ulpscope {
namespace {

constexpr Format floats[] = {Format::fp32,     Format::tf32,     Format::fp16, Format::bf16,
                             Format::fp8_e4m3, Format::fp8_e5m2, Format::fp64};

TEST(Format, ConstantsFollowFromTheBits) {
  for (const Format format : floats) {
    const FormatInfo& f = info(format);
    SCOPED_TRACE(f.name);
    // Without infinities the largest exponent serves numbers too, and the largest fraction there is NaN.
    const int top = (1 << f.exponent_bits) - (f.has_infinity ? 2 : 1) - f.bias;
    const double largest_fraction = 2.0 - std::ldexp(f.has_infinity ? 1.0 : 2.0, -f.mantissa_bits);
    EXPECT_EQ(f.bias, (1 << (f.exponent_bits - 1)) - 1);
    EXPECT_EQ(f.max_finite, std::ldexp(largest_fraction, top));
    EXPECT_EQ(f.min_normal, std::ldexp(1.0, 1 - f.bias));
    EXPECT_EQ(f.min_subnormal, std::ldexp(1.0, 1 - f.bias - f.mantissa_bits));
    EXPECT_EQ(f.unit_roundoff, std::ldexp(1.0, -f.mantissa_bits - 1));
    EXPECT_EQ(f.flush_threshold, f.min_subnormal / 2);
    EXPECT_EQ(parse_format(f.name), format);
    EXPECT_EQ(name(format), f.name);
    EXPECT_TRUE(is_float(format));
  }
}

TEST(Format, KnownConstants) {
  EXPECT_EQ(info(Format::fp32).max_finite, 3.4028234663852886e38);
  EXPECT_EQ(info(Format::tf32).max_finite, 3.4011621342146535e38);
  EXPECT_EQ(info(Format::bf16).max_finite, 3.3895313892515355e38);
  EXPECT_EQ(info(Format::fp16).max_finite, 65504.0);
  EXPECT_EQ(info(Format::fp8_e5m2).max_finite, 57344.0);
  EXPECT_EQ(info(Format::fp8_e4m3).max_finite, 448.0);
  EXPECT_EQ(info(Format::fp8_e4m3).min_normal, 0.015625);
  EXPECT_EQ(info(Format::fp8_e4m3).min_subnormal, 0.001953125);
  EXPECT_EQ(info(Format::tf32).min_subnormal, 0x1p-136);
  EXPECT_EQ(info(Format::fp16).overflow_threshold, 65520.0);
  EXPECT_EQ(static_cast<float>(info(Format::bf16).overflow_threshold), 3.3961775e38f);
  EXPECT_EQ(storage_bytes(Format::tf32), 4);
  EXPECT_EQ(storage_bytes(Format::bf16), 2);
  EXPECT_EQ(storage_bytes(Format::fp8_e4m3), 1);
  EXPECT_EQ(storage_bytes(Format::fp64), 8);
  EXPECT_EQ(storage_bytes(Format::i32), 4);
  EXPECT_FALSE(is_float(Format::i32));
  EXPECT_TRUE(is_16bit(Format::fp16) && is_16bit(Format::bf16) && !is_16bit(Format::tf32));
  EXPECT_EQ(parse_format("i32"), Format::i32);
  EXPECT_FALSE(parse_format("fp17").has_value());
  EXPECT_FALSE(parse_format("").has_value());
}

// The thresholds are where the conversions turn: at the threshold, and at the fp32 number on the other side of it.
template <Format F>
void thresholds_are_sharp() {
  SCOPED_TRACE(name(F));
  const auto stored = [](float x) { return static_cast<float>(Storage<F>::widen(Storage<F>::round(x))); };
  const auto over = static_cast<float>(info(F).overflow_threshold);
  EXPECT_FALSE(std::isfinite(stored(over)));
  EXPECT_EQ(static_cast<double>(stored(std::nextafter(over, 0.0f))), info(F).max_finite);
  EXPECT_FALSE(std::isfinite(stored(-over)));
  const auto flush = static_cast<float>(info(F).flush_threshold);
  if (F != Format::tf32) {  // ties away: the threshold itself is kept
    EXPECT_EQ(stored(flush), 0.0f);
  }
  EXPECT_EQ(stored(std::nextafter(flush, 0.0f)), 0.0f);
  EXPECT_EQ(static_cast<double>(stored(std::nextafter(flush, 1.0f))), info(F).min_subnormal);
}

TEST(Format, ThresholdsAreWhereConversionsTurn) {
  thresholds_are_sharp<Format::fp16>();
  thresholds_are_sharp<Format::bf16>();
  thresholds_are_sharp<Format::tf32>();
  thresholds_are_sharp<Format::fp8_e4m3>();
  thresholds_are_sharp<Format::fp8_e5m2>();
  EXPECT_TRUE(std::isinf(static_cast<float>(info(Format::fp32).overflow_threshold)));
  EXPECT_FALSE(std::isinf(static_cast<float>(std::nextafter(info(Format::fp32).overflow_threshold, 0.0))));
}

// What users lean on (greatest exact integer, greatest square, exponential …).
float fp16(float x) { return fp16_to_float(fp16_from_float(x)); }
float bf16(float x) { return bf16_to_float(bf16_from_float(x)); }

TEST(Format, HalfAnUlpAtOne) {
  for (const Format format : {Format::fp16, Format::bf16, Format::tf32})
    EXPECT_EQ(info(format).unit_roundoff, format == Format::bf16 ? 0x1p-8 : 0x1p-11);
  EXPECT_EQ(fp16(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(fp16(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(bf16(1.0f + 0x1p-8f), 1.0f);
  EXPECT_EQ(tf32_round(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
}

TEST(Format, IntegersExactUpTo) {
  for (int i = 0; i <= 2048; ++i) EXPECT_EQ(fp16(static_cast<float>(i)), static_cast<float>(i));
  EXPECT_NE(fp16(2049.0f), 2049.0f);
  for (int i = 0; i <= 256; ++i) EXPECT_EQ(bf16(static_cast<float>(i)), static_cast<float>(i));
  EXPECT_NE(bf16(257.0f), 257.0f);
  EXPECT_EQ(tf32_round(2048.0f), 2048.0f);
  EXPECT_NE(tf32_round(2049.0f), 2049.0f);
}

TEST(Format, SquaresAndExponentials) {
  EXPECT_EQ(fp16(255.875f), 255.875f);
  EXPECT_EQ(fp16(255.875f * 255.875f), 65472.0f);
  EXPECT_TRUE(std::isinf(fp16(256.0f * 256.0f)));
  EXPECT_TRUE(std::isinf(fp16(math::exp(11.09012f))));  // ln 65520 = 11.090111
  EXPECT_FALSE(std::isinf(fp16(math::exp(11.09010f))));
  EXPECT_EQ(fp16(math::exp(-17.3288f)), 0.0f);
  EXPECT_NE(fp16(math::exp(-17.3286f)), 0.0f);
  EXPECT_EQ(bf16(math::exp(-92.9f)), 0.0f);
  EXPECT_NE(bf16(math::exp(-92.8f)), 0.0f);
}

TEST(Format, SmallConstantsAsStored) {
  EXPECT_EQ(fp16(1e-8f), 0.0f);
  EXPECT_EQ(fp16(1e-7f), 0x1p-23f);
  EXPECT_EQ(fp16(1e-12f), 0.0f);
  EXPECT_NEAR(bf16(1e-8f), 1e-8f, 1e-8f * 0x1p-8f);
  EXPECT_NEAR(bf16(1e-12f), 1e-12f, 1e-12f * 0x1p-8f);
  EXPECT_EQ(fp16(0.999f), 0.99902344f);
  EXPECT_EQ(bf16(0.999f), 1.0f);
  EXPECT_EQ(tf32_round(0.999f), 0.99902344f);
  EXPECT_EQ(fp16(65519.99f), 65504.0f);
}

}  // namespace
}  // namespace ulpscope
