// The products that training launches, with a unit's sums: matmul, attention and convolutions, forwards and backwards, on every
// instruction set and with any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "tests/kernels/products/product_run.h"
#include "tests/kernels/tensor_core/unit_sum.h"

namespace ulpscope::test {
namespace {

using tensor_core::reference_sum;
using tensor_core::rule_of;

Arithmetic as(MatrixUnit unit) {
  Arithmetic a;
  a.unit = unit;
  return a;
}

constexpr MatrixUnit every_unit[] = {MatrixUnit::v100, MatrixUnit::turing,  MatrixUnit::ampere,
                                     MatrixUnit::ada,  MatrixUnit::hopper, MatrixUnit::blackwell};

std::vector<float> numbers(const Array& a) {
  std::vector<float> x(static_cast<std::size_t>(a.size()));
  for (std::int64_t i = 0; i < a.size(); ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(a.at(i));
  return x;
}

TEST(UnitLaunch, MatmulIsTheReference) {
  constexpr std::int64_t batch = 2, m = 21, n = 45, k = 150;
  for (const MatrixUnit unit : every_unit) {
    for (const Format stored : {Format::fp16, Format::bf16, Format::fp32}) {
      MatmulParams params;
      params.trans_b = true;
      params.multiply = stored == Format::fp32 ? Format::tf32 : Format::fp32;
      const tensor_core::SumRule* rule = rule_of(unit, stored == Format::fp32 ? Format::tf32 : stored);
      if (rule == nullptr) continue;
      Array a(stored, {batch, m, k}), b(stored, {batch, n, k}), bias(Format::fp32, {n}), c(Format::fp32, {batch, m, n});
      a.normal(1);
      b.normal(2);
      bias.normal(3);
      std::vector<float> x = numbers(a), y = numbers(b);
      const auto seen = [&](float& v) { v = static_cast<float>(seen_by(stored, params.multiply, static_cast<double>(v))); };
      for (float& v : x) seen(v);
      for (float& v : y) seen(v);
      for (const InstructionSet set : available_sets()) {
        for (const int threads : {1, 2, 3}) {
          c.nan();
          launch("matmul", {&a, &b, &bias}, {&c}, &params, {.threads = threads, .set = set, .counts = {}, .arithmetic = as(unit)});
          for (std::int64_t i = 0; i < c.size(); ++i) {
            const std::int64_t row = i / n, column = i % n + row / m * n;
            const float sum = reference_sum(*rule, x.data() + row * k, 1, y.data() + column * k, 1, k, 0.0f);
            ASSERT_EQ(static_cast<float>(c.at(i)), sum + static_cast<float>(bias.at(i % n)))
                << name(unit) << " " << name(stored) << " " << name(set) << " " << threads;
          }
        }
      }
    }
  }
}

std::vector<float> product(Format stored, Format multiply, MatrixUnit unit) {
  Array a(stored, {20, 100}), b(stored, {100, 30}), c(Format::fp32, {20, 30});
  a.normal(4);
  b.normal(5);
  MatmulParams params;
  params.multiply = multiply;
  launch("matmul", {&a, &b}, {&c}, &params, {.counts = {}, .arithmetic = as(unit)});
  return numbers(c);
}

TEST(UnitLaunch, WhatTheUnitDoesNotMultiplyStaysPlain) {
  const auto same = [](Format stored, Format multiply, MatrixUnit unit) {
    return product(stored, multiply, unit) == product(stored, multiply, MatrixUnit::none);
  };
  for (const MatrixUnit unit : every_unit) EXPECT_TRUE(same(Format::fp32, Format::fp32, unit)) << name(unit);
  for (const MatrixUnit unit : {MatrixUnit::v100, MatrixUnit::turing}) {
    EXPECT_FALSE(same(Format::fp16, Format::fp32, unit));
    EXPECT_TRUE(same(Format::bf16, Format::fp32, unit));
    EXPECT_TRUE(same(Format::fp32, Format::tf32, unit));
  }
  for (const Format format : {Format::fp16, Format::bf16}) EXPECT_FALSE(same(format, Format::fp32, MatrixUnit::ampere));
  EXPECT_FALSE(same(Format::fp32, Format::tf32, MatrixUnit::ampere));
}

TEST(UnitLaunch, MatrixTimesColumnAndStridedOperands) {
  // Neither stride of A is 1: it is copied first. One column: the product is turned.
  constexpr std::int64_t m = 90, k = 70;
  Array a(Format::fp16, {m, k}, {3 * k, 3}), b(Format::fp16, {k, 1}), c(Format::fp32, {m, 1});
  a.normal(6);
  b.normal(7);
  MatmulParams params;
  launch("matmul", {&a, &b}, {&c}, &params, {.counts = {}, .arithmetic = as(MatrixUnit::hopper)});
  const std::vector<float> x = numbers(a), y = numbers(b);
  for (std::int64_t i = 0; i < m; ++i)
    EXPECT_EQ(static_cast<float>(c.at(i)), reference_sum(*rule_of(MatrixUnit::hopper, Format::fp16), x.data() + i * k, 1, y.data(), 1, k, 0.0f));
}

TEST(UnitLaunch, CountsAreOfTheSumsThatAreRounded) {
  Array a(Format::fp16, {40, 64}), b(Format::fp16, {64, 50}), c(Format::fp16, {40, 50}), unobserved(Format::fp16, {40, 50});
  a.normal(8, 60.0);
  b.normal(9, 60.0);
  MatmulParams params;
  RoundingCounts counts = {};
  launch("matmul", {&a, &b}, {&c}, &params, {.counts = {&counts}, .arithmetic = as(MatrixUnit::v100)});
  launch("matmul", {&a, &b}, {&unobserved}, &params, {.counts = {}, .arithmetic = as(MatrixUnit::v100)});
  EXPECT_EQ(c.bytes, unobserved.bytes);
  std::int64_t infinite = 0;
  for (std::int64_t i = 0; i < c.size(); ++i) infinite += std::isinf(c.at(i)) ? 1 : 0;
  EXPECT_GT(infinite, 0);
  EXPECT_EQ(static_cast<std::int64_t>(counts.elements), c.size());
  EXPECT_EQ(static_cast<std::int64_t>(counts.overflowed), infinite);
}

/// 2^15 twice, 2^-9, and 2^15 back twice, from element 4 on: 2^-9 on units with blocks of 8, nothing on V100.
const std::vector<double> lost_on_v100 = {0x1p15, 0x1p15, 0x1p-9, 0, -0x1p15, -0x1p15, 0, 0};

TEST(UnitLaunch, Attention) {
  // Scores: 1 on units with blocks of 8, 0 on V100. The second key's score is 0.
  for (const InstructionSet set : available_sets()) {
    for (const MatrixUnit unit : every_unit) {
      Array q(Format::fp16, {1, 1, 1, 8}), k(Format::fp16, {1, 1, 2, 8}), v(Format::fp16, {1, 1, 2, 1}), o(Format::fp32, {1, 1, 1, 1});
      const double left[] = {4096, 4096, 1, 0, -4096, -4096, 0, 0}, right[] = {2048, 2048, 1, 0, 2048, 2048, 0, 0};
      q.fill([&](std::int64_t i) { return left[i]; });
      k.fill([&](std::int64_t i) { return i < 8 ? right[i] : 0.0; });
      v.fill([](std::int64_t i) { return i == 0 ? 1.0 : 0.0; });
      AttentionParams params;
      params.causal = false;
      launch("attention", {&q, &k, &v}, {&o}, &params, {.set = set, .counts = {}, .arithmetic = as(unit)});
      EXPECT_NEAR(o.at(0), unit == MatrixUnit::v100 ? 0.5 : 1.0 / (1.0 + std::exp(-1.0)), 1e-3) << name(unit);
    }
  }
}

TEST(UnitLaunch, AttentionBackward) {
  for (const MatrixUnit unit : every_unit) {
    Array q(Format::fp16, {1, 1, 8, 2}), k(Format::fp16, {1, 1, 1, 2}), v(Format::fp16, {1, 1, 1, 1}), probs(Format::fp16, {1, 1, 8, 1}),
        dout(Format::fp16, {1, 1, 8, 1}), dq(Format::fp16, {1, 1, 8, 2}), dk(Format::fp16, {1, 1, 1, 2}), dv(Format::fp32, {1, 1, 1, 1});
    for (Array* a : {&q, &k, &v}) a->fill([](std::int64_t) { return 0.0; });
    probs.fill([](std::int64_t) { return 1.0; });
    dout.fill([](std::int64_t i) { return lost_on_v100[static_cast<std::size_t>(i)]; });
    AttentionParams params;
    params.causal = false;
    launch("attention_backward", {&q, &k, &v, &probs, &dout}, {&dq, &dk, &dv}, &params, {.counts = {}, .arithmetic = as(unit)});
    EXPECT_EQ(dv.at(0), unit == MatrixUnit::v100 ? 0.0 : 0x1p-9) << name(unit);
  }
}

TEST(UnitLaunch, ConvolutionAndItsGradients) {
  for (const MatrixUnit unit : every_unit) {
    const double expected = unit == MatrixUnit::v100 ? 0.0 : 0x1p-9;
    ConvParams params;
    {  // over input channels
      Array x(Format::fp16, {1, 8, 1, 1}), kernel(Format::fp16, {1, 8, 1, 1}), y(Format::fp32, {1, 1, 1, 1});
      x.fill([](std::int64_t i) { return lost_on_v100[static_cast<std::size_t>(i)]; });
      kernel.fill([](std::int64_t) { return 1.0; });
      launch("conv2d", {&x, &kernel}, {&y}, &params, {.counts = {}, .arithmetic = as(unit)});
      EXPECT_EQ(y.at(0), expected) << name(unit);
    }
    {  // over output channels
      Array kernel(Format::fp16, {8, 1, 1, 1}), dy(Format::fp16, {1, 8, 1, 1}), dx(Format::fp32, {1, 1, 1, 1});
      kernel.fill([](std::int64_t) { return 1.0; });
      dy.fill([](std::int64_t i) { return lost_on_v100[static_cast<std::size_t>(i)]; });
      launch("conv2d_backward_input", {&kernel, &dy}, {&dx}, &params, {.counts = {}, .arithmetic = as(unit)});
      EXPECT_EQ(dx.at(0), expected) << name(unit);
    }
    {  // over pixels
      Array x(Format::fp16, {1, 1, 2, 4}), dy(Format::fp16, {1, 1, 2, 4}), dkernel(Format::fp32, {1, 1, 1, 1});
      x.fill([](std::int64_t) { return 1.0; });
      dy.fill([](std::int64_t i) { return lost_on_v100[static_cast<std::size_t>(i)]; });
      launch("conv2d_backward_weight", {&x, &dy}, {&dkernel}, &params, {.counts = {}, .arithmetic = as(unit)});
      EXPECT_EQ(dkernel.at(0), expected) << name(unit);
    }
  }
}

TEST(UnitLaunch, TheGradientOfAKernelIsOneChainOverImages) {
  // 1 from the first image, twice 2^-24 from the second: each alone is below half a last place of the sum, which V100 truncates.
  Array x(Format::fp16, {2, 1, 1, 2}), dy(Format::fp16, {2, 1, 1, 2}), dkernel(Format::fp32, {1, 1, 1, 1});
  const double left[] = {1, 0, 0x1p-12, 0x1p-12}, right[] = {1, 0, 0x1p-12, 0x1p-12};
  x.fill([&](std::int64_t i) { return left[i]; });
  dy.fill([&](std::int64_t i) { return right[i]; });
  ConvParams params;
  const auto sum = [&](MatrixUnit unit) {
    launch("conv2d_backward_weight", {&x, &dy}, {&dkernel}, &params, {.counts = {}, .arithmetic = as(unit)});
    return dkernel.at(0);
  };
  EXPECT_EQ(sum(MatrixUnit::v100), 1.0);
  EXPECT_EQ(sum(MatrixUnit::ampere), 1.0 + 0x1p-23);
}

TEST(UnitLaunch, ConvolutionsAreTheSameWithAnyNumberOfThreads) {
  Array x(Format::fp16, {5, 6, 7, 9}), kernel(Format::fp16, {8, 3, 3, 3}), dy(Format::fp16, {5, 8, 7, 9});
  x.normal(1);
  kernel.normal(2);
  dy.normal(3);
  ConvParams params;
  params.groups = 2;
  params.window.kernel[0] = params.window.kernel[1] = 3;
  params.window.padding[0] = params.window.padding[1] = 1;
  std::vector<std::vector<unsigned char>> first;
  for (const InstructionSet set : available_sets()) {
    for (const int threads : {1, 2, 3, 7}) {
      Array y(Format::fp16, {5, 8, 7, 9}), dx(Format::fp16, {5, 6, 7, 9}), dkernel(Format::fp32, {8, 3, 3, 3});
      const Options options{.threads = threads, .set = set, .counts = {}, .arithmetic = as(MatrixUnit::ada)};
      launch("conv2d", {&x, &kernel}, {&y}, &params, options);
      launch("conv2d_backward_input", {&kernel, &dy}, {&dx}, &params, options);
      launch("conv2d_backward_weight", {&x, &dy}, {&dkernel}, &params, options);
      const std::vector<std::vector<unsigned char>> got = {y.bytes, dx.bytes, dkernel.bytes};
      if (first.empty()) first = got;
      EXPECT_EQ(got, first) << name(set) << " " << threads;
    }
  }
}

}  // namespace
}  // namespace ulpscope::test
