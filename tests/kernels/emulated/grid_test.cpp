// The emulated grid itself: what a kernel may rely on, and that its faults are noticed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/grid.h"
#include "kernels/error.h"
#include "kernels/math/reduction_tree.h"

namespace ulpscope::cuda {
namespace {

std::string error_of(const auto& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

ULPSCOPE_KERNEL void count_kernel(std::int64_t n, std::int32_t* visits) {
  for (std::int64_t i = global_thread(); i < n; i += global_threads()) ++visits[i];
}

TEST(EmulatedGrid, VisitsMoreWorkThanThereAreThreadsOnce) {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 5000}) {
    std::vector<std::int32_t> visits(static_cast<std::size_t>(n), 0);
    launch(count_kernel, blocks_for((n + 63) / 64), 64, nullptr, n, visits.data());
    for (const std::int32_t v : visits) ASSERT_EQ(v, 1) << n;
  }
  EXPECT_EQ(blocks_for(0), 0);
  EXPECT_LT(blocks_for(1000), 1000);   // fewer blocks than work, so that kernels have to stride
}

/// Each thread reads what its neighbour wrote before the barrier: twice, so that the second one has to wait for the readers.
ULPSCOPE_KERNEL void neighbours_kernel(std::int64_t rows, std::int64_t* out) {
  ULPSCOPE_SHARED std::int64_t own[64];
  const int thread = thread_index(), threads = block_threads();
  for (std::int64_t row = block_index(); row < rows; row += grid_blocks()) {
    std::int64_t value = row * 1000 + thread;
    for (int step = 0; step < 2; ++step) {
      own[thread] = value;
      block_barrier();
      value = own[(thread + 1) % threads];
      block_barrier();
    }
    out[row * threads + thread] = value;
  }
}

TEST(EmulatedGrid, BarriersOrderWhatThreadsOfABlockShare) {
  constexpr std::int64_t rows = 7, threads = 64;
  std::vector<std::int64_t> out(rows * threads, -1);
  launch_team(neighbours_kernel, blocks_for(rows), threads, 0, nullptr, rows, out.data());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t t = 0; t < threads; ++t) ASSERT_EQ(out[static_cast<std::size_t>(row * threads + t)], row * 1000 + (t + 2) % threads);
}

ULPSCOPE_KERNEL void uneven_kernel(int more) {
  block_barrier();
  if (thread_index() < more) block_barrier();
}

TEST(EmulatedGrid, ThreadsThatMissABarrierAreAnError) {
  EXPECT_EQ(error_of([] { launch_team(uneven_kernel, 1, 32, 0, nullptr, 0); }), "");
  EXPECT_EQ(error_of([] { launch_team(uneven_kernel, 1, 32, 0, nullptr, 32); }), "");
  const std::string error = error_of([] { launch_team(uneven_kernel, 1, 32, 0, nullptr, 5); });
  EXPECT_NE(error.find("27 threads of a block ended where 5 wait at a barrier"), std::string::npos) << error;
  // The grid can be used again.
  EXPECT_EQ(error_of([] { launch_team(uneven_kernel, 2, 32, 0, nullptr, 32); }), "");
}

TEST(EmulatedGrid, ABarrierNeedsATeam) {
  EXPECT_NE(error_of([] { launch(uneven_kernel, 1, 32, nullptr, 0); }).find("launched without a team"), std::string::npos);
}

ULPSCOPE_KERNEL void throwing_kernel() {
  block_barrier();
  if (thread_index() == 3) throw Error("of a thread");
  block_barrier();
}

TEST(EmulatedGrid, AnErrorInAThreadLeavesTheLaunch) {
  EXPECT_EQ(error_of([] { launch_team(throwing_kernel, 2, 8, 0, nullptr); }), "of a thread");
}

/// Whether the block's memory was all NaN at first; then fills it.
ULPSCOPE_KERNEL void memory_kernel(int n, std::int32_t* clean) {
  float* memory = static_cast<float*>(block_memory());
  bool all = true;
  for (int i = thread_index(); i < n; i += block_threads()) all = all && memory[i] != memory[i];
  block_barrier();
  for (int i = thread_index(); i < n; i += block_threads()) memory[i] = 1.0f;
  if (!all) clean[block_index()] = 0;
}

TEST(EmulatedGrid, EveryBlockFindsItsMemoryUnset) {
  std::int32_t clean[3] = {1, 1, 1};
  launch_team(memory_kernel, 3, 32, 1000 * sizeof(float), nullptr, 1000, static_cast<std::int32_t*>(clean));
  for (const std::int32_t c : clean) EXPECT_EQ(c, 1);
}

struct Totals {
  std::int64_t sum;
  std::uint32_t count;
  std::uint64_t greatest, least;
};

ULPSCOPE_KERNEL void atomics_kernel(std::int64_t n, Totals* totals) {
  for (std::int64_t i = global_thread(); i < n; i += global_threads()) {
    atomic_add(&totals->sum, i - 10);
    atomic_add(&totals->count, 1u);
    atomic_max(&totals->greatest, static_cast<std::uint64_t>(i));
    atomic_min(&totals->least, static_cast<std::uint64_t>(i + 3));
  }
}

TEST(EmulatedGrid, AtomicsAddUpOverAllBlocks) {
  constexpr std::int64_t n = 10000;
  Totals totals{0, 0, 0, ~std::uint64_t{0}};
  launch(atomics_kernel, blocks_for(n), 64, nullptr, n, &totals);
  EXPECT_EQ(totals.sum, n * (n - 1) / 2 - 10 * n);
  EXPECT_EQ(totals.count, n);
  EXPECT_EQ(totals.greatest, n - 1);
  EXPECT_EQ(totals.least, 3u);
}

/// out: what every thread was told of the sum and of the maximum, and how often an element was asked for.
template <int threads>
ULPSCOPE_KERNEL void team_kernel(const float* x, std::int64_t n, float* out, std::int32_t* asked) {
  const BlockTeam<threads> team{block_memory()};
  const float sum = team.template sum<float>(n, [=](std::int64_t i) {
    ++asked[i];
    return x[i];
  });
  const float greatest = team.template max<float>(n, [=](std::int64_t i) { return x[i]; });
  out[2 * thread_index()] = sum;
  out[2 * thread_index() + 1] = greatest;
}

template <int threads>
void expect_tree(std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n)), out(2 * threads, 7.0f);
  std::vector<std::int32_t> asked(static_cast<std::size_t>(n), 0);
  for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(i)) * static_cast<float>(1 + i % 1000);
  launch_team(team_kernel<threads>, 1, threads, BlockTeam<threads>::scratch_bytes, nullptr, x.data(), n, out.data(), asked.data());
  const float sum = math::tree_sum<float>(n, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  const float greatest = math::tree_max<float>(n, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  for (std::size_t t = 0; t < threads; ++t) {
    ASSERT_EQ(out[2 * t], sum) << threads << " threads, " << n;
    ASSERT_EQ(out[2 * t + 1], greatest) << threads << " threads, " << n;
  }
  for (const std::int32_t a : asked) ASSERT_EQ(a, 1) << threads << " threads, " << n;
}

TEST(BlockTeam, ReducesAlongTheTree) {
  // 4300000 elements are 263 chunks: more than there are lanes.
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 64, 65, 100, 128, 129, 255, 256, 257, 1000, 1025, 16384, 16385, 40000, 4300000}) {
    expect_tree<32>(n);
    expect_tree<team_threads>(n);
  }
}

}  // namespace
}  // namespace ulpscope::cuda
