#include "profiler/trace/cupti/cupti_module.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/cuda_module.h"
#include "kernels/shared_library.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_file = "libulpscope_cupti.so";
constexpr const char* library = "libcupti.so." ULPSCOPE_CUPTI_MAJOR;
constexpr const char* counting_library = "libnvperf_host.so";

}  // namespace

CuptiPlaces cupti_places() {
  CuptiPlaces places;
  if (const char* named = std::getenv("ULPSCOPE_CUPTI_MODULE"); named != nullptr && *named != '\0') {
    places.modules = {named};
  } else {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    places.modules = {(program / module_file).string(), (program / ".." / "lib" / "ulpscope" / module_file).string()};
  }
  places.libraries = cuda_places().libraries;
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(home); folder != nullptr && *folder != '\0')
      places.libraries.push_back(std::string(folder) + "/extras/CUPTI/lib64");
  places.libraries.push_back("/usr/local/cuda/extras/CUPTI/lib64");
  return places;
}

CuptiModule::CuptiModule(const CuptiPlaces& places) {
  std::string path;
  for (const std::string& file : places.modules) {
    std::error_code ignored;
    if (path.empty() && fs::exists(file, ignored)) path = file;
  }
  if (path.empty()) {
    problem_ = fmt::format("this installation cannot trace kernels ({} is not there): build where CUPTI's headers and library are (CUDA "
                           "Toolkit), or name the module in ULPSCOPE_CUPTI_MODULE", module_file);
    return;
  }
  std::string why;
  if (open_library(library, places.libraries, Visible::globally, why) == nullptr) {   // for the module, which finds it by name
    problem_ = fmt::format("kernels cannot be traced without {}, which was not found ({}): install CUPTI of CUDA {} (or pip install "
                           "nvidia-cuda-cupti), or name its folder in ULPSCOPE_CUDA_LIBRARIES", library, why, ULPSCOPE_CUPTI_MAJOR);
    return;
  }
  // For libcupti, which looks for it by its name alone when something is to be counted. Without it the rest works.
  std::string unused;
  open_library(counting_library, places.libraries, Visible::locally, unused);
  void* const module = open_library(path, {}, Visible::locally, why);
  if (module == nullptr) {
    problem_ = fmt::format("kernels cannot be traced: {} cannot be loaded: {}", path, why);
    return;
  }
  const auto facts = reinterpret_cast<const CuptiModuleFacts* (*)()>(library_symbol(module, cupti_module_symbol));
  if (facts == nullptr) {
    problem_ = fmt::format("kernels cannot be traced: {} is not a module of ulpscope, it has no {}", path, cupti_module_symbol);
    return;
  }
  if (facts()->interface != cupti_module_interface) {
    problem_ = fmt::format("kernels cannot be traced: {} belongs to another version of ulpscope (interface {}, this is {}): install both "
                           "from the same build", path, facts()->interface, cupti_module_interface);
    return;
  }
  source_ = facts()->source();
  if (facts()->counters != nullptr) counters_ = facts()->counters();
}

const CuptiModule& cupti_module() {
  static const CuptiModule module;
  return module;
}

}  // namespace ulpscope::profiler
