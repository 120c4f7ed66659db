// round_and_count: the same bits as the plain rounding, and counts that agree with a slow and independent tally.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/ops/op_case.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

/// Counts by plain loops over long double.
RoundingCounts slow_counts(const std::vector<double>& values, Format format) {
  RoundingCounts c;
  for (const double x : values) {
    ++c.elements;
    if (std::isnan(x)) {
      ++c.nan;
      continue;
    }
    if (std::isinf(x)) {
      ++(x > 0 ? c.positive_infinity : c.negative_infinity);
      continue;
    }
    const double magnitude = std::fabs(x);
    const double after = std::fabs(static_cast<double>(rounded(x, format)));
    c.greatest_magnitude = std::max(c.greatest_magnitude, magnitude);
    c.sum += x;
    c.sum_of_squares += x * x;
    if (magnitude == 0) {
      ++c.zero;
      continue;
    }
    if (c.least_magnitude == 0 || magnitude < c.least_magnitude) c.least_magnitude = magnitude;
    ++c.histogram[std::ilogb(x) + 149];
    if (std::isinf(after)) {
      ++c.overflowed;
      continue;
    }
    if (after == 0) ++c.flushed;
    if (after != 0 && after < info(format).min_normal) ++c.subnormal;
    const double error = std::fabs(after - magnitude);
    c.sum_of_errors += error;
    c.sum_of_squared_errors += error * error;
    c.greatest_relative_error = std::max(c.greatest_relative_error, error / magnitude);
  }
  return c;
}

void expect_equal(const RoundingCounts& a, const RoundingCounts& b) {
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.nan, b.nan);
  EXPECT_EQ(a.positive_infinity, b.positive_infinity);
  EXPECT_EQ(a.negative_infinity, b.negative_infinity);
  EXPECT_EQ(a.overflowed, b.overflowed);
  EXPECT_EQ(a.flushed, b.flushed);
  EXPECT_EQ(a.subnormal, b.subnormal);
  EXPECT_EQ(a.zero, b.zero);
  EXPECT_EQ(a.least_magnitude, b.least_magnitude);
  EXPECT_EQ(a.greatest_magnitude, b.greatest_magnitude);
  for (int bin = 0; bin < histogram_bins; ++bin) ASSERT_EQ(a.histogram[bin], b.histogram[bin]) << "2^" << bin - 149;
}

void expect_near(const RoundingCounts& a, const RoundingCounts& slow) {
  expect_equal(a, slow);
  const double size = std::sqrt(slow.sum_of_squares * static_cast<double>(slow.elements));
  EXPECT_NEAR(a.sum, slow.sum, size * 1e-13);
  EXPECT_NEAR(a.sum_of_squares, slow.sum_of_squares, slow.sum_of_squares * 1e-12);
  EXPECT_NEAR(a.sum_of_errors, slow.sum_of_errors, slow.sum_of_errors * 1e-12);
  EXPECT_NEAR(a.sum_of_squared_errors, slow.sum_of_squared_errors, slow.sum_of_squared_errors * 1e-12);
  EXPECT_NEAR(a.greatest_relative_error, slow.greatest_relative_error, slow.greatest_relative_error * 1e-6);
}

struct Counted {
  std::vector<std::uint64_t> bits;
  RoundingCounts counts;
};

const KernelTable& portable() {
  static const KernelTable& kernels = all_kernels().front().kernels;
  return kernels;
}

Counted cast(const std::vector<double>& values, Format from, Format to, const KernelTable& kernels, int threads, bool count) {
  const std::int64_t n = static_cast<std::int64_t>(values.size());
  TestTensor x({n}, from), y({n}, to);
  for (std::int64_t i = 0; i < n; ++i) x.set(i, values[static_cast<std::size_t>(i)]);
  Counted result;
  std::vector<RoundingCounts*> counts;
  if (count) counts.push_back(&result.counts);
  execute(kernels, "copy", from == Format::fp64 ? Format::fp64 : Format::fp32, {x.view()}, {y.view()}, nullptr, {}, threads, counts);
  for (std::int64_t i = 0; i < n; ++i) result.bits.push_back(y.bits(i));
  return result;
}

/// Numbers over the whole range of fp32, with every kind of special value among them.
std::vector<double> wild_values(std::int64_t n) {
  Uniform uniform(99);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const double sign = uniform() < 0.5 ? -1 : 1;
    const double u = uniform();
    double x = sign * std::ldexp(1 + uniform(), static_cast<int>(u * 276) - 149);
    if (i % 3 != 0) x = sign * std::ldexp(1 + uniform(), static_cast<int>(u * 50) - 28);  // around fp16's range
    if (i % 97 == 5) x = 0 * sign;
    if (i % 101 == 7) x = sign * HUGE_VAL;
    if (i % 103 == 9) x = std::nan("");
    values.push_back(static_cast<double>(static_cast<float>(x)));
  }
  return values;
}

TEST(RoundAndCount, AgreesWithASlowCount) {
  for (const Format to : {Format::fp16, Format::bf16, Format::fp32}) {
    for (const std::int64_t n : {1, 3, 17, 1023, 1025, 70001}) {
      const std::vector<double> values = wild_values(n);
      const RoundingCounts slow = slow_counts(values, to);
      const Counted plain = cast(values, Format::fp32, to, portable(), 1, false);
      const Counted first = cast(values, Format::fp32, to, portable(), 1, true);
      expect_near(first.counts, slow);
      for (const auto& [where, kernels] : all_kernels()) {
        for (const int threads : {1, 2, 3}) {
          const Counted other = cast(values, Format::fp32, to, kernels, threads, true);
          EXPECT_EQ(other.bits, plain.bits);
          // The sums too, bit for bit.
          EXPECT_TRUE(same_counts(other.counts, first.counts))
              << name(to) << " " << n << " " << where << " " << threads;
        }
      }
      if (HasFailure()) return;
    }
  }
}

/// Blocks of 1024, each of one kind: a block is counted by what is in it (ops/count_patterns.h).
std::vector<double> blocks_of_every_kind(double centre) {
  Uniform uniform(7);
  std::vector<double> values;
  for (int block = 0; block < 24; ++block) {
    for (int i = 0; i < 1024; ++i) {
      const double sign = uniform() < 0.5 ? -1 : 1;
      double x = sign * centre * (0.5 + uniform());                                     // one or two binades
      if (block % 8 == 1) x = sign * centre * std::ldexp(1 + uniform(), static_cast<int>(uniform() * 20) - 10);
      if (block % 8 == 2) x = sign * centre * std::ldexp(1 + uniform(), static_cast<int>(uniform() * 60) - 30);
      if (block % 8 == 3 && i % 3 == 0) x = 0 * sign;
      if (block % 8 == 4 && i == 1000) x = sign * HUGE_VAL;
      if (block % 8 == 5 && i == 3) x = std::nan("");
      if (block % 8 == 6) x = sign * std::ldexp(uniform(), -130);                       // subnormal in fp32
      if (block % 8 == 7) x = i % 2 == 0 ? 0 * sign : std::nan("");                     // nothing to count
      values.push_back(static_cast<double>(static_cast<float>(x)));
    }
  }
  return values;
}

/// The greatest relative error, divided as fp32 numbers.
double slow_relative_error(const std::vector<double>& values, Format format) {
  float greatest = 0.0f;
  for (const double x : values) {
    const double after = static_cast<double>(rounded(x, format));
    if (!std::isfinite(x) || !std::isfinite(after) || x == 0) continue;
    greatest = std::max(greatest, static_cast<float>(std::fabs(after - x)) / static_cast<float>(std::fabs(x)));
  }
  return static_cast<double>(greatest);
}

TEST(RoundAndCount, BlocksOfEveryKind) {
  for (const Format to : {Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp32})
    for (const double centre : {1.0, 1e-7, 3e4, 1e-30}) {
      const std::vector<double> values = blocks_of_every_kind(centre);
      const RoundingCounts slow = slow_counts(values, to);
      const Counted first = cast(values, Format::fp32, to, portable(), 1, true);
      expect_near(first.counts, slow);
      EXPECT_EQ(first.counts.greatest_relative_error, slow_relative_error(values, to)) << name(to) << " " << centre;
      for (const auto& [where, kernels] : all_kernels())
        EXPECT_TRUE(same_counts(cast(values, Format::fp32, to, kernels, 2, true).counts, first.counts)) << name(to) << " " << where;
      if (HasFailure()) return;
    }
}

// Dividing is spared where no element can be above what was found: here each block has one that is, by the least there is.
TEST(RoundAndCount, TheGreatestRelativeErrorGrowsFromBlockToBlock) {
  std::vector<double> values;
  for (int block = 0; block < 40; ++block)
    for (int i = 0; i < 1024; ++i) {
      // Half an ulp of fp16 at 1 + k 2^-10 is 2^-11: the lower k, the greater the error against the number itself.
      const bool here = i == (block * 37) % 1024;
      values.push_back(here ? 1.0 + (400 - 10 * block) * 0x1p-10 + 0x1p-11 - 0x1p-23 : 1.0);
    }
  for (const auto& [where, kernels] : all_kernels()) {
    double before = 0.0;
    for (int blocks = 1; blocks <= 40; ++blocks) {
      const std::vector<double> some(values.begin(), values.begin() + blocks * 1024);
      const double now = cast(some, Format::fp32, Format::fp16, kernels, 1, true).counts.greatest_relative_error;
      ASSERT_GT(now, before) << where << " " << blocks;
      ASSERT_EQ(now, slow_relative_error(some, Format::fp16)) << where << " " << blocks;
      before = now;
    }
  }
}

TEST(RoundAndCount, FromDouble) {
  const std::vector<double> values = wild_values(5000);
  for (const Format to : {Format::fp16, Format::bf16, Format::fp64}) {
    const Counted counted = cast(values, Format::fp64, to, portable(), 1, true);
    expect_near(counted.counts, slow_counts(values, to));
    for (const auto& [where, kernels] : all_kernels())
      EXPECT_TRUE(same_counts(cast(values, Format::fp64, to, kernels, 1, true).counts, counted.counts)) << name(to) << " " << where;
  }
}

TEST(RoundAndCount, EdgesOfFp16) {
  const auto counts = [](double x) {
    return cast({x}, Format::fp32, Format::fp16, portable(), 1, true).counts;
  };
  const double below = static_cast<double>(65519.99f);
  EXPECT_EQ(counts(below).overflowed, 0);
  EXPECT_EQ(counts(65520).overflowed, 1);
  EXPECT_EQ(counts(-65520).overflowed, 1);
  EXPECT_EQ(counts(65520).greatest_magnitude, 65520);
  EXPECT_EQ(counts(65520).histogram[15 + 149], 1);
  EXPECT_EQ(counts(0x1p-25).flushed, 1);
  EXPECT_EQ(counts(-0x1p-25).flushed, 1);
  EXPECT_EQ(counts(0x1p-25).greatest_relative_error, 1.0);
  const double above = static_cast<double>(std::nextafter(0x1p-25f, 1.0f));
  EXPECT_EQ(counts(above).flushed, 0);
  EXPECT_EQ(counts(above).subnormal, 1);
  EXPECT_EQ(counts(0x1p-14).subnormal, 0);
  EXPECT_EQ(counts(0x1.ff8p-15).subnormal, 1);
  EXPECT_EQ(counts(0).zero, 1);
  EXPECT_EQ(counts(0).flushed, 0);
  EXPECT_EQ(counts(-0.0).zero, 1);
  EXPECT_EQ(counts(HUGE_VAL).positive_infinity, 1);
  EXPECT_EQ(counts(HUGE_VAL).overflowed, 0);
  EXPECT_EQ(counts(-HUGE_VAL).negative_infinity, 1);
  EXPECT_EQ(counts(0x1p-149).histogram[0], 1);
  EXPECT_EQ(counts(0x1.8p-148).histogram[1], 1);
  EXPECT_EQ(counts(0x1p127).histogram[276], 1);
  EXPECT_EQ(counts(1.0 + 0x1p-11).sum_of_errors, 0x1p-11);
}

TEST(RoundAndCount, E4m3OverflowsToNaN) {
  const RoundingCounts c =
      cast({448, 464, 465, -1000}, Format::fp32, Format::fp8_e4m3, portable(), 1, true).counts;
  EXPECT_EQ(c.overflowed, 2);
  EXPECT_EQ(c.nan, 0);
}

/// What range_only asks for, and nothing else.
RoundingCounts range_of(const RoundingCounts& all) {
  RoundingCounts c;
  c.range_only = true;
  c.elements = all.elements;
  c.nan = all.nan;
  c.positive_infinity = all.positive_infinity;
  c.negative_infinity = all.negative_infinity;
  c.overflowed = all.overflowed;
  c.greatest_magnitude = all.greatest_magnitude;
  return c;
}

TEST(RoundAndCount, ARangeAloneHasTheSameNumbersAndBits) {
  for (const Format to : {Format::fp16, Format::bf16, Format::fp32, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2}) {
    for (const std::int64_t n : {1, 3, 17, 1023, 1025, 70001}) {
      std::vector<double> values = wild_values(n);
      if (n == 1) values = {465.0};   // beyond e4m3 alone
      if (n == 3) values = {65519.99f, -65520.0, 0x1.fffffep127};
      const Counted all = cast(values, Format::fp32, to, portable(), 1, true);
      for (const auto& [where, kernels] : all_kernels())
        for (const int threads : {1, 2, 3}) {
          TestTensor x({n}, Format::fp32), y({n}, to);
          for (std::int64_t i = 0; i < n; ++i) x.set(i, values[static_cast<std::size_t>(i)]);
          RoundingCounts range;
          range.range_only = true;
          execute(kernels, "copy", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, threads, {&range});
          const RoundingCounts expected = range_of(all.counts);
          EXPECT_TRUE(same_counts(range, expected)) << name(to) << " " << n << " " << where << " " << threads;
          for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y.bits(i), all.bits[static_cast<std::size_t>(i)]);
        }
    }
  }
}

TEST(RoundAndCount, RangesAndEverythingInOneLaunch) {
  TestTensor x({66, 1025}, Format::fp16), w({1025}, Format::fp32), y({66, 1025}, Format::fp16), mean({66}, Format::fp32), rstd({66}, Format::fp32);
  Uniform uniform(1);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, uniform() * 10 - 5);
  for (std::int64_t i = 0; i < 1025; ++i) w.set(i, uniform() * 30000);
  const LayerNormParams params;
  for (const auto& [where, kernels] : all_kernels())
    for (const int threads : {1, 3}) {
      RoundingCounts all[3], mixed[3];
      mixed[0].range_only = mixed[2].range_only = true;
      for (RoundingCounts* c : {all, mixed})
        execute(kernels, "layer_norm", Format::fp32, {x.view(), w.view(), w.view()}, {y.view(), mean.view(), rstd.view()}, &params, {},
                threads, {&c[0], &c[1], &c[2]});
      EXPECT_GT(all[0].overflowed, 0);
      for (const int o : {0, 2}) {
        const RoundingCounts expected = range_of(all[o]);
        EXPECT_TRUE(same_counts(mixed[o], expected)) << where << " " << threads << " " << o;
      }
      EXPECT_TRUE(same_counts(mixed[1], all[1]));
    }
}

TEST(RoundAndCount, AddsToWhatIsThere) {
  const std::vector<double> values = wild_values(3000);
  TestTensor x({3000}, Format::fp32), y({3000}, Format::fp16);
  for (int i = 0; i < 3000; ++i) x.set(i, values[static_cast<std::size_t>(i)]);
  RoundingCounts once, twice;
  execute("copy", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, InstructionSet::portable, 1, {&once});
  for (int k = 0; k < 2; ++k)
    execute("copy", Format::fp32, {x.view()}, {y.view()}, nullptr, {}, InstructionSet::portable, 1, {&twice});
  EXPECT_EQ(twice.elements, 6000);
  EXPECT_EQ(twice.flushed, 2 * once.flushed);
  EXPECT_DOUBLE_EQ(twice.sum_of_errors, 2 * once.sum_of_errors);
}

TEST(RoundAndCount, LooksAtEveryKindOfKernelWithoutChangingABit) {
  RoundingCounts first[2];
  for (const auto& [where, kernels] : all_kernels()) {
    TestTensor x({66, 1025}, Format::fp16), w({1025}, Format::fp32), y({66, 1025}, Format::fp16, Layout::padded);
    TestTensor plain({66, 1025}, Format::fp16), mean({66}, Format::fp32), rstd({66}, Format::fp32),
        sum({1025}, Format::fp16);
    TestTensor loss({}, Format::fp16);
    Uniform uniform(1);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, uniform() * 10 - 5);
    for (std::int64_t i = 0; i < 1025; ++i) w.set(i, uniform() * 30000);
    const LayerNormParams params;
    execute(kernels, "layer_norm", Format::fp32, {x.view(), w.view(), w.view()}, {plain.view(), mean.view(), rstd.view()}, &params, {}, 1);
    RoundingCounts counts;
    for (const int threads : {1, 2, 3}) {
      RoundingCounts c[2];
      execute(kernels, "layer_norm", Format::fp32, {x.view(), w.view(), w.view()}, {y.view(), mean.view(), rstd.view()}, &params, {},
              threads, {&c[0], nullptr, &c[1]});
      for (std::int64_t i = 0; i < x.elements(); ++i) ASSERT_EQ(y.bits(i), plain.bits(i));
      EXPECT_EQ(c[0].elements, 66 * 1025);
      EXPECT_GT(c[0].overflowed, 0);
      EXPECT_EQ(c[1].elements, 66);
      if (first[0].elements == 0) first[0] = c[0], first[1] = c[1];
      EXPECT_TRUE(same_counts(c[0], first[0]) && same_counts(c[1], first[1])) << where;
    }
    execute(kernels, "sum_leading", Format::fp32, {x.view()}, {sum.view()}, nullptr, {}, 2, {&counts});
    EXPECT_EQ(counts.elements, 1025);
    counts = {};
    execute(kernels, "sum_all", Format::fp32, {x.view()}, {loss.view()}, nullptr, {}, 2, {&counts});
    EXPECT_EQ(counts.elements, 1);
    EXPECT_NEAR(counts.sum, loss.get(0), std::fabs(loss.get(0)) * 0x1p-10);
  }
}

}  // namespace
}  // namespace ulpscope::test
