#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/kernels/products/product_run.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

struct Product {
  std::int64_t b0 = 1, b1 = 1, m = 1, n = 1, k = 1;
};

Shape shape_of(std::int64_t b0, std::int64_t b1, std::int64_t rows, std::int64_t columns) {
  return b0 * b1 == 1 ? Shape{rows, columns} : Shape{b0, b1, rows, columns};
}

/// Element (row, column) of matrix p [r, c], stored transposed or not.
double element(const Array& x, std::int64_t r, std::int64_t c, std::int64_t p, std::int64_t row, std::int64_t column,
               bool transposed) {
  const std::int64_t rows = transposed ? c : r;
  const std::int64_t columns = transposed ? r : c;
  if (x.shape.rank == 2) p = 0;
  return x.at(p * rows * columns + (transposed ? column * columns + row : row * columns + column));
}

/// |c - exact| <= error of an fp32 sum in any order + one rounding into c's format. Operands are rounded as the
/// multiplier sees them by the test's own rounding, so a multiplier that rounds too much or too little is a thousand
/// times off.
void expect_right(const Product& s, const Array& a, const Array& b, const Array* bias, const Array& c,
                  const MatmulParams& params) {
  const FormatInfo& out = info(c.format);
  const double sum_error = 0x1p-24 * (4.0 + 2.0 * std::sqrt(static_cast<double>(s.k)));
  std::int64_t wrong = 0;
  for (std::int64_t p = 0; p < s.b0 * s.b1; ++p) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double exact = 0.0;
        double magnitude = 0.0;
        for (std::int64_t d = 0; d < s.k; ++d) {
          const double x = seen_by(a.format, params.multiply, element(a, s.m, s.k, p, i, d, params.trans_a));
          const double y = seen_by(b.format, params.multiply, element(b, s.k, s.n, p, d, j, params.trans_b));
          exact += x * y;
          magnitude += std::abs(x * y);
        }
        if (bias != nullptr) {
          exact += bias->at(j);
          magnitude += std::abs(bias->at(j));
        }
        const double got = c.at((p * s.m + i) * s.n + j);
        const double tolerance =
            sum_error * magnitude + out.unit_roundoff * std::abs(exact) * 1.001 + out.min_subnormal / 2;
        if (!(std::abs(got - exact) <= tolerance) && ++wrong < 4) {
          ADD_FAILURE() << s.m << "x" << s.n << "x" << s.k << " batch " << s.b0 << "x" << s.b1 << " " << name(a.format)
                        << " " << name(b.format) << " -> " << name(c.format) << " multiply " << name(params.multiply)
                        << " trans " << params.trans_a << params.trans_b << " at " << p << "," << i << "," << j << ": "
                        << got << " for " << exact << " +- " << tolerance;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

const Product shapes[] = {{1, 1, 1, 1, 1},     {1, 1, 64, 64, 64}, {1, 1, 5, 7, 3},    {1, 1, 130, 3, 65},
                          {1, 1, 3, 130, 65},  {1, 1, 1, 77, 50},  {1, 1, 77, 1, 50},  {1, 1, 1, 1, 999},
                          {1, 1, 12, 9, 4100}, {2, 3, 17, 9, 8},   {1, 5, 16, 16, 32}, {1, 1, 300, 97, 33},
                          {1, 1, 40, 600, 20}};

struct Formats {
  Format a, b, c, multiply;
};
const Formats formats[] = {{Format::fp32, Format::fp32, Format::fp32, Format::fp32},
                           {Format::fp32, Format::fp32, Format::fp32, Format::tf32},
                           {Format::fp16, Format::fp16, Format::fp16, Format::fp16},
                           {Format::bf16, Format::bf16, Format::bf16, Format::bf16},
                           {Format::fp16, Format::fp16, Format::fp32, Format::fp16},
                           {Format::bf16, Format::bf16, Format::fp32, Format::bf16},
                           {Format::fp16, Format::fp32, Format::fp16, Format::fp32},
                           {Format::fp32, Format::bf16, Format::bf16, Format::bf16},
                           {Format::fp16, Format::fp32, Format::fp32, Format::tf32},
                           {Format::fp32, Format::fp32, Format::fp16, Format::fp16},
                           {Format::fp8_e4m3, Format::fp8_e5m2, Format::bf16, Format::fp16}};

TEST(Matmul, AgreesWithDoubleInEveryShapeTranspositionAndFormat) {
  unsigned seed = 1;
  for (const Product& s : shapes) {
    for (const Formats& f : formats) {
      for (int t = 0; t < 4; ++t) {
        if (t % 2 != static_cast<int>(seed % 2) && s.k > 1000) continue;
        const MatmulParams params{(t & 1) != 0, (t & 2) != 0, f.multiply};
        Array a(f.a, params.trans_a ? shape_of(s.b0, s.b1, s.k, s.m) : shape_of(s.b0, s.b1, s.m, s.k));
        Array b(f.b, params.trans_b ? shape_of(s.b0, s.b1, s.n, s.k) : shape_of(s.b0, s.b1, s.k, s.n));
        Array c(f.c, shape_of(s.b0, s.b1, s.m, s.n));
        a.normal(seed++);
        b.normal(seed++);
        launch("matmul", {&a, &b}, {&c.nan()}, &params);
        expect_right(s, a, b, nullptr, c, params);
      }
    }
  }
}

TEST(Matmul, AddsTheBiasToTheSumBeforeTheRounding) {
  for (const Product& s : {Product{1, 1, 33, 50, 70}, Product{1, 1, 12, 9, 4100}, Product{2, 2, 8, 5, 3}}) {
    for (const Format f : {Format::fp32, Format::fp16, Format::bf16}) {
      const MatmulParams params{false, false, f};
      Array a(f, shape_of(s.b0, s.b1, s.m, s.k)), b(f, shape_of(s.b0, s.b1, s.k, s.n)),
          c(f, shape_of(s.b0, s.b1, s.m, s.n));
      Array bias(Format::fp32, {s.n});
      launch("matmul", {&a.normal(1), &b.normal(2), &bias.normal(3, 10.0)}, {&c.nan()}, &params);
      expect_right(s, a, b, &bias, c, params);
    }
  }
  // 2048 + 1 in fp16: with the sum rounded first the bias would be lost to the tie.
  Array a(Format::fp16, {1, 2}), b(Format::fp16, {2, 1}), bias(Format::fp16, {1}), c(Format::fp16, {1, 1});
  const MatmulParams params{false, false, Format::fp16};
  launch("matmul",
         {&a.fill([](std::int64_t i) { return i == 0 ? 2048.0 : 1.0; }), &b.fill([](std::int64_t) { return 1.0; }),
          &bias.fill([](std::int64_t) { return 0.5; })},
         {&c}, &params);
  EXPECT_EQ(c.at(0), 2050.0);  // 2049.5; 2049 rounded first is 2048, + 0.5 stays 2048
}

TEST(Matmul, ReadsAndWritesStridedAndBroadcastViews) {
  const Product s{3, 4, 10, 12, 7};
  const MatmulParams params;
  for (const Format f : {Format::fp32, Format::fp16}) {
    // [B, T, H, D] seen as [B, H, T, D]; rows with gaps; a matrix shared by the batch; both inner strides different
    // from 1.
    Array head(f, {3, 4, 10, 7}, {10 * 4 * 7, 7, 4 * 7, 1});
    Array gaps(f, {3, 4, 10, 7}, {4 * 10 * 9, 10 * 9, 9, 1}, 3);
    Array odd(f, {3, 4, 10, 7}, {4 * 10 * 21, 10 * 21, 21, 3});
    Array column(f, {3, 4, 10, 7}, {4 * 10 * 7, 10 * 7, 1, 10});
    Array shared(f, {3, 4, 7, 12}, {0, 7 * 12, 12, 1});
    Array one(f, {3, 4, 7, 12}, {0, 0, 12, 1});
    Array plain(f, {7, 12});
    unsigned seed = 5;
    for (Array* a : {&head, &gaps, &odd, &column}) {
      for (Array* b : {&shared, &one}) {
        Array c(f, {3, 4, 10, 12}), spread(f, {3, 4, 10, 12}, {12, 3 * 12, 12 * 12 * 2, 1}),
            sparse(f, {3, 4, 10, 12}, {4 * 240, 240, 24, 2});
        for (Array* out : {&c, &spread, &sparse}) {
          launch("matmul", {&a->normal(seed), &b->normal(seed + 1)}, {&out->nan()}, &params);
          expect_right(s, *a, *b, nullptr, *out, params);
        }
        ++seed;
        for (std::int64_t i = 0; i < c.size() - 1; ++i) {  // the gaps are as they were
          const auto gap = static_cast<std::size_t>(sparse.place(i) + storage_bytes(f));
          ASSERT_EQ(sparse.bytes[gap], 0xee);
        }
      }
      Array c(f, {3, 4, 10, 12});
      launch("matmul", {a, &plain.normal(seed)}, {&c.nan()}, &params);  // a weight without batch dimensions
      expect_right(s, *a, plain, nullptr, c, params);
    }
  }
}

/// AVX2 and AVX-512 fuse multiply and add and give the same bits; the portable kernel does not fuse and has its own.
TEST(Matmul, HasTheSameBitsForAnyNumberOfThreadsAndAnyVectorLength) {
  if (emulated) GTEST_SKIP() << "about threads and vectors of a CPU";
  // Long sums over few results are among them: libraries like to split those over threads.
  const Product many[] = {{1, 1, 384, 384, 2048}, {1, 1, 64, 64, 8192},  {1, 1, 1, 384, 384},
                          {1, 1, 384, 1, 384},    {1, 1, 1, 1024, 1000}, {1, 1, 256, 64, 256},
                          {1, 1, 17, 33, 1000},   {4, 2, 64, 64, 32},    {1, 1, 300, 500, 100}};
  for (const Product& s : many) {
    for (int t = 0; t < 4; ++t) {
      const Format f = t == 1 ? Format::fp16 : Format::fp32;
      const MatmulParams params{(t & 1) != 0, (t & 2) != 0, f};
      Array a(f, params.trans_a ? shape_of(s.b0, s.b1, s.k, s.m) : shape_of(s.b0, s.b1, s.m, s.k));
      Array b(f, params.trans_b ? shape_of(s.b0, s.b1, s.n, s.k) : shape_of(s.b0, s.b1, s.k, s.n));
      Array bias(Format::fp32, {s.n});
      // Bulk filling: these arrays are large, and only their bits matter.
      std::mt19937 generator(static_cast<unsigned>(s.k + t));
      std::uniform_real_distribution<float> d(-1.0f, 1.0f);
      for (Array* x : {&a, &b, &bias}) {
        std::vector<float> values(static_cast<std::size_t>(x->size()));
        for (float& v : values) v = d(generator);
        narrow(x->format, values.data(), x->bytes.data(), values.size());
      }
      Array first(f, shape_of(s.b0, s.b1, s.m, s.n));
      launch("matmul", {&a, &b, &bias}, {&first}, &params, {.threads = 1});
      for (const InstructionSet set : available_sets()) {
        Array of_set(f, first.shape);
        launch("matmul", {&a, &b, &bias}, {&of_set}, &params, {.threads = 1, .set = set});
        if (set != InstructionSet::portable && best_instruction_set() != InstructionSet::portable) {
          EXPECT_TRUE(of_set.bytes == first.bytes) << s.m << "x" << s.n << "x" << s.k << " t" << t << " " << name(set);
        }
        for (const int threads : {2, 3, 5}) {
          if (set != best_instruction_set() && threads != 2) continue;
          Array c(f, first.shape);
          launch("matmul", {&a, &b, &bias}, {&c}, &params, {.threads = threads, .set = set});
          EXPECT_TRUE(c.bytes == of_set.bytes)
              << s.m << "x" << s.n << "x" << s.k << " t" << t << " threads " << threads << " " << name(set);
        }
      }
      RoundingCounts counts[2];
      for (const int threads : {1, 3}) {
        Array c(f, first.shape);
        launch("matmul", {&a, &b, &bias}, {&c}, &params, {.threads = threads, .counts = {&counts[threads == 3]}});
        EXPECT_TRUE(c.bytes == first.bytes) << "observed: other bits";
      }
      EXPECT_EQ(counts[0].elements, first.size());
      EXPECT_TRUE(test::same_counts(counts[0], counts[1])) << "counts depend on threads";
    }
  }
}

TEST(Matmul, CountsWhatTheStoreLoses) {
  // Sums 66240 (overflows), 1e-9 (flushed), 0, 2^-20 (subnormal), NaN, inf.
  Array a(Format::fp32, {6, 1}), b(Format::fp32, {1, 1}), c(Format::fp16, {6, 1});
  const double values[] = {66240.0, 1e-9, 0.0, 0x1p-20, std::nan(""), HUGE_VAL};
  a.fill([&](std::int64_t i) { return values[i]; });
  b.set(0, 1.0);
  RoundingCounts counts;
  const MatmulParams params;
  launch("matmul", {&a, &b}, {&c}, &params, {.counts = {&counts}});
  EXPECT_EQ(counts.elements, 6);
  EXPECT_EQ(counts.overflowed, 1);
  EXPECT_EQ(counts.flushed, 1);
  EXPECT_EQ(counts.zero, 1);
  EXPECT_EQ(counts.subnormal, 1);
  EXPECT_EQ(counts.nan, 1);
  EXPECT_EQ(counts.positive_infinity, 1);
  EXPECT_EQ(counts.greatest_magnitude, 66240.0);
}

TEST(Matmul, CarriesNanInfinityAndSubnormals) {
  const std::int64_t n = 20;
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16}) {
    Array a(f, {n, n}), b(f, {n, n}), c(Format::fp32, {n, n});
    a.fill([](std::int64_t) { return 1.0; });
    b.fill([](std::int64_t) { return 1.0; });
    a.set(3 * n + 5, std::nan(""));
    a.set(7 * n + 5, HUGE_VAL);
    b.set(2 * n + 9, -HUGE_VAL);
    const MatmulParams params{false, false, f};
    launch("matmul", {&a, &b}, {&c}, &params);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double x = c.at(i * n + j);
        if (i == 3 || (i == 7 && j == 9)) {
          EXPECT_TRUE(std::isnan(x));
        } else if (i == 7) {
          EXPECT_EQ(x, HUGE_VAL);
        } else if (j == 9) {
          EXPECT_EQ(x, -HUGE_VAL);
        } else {
          EXPECT_EQ(x, 20.0);
        }
      }
    }
  }
  for (const std::int64_t size : {1, 3, 40}) {
    Array a(Format::fp32, {size, size}), b(Format::fp32, {size, size}), c(Format::fp32, {size, size});
    const MatmulParams params;
    launch("matmul", {&a.fill([](std::int64_t) { return 0x1p-70; }), &b.fill([](std::int64_t) { return 0x1p-75; })},
           {&c}, &params);
    EXPECT_EQ(c.at(0), static_cast<double>(size) * 0x1p-145);
  }
}

TEST(Matmul, AnEmptySumIsTheBias) {
  Array a(Format::fp32, {3, 0}), b(Format::fp32, {0, 4}), bias(Format::fp32, {4}), c(Format::fp32, {3, 4});
  a.bytes.resize(4);
  b.bytes.resize(4);
  const MatmulParams params;
  launch("matmul", {&a, &b}, {&c.nan()}, &params);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(c.at(i), 0.0);
  launch("matmul", {&a, &b, &bias.normal(1)}, {&c.nan()}, &params);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(c.at(i), bias.at(i % 4));
}

TEST(Matmul, ComputesInDoubleForGradientChecks) {
  const Product s{1, 3, 9, 11, 40};
  Array a(Format::fp64, shape_of(1, 3, 40, 9)), b(Format::fp64, shape_of(1, 3, 11, 40)),
      c(Format::fp64, shape_of(1, 3, 9, 11));
  const MatmulParams params{true, true, Format::fp32};
  launch("matmul", {&a.normal(1), &b.normal(2)}, {&c.nan()}, &params, {.compute = Format::fp64});
  for (std::int64_t p = 0; p < 3; ++p) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double exact = 0.0;
        for (std::int64_t d = 0; d < s.k; ++d)
          exact += element(a, s.m, s.k, p, i, d, true) * element(b, s.k, s.n, p, d, j, true);
        EXPECT_NEAR(c.at((p * s.m + i) * s.n + j), exact, 1e-13);
      }
    }
  }
}

TEST(Matmul, RefusesViewsThatDoNotFit) {
  Array a(Format::fp32, {3, 4}), b(Format::fp32, {5, 6}), c(Format::fp32, {3, 6});
  const MatmulParams params;
  try {
    launch("matmul", {&a, &b}, {&c}, &params);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[3, 4] x [5, 6] -> [3, 6]"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ulpscope::test
