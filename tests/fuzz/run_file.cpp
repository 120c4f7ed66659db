// Whatever is in a file of that name, it is read or refused with a UsageError.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "kernels/error.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/summary.h"

namespace {
// In memory where the system has such a folder.
std::string scratch_file() {
  const char* folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return folder + ("/ulpscope_fuzz_" + std::to_string(getpid()) + ".ulp");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  static const std::string path = scratch_file();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const reports::RunFileReader reader(path);
    reports::summarise(reader);
    for (const auto& run : reader.runs()) {
      reader.steps(run.id, {.limit = 10});
      reader.tensor_stats(run.id, {.limit = 10});
      reader.ranges(run.id, {.limit = 10});
      if (run.plan) reader.nodes(*run.plan);
    }
    reader.device_samples();
    reports::compare({&reader});
  } catch (const UsageError&) {
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
  return 0;
}
