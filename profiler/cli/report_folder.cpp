#include "profiler/cli/report_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "kernels/error.h"
#include "profiler/cli/output_file.h"
#include "reports/export/report_tables.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files{(fs::path(folder) / reports::data_dictionary).string()};
  for (const reports::ReportTable& table : reports::report_tables()) files.push_back((fs::path(folder) / table.file).string());
  return files;
}

/// The folder itself, or the nearest above it that is there.
fs::path nearest(const std::string& folder) {
  std::error_code error;
  fs::path place = fs::path(folder).lexically_normal();
  while (!place.empty() && !fs::exists(place, error) && !fs::is_symlink(place, error)) {
    const fs::path above = place.parent_path();
    if (above == place) break;
    place = above;
  }
  return place.empty() ? fs::path(".") : place;
}

}  // namespace

void check_csv_folder(const std::string& folder, bool force, const std::vector<std::string>& read, const std::vector<std::string>& others) {
  if (folder.empty()) throw UsageError("--csv takes the name of a folder");
  std::error_code error;
  const fs::path place = nearest(folder);
  if (!fs::is_directory(place, error)) throw UsageError(fmt::format("--csv {}: {} is no folder: give the name of a folder", folder, place.string()));
  if (access(place.c_str(), W_OK | X_OK) != 0) throw UsageError(fmt::format("--csv {}: cannot write {}: {}", folder, place.string(), std::strerror(errno)));
  for (const std::string& other : others)
    for (fs::path above = fs::absolute(fs::path(folder) / "", error).lexically_normal().parent_path(); !other.empty() && above != above.root_path(); above = above.parent_path())
      if (above == fs::absolute(other, error).lexically_normal()) throw UsageError(fmt::format("--csv {}: {} is named for another form's file", folder, other));
  const bool there = fs::is_directory(folder, error);
  for (const std::string& file : files_of(folder)) {
    if (there) check_output_file(file, force, read, "--csv");
    for (const std::string& other : others)
      if (fs::path(other).lexically_normal() == fs::path(file).lexically_normal()) throw UsageError(fmt::format("--csv {} writes {}, which is named for another form", folder, file));
  }
}

void write_csv_folder(const reports::Report& report, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder)) throw UsageError(fmt::format("--csv {}: cannot make the folder: {}", folder, error.message()));
  for (const reports::ReportTable& table : reports::report_tables())
    write_output_file((fs::path(folder) / table.file).string(), [&](std::ostream& out) { reports::write_table(table, report, out); });
  write_output_file((fs::path(folder) / reports::data_dictionary).string(), [](std::ostream& out) { reports::write_data_dictionary(out); });
}

}  // namespace ulpscope::profiler
