// The table of GPUs: its arithmetic, its names, what users add.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/export/layout.h"
#include "reports/export/write_hardware.h"
#include "reports/hardware/read_gpus.h"
#include "reports/hardware/support.h"
#include "reports/hardware/table.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

GpuTable built_in() { return GpuTable(built_in_gpus(), {}); }

// Peak = SMs × fma × 2 × clock in every row, within 1.2 %; GB200's fp32, whose clock nobody states, within 2.5 %.
TEST(Hardware, EveryPeakIsItsUnitsTimesItsClock) {
  int checked = 0;
  for (const Gpu& gpu : built_in_gpus())
    for (const RateInfo& info : rates()) {
      const Number stated = gpu.peak_of(info.rate);
      ASSERT_EQ(stated.has_value(), gpu.fma_of(info.rate).has_value()) << gpu.name << ' ' << info.key;
      if (!stated) continue;
      const double clock = info.matrix_units && gpu.tensor_mhz ? *gpu.tensor_mhz : gpu.boost_mhz;
      const double computed = static_cast<double>(gpu.sms) * *gpu.fma_of(info.rate) * 2.0 * clock * 1e6 / 1e12;
      const double tolerance = gpu.name == "GB200" && info.rate == Rate::fp32 ? 0.025 : 0.01249;
      EXPECT_NEAR(*stated / computed, 1.0, tolerance) << gpu.name << ' ' << info.key;
      ++checked;
    }
  EXPECT_GT(checked, 120);
}

TEST(Hardware, ModesFollowTheHardware) {
  for (const Gpu& gpu : built_in_gpus()) {
    SCOPED_TRACE(gpu.name);
    EXPECT_FALSE(gpu.sources.empty());
    EXPECT_FALSE(gpu.device.empty());
    const auto runs = [&](const char* mode) { return how_it_runs(gpu, mode).support; };
    EXPECT_EQ(runs("fp32"), Support::native);
    EXPECT_EQ(runs("fp16"), gpu.capability >= 70 ? Support::native : Support::emulated);
    EXPECT_EQ(runs("fp16_pure"), runs("fp16"));
    EXPECT_EQ(runs("bf16"), gpu.capability >= 80 ? Support::native : Support::emulated);
    EXPECT_EQ(runs("bf16+tf32"), runs("bf16"));
    EXPECT_EQ(runs("fp8"), gpu.capability >= 89 ? Support::native : Support::absent);
    const bool halved = gpu.name.starts_with("RTX") || gpu.name == "L40";
    EXPECT_EQ(runs("tf32"), gpu.capability < 80 ? Support::no_effect : halved ? Support::no_gain : Support::native);
    // With fp16 sums a part is as fast as with fp32 sums, or twice where those are halved.
    if (gpu.fma_of(Rate::fp16)) {
      EXPECT_EQ(*gpu.fma_of(Rate::fp16_sums_fp16), (halved ? 2 : 1) * *gpu.fma_of(Rate::fp16));
    }
  }
  EXPECT_EQ(how_it_runs(built_in().named("t4"), "int8").support, Support::unknown);
}

TEST(Hardware, DevicesAreMatchedByWholeWords) {
  const GpuTable table = built_in();
  const auto name = [&](const char* device) {
    const Gpu* gpu = table.of_device(device);
    return gpu == nullptr ? "none" : gpu->name;
  };
  EXPECT_EQ(name("NVIDIA GH200 480GB"), "GH200 96GB");
  EXPECT_EQ(name("NVIDIA GH200 144G HBM3e"), "GH200 144GB");
  EXPECT_EQ(name("NVIDIA H200"), "H200 SXM");
  EXPECT_EQ(name("NVIDIA L4"), "L4");
  EXPECT_EQ(name("NVIDIA L40"), "L40");
  EXPECT_EQ(name("NVIDIA L40S"), "L40S");
  EXPECT_EQ(name("NVIDIA A100-SXM4-80GB"), "A100 SXM 80GB");
  EXPECT_EQ(name("A100-SXM4-80GB"), "A100 SXM 80GB");
  EXPECT_EQ(name("NVIDIA A100-SXM4-40GB"), "A100 SXM 40GB");
  EXPECT_EQ(name("NVIDIA A100 80GB PCIe"), "A100 PCIe 80GB");
  EXPECT_EQ(name("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(name("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(name("H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(name("Tesla T4"), "T4");
  EXPECT_EQ(name("Tesla V100-SXM2-16GB"), "V100 SXM2 16GB");
  EXPECT_EQ(name("Tesla V100-PCIE-32GB"), "V100 PCIe 32GB");
  EXPECT_EQ(name("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(name("NVIDIA B200"), "B200");
  EXPECT_EQ(name("NVIDIA GB200"), "GB200");
  for (const char* other : {"NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA A10G",
                            "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "Tesla V100S-PCIE-32GB", "Tesla P100-PCIE-12GB", "T4G", "NVIDIA", "", "AMD EPYC"})
    EXPECT_EQ(name(other), "none") << other;
}

TEST(Hardware, PeopleTypeShortNames) {
  const GpuTable table = built_in();
  EXPECT_EQ(table.named("a100").name, "A100 SXM 80GB");
  EXPECT_EQ(table.named("A100-40GB").name, "A100 SXM 40GB");
  EXPECT_EQ(table.named("h100").name, "H100 SXM");
  EXPECT_EQ(table.named("h100-pcie").name, "H100 PCIe");
  EXPECT_EQ(table.named("4090").name, "RTX 4090");
  EXPECT_EQ(table.named("rtx4090").name, "RTX 4090");
  EXPECT_EQ(table.named("Tesla T4").name, "T4");
  EXPECT_EQ(table.named("l4").name, "L4");
  const auto message = [&](const char* words) -> std::string {
    try {
      return table.named(words).name;
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message("h10"), AllOf(HasSubstr("no GPU \"h10\""), HasSubstr("did you mean"), HasSubstr("RTX 5090")));
  EXPECT_THAT(message("32gb"), HasSubstr("may be V100 SXM2 32GB, V100 PCIe 32GB"));
  EXPECT_THAT(message(""), HasSubstr("is no GPU's name"));
}

TEST(Hardware, APresentDeviceIsWhatItReports) {
  // An H100 with fewer SMs and a lower clock: fp32 at its clock, matrix units at the table's share of it.
  const Gpu gpu = described({.name = "NVIDIA H100 80GB HBM3", .capability = 90, .sms = 66, .clock_mhz = 990.0, .memory_bytes = 85000000000, .l2_bytes = 1 << 20}, built_in());
  EXPECT_NEAR(*gpu.peak_of(Rate::fp32), 66 * 128 * 2 * 990e6 / 1e12, 1e-9);
  EXPECT_NEAR(*gpu.peak_of(Rate::fp16), 66 * 2048 * 2 * (990e6 * 1830 / 1980) / 1e12, 1e-9);
  EXPECT_EQ(gpu.greatest_memory_bytes(), 85e9);
  EXPECT_EQ(gpu.l2_mb, 1.0);
  EXPECT_EQ(gpu.bandwidth_gbs, 3350);
  const Gpu unknown = described({.name = "NVIDIA Testium", .capability = 89, .sms = 10, .clock_mhz = 1000.0}, built_in());
  EXPECT_NEAR(*unknown.peak_of(Rate::fp32), 2.56, 1e-9);
  EXPECT_FALSE(unknown.peak_of(Rate::fp16));
  EXPECT_FALSE(unknown.bandwidth_gbs);
  EXPECT_EQ(how_it_runs(unknown, "bf16").support, Support::native);
  EXPECT_FALSE(how_it_runs(unknown, "bf16").peak);
  EXPECT_EQ(how_it_runs(described({.name = "NVIDIA Testium", .capability = 75}, built_in()), "bf16").support, Support::emulated);
}

constexpr const char* good = "[[gpu]]\nname = \"My GPU\"\ncompute_capability = \"8.9\"\nsms = 24\nboost_mhz = 2000\nmemory_gb = 8\nbandwidth_gbs = 272\n"
                             "fma = { fp32 = 128, fp16 = 256 }\n";

TEST(Hardware, AUsersFileIsChecked) {
  const ReadGpus read = read_gpus(good, "my.toml");
  ASSERT_THAT(read.gpus, SizeIs(1));
  EXPECT_NEAR(*read.gpus[0].peak_of(Rate::fp16), 24 * 256 * 2 * 2e9 / 1e12, 1e-9);
  // A rate that the file leaves out is not known; the hardware is there from its compute capability on.
  for (const char* mode : {"bf16", "tf32", "fp8"}) {
    EXPECT_EQ(how_it_runs(read.gpus[0], mode).support, Support::native) << mode;
    EXPECT_FALSE(how_it_runs(read.gpus[0], mode).peak) << mode;
  }
  const auto mistakes = [](const std::string& text) { return read_gpus(text, "my.toml").mistakes; };
  EXPECT_THAT(mistakes(std::string(good) + "peak = { fp16 = 49.2 }\n"), ElementsAre(AllOf(HasSubstr("my.toml:9: My GPU: peak.fp16 = 49.2"), HasSubstr("sparsity"))));
  EXPECT_THAT(mistakes(std::string(good) + "peak = { fp16 = 24.0, bf16 = 24 }\n"), ElementsAre(HasSubstr("peak.bf16 has no fma.bf16")));
  EXPECT_THAT(mistakes(std::string(good) + "powr_w = 100\n"), ElementsAre(HasSubstr("unknown key powr_w; did you mean power_w?")));
  EXPECT_THAT(mistakes(std::string(good) + "attainable = { fp16 = 30 }\n"), ElementsAre(HasSubstr("above the peak")));
  EXPECT_THAT(mistakes("[[gpu]]\nname = 7\nsms = \"many\"\ncompute_capability = \"8\"\n"),
              ElementsAre(HasSubstr(":2: name takes a text"), HasSubstr("compute_capability \"8\""), HasSubstr("sms takes a number from 1 to 4096"), HasSubstr("boost_mhz is missing"),
                          HasSubstr("memory_gb is missing"), HasSubstr("bandwidth_gbs is missing"), HasSubstr("fma is missing")));
  EXPECT_THAT(mistakes("sms = = 3"), ElementsAre(HasSubstr("my.toml:1: ")));
  EXPECT_THAT(mistakes("[gpus]\n"), ElementsAre(HasSubstr("unknown key gpus"), HasSubstr("no [[gpu]] table")));
  EXPECT_THAT(mistakes(std::string(good) + "unverified = { speed = \"x\" }\n"), ElementsAre(HasSubstr("unverified.speed is no figure")));
}

class HardwareFiles : public Scratch {};

TEST_F(HardwareFiles, AUsersGpuIsKept) {
  const std::string folder = in("config/gpus");
  const Gpu gpu = read_gpus(good, "my.toml").gpus.at(0);
  EXPECT_EQ(keep_user_gpu(folder, gpu, good), folder + "/my-gpu.toml");
  std::ofstream(folder + "/broken.toml") << "[[gpu]]\n";
  const UserGpus own = read_user_gpus(folder);
  ASSERT_THAT(own.gpus, SizeIs(1));
  EXPECT_EQ(own.gpus[0].file, folder + "/my-gpu.toml");
  EXPECT_THAT(own.mistakes, ::testing::Contains(HasSubstr("broken.toml:1: key name is missing")));
  const GpuTable table(built_in_gpus(), own.gpus);
  EXPECT_EQ(table.named("my-gpu").sms, 24);
  Gpu taken = gpu;
  taken.name = "T4";
  EXPECT_THROW(keep_user_gpu(folder, taken, good), UsageError);
  EXPECT_THAT(read_user_gpus(in("nothing")).gpus, SizeIs(0));
}

TEST(Hardware, FormsSayTheSame) {
  std::ostringstream text, card, document;
  write_gpus_text(built_in_gpus(), {}, text);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  for (const Gpu& gpu : built_in_gpus()) EXPECT_THAT(text.str(), HasSubstr(gpu.name));
  write_gpu_text(built_in().named("GH200"), card);
  EXPECT_THAT(card.str(), AllOf(HasSubstr("1000 W [unverified: 450 to 1000 W"), HasSubstr("132 SMs x 2048 x 2 x 1830 MHz = 989.4"), HasSubstr("source")));
  write_gpus_json(built_in_gpus(), {}, document);
  const auto json = nlohmann::json::parse(document.str());
  ASSERT_EQ(json["gpus"].size(), built_in_gpus().size());
  for (const auto& gpu : json["gpus"])
    if (gpu["name"] == "T4") {
      EXPECT_TRUE(gpu["peak_tflops"]["bf16"].is_null());
      EXPECT_EQ(gpu["peak_tflops"]["fp16"], 65.0);
      EXPECT_EQ(gpu["modes"][3]["runs"], "emulated");
    }
}

}  // namespace
}  // namespace ulpscope::reports
