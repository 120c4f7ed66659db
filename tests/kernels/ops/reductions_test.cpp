// Reductions: sums over everything, over rows and over columns, the squared error, weight gradients of a norm, the
// global norm.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::fp64};

/// Roundings a summand goes through in the tree over n elements.
double depth(std::int64_t n) { return static_cast<double>(std::min<std::int64_t>((n + 255) / 256, 64)) + 20.0; }
/// And in a column of so many rows.
double column_depth(std::int64_t rows) { return static_cast<double>(std::min<std::int64_t>(rows, 64)) + 16.0; }

std::vector<std::vector<Expected>> one(L value, L scale) { return {{Expected(value, scale)}}; }

TEST(SumAll, MatchesTheReference) {
  for (const bool mean : {false, true}) {
    for (const std::int64_t n : {1, 3, 17, 255, 257, 1025, 16384, 16385, 70001}) {
      OpCase c;
      c.operation = mean ? "mean_all" : "sum_all";
      c.in = {{n}};
      c.out = {{}};
      c.factor = depth(n);
      c.threads = n > 60000;
      c.reference = [mean](const std::vector<Values>& in) {
        L sum = 0, size = 0;
        for (const L x : in[0]) sum += x, size += std::fabs(x);
        const L count = mean ? static_cast<L>(in[0].size()) : 1;
        return one(sum / count, size / count);
      };
      for (const Format f : formats) check(c.set_formats(f));
      c.set_formats(Format::fp16).out_format = {Format::fp32};
      c.layout = Layout::padded;
      check(c);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SumAll, FollowsTheTreeNotTheOrder) {
  // 2^24 + 1 + 1 …: a running sum stays at 2^24; 256 lanes collect the ones first.
  TestTensor x({1024}, Format::fp32), y({}, Format::fp32);
  for (int i = 0; i < 1024; ++i) x.set(i, i == 0 ? 16777216.0 : 1.0);
  execute("sum_all", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, InstructionSet::portable, 1);
  EXPECT_EQ(y.get(0), 16777216.0 + 1020);
}

TEST(MseLoss, MatchesTheReference) {
  for (const std::int64_t n : {1, 257, 33000}) {
    OpCase c;
    c.operation = "mse_loss";
    c.in = {{n, 2}, {n, 2}};
    c.out = {{}};
    c.factor = depth(2 * n) + 4;
    c.threads = n > 30000;
    c.reference = [](const std::vector<Values>& in) {
      L sum = 0;
      for (std::size_t i = 0; i < in[0].size(); ++i) sum += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]);
      return one(sum / static_cast<L>(in[0].size()), sum / static_cast<L>(in[0].size()));
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.layout = Layout::permuted;
    check(c.set_formats(Format::fp32));
  }
}

TEST(SumTrailing, MatchesTheReference) {
  for (const auto& [rows, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {7, 3}, {5, 257}, {70, 1025}, {3, 16500}}) {
    OpCase c;
    c.operation = "sum_trailing";
    c.in = {{rows, n}};
    c.out = {{rows}};
    c.factor = depth(n);
    c.threads = rows == 70;
    c.rejects_narrow = n > 3;
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        L sum = 0, size = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const L x = in[0][static_cast<std::size_t>(r * n + i)];
          sum += x, size += std::fabs(x);
        }
        out.emplace_back(sum, size);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.layout = Layout::permuted;
    check(c.set_formats(Format::fp16));
  }
}

TEST(SumLeading, MatchesTheReference) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{5}, {}},       {{1, 3}, {3}},           {{63, 17}, {17}},     {{65, 257}, {257}}, {{4, 50, 130}, {130}},
      {{321, 5}, {5}}, {{3, 40, 25}, {40, 25}}, {{70, 1025}, {1025}}, {{6, 7}, {6, 7}},
  };
  for (const auto& [x, y] : shapes) {
    OpCase c;
    c.operation = "sum_leading";
    c.in = {x};
    c.out = {y};
    const std::int64_t columns = y.elements(), rows = x.elements() / columns;
    c.factor = column_depth(rows);
    c.threads = x.elements() > 60000;
    c.reference = [rows, columns](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t i = 0; i < columns; ++i) {
        L sum = 0, size = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          const L v = in[0][static_cast<std::size_t>(r * columns + i)];
          sum += v, size += std::fabs(v);
        }
        out.emplace_back(sum, size);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.set_formats(Format::bf16).out_format = {Format::fp32};
    c.layout = Layout::permuted;
    check(c);
    if (HasFatalFailure()) return;
  }
}

TEST(SumLeading, AddsChunksOfSixtyFourRowsPairwise) {
  // A one added to 2^24 is lost, two ones added together first are not. Each column has 2^24 in row 0 and two ones.
  const struct {
    int first, second;
    double expected;
  } columns[] = {
      {1, 2, 16777216.0},          // within the chunk of row 0: in ascending order, one after the other
      {63, 64, 16777216.0},        // the last row of that chunk, the first of the next
      {64, 65, 16777216.0 + 2},    // both in the next chunk
      {64, 127, 16777216.0 + 2},   // its last row
      {64, 128, 16777216.0},       // chunks 1 and 2: (c0 + c1) + (c2 + c3)
      {128, 192, 16777216.0 + 2},  // chunks 2 and 3
      {192, 256, 16777216.0},      // chunks 3 and 4: c4 is carried
      {256, 257, 16777216.0 + 2},
  };
  for (const auto& [where, kernels] : all_kernels()) {
    TestTensor x({300, 8}, Format::fp32), y({8}, Format::fp32);
    for (int i = 0; i < 2400; ++i) x.set(i, 0);
    for (int c = 0; c < 8; ++c)
      x.set(c, 16777216.0), x.set(columns[c].first * 8 + c, 1), x.set(columns[c].second * 8 + c, 1);
    execute(kernels, "sum_leading", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, 1);
    for (int c = 0; c < 8; ++c) EXPECT_EQ(y.get(c), columns[c].expected) << "column " << c << " " << where;
  }
}

TEST(LayerNormBackwardWeights, MatchesTheReference) {
  for (const auto& [rows, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 3}, {5, 17}, {130, 257}, {64, 1025}}) {
    OpCase c;
    c.operation = "layer_norm_backward_weights";
    c.in = {{rows, n}, {rows}, {rows}, {rows, n}};
    c.out = {{n}, {n}};
    c.factor = column_depth(rows) + 4;
    c.threads = rows * n > 60000;
    c.fill = [](int k, std::int64_t, double u) { return k == 2 ? 0.5 + u : 2 * u - 1; };
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<std::vector<Expected>> out(2);
      for (std::int64_t i = 0; i < n; ++i) {
        L dgamma = 0, dbeta = 0, gamma_size = 0, beta_size = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::size_t row = static_cast<std::size_t>(r), at = static_cast<std::size_t>(r * n + i);
          dgamma += in[3][at] * (in[0][at] - in[1][row]) * in[2][row], dbeta += in[3][at];
          gamma_size += std::fabs(in[3][at]) * (std::fabs(in[0][at]) + std::fabs(in[1][row])) * in[2][row];
          beta_size += std::fabs(in[3][at]);
        }
        out[0].emplace_back(dgamma, gamma_size);
        out[1].emplace_back(dbeta, beta_size);
      }
      return out;
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.set_formats(Format::fp32).in_format[0] = Format::fp16;
    check(c);
  }
}

TEST(GlobalNorm, IsTheNormOfTheNormsAndClips) {
  for (const auto& [where, kernels] : all_kernels()) {
    for (const int threads : {1, 2, 3}) {
      TestTensor a({300, 200}, Format::fp32), b({17}, Format::fp16), c({}, Format::bf16), norm({}, Format::fp32);
      L sum = 0;
      Uniform uniform(5);
      for (TestTensor* t : {&a, &b, &c}) {
        for (std::int64_t i = 0; i < t->elements(); ++i) {
          t->set(i, uniform() - 0.5);
          sum += static_cast<L>(t->get(i)) * t->get(i);
        }
      }
      const std::vector<Tensor> in = {a.view(), b.view(), c.view()};
      static double first_bits = 0;
      for (const float max_norm : {0.0f, 1.0f, 1000.0f}) {
        const ClipParams params{max_norm};
        const StepState after = execute(kernels, "global_norm", Format::fp32, in, {norm.view()}, &params, {}, threads);
        const double exact = static_cast<double>(std::sqrt(sum));
        EXPECT_NEAR(norm.get(0), exact, exact * 40 * 0x1p-24);
        EXPECT_EQ(after.gradient_norm, static_cast<float>(norm.get(0)));
        const float wanted = max_norm == 1.0f ? 1.0f / (after.gradient_norm + 1e-6f) : 1.0f;
        EXPECT_EQ(after.clip_coefficient, wanted);
        if (first_bits == 0) first_bits = norm.get(0);
        EXPECT_EQ(norm.get(0), first_bits) << where;
      }
      a.set(77, HUGE_VAL);
      const ClipParams params{1.0f};
      EXPECT_EQ(execute(kernels, "global_norm", Format::fp32, in, {norm.view()}, &params, {}, threads).clip_coefficient,
                0.0f);
      a.set(77, std::nan(""));
      EXPECT_TRUE(std::isnan(
          execute(kernels, "global_norm", Format::fp32, in, {norm.view()}, &params, {}, threads).clip_coefficient));
    }
  }
}

}  // namespace
}  // namespace ulpscope::test
