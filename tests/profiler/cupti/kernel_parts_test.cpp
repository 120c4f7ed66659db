// The smaller parts: buffers, what refusals say, tensor cores, the module's absence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "profiler/trace/cupti/cupti_module.h"
#include "profiler/trace/kernel_buffers.h"
#include "profiler/trace/kernel_refusals.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BufferPool, UsesBuffersAgainAndNeverMoreThanAllowed) {
  BufferPool pool(128, 2);
  std::byte* const a = pool.take();
  std::byte* const b = pool.take();
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 8, 0u) << "as CUPTI wants its records";
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.declined(), 1);
  EXPECT_TRUE(pool.give_back(a));
  EXPECT_FALSE(pool.give_back(a)) << "twice";
  std::byte other[8];
  EXPECT_FALSE(pool.give_back(other));
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.made(), 2u);
  EXPECT_EQ(pool.in_use(), 2u);
}

TEST(Refusals, OneLineWithTheRemedyForEachCode) {
  const std::pair<int, const char*> words[] = {
      {35, "NVreg_RestrictProfilingToAdminUsers=0"}, {35, "CAP_SYS_ADMIN"}, {35, "/proc/driver/nvidia/params"}, {39, "Nsight"},
      {33, "pass-through"}, {40, "enable_profiling=1"}, {41, "confidential"}, {42, "CMP"}, {43, "MIG"}, {44, "SLI"}, {45, "WSL"},
      {15, "driver"}, {15, "libnvperf_host.so"}, {23, "another profiler"}, {26, "dcgmi"}, {27, "newer driver"}, {14, "newer driver"}, {21, "newer driver"},
      {38, "libcupti"}, {8, "batch"}, {17, "no tensor cores"}, {46, "chip"}, {3, "report it"}, {999, "no CUDA driver"}};
  for (const auto& [code, word] : words) {
    const std::string line = refusal_line("kernel trace", code, "CUPTI_ERROR");
    EXPECT_THAT(line, HasSubstr("kernel trace refused by CUPTI (error " + std::to_string(code) + ")"));
    EXPECT_THAT(line, HasSubstr(word));
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
}

TEST(Refusals, CodesThatAreNotKnownAreGivenInCuptisWords) {
  const std::string line = refusal_line("counters", 12345, "words of\nCUPTI");
  EXPECT_THAT(line, HasSubstr("error 12345): words of CUPTI: "));
  EXPECT_THAT(refusal_line("counters", 12345, ""), HasSubstr("does not say"));
}

TEST(CuptiModule, SaysWhatIsMissing) {
  const CuptiModule absent({{"/nowhere/libulpscope_cupti.so"}, {}});
  EXPECT_EQ(absent.source(), nullptr);
  EXPECT_THAT(absent.problem(), HasSubstr("ULPSCOPE_CUPTI_MODULE"));
  const auto text = std::filesystem::temp_directory_path() / "ulpscope_not_a_module.so";
  std::ofstream(text) << "text";
  const CuptiModule wrong({{text.string()}, cupti_places().libraries});
  EXPECT_EQ(wrong.source(), nullptr);
  EXPECT_THAT(wrong.problem(), HasSubstr("cannot be traced"));
  std::filesystem::remove(text);
}

}  // namespace
}  // namespace ulpscope::profiler
