#include "profiler/experiment/cuda_driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kernels/shared_library.h"

namespace ulpscope::profiler {
namespace {

constexpr const char* driver_library = "libcuda.so.1";

// CUresult and CUdevice_attribute of the CUDA driver API (cuda.h); their values are part of its ABI.
constexpr int cuda_success = 0;
constexpr int cuda_stub_library = 34;
constexpr int cuda_no_device = 100;
constexpr int cuda_operating_system = 304;
constexpr int cuda_not_permitted = 800;
constexpr int cuda_system_driver_mismatch = 803;
constexpr int attribute_major = 75;
constexpr int attribute_minor = 76;
constexpr int attribute_clock_khz = 13;
constexpr int attribute_multiprocessors = 16;
constexpr int attribute_l2_bytes = 38;

class ThisSystem final : public DriverSystem {
 public:
  void* open_library(const char* name, std::string& reason) const override {
    return ulpscope::open_library(name, {}, Visible::locally, reason);
  }
  void* symbol(void* library, const char* name) const override { return library_symbol(library, name); }
  std::vector<std::string> device_files() const override {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
      const std::string name = entry.path().filename().string();
      const bool numbered =
          name.size() > 6 && name.starts_with("nvidia") && name.find_first_not_of("0123456789", 6) == std::string::npos;
      if (numbered || name == "nvidiactl" || name == "nvidia-uvm") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  bool may_use(const std::string& file) const override { return access(file.c_str(), R_OK | W_OK) == 0; }
  std::optional<std::string> variable(const char* name) const override {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  }
};

/// The functions of the driver that are asked.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*device_memory)(std::size_t*, int) = nullptr;
  int (*device_bus_id)(char*, int, int) = nullptr;   ///< null: it does not say
};

template <class Function>
bool load(const DriverSystem& system, void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(system.symbol(library, name));
  if (function == nullptr && missing.empty()) missing = name;
  return function != nullptr;
}

std::string load_all(const DriverSystem& system, void* library, Driver& driver) {
  std::string missing;
  load(system, library, "cuInit", driver.init, missing);
  load(system, library, "cuDriverGetVersion", driver.driver_version, missing);
  load(system, library, "cuDeviceGetCount", driver.device_count, missing);
  load(system, library, "cuDeviceGet", driver.device_get, missing);
  load(system, library, "cuDeviceGetName", driver.device_name, missing);
  load(system, library, "cuDeviceGetAttribute", driver.device_attribute, missing);
  load(system, library, "cuDeviceTotalMem_v2", driver.device_memory, missing);
  std::string can_be_missing;
  load(system, library, "cuDeviceGetPCIBusId", driver.device_bus_id, can_be_missing);
  return missing;
}

std::vector<std::string> forbidden_files(const DriverSystem& system) {
  std::vector<std::string> files;
  for (const std::string& file : system.device_files()) {
    if (!system.may_use(file)) files.push_back(file);
  }
  return files;
}

std::string why_no_library(const DriverSystem& system, const std::string& reason) {
  if (!system.device_files().empty()) {
    return fmt::format(
        "the kernel driver is there ({}), but {} is not ({}): install the user part of the NVIDIA driver, or start "
        "the container with the NVIDIA Container Toolkit (docker run --gpus all)",
        system.device_files().front(), driver_library, reason);
  }
  return fmt::format(
      "no NVIDIA driver: {} was not found ({}); on a machine with an NVIDIA GPU install its driver, in a container "
      "start it with access to the GPU (docker run --gpus all)",
      driver_library, reason);
}

std::string why_no_device(const DriverSystem& system) {
  if (const auto visible = system.variable("CUDA_VISIBLE_DEVICES")) {
    return fmt::format("the driver is there, but CUDA_VISIBLE_DEVICES=\"{}\" hides the GPUs: unset it", *visible);
  }
  if (system.device_files().empty()) {
    return "the driver library is there, but no GPU: there is no /dev/nvidia* (no NVIDIA GPU in this machine, its "
           "kernel module "
           "not loaded, or a container started without --gpus all)";
  }
  return "the driver is there, but it sees no GPU: nvidia-smi and the kernel log (dmesg) may say why";
}

std::string why_init_failed(const DriverSystem& system, int error) {
  const std::vector<std::string> forbidden = forbidden_files(system);
  const bool may_be_permission =
      error == cuda_no_device || error == cuda_operating_system || error == cuda_not_permitted;
  if (may_be_permission && !forbidden.empty()) {
    return fmt::format("no permission to use {}: add the user to the group that owns it, usually video or render",
                       fmt::join(forbidden, ", "));
  }
  if (error == cuda_no_device) return why_no_device(system);
  if (error == cuda_stub_library) {
    return fmt::format(
        "the {} that was loaded is the CUDA Toolkit's stub, not a driver: take the folder \"stubs\" out of "
        "LD_LIBRARY_PATH",
        driver_library);
  }
  if (error == cuda_system_driver_mismatch) {
    return fmt::format("{} and the kernel module are of different driver versions: reboot, or reinstall the driver",
                       driver_library);
  }
  return fmt::format("the NVIDIA driver does not start: cuInit answers with error {}; nvidia-smi may say more", error);
}

std::optional<std::int64_t> attribute(const Driver& driver, int which, int device) {
  int value = 0;
  if (driver.device_attribute(&value, which, device) != cuda_success || value <= 0) return std::nullopt;
  return value;
}

void list_devices(const Driver& driver, GpuSearch& found) {
  int count = 0;
  if (const int error = driver.device_count(&count); error != cuda_success) {
    found.reasons.push_back(fmt::format("the NVIDIA driver does not count its devices: error {}", error));
    return;
  }
  for (int i = 0; i < count; ++i) {
    int device = 0;
    char name[256] = "";
    std::size_t bytes = 0;
    Gpu gpu;
    const bool told = driver.device_get(&device, i) == cuda_success &&
                      driver.device_name(name, sizeof(name) - 1, device) == cuda_success &&
                      driver.device_attribute(&gpu.major, attribute_major, device) == cuda_success &&
                      driver.device_attribute(&gpu.minor, attribute_minor, device) == cuda_success &&
                      driver.device_memory(&bytes, device) == cuda_success;
    if (!told) {
      found.reasons.push_back(fmt::format("GPU {} does not answer the driver", i));
      continue;
    }
    gpu.name = name;
    gpu.memory_bytes = static_cast<std::int64_t>(bytes);
    gpu.multiprocessors = attribute(driver, attribute_multiprocessors, device);
    gpu.clock_khz = attribute(driver, attribute_clock_khz, device);
    gpu.l2_bytes = attribute(driver, attribute_l2_bytes, device);
    char bus_id[32] = {};
    if (driver.device_bus_id != nullptr && driver.device_bus_id(bus_id, sizeof(bus_id) - 1, device) == cuda_success) gpu.pci_bus_id = bus_id;
    found.gpus.push_back(std::move(gpu));
  }
}

void ask_driver(const DriverSystem& system, GpuSearch& found) {
  std::string reason;
  void* const library = system.open_library(driver_library, reason);
  if (library == nullptr) {
    found.reasons.push_back(why_no_library(system, reason));
    return;
  }
  found.driver_found = true;
  Driver driver;
  if (const std::string missing = load_all(system, library, driver); !missing.empty()) {
    found.reasons.push_back(
        fmt::format("{} lacks {}: it is not a driver of NVIDIA, or too old", driver_library, missing));
    return;
  }
  int version = 0;
  if (driver.driver_version(&version) == cuda_success && version > 0) {
    found.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  if (const int error = driver.init(0); error != cuda_success) {
    found.reasons.push_back(why_init_failed(system, error));
    return;
  }
  list_devices(driver, found);
  if (found.gpus.empty() && found.reasons.empty()) found.reasons.push_back(why_no_device(system));
}

}  // namespace

const DriverSystem& this_system() {
  static const ThisSystem system;
  return system;
}

reports::PresentGpu present_gpu(const Gpu& gpu) {
  reports::PresentGpu present{.name = gpu.name, .capability = 10 * gpu.major + gpu.minor, .sms = gpu.multiprocessors, .memory_bytes = gpu.memory_bytes, .l2_bytes = gpu.l2_bytes};
  if (gpu.clock_khz) present.clock_mhz = static_cast<double>(*gpu.clock_khz) * 1e-3;
  return present;
}

GpuSearch find_gpus(const DriverSystem& system) {
  GpuSearch found;
  ask_driver(system, found);
  return found;
}

}  // namespace ulpscope::profiler
