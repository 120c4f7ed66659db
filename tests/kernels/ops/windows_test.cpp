// Pooling against a reference that looks at every position of every window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::fp64};

struct PoolCase {
  std::int64_t planes, height, width;
  Window window;

  std::int64_t rows() const { return (height + 2 * window.padding[0] - window.kernel[0]) / window.stride[0] + 1; }
  std::int64_t columns() const { return (width + 2 * window.padding[1] - window.kernel[1]) / window.stride[1] + 1; }
  Shape x() const { return {planes, height, width}; }
  Shape y() const { return {planes, rows(), columns()}; }

  /// f(output, element of the input) for every pair, in ascending order.
  template <class F>
  void each(F f) const {
    for (std::int64_t p = 0; p < planes; ++p)
      for (std::int64_t r = 0; r < rows(); ++r)
        for (std::int64_t c = 0; c < columns(); ++c)
          for (std::int64_t kh = 0; kh < window.kernel[0]; ++kh)
            for (std::int64_t kw = 0; kw < window.kernel[1]; ++kw) {
              const std::int64_t h = r * window.stride[0] - window.padding[0] + kh,
                                 w = c * window.stride[1] - window.padding[1] + kw;
              if (h < 0 || h >= height || w < 0 || w >= width) continue;
              f(static_cast<std::size_t>((p * rows() + r) * columns() + c),
                static_cast<std::size_t>((p * height + h) * width + w));
            }
  }
  /// An element, in its plane, that output o sees: another one for another pick.
  std::int64_t seen(std::int64_t o, std::int64_t pick) const {
    const std::int64_t r = o / columns() % rows(), c = o % columns();
    const auto within = [pick](std::int64_t begin, std::int64_t kernel, std::int64_t extent) {
      const std::int64_t first = std::max<std::int64_t>(begin, 0), last = std::min(begin + kernel, extent);
      return first + pick % (last - first);
    };
    return within(r * window.stride[0] - window.padding[0], window.kernel[0], height) * width +
           within(c * window.stride[1] - window.padding[1], window.kernel[1], width);
  }
  L area() const { return static_cast<L>(window.kernel[0] * window.kernel[1]); }
};

std::vector<PoolCase> cases() {
  return {{3, 5, 6, {{2, 3}, {2, 1}, {1, 1}, {1, 1}}},
          {7, 1, 40, {{1, 4}, {1, 4}, {0, 0}, {1, 1}}},
          {2, 9, 9, {{3, 3}, {3, 3}, {0, 0}, {1, 1}}},
          {5, 8, 8, {{8, 8}, {1, 1}, {0, 0}, {1, 1}}},
          {40, 28, 28, {{2, 2}, {2, 2}, {0, 0}, {1, 1}}}};
}

OpCase case_of(const char* operation, const PoolCase& p) {
  OpCase c;
  c.operation = operation;
  c.set_params(PoolParams{p.window});
  c.threads = p.planes > 10;
  return c;
}

TEST(MaxPool, FindsTheFirstGreatest) {
  for (const PoolCase& p : cases()) {
    OpCase c = case_of("max_pool", p);
    c.in = {p.x()};
    c.out = {p.y(), p.y()};
    c.fill = [](int, std::int64_t, double u) { return std::floor(6 * u); };  // many equal ones
    c.factor = 0;
    c.rejects_narrow = false;
    c.reference = [p](const std::vector<Values>& in) {
      std::vector<std::vector<Expected>> out(
          2, std::vector<Expected>(static_cast<std::size_t>(p.y().elements()), Expected(-1)));
      p.each([&](std::size_t o, std::size_t i) {
        if (!(in[0][i] > out[0][o].value)) return;
        out[0][o] = Expected(in[0][i]);
        out[1][o] = Expected(static_cast<L>(i % static_cast<std::size_t>(p.height * p.width)));
      });
      return out;
    };
    for (const Format f : formats) {
      c.set_formats(f);
      c.out_format[1] = Format::i32;
      check(c);
    }
  }
}

TEST(MaxPool, NaNWinsAndNegativeInfinityIsFound) {
  TestTensor x({2, 1, 3}, Format::fp32), y({2, 1, 1}, Format::fp32), index({2, 1, 1}, Format::i32);
  const double values[] = {1, std::nan(""), 5, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (int i = 0; i < 6; ++i) x.set(i, values[i]);
  const PoolParams params{{{1, 3}, {1, 3}, {0, 0}, {1, 1}}};
  execute("max_pool", Format::fp32, {x.view()}, {y.view(), index.view()}, &params, {}, InstructionSet::portable, 1);
  EXPECT_TRUE(std::isnan(y.get(0)));
  EXPECT_EQ(index.get(0), 1);
  EXPECT_EQ(y.get(1), -HUGE_VAL);
  EXPECT_EQ(index.get(1), 0);
}

TEST(MaxPoolBackward, AddsWhereItWasFound) {
  for (const PoolCase& p : cases()) {
    OpCase c = case_of("max_pool_backward", p);
    c.in = {p.y(), p.y()};
    c.in_format = {Format::fp32, Format::i32};
    c.out = {p.x()};
    c.factor = 8;
    const std::int64_t plane = p.height * p.width;
    c.fill = [p](int k, std::int64_t i, double u) { return k == 1 ? static_cast<double>(p.seen(i, i * 5)) : 2 * u - 1; };
    c.reference = [p, plane](const std::vector<Values>& in) {
      std::vector<L> sum(static_cast<std::size_t>(p.x().elements())), size(sum.size());
      for (std::size_t o = 0; o < in[0].size(); ++o) {
        const std::size_t at = o / static_cast<std::size_t>(p.rows() * p.columns()) * static_cast<std::size_t>(plane) +
                               static_cast<std::size_t>(in[1][o]);
        sum[at] += in[0][o], size[at] += std::fabs(in[0][o]);
      }
      std::vector<Expected> out;
      for (std::size_t i = 0; i < sum.size(); ++i) out.emplace_back(sum[i], size[i]);
      return std::vector<std::vector<Expected>>{out};
    };
    c.rejects_narrow = p.y().elements() > 30;
    for (const Format f : formats) check(c.set_formats(f));
  }
}

TEST(AveragePool, DividesByTheWindow) {
  for (const PoolCase& p : cases()) {
    OpCase c = case_of("avg_pool", p);
    c.in = {p.x()};
    c.out = {p.y()};
    c.factor = 10;
    c.reference = [p](const std::vector<Values>& in) {
      std::vector<L> sum(static_cast<std::size_t>(p.y().elements())), size(sum.size());
      p.each([&](std::size_t o, std::size_t i) { sum[o] += in[0][i], size[o] += std::fabs(in[0][i]); });
      std::vector<Expected> out;
      for (std::size_t o = 0; o < sum.size(); ++o) out.emplace_back(sum[o] / p.area(), size[o] / p.area());
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(c.set_formats(f));

    OpCase back = case_of("avg_pool_backward", p);
    back.in = {p.y()};
    back.out = {p.x()};
    back.factor = 10;
    back.rejects_narrow = p.y().elements() > 30;
    back.reference = [p](const std::vector<Values>& in) {
      std::vector<L> sum(static_cast<std::size_t>(p.x().elements())), size(sum.size());
      p.each([&](std::size_t o, std::size_t i) {
        sum[i] += in[0][o] / p.area(), size[i] += std::fabs(in[0][o]) / p.area();
      });
      std::vector<Expected> out;
      for (std::size_t i = 0; i < sum.size(); ++i) out.emplace_back(sum[i], size[i]);
      return std::vector<std::vector<Expected>>{out};
    };
    for (const Format f : formats) check(back.set_formats(f));
  }
}

}  // namespace
}  // namespace ulpscope::test
