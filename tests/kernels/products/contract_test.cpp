// What the bits of a product's element depend on: K, and whether the instruction set fuses multiply and add. Every way
// through the kernels is held to one chain, written down here once more.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kernels/cpu/matmul_share.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

/// K is cut into as few blocks of at most 256 as there can be, all but the last of the same multiple of 16. A block's
/// sum is a chain in ascending k from zero; block sums are added in ascending order.
float chain(const float* a, const float* b, std::int64_t k, bool fused) {
  const std::int64_t blocks = (k + 255) / 256;
  const std::int64_t depth = blocks <= 1 ? k : ((k + blocks - 1) / blocks + 15) / 16 * 16;
  float total = 0.0f;
  for (std::int64_t first = 0; first < k; first += depth) {
    float sum = 0.0f;
    for (std::int64_t i = first; i < std::min(k, first + depth); ++i)
      sum = fused ? std::fma(a[i], b[i], sum) : a[i] * b[i] + sum;
    total = first == 0 ? sum : total + sum;
  }
  return total;
}

/// Numbers of x as the multiplier sees them, by [line][k].
std::vector<float> lines_of(const Array& x, std::int64_t lines, std::int64_t k, bool lines_are_rows, Format multiply) {
  std::vector<float> out;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t i = 0; i < k; ++i)
      out.push_back(
          static_cast<float>(seen_by(x.format, multiply, x.at(lines_are_rows ? line * k + i : i * lines + line))));
  return out;
}

struct Path {
  std::int64_t m, n, k;
  const char* what;
};
const Path paths[] = {{1, 70, 300, "a row, B in place or turned in registers"},
                      {1, 1100, 33, "a long row"},
                      {1, 5, 7, "less than a vector"},
                      {70, 1, 300, "a column, turned into a row"},
                      {3, 1, 520, "a short column"},
                      {1, 1, 259, "one number"},
                      {2, 64, 70, "few rows, B in place"},
                      {28, 90, 300, "the most rows with B in place"},
                      {29, 90, 300, "one more: packed a panel at a time"},
                      {84, 40, 530, "one block of rows, several of k"},
                      {85, 33, 290, "B packed ahead, one column too many for a tile"},
                      {200, 16, 64, "one vector of columns"},
                      {190, 48, 40, "a tile and one vector"},
                      {100, 17, 261, "one column beyond a vector"},
                      {9, 31, 1, "k of one"},
                      {100, 150, 270, "several stripes"},
                      {40, 64, 1024, "lines that fall into the same sets of the cache"},
                      {1024, 8, 20, "the same of columns"},
                      {8, 8, 8, "tiny"},
                      {3000, 4, 12, "many short rows"}};

TEST(MatmulContract, EveryWayThroughTheKernelGivesTheSameChain) {
  for (const Path& p : paths) {
    for (int t = 0; t < 4; ++t) {
      for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
        const Format f = multiply == Format::tf32 ? Format::fp32 : multiply;
        const MatmulParams params{(t & 1) != 0, (t & 2) != 0, multiply};
        Array a(f, params.trans_a ? Shape{p.k, p.m} : Shape{p.m, p.k});
        Array b(f, params.trans_b ? Shape{p.n, p.k} : Shape{p.k, p.n});
        a.normal(static_cast<unsigned>(p.m + t));
        b.normal(static_cast<unsigned>(p.n + 7 * t));
        const std::vector<float> rows = lines_of(a, p.m, p.k, !params.trans_a, multiply);
        const std::vector<float> columns = lines_of(b, p.n, p.k, params.trans_b, multiply);
        for (const InstructionSet set : available_sets()) {
          Array c(Format::fp32, {p.m, p.n});
          launch("matmul", {&a, &b}, {&c.nan()}, &params, {.threads = 1 + t % 3, .set = set});
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < p.m; ++i) {
            for (std::int64_t j = 0; j < p.n; ++j) {
              const float right =
                  chain(rows.data() + i * p.k, columns.data() + j * p.k, p.k, set != InstructionSet::portable);
              float got;
              std::memcpy(&got, c.bytes.data() + c.place(i * p.n + j), sizeof got);
              if (std::memcmp(&got, &right, sizeof got) != 0 && wrong++ == 0) {
                ADD_FAILURE() << p.what << ": " << p.m << "x" << p.n << "x" << p.k << " t" << t << " " << name(multiply)
                              << " " << name(set) << " at " << i << "," << j << ": " << got << " for " << right;
              }
            }
          }
          EXPECT_EQ(wrong, 0);
        }
      }
    }
  }
}

TEST(MatmulContract, NanAndInfinityStayWhatTheyAreInTf32) {
  for (const InstructionSet set : available_sets()) {
    for (const bool transposed : {false, true}) {
      Array a(Format::fp32, {20, 1}), b(Format::fp32, {1, 1}), c(Format::fp32, {20, 1});
      if (transposed) a = Array(Format::fp32, {1, 20});
      const MatmulParams params{transposed, false, Format::tf32};
      b.set(0, 1.0);
      a.fill([](std::int64_t i) { return i == 3 ? std::nan("") : i == 5 ? HUGE_VAL : i == 7 ? -HUGE_VAL : 1.0; });
      const std::uint32_t small_nan = 0x7f800001u;  // its only bit is one that tf32 does not keep
      std::memcpy(a.bytes.data() + 9 * sizeof small_nan, &small_nan, sizeof small_nan);
      launch("matmul", {&a, &b}, {&c}, &params, {.set = set});
      for (std::int64_t i = 0; i < 20; ++i) {
        if (i == 3 || i == 9) {
          EXPECT_TRUE(std::isnan(c.at(i))) << i << name(set);
        }
        if (i == 5) {
          EXPECT_EQ(c.at(i), HUGE_VAL) << name(set);
        }
        if (i == 7) {
          EXPECT_EQ(c.at(i), -HUGE_VAL) << name(set);
        }
      }
    }
  }
}

TEST(WorkShare, HandsOutEveryPieceOnce) {
  constexpr int threads = 4;
  for (const std::int64_t pieces : {0, 1, 3, 5, 1000, 20000}) {
    std::vector<WorkShare> shares(threads);
    deal(shares.data(), threads, pieces);
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(pieces));
    std::vector<std::thread> team;
    for (int t = 0; t < threads - 1; ++t) {  // one does not come: the others do its share
      team.emplace_back([&, t] {
        for (std::int64_t i = next_piece(shares.data(), threads, t); i >= 0; i = next_piece(shares.data(), threads, t))
          ++times[static_cast<std::size_t>(i)];
      });
    }
    for (std::thread& t : team) t.join();
    for (const std::atomic<int>& n : times) ASSERT_EQ(n, 1) << pieces;
  }
}

}  // namespace
}  // namespace ulpscope::test
