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
using ::testing::UnorderedElementsAre;

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
  // By words; of equally near ones the same letter, then the nearest number.
  EXPECT_THAT(message("H300"), HasSubstr("did you mean H200 SXM?"));
  EXPECT_THAT(message("b300"), HasSubstr("did you mean B200?"));
  EXPECT_THAT(message("l5"), HasSubstr("did you mean L4?"));
  EXPECT_THAT(message("rtx 4080"), HasSubstr("did you mean RTX 4090?"));
  EXPECT_THAT(message("32gb"), HasSubstr("may be V100 SXM2 32GB, V100 PCIe 32GB"));
  EXPECT_THAT(message(""), HasSubstr("is no GPU's name"));
}

// Every name of every entry is that entry's alone.
TEST(Hardware, NoNameIsAnothers) {
  const GpuTable table = built_in();
  for (const Gpu& gpu : built_in_gpus()) {
    EXPECT_EQ(table.named(gpu.name).name, gpu.name);
    for (const auto* names : {&gpu.also, &gpu.device})
      for (const std::string& name : *names) EXPECT_EQ(table.named(name).name, gpu.name) << name;
    EXPECT_EQ(table.taken_for(gpu.name), "");
  }
  EXPECT_EQ(table.taken_for("a100"), "\"a100\" is taken for A100 SXM 80GB; there are also A100 SXM 40GB, A100 PCIe 40GB, A100 PCIe 80GB");
  EXPECT_EQ(table.taken_for("gh200"), "\"gh200\" is taken for GH200 96GB; there is also GH200 144GB");
  EXPECT_EQ(table.taken_for("Tesla T4"), "");
  EXPECT_EQ(table.taken_for("rtx4090"), "");
}

TEST(Hardware, AUsersGpuTakesNoBuiltInName) {
  const auto clashes = [](const char* name, std::vector<std::string> also, std::vector<std::string> device) {
    Gpu own;
    own.name = name;
    own.also = std::move(also);
    own.device = std::move(device);
    return clash(own);
  };
  EXPECT_THAT(clashes("l 4", {}, {}), HasSubstr("\"l 4\" is in the built-in table (L4)"));
  EXPECT_THAT(clashes("PCIe 80GB A100", {}, {}), HasSubstr("(A100 PCIe 80GB)"));
  EXPECT_THAT(clashes("Tesla-T-4", {}, {}), HasSubstr("(T4)"));
  EXPECT_THAT(clashes("mine", {"x", "t4"}, {}), HasSubstr("mine: \"t4\" means the built-in T4"));
  EXPECT_THAT(clashes("mine", {"4090"}, {}), HasSubstr("RTX 4090"));
  EXPECT_THAT(clashes("mine", {}, {"NVIDIA A100-SXM4-80GB"}), HasSubstr("A100 SXM 80GB"));
  for (const char* other : {"RTX 2080", "A10G", "L4 mini", "H100 NVL", "GPU"}) EXPECT_EQ(clashes(other, {}, {other}), "") << other;
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

// GTX 16 has compute capability 7.5, RTX 20 and T4 have: what the one lacks does not follow from it.
TEST(Hardware, CapabilityAloneIsNoMatrixUnit) {
  const auto user = [](const char* capability, const char* fma) {
    const ReadGpus read = read_gpus(std::string("[[gpu]]\nname = \"Own\"\ncompute_capability = \"") + capability + "\"\nsms = 22\nboost_mhz = 1785\nmemory_gb = 6\nbandwidth_gbs = 192\nfma = { " + fma + " }\n", "own.toml");
    return read.gpus.at(0);
  };
  for (const char* fma : {"fp32 = 64, fp16_vector = 128", "fp32 = 64"}) {
    const ModeSupport fp16 = how_it_runs(user("7.5", fma), "fp16");
    EXPECT_EQ(fp16.support, Support::unknown) << fma;
    EXPECT_THAT(fp16.why, HasSubstr("GTX 16"));
    EXPECT_FALSE(fp16.peak);
  }
  EXPECT_EQ(how_it_runs(user("7.5", "fp32 = 64, fp16 = 512"), "fp16").support, Support::native);
  EXPECT_EQ(how_it_runs(user("7.5", "fp32 = 64"), "bf16").support, Support::emulated);
  EXPECT_EQ(how_it_runs(user("8.9", "fp32 = 128, fp16_vector = 128"), "fp16").support, Support::unknown);
  EXPECT_EQ(how_it_runs(user("8.9", "fp32 = 128"), "fp16").support, Support::native);
  EXPECT_EQ(how_it_runs(described({.name = "NVIDIA GeForce GTX 1660", .capability = 75, .sms = 22, .clock_mhz = 1785.0}, built_in()), "fp16").support, Support::unknown);
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
  // Without matrix units for it, it would be emulated, and never the one to take.
  std::string turing = good;
  turing.replace(turing.find("8.9"), 3, "7.5").replace(turing.find("fp16 = 256"), 10, "fp16 = 256, bf16 = 256, tf32 = 128");
  EXPECT_THAT(mistakes(turing), UnorderedElementsAre(HasSubstr("fma.bf16: compute capability 7.5 has none"), HasSubstr("fma.tf32: compute capability 7.5 has none")));
  EXPECT_THAT(mistakes(std::string(good) + "powr_w = 100\n"), ElementsAre(HasSubstr("unknown key powr_w; did you mean power_w?")));
  EXPECT_THAT(mistakes(std::string(good) + "attainable = { fp16 = 30 }\n"), ElementsAre(HasSubstr("above the peak")));
  EXPECT_THAT(mistakes("[[gpu]]\nname = 7\nsms = \"many\"\ncompute_capability = \"8\"\n"),
              ElementsAre(HasSubstr(":2: name takes a text"), HasSubstr("compute_capability \"8\""), HasSubstr("sms takes a number from 1 to 4096"), HasSubstr("boost_mhz is missing"),
                          HasSubstr("memory_gb is missing"), HasSubstr("bandwidth_gbs is missing"), HasSubstr("fma is missing")));
  // One mistake, one line: nothing is said of what would follow from it.
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = std::string(good) + "peak = { fp16 = 24.6 }\nattainable = { fp16 = 20 }\n";
    const std::size_t at = text.find("\n" + key + " =") + 1;
    return mistakes(text.replace(at, text.find('\n', at) - at, key + " = " + value));
  };
  EXPECT_THAT(with("fma", "{ fp32 = nan }"), ElementsAre(HasSubstr("fma.fp32 takes a number from 1 to 1048576")));
  EXPECT_THAT(with("fma", "{ fp33 = 64 }"), ElementsAre(HasSubstr("fma.fp33 is no rate")));
  EXPECT_THAT(with("fma", "64"), ElementsAre(HasSubstr("fma takes a table")));
  EXPECT_THAT(with("sms", "2.5"), ElementsAre(HasSubstr("sms takes a whole number")));
  EXPECT_THAT(with("boost_mhz", "1"), ElementsAre(HasSubstr("boost_mhz takes a number from 100 to 10000")));
  EXPECT_THAT(with("bandwidth_gbs", "0"), ElementsAre(HasSubstr("from 1 to 1000000 (10^9 bytes/s)")));
  EXPECT_THAT(with("compute_capability", "8.9"), ElementsAre(HasSubstr("write \"8.9\"")));
  EXPECT_THAT(with("compute_capability", "9"), ElementsAre(HasSubstr("write \"9.0\"")));
  EXPECT_THAT(mistakes("sms = = 3"), ElementsAre(HasSubstr("my.toml:1: ")));
  EXPECT_THAT(mistakes("[gpus]\n"), ElementsAre(HasSubstr("unknown key gpus"), HasSubstr("no [[gpu]] table")));
  EXPECT_THAT(mistakes(std::string(good) + "unverified = { speed = \"x\" }\n"), ElementsAre(HasSubstr("unverified.speed is no figure")));
}

class HardwareFiles : public Scratch {};

TEST_F(HardwareFiles, AUsersGpuIsKept) {
  const std::string folder = in("config/gpus");
  const Gpu gpu = read_gpus(good, "my.toml").gpus.at(0);
  EXPECT_EQ(keep_user_gpu(folder, gpu, good).path, folder + "/my-gpu.toml");
  std::ofstream(folder + "/broken.toml") << "[[gpu]]\n";
  const UserGpus own = read_user_gpus(folder);
  ASSERT_THAT(own.gpus, SizeIs(1));
  EXPECT_EQ(own.gpus[0].file, folder + "/my-gpu.toml");
  EXPECT_THAT(own.mistakes, ::testing::Contains(HasSubstr("broken.toml:1: key name is missing")));
  const GpuTable table(built_in_gpus(), own.gpus);
  EXPECT_EQ(table.named("my-gpu").sms, 24);
  // A device is one GPU's: whose rates it is given must not be chance.
  Gpu first = gpu, second = gpu;
  first.name = "First";
  second.name = "Second";
  first.device = {"NVIDIA Own 1"};
  second.device = {"NVIDIA Testium", "own 1"};
  first.file = "first.toml";
  EXPECT_EQ(same_device(second, {gpu, first}), "Second: the device \"own 1\" is that of First (first.toml): leave it out of one");
  EXPECT_EQ(same_device(second, {gpu}), "");
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
