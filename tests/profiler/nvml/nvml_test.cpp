// NVML through a library that stands for it: what it says, and what it refuses.
#include "profiler/trace/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/shared_library.h"
#include "tests/profiler/nvml/fake_nvml.h"

namespace ulpscope::profiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FakeNvml& fake() {
  std::string why;
  void* const library = open_library(FAKE_NVML, {}, Visible::locally, why);
  EXPECT_NE(library, nullptr) << why;
  return *reinterpret_cast<FakeNvml* (*)()>(library_symbol(library, "fake_nvml"))();
}

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() { fake() = {}; }
  std::unique_ptr<GpuStateSource> open(const std::string& id = "0000:3b:00.0") { return open_nvml(id, problem_, FAKE_NVML); }
  std::string problem_;
};

TEST_F(NvmlTest, SaysClocksPowerTemperatureAndThrottling) {
  fake().reasons = 0x44;
  {
    const auto source = open();
    ASSERT_NE(source, nullptr) << problem_;
    const GpuState state = source->read();
    EXPECT_EQ(state.core_clock_mhz, 1980.0);
    EXPECT_EQ(state.memory_clock_mhz, 2619.0);
    EXPECT_EQ(state.power_watts, 512.345);
    EXPECT_EQ(state.temperature_celsius, 61.0);
    EXPECT_EQ(state.throttle_reasons, 0x44);
    EXPECT_TRUE(source->refusals().empty());
    EXPECT_STREQ(fake().asked_for, "0000:3b:00.0");
    EXPECT_EQ(fake().shutdowns, 0);
  }
  EXPECT_EQ(fake().inits, 1);
  EXPECT_EQ(fake().shutdowns, 1);
}

TEST_F(NvmlTest, WhatIsRefusedIsUnknownAndSaid) {
  fake().power = 3;         // not supported
  fake().temperature = 4;   // no permission
  fake().throttling = 999;
  const auto source = open();
  const GpuState state = source->read();
  EXPECT_EQ(state.core_clock_mhz, 1980.0);
  EXPECT_EQ(state.power_watts, std::nullopt);
  EXPECT_EQ(state.temperature_celsius, std::nullopt);
  EXPECT_EQ(state.throttle_reasons, std::nullopt);
  EXPECT_THAT(source->refusals(), ElementsAre(HasSubstr("power: the GPU or its driver does not offer it"), HasSubstr("temperature: no permission"),
                                              HasSubstr("throttling: Unknown Error, error 999")));
  fake().power = 0;   // a value that came once was not refused
  EXPECT_EQ(source->read().power_watts, 512.345);
  EXPECT_EQ(source->refusals().size(), 2u);
}

TEST_F(NvmlTest, WhyThereIsNone) {
  EXPECT_EQ(open_nvml("", problem_, "libulpscope-no-such-library.so.1"), nullptr);
  EXPECT_THAT(problem_, testing::AllOf(HasSubstr("libulpscope-no-such-library.so.1 was not found"), HasSubstr("comes with the NVIDIA driver"), HasSubstr("stay unknown")));
  EXPECT_EQ(open_nvml("", problem_, NO_NVML), nullptr);
  EXPECT_THAT(problem_, HasSubstr("has no nvmlInit_v2: it is not NVML, or too old"));
  for (const auto& [code, words] : {std::pair{9, "the NVIDIA kernel driver is not loaded"}, {18, "different driver versions"}, {4, "no permission"}}) {
    fake().init = code;
    EXPECT_EQ(open(), nullptr);
    EXPECT_THAT(problem_, testing::AllOf(HasSubstr("NVML does not start: "), HasSubstr(words)));
    EXPECT_EQ(problem_.find('\n'), std::string::npos);
  }
}

TEST_F(NvmlTest, TheGpuIsFoundByItsBusIdOrNotAtAll) {
  fake().by_bus_id = 6;
  EXPECT_EQ(open(), nullptr);
  EXPECT_THAT(problem_, HasSubstr("NVML does not give the GPU 0000:3b:00.0: NVML does not know this GPU"));
  EXPECT_EQ(fake().shutdowns, 1);
  EXPECT_NE(open(""), nullptr) << "there is only one";
  fake().gpus = 2;
  EXPECT_EQ(open(""), nullptr);
  EXPECT_THAT(problem_, HasSubstr("NVML has 2 GPUs, and which of them this one is cannot be told"));
}

}  // namespace
}  // namespace ulpscope::profiler
