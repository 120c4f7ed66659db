// RMS norm, rotary positions, batch norm and sums of channels.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

using L = long double;
const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::fp64};
const std::int64_t shapes[][2] = {{1, 1}, {5, 3}, {3, 17}, {4, 257}, {70, 1025}, {3, 16401}};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
double depth(std::int64_t n) { return static_cast<double>(std::min<std::int64_t>((n + 255) / 256, 64)) + 9.0; }

/// Every format; statistics stay fp32 where x is 16-bit. inputs: positions of statistics among the inputs.
void for_all(OpCase c, const std::vector<std::size_t>& inputs = {}) {
  const auto widen = [&] {
    for (std::size_t o = 1; o < c.out_format.size(); ++o)
      if (is_16bit(c.out_format[o])) c.out_format[o] = Format::fp32;
    for (const std::size_t i : inputs)
      if (is_16bit(c.in_format[i])) c.in_format[i] = Format::fp32;
  };
  for (const Format f : formats) {
    c.set_formats(f);
    widen();
    check(c);
    if (::testing::Test::HasFatalFailure()) return;
  }
  c.layout = Layout::padded;
  c.set_formats(Format::bf16);
  widen();
  check(c);
}

TEST(RmsNorm, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "rms_norm";
    c.in = {{rows, n}, {n}};
    c.out = {{rows, n}, {rows}};
    c.set_params(RmsNormParams{1e-5f});
    c.factor = 6 + depth(n);
    c.threads = rows * n > 40000;
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<std::vector<Expected>> out(2);
      for (std::int64_t r = 0; r < rows; ++r) {
        L square = 0;
        for (std::int64_t i = 0; i < n; ++i) square += in[0][at(r * n + i)] * in[0][at(r * n + i)] / static_cast<L>(n);
        const L rstd = 1 / std::sqrt(square + static_cast<L>(1e-5f));
        for (std::int64_t i = 0; i < n; ++i) out[0].emplace_back(in[0][at(r * n + i)] * rstd * in[1][at(i)]);
        out[1].emplace_back(rstd);
      }
      return out;
    };
    for_all(c);
  }
}

TEST(RmsNormBackward, MatchesTheReference) {
  for (const auto& [rows, n] : shapes) {
    OpCase c;
    c.operation = "rms_norm_backward";
    c.in = {{rows, n}, {n}, {rows}, {rows, n}};
    c.out = {{rows, n}};
    c.factor = 10 + depth(n);
    c.threads = rows * n > 40000;
    c.fill = [](int k, std::int64_t, double u) { return k == 2 ? 0.5 + u : 2 * u - 1; };
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        const L rstd = in[2][at(r)];
        L mean = 0, size = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const L term = in[3][at(r * n + i)] * in[1][at(i)] * in[0][at(r * n + i)] * rstd / static_cast<L>(n);
          mean += term, size += std::fabs(term);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const L g = in[3][at(r * n + i)] * in[1][at(i)], xhat = in[0][at(r * n + i)] * rstd;
          out.emplace_back(rstd * (g - xhat * mean), rstd * (std::fabs(g) + std::fabs(xhat) * size));
        }
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c, {2});
  }
}

TEST(RmsNormBackwardWeights, SumsOverRows) {
  for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{1, 3}, {65, 17}, {300, 1025}}) {
    OpCase c;
    c.operation = "rms_norm_backward_weights";
    c.in = {{rows, n}, {rows}, {rows, n}};
    c.out = {{n}};
    c.factor = 75;
    c.threads = rows * n > 40000;
    c.reference = [rows = rows, n = n](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t i = 0; i < n; ++i) {
        L sum = 0, size = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          const L term = in[2][at(r * n + i)] * in[0][at(r * n + i)] * in[1][at(r)];
          sum += term, size += std::fabs(term);
        }
        out.emplace_back(sum, size);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c, {1});
  }
}

TEST(RotaryTable, IsExactForLatePositionsToo) {
  const std::int64_t positions = 5000, half = 16;
  const RotaryTableParams params{std::pow(10000.0, -1.0 / static_cast<double>(half))};
  for (const auto& [where, kernels] : all_kernels()) {
    SCOPED_TRACE(where);
    for (const int threads : {1, 3}) {
      TestTensor cosine({positions, half}, Format::fp32), sine({positions, half}, Format::fp32);
      execute(kernels, "rotary_table", Format::fp32, {}, {cosine.view(), sine.view()}, &params, {}, threads);
      for (std::int64_t t = 0; t < positions; t += t < 70 ? 1 : 119) {
        for (std::int64_t i = 0; i < half; ++i) {
          const L angle = static_cast<L>(t) * std::pow(10000.0L, -static_cast<L>(i) / static_cast<L>(half));
          // Half an ulp of an angle up to pi, and what the elementary functions err.
          ASSERT_NEAR(cosine.get(t * half + i), static_cast<double>(std::cos(angle)), 2.4e-7) << t << ", " << i;
          ASSERT_NEAR(sine.get(t * half + i), static_cast<double>(std::sin(angle)), 2.4e-7) << t << ", " << i;
        }
      }
    }
  }
}

TEST(RotaryTable, IsCountedTheSameEverywhere) {
  const RotaryTableParams params{0.99};
  RoundingCounts first[2];
  for (const auto& [where, kernels] : all_kernels()) {
    TestTensor cosine({3, 700}, Format::fp16), sine({3, 700}, Format::bf16);
    RoundingCounts counts[2];
    execute(kernels, "rotary_table", Format::fp32, {}, {cosine.view(), sine.view()}, &params, {}, 3, {&counts[0], &counts[1]});
    if (first[0].elements == 0) first[0] = counts[0], first[1] = counts[1];
    EXPECT_EQ(counts[0].elements, 2100);
    EXPECT_TRUE(same_counts(counts[0], first[0]) && same_counts(counts[1], first[1])) << where;
  }
}

TEST(Rotary, TurnsPairsOfTheHalves) {
  const std::int64_t batch = 3, time = 50, heads = 4, d = 34;
  for (const bool inverse : {false, true}) {
    OpCase c;
    c.operation = "rotary";
    c.in = {{batch, time, heads, d}, {time, d / 2}, {time, d / 2}};
    c.out = {{batch, time, heads, d}};
    c.set_params(RotaryParams{inverse});
    c.factor = 2;
    c.threads = true;
    c.reference = [=](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t row = 0; row < batch * time * heads; ++row) {
        const std::int64_t t = row / heads % time;
        for (std::int64_t i = 0; i < d; ++i) {
          const std::int64_t pair = i % (d / 2);
          const L cosine = in[1][at(t * d / 2 + pair)], sine = (inverse ? -1 : 1) * in[2][at(t * d / 2 + pair)];
          const L own = in[0][at(row * d + i)], other = in[0][at(row * d + (i < d / 2 ? i + d / 2 : i - d / 2))];
          const L turned = i < d / 2 ? -other * sine : other * sine;
          out.emplace_back(own * cosine + turned, std::fabs(own * cosine) + std::fabs(turned));
        }
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c, {1, 2});
    c.alias_first = true;
    check(c.set_formats(Format::fp32));
  }
}

struct Channel {
  L mean = 0, variance = 0, size = 0;
};

const std::int64_t batches[][3] = {{2, 1, 1}, {3, 5, 7}, {33, 4, 1}, {4, 3, 1025}, {2, 2, 16500}};

TEST(BatchNorm, MatchesTheReference) {
  for (const auto& [samples, channels, length] : batches) {
    OpCase c;
    c.operation = "batch_norm";
    c.in = {{samples, channels, length}, {channels}, {channels}};
    c.out = {{samples, channels, length}, {channels}, {channels}, {channels}};
    c.set_params(BatchNormParams{1e-3f});
    c.fill = [](int k, std::int64_t i, double u) { return k == 0 ? 4 * u - 1 + static_cast<double>(i % 3) : 2 * u; };
    c.factor = 12 + depth(length) + depth(samples);
    c.threads = samples * channels * length > 10000;
    c.rejects_narrow = samples * channels * length > 10;
    c.reference = [samples = samples, channels = channels, length = length](const std::vector<Values>& in) {
      const L count = static_cast<L>(samples * length);
      std::vector<Channel> stat(at(channels));
      const auto each = [&](const auto& f) {
        for (std::int64_t n = 0; n < samples; ++n)
          for (std::int64_t ch = 0; ch < channels; ++ch)
            for (std::int64_t i = 0; i < length; ++i)
              f(stat[at(ch)], in[0][at((n * channels + ch) * length + i)], at(ch));
      };
      each([&](Channel& s, L x, std::size_t) { s.mean += x / count, s.size += std::fabs(x) / count; });
      each([&](Channel& s, L x, std::size_t) { s.variance += (x - s.mean) * (x - s.mean); });
      std::vector<std::vector<Expected>> out(4);
      const auto rstd = [&](const Channel& s) { return 1 / std::sqrt(s.variance / count + static_cast<L>(1e-3f)); };
      each([&](Channel& s, L x, std::size_t ch) {
        out[0].emplace_back((x - s.mean) * rstd(s) * in[1][ch] + in[2][ch],
                            (std::fabs(x) + s.size) * rstd(s) * std::fabs(in[1][ch]) + std::fabs(in[2][ch]));
      });
      for (const Channel& s : stat) {
        out[1].emplace_back(s.mean, s.size);
        out[2].emplace_back(rstd(s));
        out[3].emplace_back(s.variance / (count - 1), s.variance / (count - 1) + s.size * s.size * 0x1p-20);
      }
      return out;
    };
    for_all(c, {1, 2});
  }
}

TEST(BatchNormInference, UsesRunningStatistics) {
  OpCase c;
  c.operation = "batch_norm_inference";
  c.in = {{3, 5, 70}, {5}, {5}, {5}, {5}};
  c.out = {{3, 5, 70}};
  c.set_params(BatchNormParams{1e-3f});
  c.fill = [](int k, std::int64_t, double u) { return k == 4 ? 0.5 + u : 2 * u - 1; };
  c.factor = 6;
  c.reference = [](const std::vector<Values>& in) {
    std::vector<Expected> out;
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      const std::size_t ch = i / 70 % 5;
      const L factor = in[1][ch] / std::sqrt(in[4][ch] + static_cast<L>(1e-3f));
      out.emplace_back((in[0][i] - in[3][ch]) * factor + in[2][ch],
                       (std::fabs(in[0][i]) + std::fabs(in[3][ch])) * std::fabs(factor) + std::fabs(in[2][ch]));
    }
    return std::vector<std::vector<Expected>>{out};
  };
  for_all(c, {1, 2, 3, 4});
}

TEST(BatchNormBackward, MatchesTheReference) {
  for (const auto& [samples, channels, length] : batches) {
    OpCase c;
    c.operation = "batch_norm_backward";
    c.in = {{samples, channels, length}, {channels}, {channels}, {channels}, {samples, channels, length}};
    c.out = {{samples, channels, length}, {channels}, {channels}};
    c.fill = [](int k, std::int64_t, double u) { return k == 3 ? 0.5 + u : 2 * u - 1; };
    c.factor = 14 + depth(length) + depth(samples);
    c.threads = samples * channels * length > 10000;
    c.rejects_narrow = samples * channels * length > 10;
    c.reference = [samples = samples, channels = channels, length = length](const std::vector<Values>& in) {
      const L count = static_cast<L>(samples * length);
      std::vector<L> dgamma(at(channels)), dbeta(at(channels)), gamma_size(at(channels)), beta_size(at(channels));
      const auto each = [&](const auto& f) {
        for (std::int64_t n = 0; n < samples; ++n)
          for (std::int64_t ch = 0; ch < channels; ++ch)
            for (std::int64_t i = 0; i < length; ++i) {
              const std::size_t e = at((n * channels + ch) * length + i);
              f(at(ch), (in[0][e] - in[2][at(ch)]) * in[3][at(ch)], in[4][e]);
            }
      };
      each([&](std::size_t ch, L xhat, L dy) {
        dgamma[ch] += dy * xhat, gamma_size[ch] += std::fabs(dy) * (std::fabs(xhat) + 1);
        dbeta[ch] += dy, beta_size[ch] += std::fabs(dy);
      });
      std::vector<std::vector<Expected>> out(3);
      each([&](std::size_t ch, L xhat, L dy) {
        const L factor = in[1][ch] * in[3][ch];
        out[0].emplace_back(factor * (dy - dbeta[ch] / count - xhat * dgamma[ch] / count),
                            std::fabs(factor) * (std::fabs(dy) + beta_size[ch] / count +
                                                 (std::fabs(xhat) + 1) * gamma_size[ch] / count));
      });
      for (std::size_t ch = 0; ch < at(channels); ++ch) {
        out[1].emplace_back(dgamma[ch], gamma_size[ch]);
        out[2].emplace_back(dbeta[ch], beta_size[ch]);
      }
      return out;
    };
    for_all(c, {1, 2, 3});
  }
}

TEST(SumChannels, MatchesTheReference) {
  for (const auto& [samples, channels, length] : batches) {
    OpCase c;
    c.operation = "sum_channels";
    c.in = {{samples, channels, length}};
    c.out = {{channels}};
    c.factor = depth(length) + depth(samples);
    c.threads = samples * channels * length > 10000;
    c.reference = [samples = samples, channels = channels, length = length](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t ch = 0; ch < channels; ++ch) {
        L sum = 0, size = 0;
        for (std::int64_t n = 0; n < samples; ++n)
          for (std::int64_t i = 0; i < length; ++i) {
            const L x = in[0][at((n * channels + ch) * length + i)];
            sum += x, size += std::fabs(x);
          }
        out.emplace_back(sum, size);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for_all(c);
  }
}

}  // namespace
}  // namespace ulpscope::test
