// Products that hand their sums to an epilogue instead of rounding and storing them.
#include <gtest/gtest.h>

#include <atomic>

#include "kernels/error.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

/// Keeps what it is handed, and spoils the memory it was handed in, as an epilogue may.
struct Keeper {
  std::int64_t row = 1;
  std::vector<float> values;
  std::vector<int> times;
  std::atomic<int> inside[8] = {};  ///< calls at this moment, by thread
  std::atomic<int> faults{0};       ///< a run over the end of a row, a thread's number used twice or out of range

  Keeper(std::int64_t elements, std::int64_t n)
      : row(n), values(static_cast<std::size_t>(elements), -1.0f), times(values.size()) {}
  static void run(const void* context, int thread, std::int64_t begin, std::int64_t n, float* from) {
    auto& k = *static_cast<Keeper*>(const_cast<void*>(context));
    if (thread < 0 || thread >= 8 || begin < 0 || n < 1 || begin % k.row + n > k.row ||
        begin + n > static_cast<std::int64_t>(k.values.size())) {
      ++k.faults;
      return;
    }
    if (k.inside[thread]++ != 0) ++k.faults;
    for (std::int64_t i = 0; i < n; ++i) {
      k.values[static_cast<std::size_t>(begin + i)] = from[i];
      ++k.times[static_cast<std::size_t>(begin + i)];
      from[i] = std::numeric_limits<float>::quiet_NaN();
    }
    --k.inside[thread];
  }
};

struct Case {
  std::int64_t b0, b1, m, n, k;
  bool shared = false;  ///< B has no batch dimensions
};

Shape stack(const Case& c, std::int64_t rows, std::int64_t columns) {
  if (c.b0 * c.b1 == 1) return {rows, columns};
  if (c.b0 == 1) return {c.b1, rows, columns};
  return {c.b0, c.b1, rows, columns};
}

TEST(MatmulEpilogue, IsHandedEveryElementOnceWithTheBitsThatWouldBeStored) {
  const Case cases[] = {{1, 1, 1, 1, 1},    {1, 1, 5, 7, 3},       {1, 1, 1, 700, 90},       {1, 1, 700, 1, 90},
                        {1, 1, 9, 8, 700},  {1, 1, 130, 200, 300}, {1, 1, 600, 40, 20},      {1, 1, 40, 600, 20},
                        {2, 3, 17, 33, 40}, {1, 4, 30, 50, 64},    {2, 3, 64, 48, 32, true}, {1, 3, 1, 5, 6},
                        {1, 1, 3, 4, 0},    {2, 2, 90, 96, 100},   {1, 1, 300, 1100, 1100}};
  for (const Case& c : cases) {
    for (int t = 0; t < 8; ++t) {
      if (c.k > 1000 && t % 4 != 1) continue;
      const bool with_bias = t >= 4;
      const Format f = (t + c.m) % 2 == 0 ? Format::fp32 : Format::bf16;
      const MatmulParams params{(t & 1) != 0, (t & 2) != 0, f};
      Array a(f, params.trans_a ? stack(c, c.k, c.m) : stack(c, c.m, c.k));
      const Shape plain = params.trans_b ? Shape{c.n, c.k} : Shape{c.k, c.n};
      Array b(f, c.shared ? plain : stack(c, plain[0], plain[1]));
      Array bias(Format::fp32, {c.n}), stored(Format::fp32, stack(c, c.m, c.n));
      if (c.k == 0) a.bytes.resize(4), b.bytes.resize(4);
      a.normal(1);
      b.normal(2);
      bias.normal(3);
      std::vector<Array*> in = {&a, &b};
      if (with_bias) in.push_back(&bias);
      for (const InstructionSet set : available_sets()) {
        launch("matmul", in, {&stored.nan()}, &params, {.threads = 2, .set = set});
        for (const int threads : {1, 2, 3}) {
          Array nowhere(threads == 2 ? Format::fp16 : Format::fp32, stored.shape);
          Keeper keeper(stored.size(), c.n);
          const Epilogue epilogue{Keeper::run, &keeper};
          launch("matmul", in, {&nowhere}, &params, {.threads = threads, .set = set, .epilogue = &epilogue});
          const std::string where = std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + " t" +
                                    std::to_string(t) + " threads " + std::to_string(threads) + " " + name(set);
          EXPECT_EQ(keeper.faults, 0) << where;
          EXPECT_TRUE(keeper.times == std::vector<int>(keeper.times.size(), 1)) << where;
          EXPECT_EQ(std::memcmp(keeper.values.data(), stored.bytes.data(), stored.bytes.size()), 0) << where;
        }
      }
    }
  }
}

TEST(MatmulEpilogue, RefusesCountsAndGaps) {
  Array a(Format::fp32, {3, 4}), b(Format::fp32, {4, 5}), c(Format::fp32, {3, 5}), gaps(Format::fp32, {3, 5}, {6, 1});
  a.normal(1);
  b.normal(2);
  Keeper keeper(15, 5);
  const Epilogue epilogue{Keeper::run, &keeper};
  const MatmulParams params;
  RoundingCounts counts;
  EXPECT_THROW(launch("matmul", {&a, &b}, {&c}, &params, {.counts = {&counts}, .epilogue = &epilogue}), Error);
  EXPECT_THROW(launch("matmul", {&a, &b}, {&gaps}, &params, {.epilogue = &epilogue}), Error);
  EXPECT_NO_THROW(launch("matmul", {&a, &b}, {&c}, &params, {.counts = {nullptr}, .epilogue = &epilogue}));
}

}  // namespace
}  // namespace ulpscope::test
