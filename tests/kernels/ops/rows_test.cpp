// Row-wise operations: softmax, layer norm, cross-entropy, the causal mask.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
const double inf = HUGE_VAL;
const double nan = std::nan("");
const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::fp64};
/// Rows and lengths; 16401 is longer than a chunk of the reduction tree.
const std::int64_t shapes[][2] = {{1, 1}, {5, 3}, {3, 17}, {4, 255}, {4, 257}, {3, 1025}, {4, 16401}};

/// Depth of the tree over n elements: how often a summand can be rounded.
double depth(std::int64_t n) { return static_cast<double>(std::min<std::int64_t>((n + 255) / 256, 64)) + 9.0; }

std::vector<L> softmax(const L* x, std::int64_t n) {
  const L greatest = *std::max_element(x, x + n);
  std::vector<L> y;
  L sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += y.emplace_back(std::exp(x[i] - greatest));
  for (L& v : y) v /= sum;
  return y;
}

void for_all(OpCase c, std::int64_t rows, std::int64_t n) {
  c.threads = rows * n > 60000;
  for (const Format f : formats) {
    check(c.set_formats(f));
    if (::testing::Test::HasFatalFailure()) return;
  }
  c.set_formats(Format::fp16).out_format[0] = Format::fp32;
  check(c);
  c.layout = Layout::padded;
  check(c.set_formats(Format::bf16));
  c.layout = Layout::permuted;
  check(c.set_formats(Format::fp32));
}

OpCase softmax_case(std::int64_t rows, std::int64_t n, double spread, double offset = 0) {
  OpCase c;
  c.operation = "softmax";
  c.in = c.out = {{rows, n}};
  c.fill = [spread, offset](int, std::int64_t, double u) { return offset + spread * (2 * u - 1); };
  // The difference from the maximum is off by up to half an ulp of 2 * spread; exp passes that on.
  c.factor = 6 + spread + depth(n);
  c.reference = [rows, n](const std::vector<Values>& in) {
    std::vector<Expected> out;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (const L y : softmax(in[0].data() + r * n, n)) out.emplace_back(y);
    }
    return std::vector<std::vector<Expected>>{out};
  };
  c.rejects_narrow = n > 1;
  return c;
}

TEST(Softmax, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) for_all(softmax_case(rows, n, 4), rows, n);
}

TEST(Softmax, LargeLogitsNeedTheMaximum) {
  // Logits around 100: without subtracting the maximum, exp overflows and the row is NaN, which the check rejects.
  for (const Format f : {Format::fp32, Format::bf16}) check(softmax_case(3, 257, 8, 100).set_formats(f));
}

TEST(Softmax, InPlace) {
  OpCase c = softmax_case(64, 1025, 4);
  c.alias_first = true;
  c.threads = true;
  check(c.set_formats(Format::fp32));
  check(c.set_formats(Format::fp16));
}

TEST(Softmax, NonFinite) {
  for (const auto& [where, kernels] : all_kernels()) {
    SCOPED_TRACE(where);
    for (const Format f : {Format::fp32, Format::fp16, Format::bf16}) {
      TestTensor x({5, 3}, f), y({5, 3}, f);
      const double in[15] = {-inf, 0, 0, -inf, -inf, -inf, inf, 0, 0, nan, 0, 0, -inf, -inf, 7};
      for (int i = 0; i < 15; ++i) x.set(i, in[i]);
      execute(kernels, "softmax", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, 1);
      EXPECT_EQ(y.get(0), 0);
      EXPECT_EQ(y.get(1), 0.5);
      for (int i = 3; i < 12; ++i) EXPECT_TRUE(std::isnan(y.get(i))) << i;
      EXPECT_EQ(y.get(14), 1);
    }
  }
}

TEST(SoftmaxBackward, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "softmax_backward";
    c.in = {{rows, n}, {rows, n}};
    c.out = {{rows, n}};
    c.fill = [length = n](int k, std::int64_t, double u) {
      return k == 0 ? 2 * u / static_cast<double>(length) : 2 * u - 1;
    };
    c.factor = 4 + depth(n);
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        const L* y = in[0].data() + r * n;
        const L* dy = in[1].data() + r * n;
        L sum = 0, size = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += y[i] * dy[i], size += std::fabs(y[i] * dy[i]);
        for (std::int64_t i = 0; i < n; ++i) out.emplace_back(y[i] * (dy[i] - sum), y[i] * (std::fabs(dy[i]) + size));
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c, rows, n);
  }
}

struct RowMoments {
  L mean, rstd, spread;
};
RowMoments moments(const L* x, std::int64_t n, L epsilon) {
  L mean = 0, variance = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<L>(n), size += std::fabs(x[i]) / static_cast<L>(n);
  for (std::int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<L>(n);
  return {mean, 1 / std::sqrt(variance + epsilon), size};
}

/// mean and rstd stay fp32 when x is 16-bit.
void widen_side_results(OpCase& c) {
  for (std::size_t o = 1; o < c.out_format.size(); ++o) {
    if (is_16bit(c.out_format[o])) c.out_format[o] = Format::fp32;
  }
}

TEST(LayerNorm, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "layer_norm";
    c.in = {{rows, n}, {n}, {n}};
    c.out = {{rows, n}, {rows}, {rows}};
    c.set_params(LayerNormParams{1e-5f});
    c.fill = [](int k, std::int64_t i, double u) { return k == 0 ? 4 * u - 1 + static_cast<double>(i % 3) : 2 * u; };
    c.factor = 8 + depth(n);
    c.rejects_narrow = n > 3;
    c.threads = rows * n > 60000;
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<std::vector<Expected>> out(3);
      for (std::int64_t r = 0; r < rows; ++r) {
        const L* x = in[0].data() + r * n;
        const RowMoments m = moments(x, n, static_cast<L>(1e-5f));
        for (std::int64_t i = 0; i < n; ++i) {
          const std::size_t at = static_cast<std::size_t>(i);
          const L value = (x[i] - m.mean) * m.rstd * in[1][at] + in[2][at];
          out[0].emplace_back(value,
                              (std::fabs(x[i]) + m.spread) * m.rstd * std::fabs(in[1][at]) + std::fabs(in[2][at]));
        }
        out[1].emplace_back(m.mean, m.spread);
        out[2].emplace_back(m.rstd, m.rstd * (1 + m.spread * m.rstd * m.rstd * m.spread / 1000));
      }
      return out;
    };
    for (const Format f : formats) {
      c.set_formats(f);
      widen_side_results(c);
      check(c);
      if (HasFatalFailure()) return;
    }
    c.set_formats(Format::fp32).in_format[0] = Format::fp16;  // autocast: a 16-bit activation, fp32 weights and result
    check(c);
    c.layout = Layout::padded;
    c.set_formats(Format::bf16);
    widen_side_results(c);
    check(c);
  }
}

TEST(LayerNorm, EpsilonCountsWhenTheVarianceIsZero) {
  TestTensor x({2, 9}, Format::fp32), w({9}, Format::fp32), y({2, 9}, Format::fp32), m({2}, Format::fp32),
      s({2}, Format::fp32);
  for (int i = 0; i < 18; ++i) x.set(i, 3);
  for (int i = 0; i < 9; ++i) w.set(i, 1);
  const LayerNormParams params{0.25f};
  execute("layer_norm", Format::fp32, {x.view(), w.view(), w.view()}, {y.view(), m.view(), s.view()}, &params, {},
          InstructionSet::portable, 1);
  EXPECT_EQ(s.get(0), 2.0);
  EXPECT_EQ(m.get(1), 3.0);
  EXPECT_EQ(y.get(4), 1.0);
}

TEST(LayerNormBackward, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "layer_norm_backward";
    c.in = {{rows, n}, {n}, {rows}, {rows}, {rows, n}};
    c.out = {{rows, n}};
    c.factor = 10 + 2 * depth(n);
    c.fill = [](int k, std::int64_t, double u) { return k == 3 ? 0.5 + u : 2 * u - 1; };
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        const L* x = in[0].data() + r * n;
        const L* dy = in[4].data() + r * n;
        const L mean = in[2][static_cast<std::size_t>(r)], rstd = in[3][static_cast<std::size_t>(r)];
        L sum = 0, dot = 0, sum_size = 0, dot_size = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const L g = dy[i] * in[1][static_cast<std::size_t>(i)], xhat = (x[i] - mean) * rstd;
          sum += g / static_cast<L>(n), dot += g * xhat / static_cast<L>(n);
          sum_size += std::fabs(g) / static_cast<L>(n), dot_size += std::fabs(g * xhat) / static_cast<L>(n);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const L g = dy[i] * in[1][static_cast<std::size_t>(i)], xhat = (x[i] - mean) * rstd;
          out.emplace_back(rstd * (g - sum - xhat * dot),
                           rstd * (std::fabs(g) + sum_size + std::fabs(xhat) * dot_size));
        }
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c, rows, n);
    // Autocast: 16-bit activation, everything else fp32.
    c.set_formats(Format::fp32).in_format[0] = Format::fp16;
    c.layout = Layout::contiguous;
    check(c);
  }
}

OpCase cross_entropy_case(std::int64_t rows, std::int64_t n) {
  OpCase c;
  c.operation = "cross_entropy";
  c.in = {{rows, n}, {rows}};
  c.in_format = {Format::fp32, Format::i32};
  c.out = {{}, {rows}};
  c.fill = [classes = n](int k, std::int64_t i, double u) {
    return k == 0 ? 12 * u - 6 : static_cast<double>((i * 7 + 3) % classes);
  };
  c.factor = 8 + 2 * depth(n);
  c.reference = [rows, n](const std::vector<Values>& in) {
    std::vector<std::vector<Expected>> out(2);
    L loss = 0, size = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const L* x = in[0].data() + r * n;
      const L greatest = *std::max_element(x, x + n);
      L sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - greatest);
      const L lse = greatest + std::log(sum);
      const L own = lse - x[static_cast<std::int64_t>(in[1][static_cast<std::size_t>(r)])];
      loss += own / static_cast<L>(rows),
          size += (std::fabs(own) + 1 + std::fabs(std::log(sum))) / static_cast<L>(rows);
      out[1].emplace_back(lse, std::fabs(greatest) + 1 + std::fabs(std::log(sum)));
    }
    out[0].emplace_back(loss, size);
    return out;
  };
  return c;
}

TEST(CrossEntropy, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c = cross_entropy_case(rows, n);
    c.threads = rows * n > 60000;
    for (const Format f : formats) {
      c.set_formats(f);
      for (Format& out : c.out_format) out = c.compute;
      check(c);
      if (HasFatalFailure()) return;
    }
  }
  check(cross_entropy_case(300, 257).set_formats(Format::fp32));
}

TEST(CrossEntropy, NonFinite) {
  const struct {
    double x[3];
    int target;
    double loss;
  } cases[] = {
      {{0, -inf, 0}, 0, std::log(2.0f)},
      {{0, -inf, 0}, 1, inf},
      {{inf, 0, 0}, 0, nan},
      {{inf, 0, 0}, 1, nan},
      {{nan, 0, 0}, 1, nan},
      {{-inf, -inf, -inf}, 0, nan},
      {{1e30, 0, 0}, 1, 1e30f},
  };
  for (const auto& [where, kernels] : all_kernels()) {
    SCOPED_TRACE(where);
    for (const auto& test : cases) {
      TestTensor x({1, 3}, Format::fp32), t({1}, Format::i32), loss({}, Format::fp32), lse({1}, Format::fp32);
      for (int i = 0; i < 3; ++i) x.set(i, test.x[i]);
      t.set(0, test.target);
      execute(kernels, "cross_entropy", Format::fp32, {x.view(), t.view()}, {loss.view(), lse.view()}, nullptr, {}, 1);
      if (std::isnan(test.loss)) {
        EXPECT_TRUE(std::isnan(loss.get(0))) << loss.get(0);
      } else {
        EXPECT_FLOAT_EQ(loss.get(0), test.loss);
      }
    }
  }
}

TEST(CrossEntropyBackward, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "cross_entropy_backward";
    c.in = {{rows, n}, {rows}, {rows}, {}};
    c.in_format = {Format::fp32, Format::i32, Format::fp32, Format::fp32};
    c.out = {{rows, n}};
    c.fill = [classes = n](int k, std::int64_t i, double u) {
      return k == 1 ? static_cast<double>((i * 5 + 1) % classes) : k == 2 ? 3 + u : k == 3 ? 0.75 : 4 * u - 2;
    };
    c.factor = 16;
    c.threads = rows * n > 60000;
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::size_t row = static_cast<std::size_t>(r);
        for (std::int64_t i = 0; i < n; ++i) {
          const L p = std::exp(in[0][static_cast<std::size_t>(r * n + i)] - in[2][row]);
          const bool own = i == static_cast<std::int64_t>(in[1][row]);
          const L scale = in[3][0] / static_cast<L>(rows);
          out.emplace_back((own ? p - 1 : p) * scale, (own ? p + 1 : p) * scale);
        }
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) {
      c.set_formats(f);
      if (is_16bit(f)) c.in_format[2] = c.in_format[3] = Format::fp32;
      check(c);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CausalMask, HidesLaterKeys) {
  for (const std::int64_t queries : {1, 4, 7}) {
    OpCase c;
    c.operation = "causal_mask";
    c.in = c.out = {{2, 3, queries, 7}};
    c.set_params(CausalMaskParams{-HUGE_VALF});
    c.factor = 0;
    c.reference = [queries](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::size_t at = 0; at < in[0].size(); ++at) {
        const std::int64_t key = static_cast<std::int64_t>(at) % 7, query = static_cast<std::int64_t>(at) / 7 % queries;
        out.emplace_back(key > query + 7 - queries ? static_cast<L>(-inf) : in[0][at]);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.alias_first = true;
    check(c.set_formats(Format::fp16));
  }
}

}  // namespace
}  // namespace ulpscope::test
