#include "reports/run_file/place.h"

#include <filesystem>
#include <system_error>

namespace ulpscope::reports {

namespace fs = std::filesystem;

std::string place_of(const std::string& path) {
  std::error_code error;
  const fs::path named = fs::absolute(path.empty() ? "." : path);
  if (!fs::is_symlink(fs::symlink_status(named, error))) return named.string();
  const fs::path itself = fs::canonical(named, error);
  return error ? named.string() : itself.string();
}

}  // namespace ulpscope::reports
