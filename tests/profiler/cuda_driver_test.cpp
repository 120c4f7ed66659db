#include "profiler/experiment/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "profiler/cli/devices_text.h"
#include "profiler/cli/text.h"
#include "kernels/error.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/make_device.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What the made-up driver answers.
struct Answers {
  int init = 0;
  int version = 12040;
  int count = 0;
} answers;

int cu_init(unsigned) { return answers.init; }
int cu_version(int* version) {
  *version = answers.version;
  return 0;
}
int cu_count(int* count) {
  *count = answers.count;
  return 0;
}
int cu_get(int* device, int index) {
  *device = 100 + index;
  return 0;
}
int cu_name(char* name, int size, int device) {
  std::strncpy(name, device == 100 ? "NVIDIA H200" : "NVIDIA T4", static_cast<std::size_t>(size));
  return 0;
}
int cu_attribute(int* value, int attribute, int device) {
  const bool major = attribute == 75;
  *value = device == 100 ? (major ? 9 : 0) : (major ? 7 : 5);
  return 0;
}
int cu_memory(std::size_t* bytes, int) {
  *bytes = std::size_t{16} << 30;
  return 0;
}

int cu_bus_id(char* id, int size, int device) {
  std::strncpy(id, device == 100 ? "0000:3b:00.0" : "0000:86:00.0", static_cast<std::size_t>(size));
  return 0;
}

class FakeSystem final : public DriverSystem {
 public:
  bool library = true;
  std::string missing;  // a function
  std::vector<std::string> files;
  bool permitted = true;
  std::map<std::string, std::string> variables;

  void* open_library(const char* name, std::string& reason) const override {
    EXPECT_STREQ(name, "libcuda.so.1");
    if (!library) reason = "not found";
    return library ? const_cast<FakeSystem*>(this) : nullptr;
  }
  void* symbol(void*, const char* name) const override {
    static const std::map<std::string, void*> all = {{"cuInit", reinterpret_cast<void*>(&cu_init)},
                                                     {"cuDriverGetVersion", reinterpret_cast<void*>(&cu_version)},
                                                     {"cuDeviceGetCount", reinterpret_cast<void*>(&cu_count)},
                                                     {"cuDeviceGet", reinterpret_cast<void*>(&cu_get)},
                                                     {"cuDeviceGetName", reinterpret_cast<void*>(&cu_name)},
                                                     {"cuDeviceGetAttribute", reinterpret_cast<void*>(&cu_attribute)},
                                                     {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(&cu_memory)},
                                                     {"cuDeviceGetPCIBusId", reinterpret_cast<void*>(&cu_bus_id)}};
    if (name == missing) return nullptr;
    return all.at(name);
  }
  std::vector<std::string> device_files() const override { return files; }
  bool may_use(const std::string&) const override { return permitted; }
  std::optional<std::string> variable(const char* name) const override {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  }
};

std::string first_reason(const FakeSystem& system) {
  const GpuSearch found = find_gpus(system);
  EXPECT_FALSE(found.reasons.empty());
  return found.reasons.empty() ? "" : found.reasons.front();
}

TEST(CudaDriver, NoDriver) {
  FakeSystem system;
  system.library = false;
  EXPECT_THAT(first_reason(system), HasSubstr("no NVIDIA driver"));
  system.files = {"/dev/nvidia0"};
  EXPECT_THAT(first_reason(system), HasSubstr("the kernel driver is there (/dev/nvidia0)"));
  EXPECT_FALSE(find_gpus(system).driver_found);
}

TEST(CudaDriver, NotADriver) {
  FakeSystem system;
  system.missing = "cuDeviceGetName";
  EXPECT_THAT(first_reason(system), HasSubstr("lacks cuDeviceGetName"));
  answers = {.init = 34};
  EXPECT_THAT(first_reason({}), HasSubstr("stub"));
}

TEST(CudaDriver, DriverWithoutDevice) {
  answers = {.init = 100};
  FakeSystem system;
  EXPECT_THAT(first_reason(system), HasSubstr("there is no /dev/nvidia*"));
  system.files = {"/dev/nvidia0"};
  EXPECT_THAT(first_reason(system), HasSubstr("it sees no GPU"));
  system.variables["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_THAT(first_reason(system), HasSubstr("CUDA_VISIBLE_DEVICES=\"\" hides the GPUs"));
  answers = {.init = 0, .count = 0};
  EXPECT_THAT(first_reason(system), HasSubstr("hides the GPUs")) << "an empty list is no device either";
}

TEST(CudaDriver, NoPermission) {
  answers = {.init = 100};
  FakeSystem system;
  system.files = {"/dev/nvidia0", "/dev/nvidiactl"};
  system.permitted = false;
  EXPECT_THAT(first_reason(system), HasSubstr("no permission to use /dev/nvidia0, /dev/nvidiactl"));
}

TEST(CudaDriver, OtherFailures) {
  answers = {.init = 803};
  EXPECT_THAT(first_reason({}), HasSubstr("different driver versions"));
  answers = {.init = 999};
  EXPECT_THAT(first_reason({}), HasSubstr("error 999"));
}

TEST(CudaDriver, DevicesAreListedAndNoModeIsClaimedForThem) {
  answers = {.init = 0, .version = 13000, .count = 2};
  const GpuSearch found = find_gpus(FakeSystem());
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(found.gpus[0].major, 9);
  EXPECT_EQ(found.gpus[1].major, 7);
  EXPECT_EQ(found.gpus[1].minor, 5);
  EXPECT_EQ(found.driver_version, "13.0");
  EXPECT_TRUE(found.reasons.empty());

  const CudaModuleState absent{.loaded = false, .problem = "this installation has no GPU module", .runtime_version = 0, .architectures = {}};
  const auto device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const nlohmann::json all = devices_json(*device, found, absent);
  for (const auto& gpu : all["cuda"]["gpus"]) {
    for (const auto& mode : gpu["modes"]) EXPECT_EQ(mode["runs"], "absent");
  }
  for (const auto& mode : all["cpu"]["modes"]) EXPECT_EQ(mode["runs"], mode["mode"] == "fp32" ? "native" : "emulated");

  const std::string text = devices_text(*device, found, absent);
  EXPECT_THAT(text, HasSubstr("cuda:0: NVIDIA H200, compute capability 9.0, 16 GiB; all modes"));
  EXPECT_THAT(text, HasSubstr("absent"));
  EXPECT_THAT(text, HasSubstr("- this installation has no GPU module"));
  EXPECT_THAT(text, HasSubstr("for CUDA up to 13.0"));
  EXPECT_THAT(text, Not(HasSubstr("none seen")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), text_width) << line;
}

// A run file has them: what a peak is at that device's own clock.
TEST(CudaDriver, SizesAndTheClockAreKept) {
  GpuSearch found;
  found.gpus.resize(2);
  found.gpus[0].multiprocessors = 132;
  found.gpus[0].clock_khz = 1980000;
  const auto device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const nlohmann::json gpus = devices_json(*device, found, {})["cuda"]["gpus"];
  EXPECT_EQ(gpus[0]["multiprocessors"], 132);
  EXPECT_EQ(gpus[0]["clock_mhz"], 1980.0);
  EXPECT_TRUE(gpus[1]["multiprocessors"].is_null());
  EXPECT_TRUE(gpus[1]["clock_mhz"].is_null());
}

TEST(CudaDriver, WithTheModuleEveryModeSaysHowItRuns) {
  answers = {.init = 0, .version = 13000, .count = 2};
  const GpuSearch found = find_gpus(FakeSystem());
  const CudaModuleState module{.loaded = true, .problem = {}, .runtime_version = 13000, .architectures = "75 80 90"};
  const auto device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const nlohmann::json all = devices_json(*device, found, module);
  EXPECT_TRUE(all["cuda"]["reasons"].empty());
  std::map<std::string, std::string> h200, t4;
  for (const auto& mode : all["cuda"]["gpus"][0]["modes"]) h200[mode["mode"]] = mode["runs"];
  for (const auto& mode : all["cuda"]["gpus"][1]["modes"]) t4[mode["mode"]] = mode["runs"];
  for (const auto& [mode, runs] : h200) EXPECT_EQ(runs, "native") << mode;
  EXPECT_EQ(t4["fp16"], "native") << "tensor cores since 7.0";
  EXPECT_EQ(t4["fp16_pure"], "native");
  EXPECT_EQ(t4["tf32"], "no effect") << "tf32 since 8.0";
  EXPECT_EQ(t4["bf16"], "emulated") << "bf16 since 8.0";
  EXPECT_EQ(t4["bf16+tf32"], "emulated");
  const std::string text = devices_text(*device, found, module);
  EXPECT_THAT(text, HasSubstr("cuda:1: NVIDIA T4, compute capability 7.5"));
  EXPECT_THAT(text, HasSubstr("tf32       no effect: runs as fp32"));
  EXPECT_THAT(text, HasSubstr("GPU module built with CUDA 13.0, for compute capabilities 75 80 90"));
}

TEST(CudaDriver, ADriverOlderThanTheModuleIsSaid) {
  answers = {.init = 0, .version = 12090, .count = 1};
  const GpuSearch found = find_gpus(FakeSystem());
  const CudaModuleState module{.loaded = true, .problem = {}, .runtime_version = 13000, .architectures = "75"};
  const std::vector<std::string> reasons = why_no_gpu(found, module, 0);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0], HasSubstr("serves CUDA up to 12.9, the GPU module was built with 13.0: update the driver"));
  answers.version = 13010;   // minor versions are compatible
  EXPECT_TRUE(why_no_gpu(find_gpus(FakeSystem()), module, 0).empty());
  EXPECT_THAT(why_no_gpu(find_gpus(FakeSystem()), module, 1).at(0), HasSubstr("there is no GPU 1: the driver has 1"));
}

TEST(CudaDriver, AGpuThatTheModuleHasNoCodeForIsSaid) {
  answers = {.init = 0, .version = 13000, .count = 2};   // an H200, a T4
  const GpuSearch found = find_gpus(FakeSystem());
  const CudaModuleState module{.loaded = true, .problem = {}, .runtime_version = 13000, .architectures = "80-real 90"};
  EXPECT_TRUE(why_no_gpu(found, module, 0).empty());
  EXPECT_THAT(why_no_gpu(found, module, 1).at(0),
              HasSubstr("no code for NVIDIA T4, compute capability 7.5, but for 80-real 90: build ulpscope with -DULPSCOPE_CUDA_ARCHITECTURES=75"));
  const std::string text = devices_text(*make_cpu_device({.threads = 1, .instruction_set = {}}), found, module);
  EXPECT_THAT(text, HasSubstr("no code for NVIDIA T4"));
}

TEST(CudaDriver, CodeRunsOnItsGenerationAndPtxOnLaterOnes) {
  for (const auto& [architectures, major, minor] : std::vector<std::tuple<const char*, int, int>>{
           {"75-real 80-real 120", 7, 5}, {"80-real", 8, 9}, {"75", 7, 5}, {"75", 9, 0}, {"80-virtual", 8, 0}, {"80 90", 12, 0}, {"100-real", 10, 3}, {"90a-real 120", 12, 0}, {"100f-real", 10, 3}, {"90a-real", 9, 0}})
    EXPECT_TRUE(has_code_for(architectures, major, minor)) << architectures << " on " << major << "." << minor;
  for (const auto& [architectures, major, minor] : std::vector<std::tuple<const char*, int, int>>{
           {"75-real 80-real 120", 7, 0}, {"75-real 80-real 120", 11, 0}, {"86-real", 8, 0}, {"80-real", 9, 0}, {"90", 8, 9}, {"", 9, 0}, {"90a-real", 12, 0}, {"100a-real", 10, 3}, {"100f", 12, 0}})
    EXPECT_FALSE(has_code_for(architectures, major, minor)) << architectures << " on " << major << "." << minor;
}

TEST(CudaDriver, DevicesAreNamed) {
  EXPECT_TRUE(parse_device("auto").automatic);
  EXPECT_FALSE(parse_device("cpu").gpu);
  EXPECT_EQ(parse_device("cuda").gpu, 0);
  EXPECT_EQ(parse_device("cuda:3").gpu, 3);
  for (const char* wrong : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "CPU", "cuda:99999999999"})
    EXPECT_THROW(parse_device(wrong), UsageError) << wrong;
}

TEST(CudaDriver, ThisMachineAnswersSomething) {
  const GpuSearch found = find_gpus(this_system());
  EXPECT_EQ(found.gpus.empty(), !found.reasons.empty());
}

}  // namespace
}  // namespace ulpscope::profiler
