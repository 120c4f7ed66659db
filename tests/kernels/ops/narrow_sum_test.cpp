// Sums in the format and order that a launch asks for, against a reference that rounds by definition in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/math/reduction_tree.h"
#include "tests/kernels/formats/reference.h"
#include "tests/kernels/ops/op_case.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

using List = std::vector<double>;

/// The sum of two numbers of at most 24 bits is rounded to fp32 first, as the kernels do, then to the format.
struct Narrow {
  Format format;
  double add(double a, double b) const {
    const double sum = reference::round_to(info(Format::fp32), a + b);
    return format == Format::fp32 ? sum : reference::round_to(info(format), sum);
  }
  List rounded(List list) const {
    for (double& x : list) x = reference::round_to(info(format), x);
    return list;
  }

  double serial(const List& list) const {
    double sum = 0.0;
    for (const double x : list) sum = add(sum, x);
    return sum;
  }
  double pairwise(List list) const {
    while (list.size() > 1) {
      List next;
      for (std::size_t i = 0; i + 1 < list.size(); i += 2) next.push_back(add(list[i], list[i + 1]));
      if (list.size() % 2 != 0) next.push_back(list.back());
      list = next;
    }
    return list.front();
  }
  /// `width` lanes of every width-th element, folded by halving.
  double lanes(const List& list, std::size_t width) const {
    List lane(width, 0.0);
    std::vector<bool> used(width, false);
    for (std::size_t i = 0; i < list.size(); ++i) {
      lane[i % width] = used[i % width] ? add(lane[i % width], list[i]) : list[i];
      used[i % width] = true;
    }
    for (std::size_t w = width / 2; w > 0; w /= 2)
      for (std::size_t i = 0; i < w; ++i) lane[i] = add(lane[i], lane[i + w]);
    return lane[0];
  }
  double tree(const List& list) const {
    const auto chunk = static_cast<std::size_t>(math::tree_chunk);
    if (list.size() <= chunk) return lanes(list, 256);
    List sums;
    for (std::size_t begin = 0; begin < list.size(); begin += chunk)
      sums.push_back(lanes({list.begin() + begin, list.begin() + std::min(list.size(), begin + chunk)}, 256));
    return lanes(sums, 256);
  }
  double sum(SumOrder order, const List& list) const {
    switch (order) {
      case SumOrder::serial: return serial(list);
      case SumOrder::pairwise: return pairwise(list);
      case SumOrder::lanes32: return lanes(list, 32);
      case SumOrder::tree: return tree(list);
    }
    return 0.0;
  }
};

constexpr SumOrder orders[] = {SumOrder::tree, SumOrder::serial, SumOrder::pairwise, SumOrder::lanes32};
constexpr Format accumulators[] = {Format::fp16, Format::bf16, Format::fp32};

/// Runs an operation with every instruction set, one and three threads, and on the emulated grid; the bits must be the same, and
/// so must what the sums lose.
class NarrowRun {
 public:
  NarrowRun(std::string operation, std::vector<Tensor> in, std::vector<Tensor> out, Arithmetic arithmetic, const void* params = nullptr)
      : operation_(std::move(operation)), in_(std::move(in)), out_(std::move(out)), arithmetic_(arithmetic), params_(params) {}

  StepState run(InstructionSet set, int threads) {
    return run(kernels_of(set), threads, nullptr);
  }

  StepState run(const KernelTable& table, int threads, RoundingCounts* inner) {
    Launch launch;
    launch.in = in_.data();
    launch.in_count = static_cast<int>(in_.size());
    launch.out = out_.data();
    launch.out_count = static_cast<int>(out_.size());
    launch.arithmetic = arithmetic_;
    launch.params = params_;
    launch.threads = threads;
    launch.inner = inner;
    return execute(table, operation_, Format::fp32, launch, {});
  }

  template <class Check>
  void everywhere(const Check& check) {
    RoundingCounts first;
    bool any = false;
    for (const auto& [where, kernels] : all_kernels()) {
      check(run(kernels, 1, nullptr));
      RoundingCounts inner;
      check(run(kernels, 3, &inner));
      if (!any) first = inner;
      any = true;
      EXPECT_TRUE(same_counts(inner, first)) << operation_ << ' ' << where;
    }
  }

 private:
  std::string operation_;
  std::vector<Tensor> in_, out_;
  Arithmetic arithmetic_;
  const void* params_;
};

List filled(TestTensor& x, double scale) {
  Uniform uniform(7);
  List list;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    x.set(i, scale * (2.0 * uniform() - 0.8));
    list.push_back(x.get(i));
  }
  return list;
}

TEST(NarrowSum, EveryFormatAndOrderOfASum) {
  for (const std::int64_t n : {1, 2, 31, 33, 257, 1000, 16385, 40000}) {
    TestTensor x({n}, Format::fp32), y({}, Format::fp32);
    const List list = filled(x, 3.0);
    for (const Format format : accumulators)
      for (const SumOrder order : orders) {
        const Narrow narrow{format};
        const double expected = narrow.sum(order, narrow.rounded(list));
        NarrowRun("sum_all", {x.view()}, {y.view()}, {format, order, Format::fp32}).everywhere([&](const StepState&) {
          EXPECT_EQ(y.get(0), expected) << name(format) << ' ' << name(order) << ' ' << n;
        });
      }
  }
}

TEST(NarrowSum, OfRowsAndColumns) {
  constexpr std::int64_t rows = 70, columns = 41;
  TestTensor x({rows, columns}, Format::fp32), by_row({rows}, Format::fp32), by_column({columns}, Format::fp32);
  const List list = filled(x, 3.0);
  for (const Format format : accumulators)
    for (const SumOrder order : orders) {
      const Narrow narrow{format};
      const Arithmetic arithmetic{format, order, Format::fp32};
      const std::string what = std::string(name(format)) + ' ' + name(order);
      NarrowRun("sum_trailing", {x.view()}, {by_row.view()}, arithmetic).everywhere([&](const StepState&) {
        for (std::int64_t r = 0; r < rows; ++r)
          EXPECT_EQ(by_row.get(r), narrow.sum(order, narrow.rounded({list.begin() + r * columns, list.begin() + (r + 1) * columns}))) << what;
      });
      // With the default arithmetic the columns have an order of their own (ops/reductions.h).
      if (arithmetic.standard()) continue;
      NarrowRun("sum_leading", {x.view()}, {by_column.view()}, arithmetic).everywhere([&](const StepState&) {
        for (std::int64_t c = 0; c < columns; ++c) {
          List own;
          for (std::int64_t r = 0; r < rows; ++r) own.push_back(list[static_cast<std::size_t>(r * columns + c)]);
          EXPECT_EQ(by_column.get(c), narrow.sum(order, narrow.rounded(own))) << what;
        }
      });
    }
}

TEST(NarrowSum, LossesOfPairs) {
  constexpr std::int64_t n = 3000;
  TestTensor a({n}, Format::fp32), b({n}, Format::fp32), loss({}, Format::fp32);
  const List x = filled(a, 20.0);
  List squares, magnitudes;
  for (std::int64_t i = 0; i < n; ++i) {
    b.set(i, 0.25 * static_cast<double>(i % 7));
    const auto difference = static_cast<float>(x[static_cast<std::size_t>(i)]) - static_cast<float>(b.get(i));
    squares.push_back(static_cast<double>(difference * difference));
    magnitudes.push_back(std::fabs(static_cast<double>(difference)));
  }
  for (const SumOrder order : orders) {
    const Narrow narrow{Format::bf16};
    const auto expected = [&](const List& terms) {
      return static_cast<double>(static_cast<float>(narrow.sum(order, narrow.rounded(terms))) / static_cast<float>(n));
    };
    const Arithmetic arithmetic{Format::bf16, order, Format::fp32};
    NarrowRun("mse_loss", {a.view(), b.view()}, {loss.view()}, arithmetic).everywhere([&](const StepState&) { EXPECT_EQ(loss.get(0), expected(squares)); });
    NarrowRun("l1_loss", {a.view(), b.view()}, {loss.view()}, arithmetic).everywhere([&](const StepState&) { EXPECT_EQ(loss.get(0), expected(magnitudes)); });
  }
}

TEST(NarrowSum, OfOnesInFp16) {
  const auto sum = [](std::int64_t n, SumOrder order) {
    TestTensor x({n}, Format::fp16), y({}, Format::fp32);
    for (std::int64_t i = 0; i < n; ++i) x.set(i, 1.0);
    NarrowRun run("sum_all", {x.view()}, {y.view()}, {Format::fp16, order, Format::fp32});
    run.run(InstructionSet::portable, 1);
    const double result = y.get(0);
    run.everywhere([&](const StepState&) { EXPECT_EQ(y.get(0), result) << n << ' ' << name(order); });
    return result;
  };
  EXPECT_EQ(sum(100000, SumOrder::serial), 2048.0);   // 2048 + 1 is a tie to even
  for (const SumOrder order : {SumOrder::tree, SumOrder::pairwise, SumOrder::lanes32}) {
    EXPECT_EQ(sum(65504, order), 65504.0) << name(order);
    EXPECT_EQ(sum(65519, order), INFINITY) << name(order);   // rounded upwards on the way
  }
}

TEST(NarrowSum, AMeanWithItsCountInFp16) {
  for (const std::int64_t n : {65519, 65520}) {
    TestTensor x({n}, Format::fp32), y({}, Format::fp32);
    for (std::int64_t i = 0; i < n; ++i) x.set(i, i % 2 == 0 ? 0.5 : -0.25);
    const double sum = reference::round_to(info(Format::fp16), n % 2 == 0 ? 8190.0 : 8190.25);
    NarrowRun("mean_all", {x.view()}, {y.view()}, {Format::fp32, SumOrder::tree, Format::fp16}).everywhere([&](const StepState&) {
      EXPECT_EQ(y.get(0), n < 65520 ? static_cast<float>(sum / 65504.0) : 0.0) << n;
    });
  }
}

TEST(NarrowSum, LayerNormInFp16) {
  constexpr std::int64_t n = 300;
  TestTensor x({2, n}, Format::fp32), gamma({n}, Format::fp32), beta({n}, Format::fp32), y({2, n}, Format::fp32), mean({2}, Format::fp32),
      rstd({2}, Format::fp32);
  const List list = filled(x, 2.0);
  for (std::int64_t i = 0; i < n; ++i) gamma.set(i, 1.0), beta.set(i, 0.0);
  const LayerNormParams params{1e-5f};
  for (const SumOrder order : orders) {
    const Narrow narrow{Format::fp16};
    NarrowRun run("layer_norm", {x.view(), gamma.view(), beta.view()}, {y.view(), mean.view(), rstd.view()},
                  {Format::fp16, order, Format::fp32}, &params);
    run.everywhere([&](const StepState&) {
      for (std::int64_t row = 0; row < 2; ++row) {
        const List own(list.begin() + row * n, list.begin() + (row + 1) * n);
        const auto m = static_cast<float>(narrow.sum(order, narrow.rounded(own))) / static_cast<float>(n);
        EXPECT_EQ(mean.get(row), static_cast<double>(m)) << name(order);
        List squares;
        for (const double v : own) squares.push_back(static_cast<double>((static_cast<float>(v) - m) * (static_cast<float>(v) - m)));
        const auto variance = static_cast<float>(narrow.sum(order, narrow.rounded(squares))) / static_cast<float>(n);
        EXPECT_EQ(rstd.get(row), static_cast<double>(1.0f / std::sqrt(variance + 1e-5f))) << name(order);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto v = static_cast<float>(own[static_cast<std::size_t>(i)]);
          ASSERT_EQ(y.get(row * n + i), static_cast<double>((v - m) * static_cast<float>(rstd.get(row)))) << name(order);
        }
      }
    });
  }
}

/// 301 and fifteen times 300: in every order 4801 is 4800 in fp16, so that the mean is 300, not 300.0625, and the variance 1/16, not 15/256.
/// 4096 ones, one after the other, come to 2048.
TEST(NarrowSum, WhatARowOfANormIsOffBy) {
  TestTensor x({1, 16}, Format::fp32), gain({16}, Format::fp32), bias({16}, Format::fp32), y({1, 16}, Format::fp32), mean({1}, Format::fp32), rstd({1}, Format::fp32);
  for (std::int64_t i = 0; i < 16; ++i) x.set(i, i == 0 ? 301.0 : 300.0), gain.set(i, 2.0), bias.set(i, 0.5);
  const LayerNormParams params{1e-5f};
  const double right = 1.0 / std::sqrt(15.0 / 256.0 + 1e-5), made = 1.0 / std::sqrt(1.0 / 16.0 + 1e-5);
  for (const SumOrder order : orders)
    for (const auto& [where, kernels] : all_kernels()) {
      NarrowRun run("layer_norm", {x.view(), gain.view(), bias.view()}, {y.view(), mean.view(), rstd.view()}, {Format::fp16, order, Format::fp32}, &params);
      RoundingCounts inner;
      run.run(kernels, 1, &inner);
      EXPECT_NEAR(inner.sum_of_errors, std::hypot((made - right) * std::sqrt(15.0 / 256.0), made / 16.0), 1e-6) << where << ' ' << name(order);
      EXPECT_EQ(inner.lost_updates, 0) << "no addition that changes nothing";
    }
  constexpr std::int64_t n = 4096;
  TestTensor ones({2, n}, Format::fp32), units({n}, Format::fp32), out({2, n}, Format::fp32), roots({2}, Format::fp32);
  for (std::int64_t i = 0; i < n; ++i) ones.set(i, 1.0), ones.set(n + i, 1e-3), units.set(i, 1.0);
  const RmsNormParams plain{0.0f};
  for (const auto& [where, kernels] : all_kernels()) {
    NarrowRun run("rms_norm", {ones.view(), units.view()}, {out.view(), roots.view()}, {Format::fp16, SumOrder::serial, Format::fp32}, &plain);
    RoundingCounts inner;
    run.run(kernels, 3, &inner);
    EXPECT_GE(inner.sum_of_errors, std::sqrt(2.0) - 1.0 - 1e-6) << where;
  }
}

TEST(NarrowSum, AnEmbeddingGradientSticks) {
  constexpr std::int64_t n = 5000;
  const auto gradient = [&](Format format, double first, std::int64_t additions) {
    TestTensor dy({additions + 1, 2}, Format::fp32), table({3, 2}, Format::fp32);
    std::vector<std::int32_t> index(static_cast<std::size_t>(additions) + 1, 1);
    for (std::int64_t i = 0; i <= additions; ++i)
      for (int c = 0; c < 2; ++c) dy.set(2 * i + c, i == 0 ? first : 0.01);
    const Tensor positions(index.data(), Format::i32, Shape{additions + 1});
    double sum = NAN;
    NarrowRun("embedding_backward", {dy.view(), positions}, {table.view()}, {format, SumOrder::serial, Format::fp32})
        .everywhere([&](const StepState&) {
          if (std::isnan(sum)) sum = table.get(3);
          EXPECT_EQ(table.get(0), 0.0);
          EXPECT_EQ(table.get(2), table.get(3));
          EXPECT_EQ(table.get(3), sum);
        });
    return sum;
  };
  EXPECT_EQ(gradient(Format::fp16, 1.0, 2697), 32.0);
  EXPECT_EQ(gradient(Format::fp16, 1.0, 2696), 31.984375);
  EXPECT_EQ(gradient(Format::fp16, 1.0, n), 32.0);
  EXPECT_EQ(gradient(Format::bf16, 0.0, n), 4.0);
  EXPECT_NEAR(gradient(Format::fp32, 1.0, n), 1.0 + 0.01 * n, 1e-2);
}

TEST(NarrowSum, AGlobalNormWhoseSquaresOverflow) {
  TestTensor g({1}, Format::fp32), small({2}, Format::fp32), norm({}, Format::fp32);
  g.set(0, 300.0);
  small.set(0, 3.0);
  small.set(1, 4.0);
  const ClipParams clip{1.0f};
  NarrowRun narrow("global_norm", {g.view(), small.view()}, {norm.view()}, {Format::fp16, SumOrder::tree, Format::fp32}, &clip);
  narrow.everywhere([&](const StepState& state) {
    EXPECT_EQ(state.gradient_norm, INFINITY);
    EXPECT_EQ(state.clip_coefficient, 0.0f);
  });
  NarrowRun wide("global_norm", {small.view()}, {norm.view()}, {Format::fp16, SumOrder::tree, Format::fp32}, &clip);
  wide.everywhere([](const StepState& state) { EXPECT_EQ(state.gradient_norm, 5.0f); });
  small.set(1, 5.0);   // the norm of each tensor is rounded to fp16, the last one is not
  const double each = reference::round_to(info(Format::fp16), static_cast<double>(std::sqrt(34.0f)));
  const double squares = reference::round_to(info(Format::fp16), each * each);
  wide.everywhere([&](const StepState& state) { EXPECT_EQ(state.gradient_norm, std::sqrt(static_cast<float>(squares))); });
}

TEST(NarrowSum, ACrossEntropyThatSumsFirst) {
  constexpr std::int64_t rows = 6797;
  TestTensor logits({rows, 2}, Format::fp32), loss({}, Format::fp32), lse({rows}, Format::fp32);
  std::vector<std::int32_t> target(rows, 0);
  for (std::int64_t r = 0; r < rows; ++r) logits.set(2 * r, 0.0), logits.set(2 * r + 1, 9.640235);
  const Tensor targets(target.data(), Format::i32, Shape{rows});
  const CrossEntropyParams params;
  const auto run = [&](const Arithmetic& a) {
    double first = NAN;
    NarrowRun("cross_entropy", {logits.view(), targets}, {loss.view(), lse.view()}, a, &params).everywhere([&](const StepState&) {
      if (std::isnan(first)) first = loss.get(0);
      EXPECT_EQ(loss.get(0), first);
    });
    return first;
  };
  EXPECT_NEAR(run({}), 9.6403, 1e-5);
  EXPECT_EQ(run({Format::fp32, SumOrder::tree, Format::fp16}), INFINITY);
  EXPECT_EQ(run({Format::fp16, SumOrder::serial, Format::fp32}), static_cast<double>(32768.0f / 6797.0f));   // an addend of 9.64 is lost
}

}  // namespace
}  // namespace ulpscope::test
