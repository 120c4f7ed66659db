// Numbers from practice, digit for digit where they are exact.
#include <gtest/gtest.h>

#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

/// x times y in one multiplication.
double multiply(double x, double y, Format stored, Format seen, Format result = Format::fp32) {
  Array a(stored, {1, 1}), b(stored, {1, 1}), c(result, {1, 1});
  a.set(0, x);
  b.set(0, y);
  const MatmulParams params{false, false, seen};
  launch("matmul", {&a, &b}, {&c}, &params);
  return c.at(0);
}

// case-42
TEST(Case42, MultiplyingByOneChanges1024AndAHalfInTf32AndNotInFp32) {
  EXPECT_EQ(multiply(1024.5, 1.0, Format::fp32, Format::tf32), 1025.0);  // ties to even or truncation: 1024
  EXPECT_EQ(multiply(1024.5, 1.0, Format::fp32, Format::fp32), 1024.5);
}

TEST(Case42, ThreePointOneFourSquared) {
  const auto narrow_pi = static_cast<double>(3.14f);
  EXPECT_EQ(multiply(3.14, 1.0, Format::fp32, Format::tf32), 3.140625);  // truncation: 3.138671875
  EXPECT_EQ(multiply(3.14, 3.14, Format::fp32, Format::tf32), 3.140625 * 3.140625);
  EXPECT_NEAR(multiply(3.14, 3.14, Format::fp32, Format::tf32), 9.863525, 5e-7);
  EXPECT_EQ(multiply(3.14, 3.14, Format::fp32, Format::fp32),
            static_cast<double>(static_cast<float>(narrow_pi * narrow_pi)));
  EXPECT_NEAR(multiply(3.14, 3.14, Format::fp32, Format::fp32), 9.859601, 1e-6);
}

/// Relative RMS error of vectors times matrices, K = 1000, of normal numbers kept in fp32, in each of the formats.
std::vector<double> gemv_errors(const std::vector<Format>& seen) {
  constexpr std::int64_t k = 1000, n = 200;
  std::vector<double> error(seen.size(), 0.0);
  double size = 0.0;
  for (unsigned draw = 0; draw < 12; ++draw) {
    Array a(Format::fp32, {1, k}), b(Format::fp32, {k, n}), c(Format::fp32, {1, n});
    a.normal(100 + draw);
    b.normal(200 + draw);
    std::vector<double> exact(n, 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t d = 0; d < k; ++d) exact[static_cast<std::size_t>(j)] += a.at(d) * b.at(d * n + j);
      size += std::pow(exact[static_cast<std::size_t>(j)], 2.0);
    }
    for (std::size_t mode = 0; mode < seen.size(); ++mode) {
      const MatmulParams params{false, false, seen[mode]};
      launch("matmul", {&a, &b}, {&c}, &params);
      for (std::int64_t j = 0; j < n; ++j) error[mode] += std::pow(c.at(j) - exact[static_cast<std::size_t>(j)], 2.0);
    }
  }
  for (double& e : error) e = std::sqrt(e / size);
  return error;
}

TEST(Case42, ErrorOfAThousandTermsTellsTheMode) {
  const std::vector<double> error = gemv_errors({Format::tf32, Format::fp16, Format::bf16, Format::fp32});
  // An operand in [2^e, 2^(e+1)) is off by u 2^e / sqrt(3) RMS. For normal numbers E[4^e] = 0.541, and there are two
  // operands: sqrt(2 * 0.541 / 3) = 0.6007 u. (One simulated draw gave 2.66e-4, 2.66e-4 and 2.4e-3.) Truncation: 7.3e-4
  // for tf32.
  EXPECT_NEAR(error[0] / 0x1p-11, 0.6007, 0.04);
  EXPECT_NEAR(error[1] / 0x1p-11, 0.6007, 0.04);
  EXPECT_NEAR(error[2] / 0x1p-8, 0.6007, 0.04);
  EXPECT_LT(error[3], 1e-6);
}

// case-01: 64 inputs of 32 and 64 weights 32.346870
double feed_forward(Format stored, Format seen, Format result, RoundingCounts* counts = nullptr) {
  Array x(stored, {1, 64}), w(stored, {64, 1}), y(result, {1, 1});
  x.fill([](std::int64_t) { return 32.0; });
  w.fill([](std::int64_t) { return 32.346870; });
  const MatmulParams params{false, false, seen};
  Options options;
  if (counts != nullptr) options.counts = {counts};
  launch("matmul", {&x, &w}, {&y}, &params, options);
  return y.at(0);
}

TEST(Case01, FeedForwardProjectionOverflowsOnTheStoreAlone) {
  EXPECT_NEAR(feed_forward(Format::fp32, Format::fp32, Format::fp32), 66246.39, 0.06);  // 64 sums, spacing 1/128
  EXPECT_EQ(feed_forward(Format::fp32, Format::tf32, Format::fp32), 66240.0);
  EXPECT_EQ(feed_forward(Format::bf16, Format::bf16, Format::bf16), 66048.0);
  EXPECT_EQ(feed_forward(Format::fp16, Format::fp16, Format::fp32), 66240.0);  // in the accumulator
  RoundingCounts counts;
  EXPECT_EQ(feed_forward(Format::fp16, Format::fp16, Format::fp16, &counts), HUGE_VAL);
  EXPECT_EQ(counts.overflowed, 1);
  EXPECT_EQ(counts.positive_infinity, 0);
  EXPECT_EQ(counts.greatest_magnitude, 66240.0);
}

// case-06: q = k = a, head dimension 64, scores stored in fp16
double score(double a, double scale_q) {
  Array q(Format::fp16, {1, 64}), k(Format::fp16, {1, 64}), s(Format::fp16, {1, 1});
  q.fill([=](std::int64_t) { return a * scale_q; });
  k.fill([=](std::int64_t) { return a; });
  const MatmulParams params{false, true, Format::fp16};
  launch("matmul", {&q, &k}, {&s}, &params);
  return s.at(0);
}

TEST(Case06, RawAttentionScoresOverflowAndScaledOnesDoNot) {
  EXPECT_EQ(score(31.984375, 1.0), 65472.0);
  EXPECT_EQ(score(32.0, 1.0), HUGE_VAL);
  EXPECT_EQ(score(31.984375, 0.125), 8184.0);
  EXPECT_EQ(score(32.0, 0.125), 8192.0);
}

TEST(Case06, AttentionAsOneOperatorKeepsItsScoresInFp32) {
  // Raw scores 65536 and 4 * 65536: beyond fp16, and the softmax of equal ones is uniform.
  for (const double a : {32.0, 64.0}) {
    Array q(Format::fp16, {1, 1, 4, 64}), k(Format::fp16, {1, 1, 4, 64}), v(Format::fp16, {1, 1, 4, 64}),
        o(Format::fp16, {1, 1, 4, 64});
    for (Array* x : {&q, &k}) x->fill([=](std::int64_t) { return a; });
    v.fill([](std::int64_t i) { return static_cast<double>(i / 64); });
    AttentionParams params;
    params.scale = 0.125f;
    params.causal = false;
    params.multiply = Format::fp16;
    launch("attention", {&q, &k, &v}, {&o}, &params);
    for (std::int64_t i = 0; i < o.size(); ++i) EXPECT_EQ(o.at(i), 1.5);
  }
}

}  // namespace
}  // namespace ulpscope::test
