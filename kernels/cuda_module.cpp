#include "kernels/cuda_module.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "kernels/error.h"
#include "kernels/shared_library.h"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_file = "libulpscope_cuda.so";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Folders that match `pattern` below `root`; in the pattern a * stands for any name.
std::vector<std::string> folders(const fs::path& root, const std::vector<std::string>& pattern, std::size_t at = 0) {
  std::error_code ignored;
  if (at == pattern.size()) return fs::is_directory(root, ignored) ? std::vector<std::string>{root.string()} : std::vector<std::string>{};
  const std::string& part = pattern[at];
  if (part.find('*') == std::string::npos) return folders(root / part, pattern, at + 1);
  const std::string prefix = part.substr(0, part.find('*'));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(root, ignored))
    if (entry.path().filename().string().starts_with(prefix)) names.insert(entry.path().filename().string());
  std::vector<std::string> found;
  for (const std::string& name : names)
    for (std::string& folder : folders(root / name, pattern, at + 1)) found.push_back(std::move(folder));
  return found;
}

/// CUDA libraries as wheels lay them out, of one Python installation.
void add_wheels(const std::string& prefix, std::vector<std::string>& to) {
  if (prefix.empty()) return;
  for (const char* packages : {"site-packages", "dist-packages"})
    for (std::string& folder : folders(prefix, {"lib", "python3*", packages, "nvidia", "*", "lib"})) to.push_back(std::move(folder));
}

/// The installation that the shell's python3 is of: that of the folder it lies in. A virtual environment's is a link, to another one's.
std::string python_prefix() {
  for (const std::string& folder : split(variable("PATH"))) {
    const fs::path python = fs::path(folder) / "python3";
    if (std::error_code ignored; fs::is_regular_file(python, ignored)) return python.parent_path().parent_path().string();
  }
  return "";
}

std::string first_existing(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return {};
}

}  // namespace

CudaPlaces cuda_places() {
  CudaPlaces places;
  if (const std::string named = variable("ULPSCOPE_CUDA_MODULE"); !named.empty()) {
    places.modules = {named};
  } else {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    places.modules = {(program / module_file).string(), (program / ".." / "lib" / "ulpscope" / module_file).string()};
  }
  places.needed = {"libcudart.so." ULPSCOPE_CUDA_MAJOR, "libcublasLt.so." ULPSCOPE_CUDA_MAJOR};
  places.perhaps = {"libnvJitLink.so." ULPSCOPE_CUDA_MAJOR};
  places.libraries = split(variable("ULPSCOPE_CUDA_LIBRARIES"));
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string folder = variable(home); !folder.empty()) places.libraries.push_back(folder + "/lib64");
  places.libraries.push_back("/usr/local/cuda/lib64");
  for (const char* python : {"VIRTUAL_ENV", "CONDA_PREFIX"}) add_wheels(variable(python), places.libraries);
  add_wheels(python_prefix(), places.libraries);
  if (const std::string home = variable("HOME"); !home.empty()) add_wheels(home + "/.local", places.libraries);
  add_wheels("/usr/local", places.libraries);
  add_wheels("/usr", places.libraries);
  return places;
}

CudaModule::CudaModule(const CudaPlaces& places) {
  path_ = first_existing(places.modules);
  if (path_.empty()) {
    absent_ = true;
    problem_ = "this installation has no GPU module (" + std::string(module_file) + "): build with -DULPSCOPE_CUDA=ON, or name the " +
               "module in ULPSCOPE_CUDA_MODULE";
    return;
  }
  // Where everybody sees them, so that the module finds them by name.
  std::string why, missing;
  for (const std::string& name : places.perhaps) open_library(name, places.libraries, Visible::globally, why);
  for (const std::string& name : places.needed)
    if (open_library(name, places.libraries, Visible::globally, why) == nullptr && missing.empty()) missing = name + " (" + why + ")";
  void* const module = missing.empty() ? open_library(path_, {}, Visible::locally, why) : nullptr;
  if (!missing.empty()) {
    problem_ = "the GPU module needs a CUDA library that was not found: " + missing + "; install the CUDA " ULPSCOPE_CUDA_MAJOR
               " runtime (or pip install nvidia-cuda-runtime nvidia-cublas), or name its folder in ULPSCOPE_CUDA_LIBRARIES";
    return;
  }
  if (module == nullptr) {
    problem_ = path_ + " cannot be loaded: " + why;
    return;
  }
  const auto facts = reinterpret_cast<const CudaModuleFacts* (*)()>(library_symbol(module, cuda_module_symbol));
  if (facts == nullptr) {
    problem_ = path_ + " is not a GPU module of ulpscope: it has no " + cuda_module_symbol;
    return;
  }
  if (facts()->interface != cuda_module_interface) {
    problem_ = path_ + " belongs to another version of ulpscope (interface " + std::to_string(facts()->interface) + ", this is " +
               std::to_string(cuda_module_interface) + "): install both from the same build";
    return;
  }
  facts_ = facts();
}

bool has_code_for(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const std::string_view word = architectures.substr(0, architectures.find(' '));
    architectures.remove_prefix(std::min(architectures.size(), word.size() + 1));
    int number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc()) continue;
    const std::string_view kind = word.substr(static_cast<std::size_t>(rest - word.data()));
    const bool for_one = kind.starts_with('a'), for_family = kind.starts_with('f');   // "90a", "100f": instructions that others lack
    const bool machine_code = !kind.ends_with("-virtual"), ptx = !kind.ends_with("-real") && !for_one && !for_family;
    if (for_one && number != 10 * major + minor) continue;
    if (machine_code && number / 10 == major && number % 10 <= minor) return true;
    if (ptx && number <= 10 * major + minor) return true;
  }
  return false;
}

std::unique_ptr<Device> CudaModule::make_device(int ordinal) const {
  if (facts_ == nullptr) throw Error("cuda: " + problem_);
  return std::unique_ptr<Device>(facts_->make_device(ordinal));
}

const CudaModule& cuda_module() {
  static const CudaModule module;
  return module;
}

}  // namespace ulpscope
