#include <gtest/gtest.h>
#include <sched.h>

#include <cstdint>
#include <limits>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

TEST(CpuDevice, CountsEveryByteItHandsOut) {
  const auto device = make_cpu_device();
  EXPECT_EQ(device->live_bytes(), 0u);
  Buffer a(*device, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(device->live_bytes(), 1000u);
  {
    const Buffer b(*device, 1);
    EXPECT_EQ(device->live_bytes(), 1001u);
  }
  EXPECT_EQ(device->live_bytes(), 1000u);
  EXPECT_EQ(device->peak_bytes(), 1001u);
  device->reset_peak();
  EXPECT_EQ(device->peak_bytes(), 1000u);
  a.reset();
  EXPECT_EQ(device->live_bytes(), 0u);
  EXPECT_EQ(device->peak_bytes(), 1000u);
  const Buffer nothing(*device, 0);
  EXPECT_EQ(device->live_bytes(), 0u);
}

TEST(CpuDevice, LargeBlocksBeginAtAHugePage) {
  const auto device = make_cpu_device();
  for (const std::size_t bytes : {(std::size_t{4} << 20), (std::size_t{5} << 20) + 1, (std::size_t{40} << 20) + 4097}) {
    const Buffer large(*device, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20), 0u) << bytes;
    EXPECT_EQ(device->live_bytes(), bytes);
    device->fill(large.data(), 0x5a, bytes);
    unsigned char last = 0;
    device->copy_to_host(&last, static_cast<unsigned char*>(large.data()) + bytes - 1, 1);
    EXPECT_EQ(last, 0x5a);
  }
  EXPECT_EQ(device->live_bytes(), 0u);
}

TEST(CpuDevice, SaysWhatCouldNotBeAllocated) {
  const auto device = make_cpu_device();
  const Buffer a(*device, 128);
  try {
    device->allocate(std::numeric_limits<std::size_t>::max() / 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(std::numeric_limits<std::size_t>::max() / 2)),
              std::string::npos);
    EXPECT_NE(std::string(e.what()).find("128 bytes are in use"), std::string::npos);
  }
  EXPECT_EQ(device->live_bytes(), 128u);
}

TEST(CpuDevice, DescribesItself) {
  const auto device = make_cpu_device();
  const DeviceDescription& d = device->description();
  EXPECT_EQ(d.kind, DeviceKind::cpu);
  EXPECT_FALSE(d.name.empty());
  EXPECT_EQ(d.instruction_set, name(best_instruction_set()));
  EXPECT_EQ(d.matmul_library, "own kernels (" + d.instruction_set + ")");
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(d.threads, CPU_COUNT(&set));
  EXPECT_EQ(make_cpu_device({3, ""})->description().threads, 3);
  EXPECT_EQ(make_cpu_device({0, "portable"})->description().instruction_set, "portable");
  EXPECT_TRUE(device->kernels().contains("matmul", Format::fp32));
  EXPECT_TRUE(device->kernels().contains("attention_backward", Format::fp64));
}

TEST(CpuDevice, UsesOnlyTheProcessorsItMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(make_cpu_device()->description().threads, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(CpuDevice, RefusesWhatItCannotBe) {
  EXPECT_THROW(make_cpu_device({-1, ""}), UsageError);
  try {
    make_cpu_device({0, "sse9"});
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("portable"), std::string::npos) << e.what();
  }
}

TEST(CpuDevice, CopiesFillsAndTellsTime) {
  const auto device = make_cpu_device();
  const Buffer memory(*device, 16);
  const char out[] = "fifteen letters";
  char in[16] = {};
  device->copy_to_device(memory.data(), out, 16);
  device->copy_to_host(in, memory.data(), 16);
  EXPECT_STREQ(in, out);
  device->fill(memory.data(), 7, 16);
  device->copy_to_host(in, memory.data(), 16);
  EXPECT_EQ(in[15], 7);
  const auto first = device->record_event();
  const auto second = device->record_event();
  device->synchronize();
  EXPECT_GE(device->milliseconds_between(*first, *second), 0.0);
  EXPECT_LE(device->milliseconds_between(*second, *first), 0.0);
}

}  // namespace
}  // namespace ulpscope::test
