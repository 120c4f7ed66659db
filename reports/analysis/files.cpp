#include "reports/analysis/files.h"

#include <algorithm>
#include <filesystem>

namespace ulpscope::reports {
namespace {

/// The last so many parts of a path.
std::string tail(const std::string& path, std::size_t parts) {
  std::size_t end = path.size();
  while (parts > 0 && end > 0) {
    const std::size_t slash = path.rfind('/', end - 1);
    if (slash == std::string::npos) return path;
    end = slash;
    --parts;
  }
  return parts > 0 || end == 0 ? path : path.substr(end + 1);
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

DistinctFiles distinct_files(const std::vector<const RunFileReader*>& readers) {
  DistinctFiles files;
  for (const RunFileReader* reader : readers) {
    const auto known = std::find_if(files.readers.begin(), files.readers.end(), [&](const RunFileReader* other) { return same_file(other->path(), reader->path()); });
    if (known == files.readers.end()) files.readers.push_back(reader);
    else if ((*known)->path() != reader->path()) files.again.emplace_back(reader->path(), (*known)->path());
  }
  return files;
}

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string name;
    for (std::size_t parts = 1; name != path; ++parts) {
      name = tail(path, parts);
      if (std::none_of(paths.begin(), paths.end(), [&](const std::string& other) { return other != path && tail(other, parts) == name; })) break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string short_name(const std::string& path, const std::vector<std::string>& paths) {
  const auto at = std::find(paths.begin(), paths.end(), path);
  return at == paths.end() ? tail(path, 1) : short_names(paths)[static_cast<std::size_t>(at - paths.begin())];
}

}  // namespace ulpscope::reports
