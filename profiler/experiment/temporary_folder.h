// A folder for files that nobody needs later.
#pragma once

#include <filesystem>
#include <string>

namespace ulpscope::profiler {

/// "ulpscope-KIND-PID-XXXXXX" in the folder for temporary files, gone with the object. A process that is killed leaves it behind: the
/// next one that makes a folder of the kind removes it. Who lives is told by a lock that a process holds on the file "lock"
/// in its folder, not by its number, which may be another one's by now.
class TemporaryFolder {
 public:
  /// kind: "mend". Throws Error.
  explicit TemporaryFolder(const std::string& kind);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace ulpscope::profiler
