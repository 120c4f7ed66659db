#include "profiler/experiment/gpu_bus_id.h"

#include "profiler/experiment/make_device.h"

namespace ulpscope::profiler {

std::string gpu_bus_id(const std::string& which) {
  const GpuSearch gpus = find_gpus(this_system());
  const auto number = static_cast<std::size_t>(parse_device(which).gpu.value_or(0));
  return number < gpus.gpus.size() ? gpus.gpus[number].pci_bus_id : "";
}

}  // namespace ulpscope::profiler
