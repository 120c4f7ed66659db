#include "kernels/formats/convert.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/error.h"
#include "kernels/formats/storage.h"

namespace ulpscope {
namespace {

constexpr InstructionSet sets[] = {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};

// fp32 patterns of every kind: specials, then a walk with an odd stride over all bit patterns, NaN payloads included.
std::vector<float> fp32_patterns(std::size_t n) {
  std::vector<float> x;
  for (const std::uint32_t bits :
       {0x00000000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0xffa02000u, 0x7f7fffffu,
        0x477fefffu, 0x477ff000u, 0x33000000u, 0x33000001u, 0x00000001u, 0x43e80000u})
    x.push_back(float_from_bits(bits));
  for (std::uint32_t bits = 12345; x.size() < n; bits += 0x9e3779b9u) x.push_back(float_from_bits(bits));
  return x;
}

template <Format F>
void expect_narrow_is_scalar(const Conversions& code, const float* source, std::size_t n, std::size_t offset) {
  using T = typename Storage<F>::type;
  std::vector<T> destination(n + offset + 1);
  std::memset(destination.data(), 0x5c, destination.size() * sizeof(T));
  const T untouched = destination[n + offset];
  code.narrow(F, source, destination.data() + offset, n);
  for (std::size_t i = 0; i < n; ++i) {
    const T expected = Storage<F>::round(source[i]);
    ASSERT_EQ(std::memcmp(&expected, &destination[i + offset], sizeof(T)), 0)
        << name(F) << " element " << i << " of " << n << std::hexfloat << " " << source[i];
  }
  ASSERT_EQ(std::memcmp(&untouched, &destination[n + offset], sizeof(T)), 0) << "written past the end";
  if (offset > 0) {
    ASSERT_EQ(std::memcmp(&untouched, &destination[offset - 1], sizeof(T)), 0) << "written before the beginning";
  }
}

template <Format F>
void expect_widen_is_scalar(const Conversions& code, const typename Storage<F>::type* source, std::size_t n,
                            std::size_t offset) {
  std::vector<float> destination(n + offset + 1, -77.0f);
  code.widen(F, source, destination.data() + offset, n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto expected = static_cast<float>(Storage<F>::widen(source[i]));
    ASSERT_EQ(float_bits(expected), float_bits(destination[i + offset])) << name(F) << " element " << i << " of " << n;
  }
  ASSERT_EQ(destination[n + offset], -77.0f);
}

class ConvertEachSet : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << name(GetParam()) << " is not available on this processor";
  }
};

TEST_P(ConvertEachSet, NarrowGivesTheBitsOfTheScalarFunctions) {
  const Conversions& code = conversions(GetParam());
  const std::vector<float> x = fp32_patterns(100003);
  const auto all_formats = [&](const float* source, std::size_t n, std::size_t offset) {
    expect_narrow_is_scalar<Format::fp32>(code, source, n, offset);
    expect_narrow_is_scalar<Format::tf32>(code, source, n, offset);
    expect_narrow_is_scalar<Format::fp16>(code, source, n, offset);
    expect_narrow_is_scalar<Format::bf16>(code, source, n, offset);
    expect_narrow_is_scalar<Format::fp8_e4m3>(code, source, n, offset);
    expect_narrow_is_scalar<Format::fp8_e5m2>(code, source, n, offset);
    expect_narrow_is_scalar<Format::fp64>(code, source, n, offset);
  };
  all_formats(x.data(), x.size(), 0);
  for (std::size_t n = 0; n < 140; ++n)
    for (const std::size_t offset : {0u, 1u, 3u}) all_formats(x.data() + offset, n, offset);
}

// Every upper word with the lower words at which the rounding to bf16 turns, NaN patterns included.
TEST_P(ConvertEachSet, NarrowToBf16AtEveryBoundary) {
  std::vector<float> x;
  for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
    for (std::uint32_t upper = 0; upper < 0x10000; ++upper) x.push_back(float_from_bits(upper << 16 | lower));
  expect_narrow_is_scalar<Format::bf16>(conversions(GetParam()), x.data(), x.size(), 0);
}

TEST_P(ConvertEachSet, ANanAtEveryPlaceAmongNumbers) {
  std::vector<float> x(192);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float_from_bits(0x3f800000u + static_cast<std::uint32_t>(i) * 0x4321u);
  for (std::size_t at = 0; at < x.size(); ++at) {
    const float kept = x[at];
    for (const std::uint32_t nan : {0x7f800001u, 0xffffffffu}) {
      x[at] = float_from_bits(nan);
      expect_narrow_is_scalar<Format::bf16>(conversions(GetParam()), x.data(), x.size(), 0);
      expect_narrow_is_scalar<Format::fp16>(conversions(GetParam()), x.data(), x.size(), 0);
    }
    x[at] = kept;
  }
}

TEST_P(ConvertEachSet, WidenGivesTheBitsOfTheScalarFunctions) {
  const Conversions& code = conversions(GetParam());
  std::vector<std::uint16_t> words;
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < 0x10000; ++i) words.push_back(static_cast<std::uint16_t>(i));
  for (std::uint32_t i = 0; i < 0x200; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  const std::vector<float> singles = fp32_patterns(1000);
  const std::vector<double> doubles = {0.0, -0.0, 1.0 + 0x1p-24 + 0x1p-50, 1e300, -1e-300, 3.0, 0x1p-149, 2.5};
  expect_widen_is_scalar<Format::fp16>(code, words.data(), words.size(), 0);
  expect_widen_is_scalar<Format::bf16>(code, words.data(), words.size(), 0);
  expect_widen_is_scalar<Format::fp8_e4m3>(code, bytes.data(), bytes.size(), 0);
  expect_widen_is_scalar<Format::fp8_e5m2>(code, bytes.data(), bytes.size(), 0);
  expect_widen_is_scalar<Format::fp32>(code, singles.data(), singles.size(), 0);
  expect_widen_is_scalar<Format::tf32>(code, singles.data(), singles.size(), 0);
  expect_widen_is_scalar<Format::fp64>(code, doubles.data(), doubles.size(), 0);
  for (std::size_t n = 0; n < 140; ++n)
    for (const std::size_t offset : {0u, 1u, 3u}) {
      expect_widen_is_scalar<Format::fp16>(code, words.data() + 0x7bd0 + offset, n, offset);
      expect_widen_is_scalar<Format::bf16>(code, words.data() + 0x7f50 + offset, n, offset);
      expect_widen_is_scalar<Format::fp8_e4m3>(code, bytes.data() + offset, n, offset);
      expect_widen_is_scalar<Format::fp8_e5m2>(code, bytes.data() + offset, n, offset);
    }
}

TEST_P(ConvertEachSet, Tf32InPlace) {
  std::vector<float> x = fp32_patterns(1001);
  std::vector<float> expected = x;
  for (float& y : expected) y = tf32_round(y);
  conversions(GetParam()).narrow(Format::tf32, x.data(), x.data(), x.size());
  EXPECT_EQ(std::memcmp(x.data(), expected.data(), x.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Sets, ConvertEachSet, ::testing::ValuesIn(sets),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(Convert, DispatchesAndGoesBetweenNarrowFormats) {
  const std::vector<float> x = fp32_patterns(5000);
  std::vector<std::uint16_t> half(x.size());
  std::vector<std::uint16_t> brain(x.size());
  std::vector<float> wide(x.size());
  narrow(Format::fp16, x.data(), half.data(), x.size());
  widen(Format::fp16, half.data(), wide.data(), x.size());
  convert(Format::fp16, half.data(), Format::bf16, brain.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(half[i], fp16_from_float(x[i]));
    ASSERT_EQ(float_bits(wide[i]), float_bits(fp16_to_float(half[i])));
    ASSERT_EQ(brain[i], bf16_from_float(fp16_to_float(half[i])));
  }
  std::vector<std::uint16_t> copy(x.size());
  convert(Format::bf16, brain.data(), Format::bf16, copy.data(), x.size());
  EXPECT_EQ(copy, brain);
  convert(Format::bf16, nullptr, Format::fp16, nullptr, 0);
  convert(Format::bf16, nullptr, Format::bf16, nullptr, 0);
}

TEST(Convert, RefusesWhatItCannotDo) {
  float x = 1.0f;
  double y = 0.0;
  EXPECT_THROW(widen(Format::i32, &x, &x, 1), Error);
  EXPECT_THROW(narrow(Format::i32, &x, &x, 1), Error);
  EXPECT_THROW(convert(Format::i32, &x, Format::fp32, &x, 1), Error);
  EXPECT_THROW(convert(Format::fp64, &y, Format::fp16, &x, 1), Error);
}

}  // namespace
}  // namespace ulpscope
