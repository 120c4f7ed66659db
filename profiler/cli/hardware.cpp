// ulpscope hardware: the table of GPUs, with sources; and adding one to it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
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
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw UsageError(fmt::format("--add {}: is a folder; it takes one file", path));
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw UsageError(fmt::format("--add {}: is not a plain file", path));
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
  if (read.tables > 1) throw UsageError(fmt::format("--add {}: one [[gpu]] table in a file, this has {}", path, read.tables));
  for (const std::string& mistake : read.mistakes) call.err << "ulpscope: " << reports::printable(mistake) << '\n';
  if (!read.mistakes.empty()) return exit_usage;
  const reports::KeptGpu kept = reports::keep_user_gpu(reports::user_gpu_folder(), read.gpus.front(), text);
  reports::write_gpu_text(read.gpus.front(), call.out);
  const char* what = kept.replaced ? "replaced the one of that name in" : "kept in";
  call.out << reports::in_lines(fmt::format("{} {}; every command knows it now", what, kept.path), "");
  return exit_ok;
}

std::vector<reports::Gpu> gpus_here() {
  std::vector<reports::Gpu> here;
  for (const Gpu& gpu : find_gpus(this_system()).gpus) here.push_back(reports::described(present_gpu(gpu), reports::gpu_table()));
  return here;
}

int hardware(const HardwareArguments& arguments, bool has_name, bool has_add, const Invocation& call) {
  if (has_add && (has_name || arguments.json)) throw UsageError("--add stands alone: ulpscope hardware --add my-gpu.toml");
  if (has_add) return add(arguments.add, call);
  warn_of_user_gpus(call);
  std::vector<reports::Gpu> gpus = reports::gpu_table().gpus(), here = gpus_here();
  if (has_name) {
    if (const std::string taken = reports::gpu_table().taken_for(arguments.name); !taken.empty()) call.err << "ulpscope: " << reports::printable(taken) << '\n';
    gpus = {reports::gpu_table().named(arguments.name)};
    std::erase_if(here, [&](const reports::Gpu& gpu) {
      const reports::Gpu* entry = reports::gpu_table().of_device(gpu.name);
      return entry == nullptr || entry->name != gpus.front().name;
    });
  }
  if (arguments.json) {
    reports::write_gpus_json(gpus, here, call.out);
  } else if (!has_name) {
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
  CLI::Option* name = app.add_option("NAME", arguments->name, "one GPU in full: a100, \"H100 PCIe\", \"Tesla T4\"")->type_name("");
  CLI::Option* add = app.add_option("--add", arguments->add, "check a [[gpu]] table and keep it for every command")->type_name("FILE");
  app.add_flag("--json", arguments->json, "print JSON");
  app.footer(wrapped("A file for --add holds one [[gpu]] table: name, compute_capability (\"8.9\"), sms, boost_mhz, memory_gb, bandwidth_gbs, fma = { fp32 = 128, fp16 = 512 } "
                     "(multiply-add pairs for each SM and clock), and as far as known tensor_mhz, memory_bytes, l2_mb, power_w, peak, attainable, architecture, also, device, source, note, unverified, derived. "
                     "It is kept in $XDG_CONFIG_HOME/ulpscope/gpus, or ~/.config/ulpscope/gpus.", ""));
  return [arguments, name, add](const Invocation& call) { return hardware(*arguments, name->count() > 0, add->count() > 0, call); };
}

}  // namespace ulpscope::profiler
