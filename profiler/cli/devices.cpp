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
#include "profiler/experiment/make_device.h"

namespace ulpscope::profiler {

namespace {

const char* what_it_means(HowItRuns how) {
  switch (how) {
    case HowItRuns::native: return "";
    case HowItRuns::no_effect: return ": runs as fp32";
    case HowItRuns::emulated: return ": the format's numbers, not its speed";
  }
  return "";
}

std::string gpu_text(const Gpu& gpu, int number, bool usable) {
  std::string text = wrapped(fmt::format("GPU   cuda:{}: {}, compute capability {}.{}, {}{}", number, gpu.name, gpu.major, gpu.minor,
                                         bytes_text(static_cast<double>(gpu.memory_bytes)), usable ? "" : "; all modes absent"),
                             "      ") +
                     "\n";
  if (!usable) return text;
  for (const engine::Mode& mode : engine::modes()) {
    const HowItRuns how = on_gpu(mode, gpu.major, gpu.minor);
    text += fmt::format("      {:<10} {}{}\n", mode.name, name(how), what_it_means(how));
  }
  return text;
}

}  // namespace

std::string devices_text(const Device& cpu, const GpuSearch& gpus, const CudaModuleState& module) {
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
  for (int i = 0; i < static_cast<int>(gpus.gpus.size()); ++i)
    text += gpu_text(gpus.gpus[static_cast<std::size_t>(i)], i, why_no_gpu(gpus, module, i).empty());
  if (gpus.gpus.empty()) text += "GPU   none seen; all modes absent\n";
  if (gpus.driver_found) {
    text += fmt::format("      NVIDIA driver found{}\n",
                        gpus.driver_version.empty() ? "" : fmt::format(", for CUDA up to {}", gpus.driver_version));
  }
  if (module.loaded) {
    text += wrapped(fmt::format("      GPU module built with CUDA {}.{}, for compute capabilities {}", module.runtime_version / 1000,
                                module.runtime_version % 1000 / 10, module.architectures),
                    "      ") +
            "\n";
  }
  for (const std::string& reason : why_no_gpu(gpus, module)) text += wrapped("      - " + reason, "        ") + "\n";
  return text;
}

Action declare_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  return [json](const Invocation& call) {
    const std::unique_ptr<Device> cpu = make_cpu_device();
    const GpuSearch gpus = find_gpus(this_system());
    if (*json) {
      call.out << json_text(devices_json(*cpu, gpus, cuda_module().state()), 2) << '\n';
    } else {
      call.out << devices_text(*cpu, gpus, cuda_module().state());
    }
    return exit_ok;
  };
}

}  // namespace ulpscope::profiler
