#include "kernels/shared_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace ulpscope {
namespace {

std::string loader_words() {
  const char* const words = dlerror();
  return words == nullptr ? "unknown reason" : words;
}

}  // namespace

void* open_library(const std::string& name, const std::vector<std::string>& folders, Visible visible, std::string& why) {
  const int flags = RTLD_NOW | (visible == Visible::globally ? RTLD_GLOBAL : RTLD_LOCAL);
  if (void* const library = dlopen(name.c_str(), flags)) return library;
  why = loader_words();
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    if (void* const library = dlopen(file.c_str(), flags)) return library;
    why = loader_words();
  }
  return nullptr;
}

void* library_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace ulpscope
