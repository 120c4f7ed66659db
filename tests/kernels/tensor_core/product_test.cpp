// The vectorised product against the reference, bit for bit, for every row of the table and every instruction set: numbers as they
// occur in training, and numbers chosen to hurt.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/formats/convert.h"
#include "tests/kernels/tensor_core/unit_sum.h"

namespace ulpscope::tensor_core {
namespace {

using test::bits_of;

/// Numbers of a format, by kind.
struct Kind {
  const char* name;
  std::function<float(std::mt19937&, Format)> draw;
};

float rounded(Format format, float x) {
  unsigned char word[4];
  float value = 0.0f;
  narrow(format, &x, word, 1);
  widen(format, word, &value, 1);
  return value;
}

float any_bits(std::mt19937& g, Format format) {
  const auto word = static_cast<std::uint32_t>(g());
  float value = 0.0f;
  unsigned char bytes[4];
  const std::uint32_t kept = format == Format::tf32 ? word & 0xffffe000u : word;
  std::memcpy(bytes, &kept, 4);
  widen(format, bytes, &value, 1);
  return value;
}
float finite_bits(std::mt19937& g, Format format) {
  float x = any_bits(g, format);
  while (!std::isfinite(x)) x = any_bits(g, format);
  return x;
}
float subnormal(std::mt19937& g, Format format) {
  const double least = info(format).min_subnormal, steps = info(format).min_normal / least;
  return static_cast<float>(std::floor(std::uniform_real_distribution<double>(-2.0 * steps, 2.0 * steps)(g)) * least);
}
float normal(std::mt19937& g, Format format) {
  return rounded(format, static_cast<float>(std::normal_distribution<double>(0.0, 1.0)(g)));
}

const Kind kinds[] = {
    {"normal", normal},
    {"all finite bits", finite_bits},
    {"all bits", any_bits},
    {"subnormal", subnormal},
    {"wide", [](std::mt19937& g, Format f) { return rounded(f, std::ldexp(normal(g, f), static_cast<int>(g() % 24) - 12)); }},
    {"zeros among them", [](std::mt19937& g, Format f) { return g() % 3 == 0 ? (g() % 2 ? 0.0f : -0.0f) : normal(g, f); }},
    {"a rare infinity", [](std::mt19937& g, Format f) { return g() % 300 == 0 ? rounded(f, HUGE_VALF) : normal(g, f); }},
    {"powers of two", [](std::mt19937& g, Format f) {
       return rounded(f, std::ldexp(g() % 2 ? 1.0f : -1.0f, static_cast<int>(g() % 26) - 13));
     }}};

struct Shape {
  std::int64_t m, n, k;
};

/// c as a rule's result can hold it.
float start_value(std::mt19937& g, const SumRule& rule, int kind) {
  const auto fit = [&](float x) {
    if (rule.result == Result::fp16) return rounded(Format::fp16, x);
    return rule.result == Result::e8m13 ? float_from_bits(float_bits(x) & 0xfffffc00u) : x;
  };
  if (kind == 0) return 0.0f;
  if (kind == 1) return fit(static_cast<float>(std::normal_distribution<double>(0.0, 4.0)(g)));
  return fit(float_from_bits(static_cast<std::uint32_t>(g())));
}

void compare(const SumRule& rule, const Kind& kind, const Shape& shape, int start, bool turned, const std::string& what) {
  std::mt19937 g(static_cast<unsigned>(shape.m * 31 + shape.n * 7 + shape.k));
  std::vector<float> a(static_cast<std::size_t>(shape.m * shape.k)), b(static_cast<std::size_t>(shape.k * shape.n)),
      c(static_cast<std::size_t>(shape.m * shape.n));
  for (float& x : a) x = kind.draw(g, rule.operands);
  for (float& x : b) x = kind.draw(g, rule.operands);
  // Cancellation: whole stretches of k come back with the other sign.
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t k = 8; k < shape.k; k += 16) a[static_cast<std::size_t>(i * shape.k + k)] = -a[static_cast<std::size_t>(i * shape.k + k - 8)];
  for (float& x : c) x = start_value(g, rule, start);
  const Operand left{a.data(), Format::fp32, rule.operands, shape.k, 1};
  const Operand right{b.data(), Format::fp32, rule.operands, turned ? 1 : shape.n, turned ? shape.k : 1};
  std::vector<float> expected(c.size());
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = 0; j < shape.n; ++j)
      expected[static_cast<std::size_t>(i * shape.n + j)] =
          reference_sum(rule, a.data() + i * shape.k, 1, b.data() + j * right.column_stride, right.row_stride, shape.k,
                        c[static_cast<std::size_t>(i * shape.n + j)]);
  for (const InstructionSet set : test::instruction_sets()) {
    std::vector<float> got = c;
    std::vector<float> scratch = test::scratch_of(set, shape.n, shape.k);
    multiply(set, rule, left, 0, shape.m, right, shape.n, shape.k, got.data(), shape.n, Start::c, scratch.data());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(bits_of(got[i]), bits_of(expected[i])) << what << ", " << kind.name << ", " << name(set) << ", element " << i;
  }
}

std::string described(const Unit& unit) {
  return std::string(name(unit.generation)) + " " + name(unit.rule.operands) + " " + unit.instruction + " " + words(unit.rule);
}

TEST(UnitProduct, AgreesWithTheReference) {
  for (const Unit& unit : units()) {
    for (const Kind& kind : kinds) {
      for (const int start : {0, 1, 2}) compare(unit.rule, kind, {5, 19, 70}, start, start == 1, described(unit));
    }
  }
}

TEST(UnitProduct, AgreesInLongSumsAndPromoted) {
  for (const Unit& unit : units()) {
    for (const Kind& kind : {kinds[0], kinds[1], kinds[6]}) {
      compare(unit.rule, kind, {3, 5, 1100}, 0, true, described(unit));
      compare(promoted(unit.rule, 128), kind, {3, 9, 1100}, 1, false, described(unit) + ", promoted");
    }
  }
}

TEST(UnitProduct, AgreesWithZeroProductsIncludedAndOddBlocks) {
  for (const Format format : {Format::fp16, Format::bf16, Format::tf32}) {
    for (const Kind& kind : kinds) {
      SumRule rule{format, 5, 21, Result::fp32};
      compare(rule, kind, {4, 33, 43}, 1, false, "odd blocks");
      rule = *rule_of(MatrixUnit::blackwell, format);
      rule.zeros = ZeroProducts::included;
      compare(rule, kind, {4, 33, 43}, 2, true, "zeros included");
    }
  }
}

TEST(UnitProduct, AgreesInWideResults) {
  compare(*rule_of(MatrixUnit::ampere, Format::bf16), kinds[0], {35, 530, 40}, 0, false, "ampere bf16");
  compare(*rule_of(MatrixUnit::hopper, Format::fp16), kinds[0], {1, 300, 17}, 1, true, "hopper fp16");
}

TEST(UnitProduct, ReadsEveryFormatAndLayout) {
  std::mt19937 g(11);
  constexpr std::int64_t m = 7, n = 21, k = 50;
  for (const Format format : {Format::fp16, Format::bf16, Format::fp32, Format::fp8_e4m3, Format::fp8_e5m2}) {
    const Format operands = format == Format::fp32 ? Format::tf32 : format;
    const SumRule& rule = *rule_of(MatrixUnit::hopper, operands);
    std::vector<float> a(m * k), b(k * n);
    for (float& x : a) x = static_cast<float>(std::normal_distribution<double>(0.0, 1.0)(g));
    for (float& x : b) x = static_cast<float>(std::normal_distribution<double>(0.0, 1.0)(g));
    std::vector<unsigned char> stored_a(a.size() * 4), stored_b(b.size() * 4);
    narrow(format, a.data(), stored_a.data(), a.size());
    narrow(format, b.data(), stored_b.data(), b.size());
    // What the unit sees: rounded to tf32 to nearest, ties away, where fp32 is stored.
    for (float& x : a) x = rounded(operands, rounded(format, x));
    for (float& x : b) x = rounded(operands, rounded(format, x));
    for (const bool a_turned : {false, true}) {
      for (const bool b_turned : {false, true}) {
        for (const InstructionSet set : test::instruction_sets()) {
          std::vector<float> got(m * n, -1.0f), scratch = test::scratch_of(set, n, k);
          const Operand left{stored_a.data(), format, operands, a_turned ? 1 : k, a_turned ? m : 1};
          const Operand right{stored_b.data(), format, operands, b_turned ? 1 : n, b_turned ? k : 1};
          multiply(set, rule, left, 2, m - 2, right, n, k, got.data() + 2 * n, n, Start::zero, scratch.data());
          for (std::int64_t i = 2; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              const float expected = reference_sum(rule, a.data() + i * left.row_stride, left.column_stride,
                                                   b.data() + j * right.column_stride, right.row_stride, k, 0.0f);
              ASSERT_EQ(bits_of(got[static_cast<std::size_t>(i * n + j)]), bits_of(expected)) << name(format) << " " << name(set);
            }
          }
          ASSERT_EQ(got[0], -1.0f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ulpscope::tensor_core
