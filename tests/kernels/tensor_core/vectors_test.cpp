// Vectors that tell the generations apart (published models; those marked bit-exact agree with captured hardware vectors), the
// example of a sum that is not monotonic, and the bias of truncation. Each is computed by the reference and by the product of every
// instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/formats/bits.h"
#include "tests/kernels/tensor_core/unit_sum.h"

namespace ulpscope::tensor_core {
namespace {

using test::Factors;
using test::sum_everywhere;
constexpr MatrixUnit v100 = MatrixUnit::v100, turing = MatrixUnit::turing, ampere = MatrixUnit::ampere, ada = MatrixUnit::ada,
                     hopper = MatrixUnit::hopper, blackwell = MatrixUnit::blackwell;

double two(int n) { return std::ldexp(1.0, n); }

/// The bits expected of V100, Turing, Ampere and Ada, Hopper and Blackwell.
void expect(const char* what, const Factors& factors, float c, std::uint32_t first, std::uint32_t second, std::uint32_t third,
            std::uint32_t fourth, Format format = Format::fp16, Result result = Result::fp32) {
  const struct {
    MatrixUnit unit;
    std::uint32_t bits;
  } rows[] = {{v100, first}, {turing, second}, {ampere, third}, {ada, third}, {hopper, fourth}, {blackwell, fourth}};
  for (const auto& row : rows) {
    const Unit* unit = find_unit(row.unit, format, result);
    if (unit == nullptr) continue;
    EXPECT_EQ(sum_everywhere(unit->rule, factors, c), row.bits) << what << " on " << name(row.unit);
  }
}
void expect(const char* what, const Factors& factors, float c, std::uint32_t all, Format format = Format::fp16,
            Result result = Result::fp32) {
  expect(what, factors, c, all, all, all, all, format, result);
}

const Factors at_one = {{0, 1.0, 1.0}};

TEST(UnitVectors, FractionBits) {
  expect("T1", at_one, static_cast<float>(-(1.0 - two(-24))), 0x34000000, 0x33800000, 0x33800000, 0x33800000);
  const Factors small = {{0, two(-12), two(-12)}, {1, two(-12), two(-12)}};
  expect("T2", small, 1.0f, 0x3f800000, 0x3f800001, 0x3f800001, 0x3f800001);
  Factors four;
  for (int i = 0; i < 4; ++i) four.push_back({i, two(-12), two(-13)});
  expect("T3", four, 1.0f, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800001);
  expect("T6", at_one, static_cast<float>(-3.0 * two(-25)), 0x3f800000, 0x3f7fffff, 0x3f7fffff, 0x3f7ffffe);
  expect("T7", {{0, -1.0, 1.0}, {1, -two(-12), two(-12)}, {2, -two(-12), two(-12)}}, 0.0f, 0xbf800000, 0xbf800001, 0xbf800001,
         0xbf800001);
}

Factors wide(int back) {
  return {{0, 4096.0, 2048.0}, {1, 4096.0, 2048.0}, {2, 1.0, 1.0}, {back, -4096.0, 2048.0}, {back + 1, -4096.0, 2048.0}};
}

TEST(UnitVectors, BlockWidth) {
  constexpr std::uint32_t lost = 0, one = 0x3f800000;
  expect("W4", wide(4), 0.0f, lost, one, one, one);
  expect("W8", wide(8), 0.0f, lost, lost, lost, one);
  expect("W16", wide(16), 0.0f, lost);
  expect("W4t", wide(4), 0.0f, lost, lost, lost, one, Format::tf32);
  expect("W8t", wide(8), 0.0f, lost, Format::tf32);
  expect("W4 in bf16", wide(4), 0.0f, lost, one, one, one, Format::bf16);
  expect("W8 in bf16", wide(8), 0.0f, lost, lost, lost, one, Format::bf16);
}

TEST(UnitVectors, ProductsAreNotNormalised) {
  expect("N2", {{0, 1.5, 1.5}, {1, -two(-12), two(-12)}, {2, -two(-12), two(-12)}}, 0.0f, 0x40100000, 0x400fffff, 0x400fffff,
         0x400fffff);
}

TEST(UnitVectors, SubnormalNumbersAreHonoured) {
  Factors four;
  for (int i = 0; i < 4; ++i) four.push_back({i, two(-24), 1.0});
  expect("S1", four, 0.0f, 0x34800000);
  expect("S2", {{0, 0.0, 0.0}}, float_from_bits(1), 0x00000001);
  expect("S3", {{0, two(-24), two(-24)}}, 0.0f, 0x27800000);
}

TEST(UnitVectors, ResultsInFp16AreRoundedToNearest) {
  expect("R1", {{0, two(-12), two(-13)}, {1, two(-13), two(-13)}}, 0.0f, 0x33800000, Format::fp16, Result::fp16);
  // 2048 + 3: half way between 2050 and 2052, the even one of which is 2052; truncated it would be 2050.
  expect("tie", {{0, 2048.0, 1.0}, {1, 3.0, 1.0}}, 0.0f, float_bits(2052.0f), Format::fp16, Result::fp16);
  expect("overflow", {{0, 4096.0, 16.0}}, 0.0f, 0x7f800000, Format::fp16, Result::fp16);
  expect("just below", {{0, 4096.0, 15.0}, {1, 4078.0, 1.0}, {2, 1.0, 1.0}}, 0.0f, float_bits(65504.0f), Format::fp16, Result::fp16);
}

TEST(UnitVectors, Fp8) {
  // Their factors are powers of two that both formats hold.
  for (const Format format : {Format::fp8_e4m3, Format::fp8_e5m2}) {
    const auto fp8 = [&](MatrixUnit unit, const Factors& factors, float c, const char* instruction = "") {
      return sum_everywhere(find_unit(unit, format, Result::fp32, instruction)->rule, factors, c);
    };
    const Factors bits = {{0, 1.0, 1.0}, {1, two(-7), two(-7)}, {2, two(-7), two(-8)}, {3, two(-7), two(-8)}};
    EXPECT_EQ(fp8(ada, bits, 0.0f), 0x3f800000u);
    EXPECT_EQ(fp8(hopper, bits, 0.0f), 0x3f800000u);
    EXPECT_EQ(fp8(blackwell, bits, 0.0f), 0x3f800400u);
    EXPECT_EQ(fp8(hopper, bits, 0.0f, "mma.sync"), 0x3f800400u);
    const Factors width = {{0, 128.0, 64.0}, {1, 128.0, 64.0}, {2, 1.0, 1.0}, {16, -128.0, 64.0}, {17, -128.0, 64.0}};
    EXPECT_EQ(fp8(ada, width, 0.0f), 0x00000000u);
    EXPECT_EQ(fp8(hopper, width, 0.0f), 0x3f800000u);
    EXPECT_EQ(fp8(blackwell, width, 0.0f), 0x3f800000u);
    Factors ones;
    for (int i = 0; i < 32; ++i) ones.push_back({i, 1.0, 1.0});
    EXPECT_EQ(fp8(ada, ones, 16383.0f), float_bits(16398.0f));
    EXPECT_EQ(fp8(hopper, ones, 16383.0f), float_bits(16414.0f));
    EXPECT_EQ(fp8(blackwell, ones, 16383.0f), float_bits(16415.0f));
  }
}

TEST(UnitVectors, WhichElementsShareABlockOfFp8) {
  // Two blocks by k mod 4: a number is swallowed by what is in its own block alone.
  const SumRule& rule = find_unit(hopper, Format::fp8_e4m3, Result::fp32, "mma.sync")->rule;
  const auto sum = [&](int at) {
    return sum_everywhere(rule, {{0, 448.0, 448.0}, {at, two(-9), two(-9)}, {29, -448.0, 448.0}}, 0.0f);
  };
  EXPECT_EQ(sum(4), 0x00000000u);            // with the large ones
  EXPECT_EQ(sum(28), 0x00000000u);
  EXPECT_EQ(sum(2), float_bits(0x1p-18f));   // in the second block, after they are gone
  EXPECT_EQ(sum(31), float_bits(0x1p-18f));
}

TEST(UnitVectors, LibrariesPromote) {
  // Ones onto 2^14 in 13 bits: the unit counts in twos and drops each of them, the promoted sum is exact.
  Factors ones;
  for (int i = 0; i < 256; ++i) ones.push_back({i, 1.0, 1.0});
  ones[0].a = 1.125;
  const SumRule& raw = find_unit(hopper, Format::fp8_e4m3)->rule;
  EXPECT_EQ(sum_everywhere(raw, ones, 16384.0f), float_bits(16384.0f));
  EXPECT_EQ(sum_everywhere(promoted(raw, 128), ones, 16384.0f), float_bits(16640.125f));
}

TEST(UnitVectors, ZeroProducts) {
  const Factors edge = {{0, 0.0, two(127)}, {1, 1.0, two(-30)}};
  SumRule rule = *rule_of(hopper, Format::bf16);
  EXPECT_EQ(sum_everywhere(rule, edge, 0.0f), 0x30800000u);
  rule.zeros = ZeroProducts::included;
  EXPECT_EQ(sum_everywhere(rule, edge, 0.0f), 0x00000000u);
}

TEST(UnitVectors, InfinitiesAndNan) {
  const double inf = HUGE_VAL;
  expect("infinite", {{0, inf, 2.0}, {1, 1.0, 1.0}}, 0.0f, 0x7f800000);
  expect("negative", {{0, inf, -2.0}}, 3.0f, 0xff800000);
  expect("of both signs", {{0, inf, 1.0}, {5, -inf, 1.0}}, 0.0f, 0x7fffffff);
  expect("infinity times zero", {{0, inf, 0.0}}, 0.0f, 0x7fffffff);
  expect("nan", {{3, std::nan(""), 1.0}}, 0.0f, 0x7fffffff);
  expect("c", {{0, 1.0, 1.0}}, -HUGE_VALF, 0xff800000);
  expect("c and a product", {{0, inf, 1.0}}, -HUGE_VALF, 0x7fffffff);
  // Toward zero, but not clamped: bf16 products reach 2^128.
  expect("overflow", {{0, two(64), two(64)}}, 0.0f, 0x7f800000, Format::bf16);
  expect("no overflow inside", {{0, two(127), 2.0}, {1, -two(127), 2.0}, {2, 1.0, two(120)}}, 0.0f, float_bits(0x1p120f), Format::bf16);
}

TEST(UnitVectors, NotMonotonic) {
  const auto sum = [](MatrixUnit unit, int n, double q, double c) {
    Factors equal;
    for (int i = 0; i < n; ++i) equal.push_back({i, two(-12), q / two(-12)});
    return sum_everywhere(*rule_of(unit, Format::fp16), equal, static_cast<float>(c));
  };
  const struct {
    MatrixUnit unit;
    int n, q;
  } rows[] = {{v100, 4, -24}, {ampere, 8, -25}, {hopper, 16, -26}};
  for (const auto& row : rows) {
    EXPECT_EQ(sum(row.unit, row.n, two(row.q), 1.0 - two(-24)), 0x3f800001u) << name(row.unit);
    EXPECT_EQ(sum(row.unit, row.n, two(row.q), 1.0), 0x3f800000u) << name(row.unit);
  }
}

TEST(UnitVectors, BiasOfTruncation) {
  constexpr int length = 65536;
  Factors thirds;
  for (int i = 0; i < length; ++i) thirds.push_back({i, 1.0, 0.333251953125});
  const auto sum = [&](MatrixUnit unit, int k) {
    return float_from_bits(sum_everywhere(*rule_of(unit, Format::fp16), Factors(thirds.begin(), thirds.begin() + k), 0.0f));
  };
  EXPECT_EQ(sum(v100, length), 21811.0390625f);
  for (const MatrixUnit unit : {turing, ampere, ada}) EXPECT_FLOAT_EQ(sum(unit, length), 21830.002f) << name(unit);
  for (const MatrixUnit unit : {hopper, blackwell}) EXPECT_EQ(sum(unit, length), 21836.00390625f) << name(unit);
  const double exact = 21840.0;
  EXPECT_NEAR(sum(v100, length) / exact - 1.0, -1.33e-3, 5e-6);
  EXPECT_NEAR(sum(ampere, length) / exact - 1.0, -4.58e-4, 5e-7);
  EXPECT_NEAR(sum(hopper, length) / exact - 1.0, -1.83e-4, 5e-7);
  for (const MatrixUnit unit : {v100, turing, ampere, ada, hopper, blackwell})
    EXPECT_EQ(sum(unit, 4096), 4096 * 0.333251953125f) << name(unit);
}

}  // namespace
}  // namespace ulpscope::tensor_core
