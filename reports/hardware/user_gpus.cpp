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

/// "My GPU (2)" as "my-gpu--2-": several names may have the same.
std::string plain_name(const std::string& name) {
  std::string file;
  for (const char c : name) file += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  return file;
}

/// Where it is to be kept: the file that has it now, else one that is not there yet.
KeptGpu place_of(const std::string& folder, const std::string& name) {
  const UserGpus own = read_user_gpus(folder);
  for (const Gpu& gpu : own.gpus) {
    if (gpu.name != name) continue;
    const auto in_file = [&](const Gpu& other) { return other.file == gpu.file; };
    const auto of_file = [&](const std::string& mistake) { return mistake.starts_with(gpu.file + ":"); };
    if (std::count_if(own.gpus.begin(), own.gpus.end(), in_file) > 1 || std::any_of(own.mistakes.begin(), own.mistakes.end(), of_file))
      throw UsageError(fmt::format("{}: holds \"{}\" among others: change it there", gpu.file, name));
    return {gpu.file, true};
  }
  for (int i = 1;; ++i) {
    const fs::path path = fs::path(folder) / fmt::format("{}{}.toml", plain_name(name), i == 1 ? "" : fmt::format("-{}", i));
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) return {path.string(), false};
  }
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
  if (error && error != std::errc::no_such_file_or_directory) out.mistakes.push_back(fmt::format("{}: cannot be read: {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    // To open a pipe would wait for whoever writes to it.
    if (!fs::is_regular_file(file, error)) {
      out.mistakes.push_back(fmt::format("{}: no plain file", file));
      continue;
    }
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

KeptGpu keep_user_gpu(const std::string& folder, const Gpu& gpu, std::string_view toml) {
  if (const std::string why = clash(gpu); !why.empty()) throw UsageError(why);
  std::vector<Gpu> others = read_user_gpus(folder).gpus;
  std::erase_if(others, [&](const Gpu& other) { return other.name == gpu.name; });
  if (const std::string why = same_device(gpu, others); !why.empty()) throw UsageError(why);
  if (folder.empty()) throw UsageError("there is no folder to keep it in: neither XDG_CONFIG_HOME nor HOME is set");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("{}: cannot be made: {}", folder, error.message()));
  const KeptGpu kept = place_of(folder, gpu.name);
  const fs::path path = kept.path;
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
  return kept;
}

}  // namespace ulpscope::reports
