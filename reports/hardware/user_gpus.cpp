// The user's own GPUs: files in a folder of the user's configuration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/error.h"
#include "reports/hardware/read_gpus.h"
#include "reports/hardware/table.h"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;

/// "My GPU (2)" as "my-gpu--2-".
std::string file_name(const std::string& name) {
  std::string file;
  for (const char c : name) file += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  return file + ".toml";
}

}  // namespace

std::string user_gpu_folder() {
  // A relative XDG_CONFIG_HOME is to be ignored (XDG Base Directory Specification).
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/') return std::string(config) + "/ulpscope/gpus";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.config/ulpscope/gpus";
  return "";
}

UserGpus read_user_gpus(const std::string& folder) {
  UserGpus out;
  std::error_code error;
  std::vector<std::string> files;
  if (folder.empty()) return out;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".toml") files.push_back(entry->path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
      out.mistakes.push_back(fmt::format("{}: cannot be read", file));
      continue;
    }
    ReadGpus read = read_gpus(text.str(), file);
    for (Gpu& gpu : read.gpus) {
      gpu.file = file;
      out.gpus.push_back(std::move(gpu));
    }
    for (std::string& mistake : read.mistakes) out.mistakes.push_back(std::move(mistake));
  }
  return out;
}

std::string keep_user_gpu(const std::string& folder, const Gpu& gpu, std::string_view toml) {
  for (const Gpu& known : built_in_gpus())
    if (known.name == gpu.name) throw UsageError(fmt::format("\"{}\" is in the built-in table: give yours another name", gpu.name));
  if (folder.empty()) throw UsageError("there is no folder to keep it in: neither XDG_CONFIG_HOME nor HOME is set");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("{}: cannot be made: {}", folder, error.message()));
  const fs::path path = fs::path(folder) / file_name(gpu.name);
  const fs::path beside = path.string() + ".new";
  std::ofstream out(beside);
  out << toml;
  out.close();
  if (out) fs::rename(beside, path, error);
  if (!out || error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw UsageError(fmt::format("{}: cannot be written", path.string()));
  }
  return path.string();
}

}  // namespace ulpscope::reports
