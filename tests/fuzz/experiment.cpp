#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/error.h"
#include "profiler/experiment/experiment_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  try {
    profiler::Settings settings;
    settings.add_text(std::string_view(reinterpret_cast<const char*>(data), size), "/nowhere/x.toml");
    profiler::to_toml(settings.build());
  } catch (const UsageError&) {
  }
  return 0;
}
