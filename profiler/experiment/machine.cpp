#include "profiler/experiment/machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "profiler/experiment/json_text.h"
#include "profiler/experiment/make_device.h"
#include "profiler/version.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

/// The value of "Name: 123 kB" in /proc/meminfo, in bytes.
std::optional<std::int64_t> memory_info(const std::string& name) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name + ":")) continue;
    return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

/// A row "name 123" of a file; 0 if it is not there.
std::int64_t row_of(const std::string& path, const std::string& name) {
  std::ifstream in(path);
  std::string word;
  for (std::int64_t value = 0; in >> word >> value;)
    if (word == name) return value;
  return 0;
}

std::string operating_system() {
  std::string name = "Linux";
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    name = line.substr(12);
    std::erase(name, '"');
  }
  utsname system{};
  if (uname(&system) == 0) name += fmt::format(", {} {}", system.sysname, system.release);
  return name;
}

std::int64_t processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return sysconf(_SC_NPROCESSORS_ONLN);
}

json libraries(const Device& device) {
  json all = {{"ulpscope", program_version()},
              {"SQLite", sqlite3_libversion()},
              {"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
              {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
              {"compiler", fmt::format("GCC or compatible {}", __VERSION__)}};
  const std::string& product = device.description().matmul_library;
  const std::size_t space = product.rfind(' ');
  if (space != std::string::npos) all[product.substr(0, space)] = product.substr(space + 1);
  return all;
}

/// Whatever else may explain a number.
json environment() {
  json all = json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY",
        "ULPSCOPE_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"}) {
    if (const char* value = std::getenv(name)) all["variables"][name] = value;
  }
  if (const auto governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    all["governor"] = *governor;
  if (const auto quota = first_line("/sys/fs/cgroup/cpu.max")) all["cpu.max"] = *quota;
  if (const auto load = first_line("/proc/loadavg")) all["load_average"] = *load;
  if (const auto free = control_group_free_bytes()) all["control_group_free_bytes"] = *free;
  return all;
}

template <class How>
json modes_json(How how) {
  json list = json::array();
  for (const engine::Mode& mode : engine::modes()) list.push_back({{"mode", mode.name}, {"runs", how(mode)}});
  return list;
}

}  // namespace

bool native_on_cpu(const engine::Mode& mode) { return mode.lower == Format::fp32 && !mode.tf32; }

reports::Provenance time_provenance(const Device& device, const engine::Mode& mode) {
  const DeviceDescription& d = device.description();
  bool native = native_on_cpu(mode);
  if (d.kind == DeviceKind::cuda) {   // "sm_90"
    const int capability = std::atoi(d.instruction_set.c_str() + 3);
    native = on_gpu(mode, capability / 10, capability % 10) != HowItRuns::emulated;
  }
  return native ? reports::Provenance::measured : reports::Provenance::emulated;
}

json devices_json(const Device& cpu, const GpuSearch& gpus, const CudaModuleState& module) {
  const DeviceDescription& description = cpu.description();
  json all;
  all["cpu"] = {
      {"name", description.name},
      {"threads", description.threads},
      {"instruction_set", description.instruction_set},
      {"matmul_library", description.matmul_library},
      {"modes", modes_json([](const engine::Mode& mode) { return native_on_cpu(mode) ? "native" : "emulated"; })}};
  json list = json::array();
  for (const Gpu& gpu : gpus.gpus) {
    const bool usable = why_no_gpu(gpus, module, static_cast<int>(list.size())).empty();
    list.push_back({{"name", gpu.name},
                    {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                    {"memory_bytes", gpu.memory_bytes},
                    {"multiprocessors", gpu.multiprocessors ? json(*gpu.multiprocessors) : json(nullptr)},
                    {"clock_mhz", gpu.clock_khz ? json(static_cast<double>(*gpu.clock_khz) * 1e-3) : json(nullptr)},
                    {"modes", modes_json([&](const engine::Mode& mode) { return usable ? name(on_gpu(mode, gpu.major, gpu.minor)) : "absent"; })}});
  }
  all["cuda"] = {{"module", {{"loaded", module.loaded}, {"problem", module.problem}, {"runtime_version", module.runtime_version}, {"architectures", module.architectures}}},
                 {"driver_found", gpus.driver_found},
                 {"driver_cuda_version", gpus.driver_version.empty() ? json(nullptr) : json(gpus.driver_version)},
                 {"gpus", list},
                 {"reasons", why_no_gpu(gpus, module)}};
  return all;
}

reports::MachineRecord machine_record(const Device& device, const GpuSearch& gpus, const CudaModuleState& module, reports::MachineId id) {
  reports::MachineRecord machine;
  machine.id = id;
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) == 0) machine.host = host;
  machine.operating_system = operating_system();
  machine.processor = device.description().name;
  machine.instruction_set = device.description().instruction_set;
  machine.cores = processors();
  machine.memory_bytes = memory_info("MemTotal");
  machine.devices_json = json_text(devices_json(device, gpus, module));
  machine.libraries_json = json_text(libraries(device));
  machine.environment_json = json_text(environment());
  return machine;
}

std::optional<std::int64_t> control_group_free_bytes(const std::string& root) {
  struct Version {
    const char *limit, *use, *statistics, *cache;
  };
  for (const Version& v : {Version{"/memory.max", "/memory.current", "/memory.stat", "inactive_file"},
                           Version{"/memory/memory.limit_in_bytes", "/memory/memory.usage_in_bytes",
                                   "/memory/memory.stat", "total_inactive_file"}}) {
    const auto limit = first_line(root + v.limit), use = first_line(root + v.use);
    if (!limit || !use || *limit == "max") continue;
    const std::int64_t cache = row_of(root + v.statistics, v.cache);
    return std::max<std::int64_t>(
        0, std::strtoll(limit->c_str(), nullptr, 10) - std::strtoll(use->c_str(), nullptr, 10) + cache);
  }
  return std::nullopt;
}

namespace {

/// What a limit of the address space leaves (ulimit -v); nothing: there is none.
std::optional<std::int64_t> address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;   // the first number is the size of the address space
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE));
}

}  // namespace

std::int64_t free_memory_bytes() {
  std::int64_t free = memory_info("MemAvailable").value_or(std::numeric_limits<std::int64_t>::max());
  if (const auto group = control_group_free_bytes()) free = std::min(free, *group);
  if (const auto left = address_space_left()) free = std::min(free, *left);
  return free;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

const char* program_version() { return ULPSCOPE_VERSION; }
const char* program_commit() { return ULPSCOPE_COMMIT; }

}  // namespace ulpscope::profiler
