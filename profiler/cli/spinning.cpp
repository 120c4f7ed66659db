#include "profiler/cli/spinning.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace ulpscope::profiler {

void bound_spinning(char* const* argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault || setenv("GOMP_SPINCOUNT", bounded_spins, 1) != 0) return;
  execv(program.c_str(), argv);  // comes back only if it fails
}

}  // namespace ulpscope::profiler
