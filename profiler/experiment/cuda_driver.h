// Looks for NVIDIA GPUs without needing any: the driver library is loaded at run time, and when no GPU can be used the
// reason and the remedy are put into words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/hardware/table.h"

namespace ulpscope::profiler {

/// What looking for a driver needs of the system. Tests put their own in its place.
class DriverSystem {
 public:
  virtual ~DriverSystem() = default;
  /// Null if the library cannot be loaded; then `reason` says why.
  virtual void* open_library(const char* name, std::string& reason) const = 0;
  virtual void* symbol(void* library, const char* name) const = 0;
  /// Device files of the kernel driver: /dev/nvidia0, /dev/nvidiactl …
  virtual std::vector<std::string> device_files() const = 0;
  virtual bool may_use(const std::string& file) const = 0;
  virtual std::optional<std::string> variable(const char* name) const = 0;
};

/// This machine.
const DriverSystem& this_system();

struct Gpu {
  std::string name;
  int major = 0;  ///< compute capability
  int minor = 0;
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> multiprocessors, clock_khz, l2_bytes;  ///< as the driver reports them
  std::string pci_bus_id;  ///< "00000000:3B:00.0": by which NVML knows it; empty: unknown
};

struct GpuSearch {
  bool driver_found = false;     ///< libcuda.so.1 was loaded
  std::string driver_version;    ///< newest CUDA version the driver serves: "13.0"; empty: unknown
  std::vector<Gpu> gpus;
  std::vector<std::string> reasons;  ///< why no GPU is used here and what to do; one sentence each
};

/// For the table of GPUs (reports/hardware): described by what it reports.
reports::PresentGpu present_gpu(const Gpu& gpu);

/// Never throws for what it finds or does not find.
GpuSearch find_gpus(const DriverSystem& system);

}  // namespace ulpscope::profiler
