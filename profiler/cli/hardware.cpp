// ulpscope hardware: the table of GPUs, with sources; and adding one to it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/cuda_driver.h"
#include "reports/export/write_hardware.h"
#include "reports/hardware/read_gpus.h"
#include "reports/hardware/table.h"

namespace ulpscope::profiler {
namespace {

struct HardwareArguments {
  std::string name;
  std::string add;
  bool json = false;
};

/// A file of the user's with mistakes is left out, and said to be.
void warn_of_user_gpus(const Invocation& call) {
  for (const std::string& mistake : reports::user_gpu_mistakes()) call.err << "ulpscope: left out: " << reports::printable(mistake) << '\n';
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || path.empty()) throw UsageError(fmt::format("--add {}: cannot be read", path));
  return text.str();
}

/// Every mistake is a line of its own.
int add(const std::string& path, const Invocation& call) {
  const std::string text = read_text(path);
  const reports::ReadGpus read = reports::read_gpus(text, path);
  for (const std::string& mistake : read.mistakes) call.err << "ulpscope: " << reports::printable(mistake) << '\n';
  if (!read.mistakes.empty()) return exit_usage;
  if (read.gpus.size() != 1) throw UsageError(fmt::format("--add {}: one [[gpu]] table in a file, this has {}", path, read.gpus.size()));
  const std::string kept = reports::keep_user_gpu(reports::user_gpu_folder(), read.gpus.front(), text);
  reports::write_gpu_text(read.gpus.front(), call.out);
  call.out << wrapped(fmt::format("kept in {}; every command knows it now", kept), "") << '\n';
  return exit_ok;
}

std::vector<reports::Gpu> gpus_here() {
  std::vector<reports::Gpu> here;
  for (const Gpu& gpu : find_gpus(this_system()).gpus) here.push_back(reports::described(present_gpu(gpu), reports::gpu_table()));
  return here;
}

int hardware(const HardwareArguments& arguments, bool has_add, const Invocation& call) {
  if (has_add && (!arguments.name.empty() || arguments.json)) throw UsageError("--add stands alone: ulpscope hardware --add my-gpu.toml");
  if (has_add) return add(arguments.add, call);
  warn_of_user_gpus(call);
  std::vector<reports::Gpu> gpus = reports::gpu_table().gpus(), here = gpus_here();
  if (!arguments.name.empty()) {
    gpus = {reports::gpu_table().named(arguments.name)};
    std::erase_if(here, [&](const reports::Gpu& gpu) {
      const reports::Gpu* entry = reports::gpu_table().of_device(gpu.name);
      return entry == nullptr || entry->name != gpus.front().name;
    });
  }
  if (arguments.json) {
    reports::write_gpus_json(gpus, here, call.out);
  } else if (arguments.name.empty()) {
    reports::write_gpus_text(gpus, here, call.out);
  } else {
    for (const reports::Gpu& gpu : here) {
      reports::write_gpu_text(gpu, call.out);
      call.out << '\n';
    }
    reports::write_gpu_text(gpus.front(), call.out);
  }
  return exit_ok;
}

}  // namespace

Action declare_hardware(CLI::App& app) {
  auto arguments = std::make_shared<HardwareArguments>();
  app.add_option("NAME", arguments->name, "one GPU in full: a100, \"H100 PCIe\", \"Tesla T4\"")->type_name("");
  CLI::Option* add = app.add_option("--add", arguments->add, "check a [[gpu]] table and keep it for every command")->type_name("FILE");
  app.add_flag("--json", arguments->json, "print JSON");
  app.footer(wrapped("A file for --add holds one [[gpu]] table: name, compute_capability (\"8.9\"), sms, boost_mhz, memory_gb, bandwidth_gbs, fma = { fp32 = 128, fp16 = 512 } "
                     "(multiply-add pairs for each SM and clock), and as far as known tensor_mhz, memory_bytes, l2_mb, power_w, peak, attainable, architecture, also, device, source, note, unverified, derived. "
                     "It is kept in $XDG_CONFIG_HOME/ulpscope/gpus, or ~/.config/ulpscope/gpus.", ""));
  return [arguments, add](const Invocation& call) { return hardware(*arguments, add->count() > 0, call); };
}

}  // namespace ulpscope::profiler
