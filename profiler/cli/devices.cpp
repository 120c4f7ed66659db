// ulpscope devices: what can run here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "profiler/cli/command.h"
#include "profiler/cli/devices_text.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/json_text.h"
#include "profiler/experiment/machine.h"

namespace ulpscope::profiler {

std::string devices_text(const Device& cpu, const GpuSearch& gpus) {
  const DeviceDescription& d = cpu.description();
  std::string text = wrapped(fmt::format("CPU   {}: {} thread{}, {} kernels, matrix products by {}", d.name, d.threads,
                                         d.threads == 1 ? "" : "s", d.instruction_set, d.matmul_library),
                             "      ") +
                     "\n";
  for (const engine::Mode& mode : engine::modes()) {
    text += native_on_cpu(mode)
                ? fmt::format("      {:<10} native\n", mode.name)
                : fmt::format("      {:<10} emulated: the format's numbers, not its speed\n", mode.name);
  }
  for (const Gpu& gpu : gpus.gpus) {
    text += wrapped(fmt::format("GPU   {}: compute capability {}.{}, {}; all modes absent: not executed by this build",
                                gpu.name, gpu.major, gpu.minor, bytes_text(static_cast<double>(gpu.memory_bytes))),
                    "      ") +
            "\n";
  }
  if (gpus.gpus.empty()) text += "GPU   none seen; all modes absent\n";
  if (gpus.driver_found) {
    text += fmt::format("      NVIDIA driver found{}\n",
                        gpus.driver_version.empty() ? "" : fmt::format(", for CUDA up to {}", gpus.driver_version));
  }
  for (const std::string& reason : gpus.reasons) text += wrapped("      - " + reason, "        ") + "\n";
  return text;
}

Action declare_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  return [json](const Invocation& call) {
    const std::unique_ptr<Device> cpu = make_cpu_device();
    const GpuSearch gpus = find_gpus(this_system());
    if (*json) {
      call.out << json_text(devices_json(*cpu, gpus), 2) << '\n';
    } else {
      call.out << devices_text(*cpu, gpus);
    }
    return exit_ok;
  };
}

}  // namespace ulpscope::profiler
