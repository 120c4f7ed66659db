#include "profiler/trace/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/shared_library.h"

namespace ulpscope::profiler {
namespace {

// nvmlReturn_t, nvmlClockType_t and nvmlTemperatureSensors_t of nvml.h: part of NVML's ABI, and not in every CUDA toolkit.
constexpr int nvml_success = 0;
constexpr int nvml_not_supported = 3;
constexpr int nvml_no_permission = 4;
constexpr int nvml_not_found = 6;
constexpr int nvml_driver_not_loaded = 9;
constexpr int nvml_function_not_found = 13;
constexpr int nvml_gpu_is_lost = 15;
constexpr int nvml_version_mismatch = 18;
constexpr int clock_of_multiprocessors = 1;
constexpr int clock_of_memory = 2;
constexpr int sensor_of_gpu = 0;

using Device = void*;   // nvmlDevice_t, opaque

/// The functions that are asked; those that a driver may lack are null then.
struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_bus_id)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;

  std::string words(int code) const {
    const char* const own = error_string == nullptr ? nullptr : error_string(code);
    std::string text = own == nullptr ? "" : own;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.empty() ? fmt::format("error {}", code) : fmt::format("{}, error {}", text, code);
  }
};

template <class Function>
bool load(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (function == nullptr) function = reinterpret_cast<Function>(library_symbol(library, name));
  return function != nullptr;
}

/// The name of a function that is missing and must not be.
std::string load_all(void* library, Functions& f) {
  load(library, f.error_string, {"nvmlErrorString"});
  load(library, f.clock, {"nvmlDeviceGetClockInfo"});
  load(library, f.power, {"nvmlDeviceGetPowerUsage"});
  load(library, f.temperature, {"nvmlDeviceGetTemperature"});
  // The newer name came with driver 535.
  load(library, f.throttle_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  if (!load(library, f.init, {"nvmlInit_v2"})) return "nvmlInit_v2";
  if (!load(library, f.shutdown, {"nvmlShutdown"})) return "nvmlShutdown";
  if (!load(library, f.count, {"nvmlDeviceGetCount_v2"})) return "nvmlDeviceGetCount_v2";
  if (!load(library, f.by_index, {"nvmlDeviceGetHandleByIndex_v2"})) return "nvmlDeviceGetHandleByIndex_v2";
  if (!load(library, f.by_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"})) return "nvmlDeviceGetHandleByPciBusId_v2";
  return {};
}

std::string why_refused(const Functions& f, int code) {
  switch (code) {
    case nvml_not_supported:
    case nvml_function_not_found:
      return "the GPU or its driver does not offer it";
    case nvml_no_permission:
      return "no permission: ask for /dev/nvidiactl, or run as an administrator";
    case nvml_gpu_is_lost:
      return "the GPU has fallen off the bus (the kernel log says more)";
    case nvml_driver_not_loaded:
      return "the NVIDIA kernel driver is not loaded";
    case nvml_version_mismatch:
      return "libnvidia-ml and the kernel module are of different driver versions: reboot, or reinstall the driver";
    case nvml_not_found:
      return "NVML does not know this GPU (a container may hide it)";
    default:
      return f.words(code);
  }
}

class Nvml final : public GpuStateSource {
 public:
  Nvml(const Functions& functions, Device device) : f_(functions), device_(device) {}
  ~Nvml() override { f_.shutdown(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  GpuState read() override {
    GpuState state;
    state.core_clock_mhz = ask(core_clock, [&](unsigned* mhz) { return f_.clock == nullptr ? nvml_function_not_found : f_.clock(device_, clock_of_multiprocessors, mhz); });
    state.memory_clock_mhz = ask(memory_clock, [&](unsigned* mhz) { return f_.clock == nullptr ? nvml_function_not_found : f_.clock(device_, clock_of_memory, mhz); });
    state.power_watts = ask(power, [&](unsigned* mw) { return f_.power == nullptr ? nvml_function_not_found : f_.power(device_, mw); });
    if (state.power_watts) *state.power_watts /= 1000.0;   // milliwatts
    state.temperature_celsius = ask(temperature, [&](unsigned* c) { return f_.temperature == nullptr ? nvml_function_not_found : f_.temperature(device_, sensor_of_gpu, c); });
    unsigned long long bits = 0;
    const int code = f_.throttle_reasons == nullptr ? nvml_function_not_found : f_.throttle_reasons(device_, &bits);
    note(throttling, code);
    if (code == nvml_success && bits < (1ull << 53)) state.throttle_reasons = static_cast<std::int64_t>(bits);
    return state;
  }

  std::vector<std::string> refusals() const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < answers_.size(); ++i)
      if (answers_[i].asked && !answers_[i].answered) lines.push_back(fmt::format("{}: {}", names[i], why_refused(f_, answers_[i].code)));
    return lines;
  }

 private:
  enum Value { core_clock, memory_clock, power, temperature, throttling };
  static constexpr std::array<const char*, 5> names{"clock of the multiprocessors", "clock of the memory", "power", "temperature", "throttling"};
  struct Answer {
    bool asked = false, answered = false;
    int code = nvml_success;   ///< of the last refusal
  };

  void note(Value value, int code) {
    Answer& answer = answers_[value];
    answer.asked = true;
    if (code == nvml_success) answer.answered = true;
    else answer.code = code;
  }
  template <class Call>
  std::optional<double> ask(Value value, Call&& call) {
    unsigned number = 0;
    const int code = call(&number);
    note(value, code);
    return code == nvml_success ? std::optional<double>(number) : std::nullopt;
  }

  Functions f_;
  Device device_;
  std::array<Answer, 5> answers_{};
};

constexpr const char* unknown_then = "; clocks, power, temperature and throttling stay unknown";

/// The GPU's handle; else why not.
std::string find_device(const Functions& f, const std::string& pci_bus_id, Device& device) {
  if (!pci_bus_id.empty()) {
    const int code = f.by_bus_id(pci_bus_id.c_str(), &device);
    return code == nvml_success ? "" : fmt::format("NVML does not give the GPU {}: {}", pci_bus_id, why_refused(f, code));
  }
  unsigned count = 0;
  int code = f.count(&count);
  if (code == nvml_success && count != 1) return fmt::format("NVML has {} GPUs, and which of them this one is cannot be told", count);
  if (code == nvml_success) code = f.by_index(0, &device);
  return code == nvml_success ? "" : fmt::format("NVML gives no GPU: {}", why_refused(f, code));
}

}  // namespace

std::unique_ptr<GpuStateSource> open_nvml(const std::string& pci_bus_id, std::string& problem, const std::string& library) {
  std::string why;
  void* const opened = open_library(library, {}, Visible::locally, why);
  if (opened == nullptr) {
    problem = fmt::format("{} was not found ({}): it comes with the NVIDIA driver; in a container ask for it with NVIDIA_DRIVER_CAPABILITIES=compute,utility{}",
                          library, why, unknown_then);
    return nullptr;
  }
  Functions functions;
  if (const std::string missing = load_all(opened, functions); !missing.empty()) {
    problem = fmt::format("{} has no {}: it is not NVML, or too old{}", library, missing, unknown_then);
    return nullptr;
  }
  if (const int code = functions.init(); code != nvml_success) {
    problem = fmt::format("NVML does not start: {}{}", why_refused(functions, code), unknown_then);
    return nullptr;
  }
  Device device = nullptr;
  if (const std::string refused = find_device(functions, pci_bus_id, device); !refused.empty()) {
    functions.shutdown();
    problem = refused + unknown_then;
    return nullptr;
  }
  return std::make_unique<Nvml>(functions, device);
}

}  // namespace ulpscope::profiler
