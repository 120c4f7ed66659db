// ulpscope view: the run files in the viewer, a program of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
constexpr const char* viewer_name = "ulpscope-gui";

/// Beside this program, else in PATH; empty if it is in neither.
std::string find_viewer() {
  const auto runs = [](const fs::path& path) { return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0; };
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error && runs(self.parent_path() / viewer_name)) return (self.parent_path() / viewer_name).string();
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder.empty() ? "." : folder) / viewer_name;
    if (runs(file)) return file.string();
  }
  return "";
}

/// Becomes the viewer: its exit code is the command's. The files are looked at first, so that what is wrong is said in this terminal.
int view(const std::vector<std::string>& files) {
  for (const std::string& file : files) reports::RunFileReader{file};
  const std::string viewer = find_viewer();
  if (viewer.empty())
    throw UsageError(fmt::format("the viewer {} is neither beside ulpscope nor in PATH: build it with -DULPSCOPE_GUI=ON (scripts/setup --gui "
                                 "installs what it needs), or see ulpscope compare and ulpscope report", viewer_name));
  std::vector<std::string> words{viewer};
  for (const std::string& file : files) words.push_back(fs::absolute(file).string());  // none of them a flag
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(viewer.c_str(), arguments.data());
  throw Error(fmt::format("{} cannot be started: {}", viewer, std::strerror(errno)));
}

}  // namespace

Action declare_view(CLI::App& app) {
  auto files = std::make_shared<std::vector<std::string>>();
  app.add_option("RUN", *files, "run files (.ulp), finished or being recorded; none: the viewer's first page")->type_name("");
  return [files](const Invocation&) { return view(*files); };
}

}  // namespace ulpscope::profiler
