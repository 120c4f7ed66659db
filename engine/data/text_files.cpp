#include "engine/data/text_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "kernels/error.h"

namespace ulpscope::engine {

namespace fs = std::filesystem;

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

enum class NulBytes : std::uint8_t { keep, refuse };

[[noreturn]] void fail_unreadable(const fs::path& path, const std::string& why) {
  throw UsageError(fmt::format("data: cannot read '{}': {}", path.string(), why));
}

/// Appends a file; with NulBytes::refuse, takes nothing from one that holds a NUL byte and stops reading there.
/// Returns whether the file was taken.
bool append_file(const fs::path& path, NulBytes nul_bytes, std::vector<std::uint8_t>& bytes) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) fail_unreadable(path, std::strerror(errno));
  const std::size_t start = bytes.size();
  std::size_t got = chunk;
  while (got == chunk) {
    const std::size_t end = bytes.size();
    bytes.resize(end + chunk);
    got = std::fread(bytes.data() + end, 1, chunk, file.get());
    if (std::ferror(file.get()) != 0) fail_unreadable(path, std::strerror(errno));
    bytes.resize(end + got);
    if (nul_bytes == NulBytes::refuse && got > 0 && std::memchr(bytes.data() + end, 0, got) != nullptr) {
      bytes.resize(start);
      return false;
    }
  }
  return true;
}

/// Regular files below a folder, sorted by path.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      const fs::file_type type = it->symlink_status().type();   // a link is neither: no loop can be followed
      if (type == fs::file_type::directory) {
        if (name.starts_with('.') || name.starts_with("build")) it.disable_recursion_pending();
      } else if (type == fs::file_type::regular && !name.starts_with('.')) {
        files.push_back(it->path());
      }
    }
  } catch (const fs::filesystem_error& e) {
    fail_unreadable(e.path1().empty() ? folder : e.path1(), e.code().message());
  }
  // By the bytes of the path: not by locale, nor by the order in which a file system lists.
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

/// Reads one path of the user's. Returns how many files were taken.
std::size_t read_path(const std::string& text_path, std::set<fs::path>& seen, std::vector<std::uint8_t>& bytes) {
  const fs::path path(text_path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw UsageError(fmt::format("data: '{}' does not exist: name a text file or a folder of them", text_path));
  if (error) fail_unreadable(path, error.message());
  const bool is_folder = fs::is_directory(status);
  if (!is_folder && !fs::is_regular_file(status))
    throw UsageError(fmt::format("data: '{}' is neither a file nor a folder", text_path));

  const std::vector<fs::path> files = is_folder ? files_below(path) : std::vector<fs::path>{path};
  std::size_t taken = 0;
  std::size_t known = 0;
  const std::size_t start = bytes.size();
  for (const fs::path& file : files) {
    const fs::path canonical = fs::weakly_canonical(file, error);
    if (!seen.insert(error ? file : canonical).second) {
      ++known;
      continue;
    }
    taken += append_file(file, is_folder ? NulBytes::refuse : NulBytes::keep, bytes) ? 1 : 0;
  }
  if (bytes.size() == start && known == 0) {
    if (!is_folder) throw UsageError(fmt::format("data: '{}' is empty (0 bytes)", text_path));
    throw UsageError(fmt::format("data: folder '{}' holds no text (hidden entries, build* folders, symbolic links, and "
                                 "files with NUL bytes or of 0 bytes do not count)", text_path));
  }
  return taken;
}

}  // namespace

TextBytes read_text(const std::vector<std::string>& paths) {
  if (paths.empty()) throw UsageError("data: no path given: name at least one text file or folder");
  TextBytes text;
  std::set<fs::path> seen;
  std::size_t files = 0;
  for (const std::string& path : paths) files += read_path(path, seen, text.bytes);
  text.source = fmt::format("{}", fmt::join(paths, ", "));
  if (files > 1) text.source += fmt::format(" ({} files)", files);
  return text;
}

}  // namespace ulpscope::engine
