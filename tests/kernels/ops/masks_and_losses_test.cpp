// Masks, the losses averaged over elements, and what cross-entropy's options do.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::fp64};
double depth(std::int64_t n) { return static_cast<double>(std::min<std::int64_t>((n + 255) / 256, 64)) + 9.0; }

/// One bit in three is set, as 1 or as another number.
double mask_value(std::int64_t i) { return i % 3 == 1 ? static_cast<double>(1 - 2 * (i % 2)) : 0.0; }

TEST(MaskedFill, FillsWhereTheMaskIsSet) {
  for (const double value : {-HUGE_VAL, 0.25}) {
    OpCase c;
    c.operation = "masked_fill";
    c.in = {{4, 5, 70}, {4, 1, 70}};
    c.in_format = {Format::fp32, Format::i32};
    c.out = {{4, 5, 70}};
    c.set_params(MaskedFillParams{value});
    c.fill = [](int k, std::int64_t i, double u) { return k == 1 ? mask_value(i) : 4 * u - 2; };
    c.factor = 0;
    c.reference = [value](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::size_t i = 0; i < in[0].size(); ++i) {
        const bool set = in[1][i / 350 * 70 + i % 70] != 0;
        out.emplace_back(set ? static_cast<L>(value) : in[0][i]);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));
    c.layout = Layout::permuted;
    check(c.set_formats(Format::fp16));
    c.layout = Layout::contiguous;
    c.alias_first = true;
    check(c.set_formats(Format::bf16));
  }
}

TEST(Where, ChoosesByTheCondition) {
  OpCase c;
  c.operation = "where";
  c.in = {{40, 1}, {40, 1025}, {1025}};
  c.in_format = {Format::i32, Format::fp32, Format::fp32};
  c.out = {{40, 1025}};
  c.fill = [](int k, std::int64_t i, double u) { return k == 0 ? mask_value(i) : 4 * u - 2; };
  c.factor = 0;
  c.threads = true;
  c.reference = [](const std::vector<Values>& in) {
    std::vector<Expected> out;
    for (std::size_t i = 0; i < in[1].size(); ++i) out.emplace_back(in[0][i / 1025] != 0 ? in[1][i] : in[2][i % 1025]);
    return std::vector<std::vector<Expected>>{out};
  };
  for (const Format f : formats) check(c.set_formats(f));
}

TEST(Compare, GivesOnesAndZeros) {
  for (const bool equal : {true, false}) {
    OpCase c;
    c.operation = "compare";
    c.in = {{5, 7}};
    c.in_format = {Format::i32};
    c.out = {{5, 7}};
    c.out_format = {Format::i32};
    c.set_params(CompareParams{-3, equal});
    c.fill = [](int, std::int64_t i, double) { return static_cast<double>(i % 5 - 4); };
    c.rejects_narrow = false;
    c.reference = [equal](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (const L x : in[0]) out.emplace_back((x == -3) == equal ? 1.0L : 0.0L);
      return std::vector<std::vector<Expected>>{out};
    };
    check(c);
  }
}

struct Sequences {
  std::int64_t batch, time, columns;
};

TEST(MaskedMean, AveragesWhatTheMaskLeaves) {
  for (const Sequences& s : {Sequences{1, 2, 1}, Sequences{3, 70, 33}, Sequences{2, 200, 1100}}) {
    OpCase c;
    c.operation = "masked_mean";
    c.in = {{s.batch, s.time, s.columns}, {s.batch, s.time}};
    c.in_format = {Format::fp32, Format::i32};
    c.out = {{s.batch, s.columns}};
    c.fill = [](int k, std::int64_t i, double u) { return k == 1 ? mask_value(i) : 4 * u - 2; };
    c.factor = 70;
    c.threads = s.time > 100;
    const auto index = [s](std::int64_t b, std::int64_t t, std::int64_t i) {
      return static_cast<std::size_t>((b * s.time + t) * s.columns + i);
    };
    c.reference = [s, index](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t i = 0; i < s.columns; ++i) {
          L sum = 0, size = 0, count = 0;
          for (std::int64_t t = 0; t < s.time; ++t)
            if (in[1][static_cast<std::size_t>(b * s.time + t)] != 0)
              sum += in[0][index(b, t, i)], size += std::fabs(in[0][index(b, t, i)]), count += 1;
          out.emplace_back(sum / count, size / count);
        }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));

    OpCase back;
    back.operation = "masked_mean_backward";
    back.in = {{s.batch, s.columns}, {s.batch, s.time}};
    back.in_format = {Format::fp32, Format::i32};
    back.out = {{s.batch, s.time, s.columns}};
    back.fill = c.fill;
    back.factor = 1;
    back.threads = c.threads;
    back.reference = [s](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (std::int64_t row = 0; row < s.batch * s.time; ++row) {
        const std::int64_t b = row / s.time;
        L count = 0;
        for (std::int64_t t = 0; t < s.time; ++t) count += in[1][static_cast<std::size_t>(b * s.time + t)] != 0 ? 1 : 0;
        const bool set = in[1][static_cast<std::size_t>(row)] != 0;
        for (std::int64_t i = 0; i < s.columns; ++i)
          out.emplace_back(set ? in[0][static_cast<std::size_t>(b * s.columns + i)] / count : 0);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(back.set_formats(f));
  }
}

TEST(MaskedMean, OfNothingIsNaN) {
  TestTensor x({1, 3, 2}, Format::fp32), mask({1, 3}, Format::i32), y({1, 2}, Format::fp32);
  for (int i = 0; i < 6; ++i) x.set(i, 1);
  for (int i = 0; i < 3; ++i) mask.set(i, 0);
  for (const auto& [where, kernels] : all_kernels()) {
    y.set(0, 1.0);
    execute(kernels, "masked_mean", Format::fp32, {x.view(), mask.view()}, {y.view()}, nullptr, {}, 1);
    EXPECT_TRUE(std::isnan(y.get(0))) << where;
  }
}

L bce(L x, L t) { return (1 - t) * x + std::fmax(-x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); }

TEST(Losses, MatchTheReference) {
  for (const bool binary : {false, true}) {
    for (const std::int64_t n : {1, 257, 33000}) {
      OpCase c;
      c.operation = binary ? "bce_with_logits" : "l1_loss";
      c.in = {{n, 2}, {n, 2}};
      c.out = {{}};
      c.factor = depth(2 * n) + 12;
      c.threads = n > 30000;
      c.fill = [](int k, std::int64_t, double u) { return k == 0 ? 16 * u - 8 : u; };
      c.reference = [binary](const std::vector<Values>& in) {
        L sum = 0, size = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          const L x = in[0][i], t = in[1][i];
          sum += binary ? bce(x, t) : std::fabs(x - t);
          size += std::fabs(x) + 1;
        }
        const L count = static_cast<L>(in[0].size());
        return std::vector<std::vector<Expected>>{{Expected(sum / count, size / count)}};
      };
      for (const Format f : formats) check(c.set_formats(f));

      OpCase back = c;
      back.operation += "_backward";
      back.in = {{n, 2}, {n, 2}, {}};
      back.out = {{n, 2}};
      back.factor = 8;
      back.reference = [binary](const std::vector<Values>& in) {
        std::vector<Expected> out;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          const L x = in[0][i], t = in[1][i], share = in[2][0] / static_cast<L>(in[0].size());
          const L sign = x > t ? 1 : x < t ? -1 : 0;
          out.emplace_back(binary ? (1 / (1 + std::exp(-x)) - t) * share : sign * share, std::fabs(share) * 2);
        }
        return std::vector<std::vector<Expected>>{out};
      };
      back.rejects_narrow = binary && n < 1000;  // a longer mean has subnormal gradients in fp16
      for (const Format f : formats) check(back.set_formats(f));
    }
  }
}

/// Where exp(-|x|) is far below an ulp of one, the loss of a right answer is still exp(-|x|), and that of a wrong one
/// |x|.
TEST(BceWithLogits, KeepsSmallLosses) {
  for (const double x : {20.0, -20.0, 80.0, 1e4}) {
    for (const double target : {0.0, 1.0}) {
      TestTensor logits({1}, Format::fp32), t({1}, Format::fp32), loss({}, Format::fp32);
      logits.set(0, x);
      t.set(0, target);
      execute("bce_with_logits", Format::fp32, {logits.view(), t.view()}, {loss.view()}, nullptr, {},
              InstructionSet::portable, 1);
      const double expected = static_cast<double>(bce(static_cast<L>(x), static_cast<L>(target)));
      EXPECT_NEAR(loss.get(0), expected, 4e-7 * expected + 1e-38) << x << ", " << target;
    }
  }
}

struct SmoothCase {
  double smoothing;
  std::int32_t ignored;
};

TEST(CrossEntropyOptions, SmoothAndIgnore) {
  for (const SmoothCase& s : {SmoothCase{0.1, -100}, SmoothCase{0.0, 2}, SmoothCase{0.25, 2}}) {
    const std::int64_t rows = 40, n = 300;
    OpCase c;
    c.operation = "cross_entropy";
    c.in = {{rows, n}, {rows}};
    c.in_format = {Format::fp32, Format::i32};
    c.out = {{}, {rows}};
    c.set_params(CrossEntropyParams{s.smoothing, s.ignored});
    c.fill = [](int k, std::int64_t i, double u) { return k == 1 ? static_cast<double>(i % 7) : 8 * u - 4; };
    c.factor = 40;
    c.rejects_narrow = false;
    const auto row_loss = [s](const Values& x, std::int64_t row, std::int64_t target) {
      L sum = 0, mean = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[static_cast<std::size_t>(row * n + i)]);
      for (std::int64_t i = 0; i < n; ++i) mean += x[static_cast<std::size_t>(row * n + i)] / static_cast<L>(n);
      const L lse = std::log(sum), e = static_cast<L>(s.smoothing);
      return std::pair<L, L>((1 - e) * (lse - x[static_cast<std::size_t>(row * n + target)]) + e * (lse - mean), lse);
    };
    c.reference = [=](const std::vector<Values>& in) {
      std::vector<std::vector<Expected>> out(2);
      L total = 0, count = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto target = static_cast<std::int64_t>(in[1][static_cast<std::size_t>(r)]);
        const auto [loss, lse] = row_loss(in[0], r, target);
        out[1].emplace_back(lse);
        if (target == s.ignored) continue;
        total += loss, count += 1;
      }
      out[0].emplace_back(total / count);
      return out;
    };
    for (const Format f : {Format::fp32, Format::bf16, Format::fp64}) {
      c.set_formats(f);
      if (f == Format::bf16) c.out_format = {Format::fp32, Format::fp32};
      check(c);
    }

    OpCase back = c;
    back.operation = "cross_entropy_backward";
    back.in = {{rows, n}, {rows}, {rows}, {}};
    back.in_format = {Format::fp32, Format::i32, Format::fp32, Format::fp32};
    back.out = {{rows, n}};
    back.out_format = {Format::fp32};
    back.compute = Format::fp32;
    back.fill = [](int k, std::int64_t i, double u) {
      return k == 1 ? static_cast<double>(i % 7) : k == 2 ? 7 + u : k == 3 ? 0.75 : 4 * u - 2;
    };
    back.factor = 20;
    back.rejects_narrow = true;
    back.reference = [=](const std::vector<Values>& in) {
      std::vector<Expected> out;
      L count = 0;
      for (const L t : in[1]) count += static_cast<std::int64_t>(t) != s.ignored ? 1 : 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto target = static_cast<std::int64_t>(in[1][static_cast<std::size_t>(r)]);
        for (std::int64_t i = 0; i < n; ++i) {
          const L p = std::exp(in[0][static_cast<std::size_t>(r * n + i)] - in[2][static_cast<std::size_t>(r)]);
          const L e = static_cast<L>(s.smoothing), scale = target == s.ignored ? 0 : in[3][0] / count;
          out.emplace_back((p - e / static_cast<L>(n) - (i == target ? 1 - e : 0)) * scale, (p + 1) * scale);
        }
      }
      return std::vector<std::vector<Expected>>{out};
    };
    check(back);
  }
}

TEST(CrossEntropyOptions, AllIgnoredIsNaN) {
  TestTensor x({2, 3}, Format::fp32), t({2}, Format::i32), loss({}, Format::fp32), lse({2}, Format::fp32);
  for (int i = 0; i < 6; ++i) x.set(i, i);
  for (int i = 0; i < 2; ++i) t.set(i, -100);
  for (const auto& [where, kernels] : all_kernels()) {
    loss.set(0, 1.0);
    execute(kernels, "cross_entropy", Format::fp32, {x.view(), t.view()}, {loss.view(), lse.view()}, nullptr, {}, 1);
    EXPECT_TRUE(std::isnan(loss.get(0))) << where;
  }
}

}  // namespace
}  // namespace ulpscope::test
