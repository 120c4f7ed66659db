// Whether a name still means the file that it meant: others may remove or replace it while a run or a mend takes its minutes.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

namespace ulpscope::profiler {

/// The file that has a name now, a link's own one.
class NamedFile {
 public:
  explicit NamedFile(std::string path) : path_(std::move(path)), there_(stat(path_.c_str(), &about_) == 0) {}

  /// "removed", "replaced by another file"; empty: neither, or it was not there from the beginning.
  std::string fate() const {
    if (!there_) return "";
    const NamedFile now(path_);
    if (!now.there_) return "removed";
    return now.about_.st_dev == about_.st_dev && now.about_.st_ino == about_.st_ino ? "" : "replaced by another file";
  }

 private:
  std::string path_;
  struct stat about_{};
  bool there_;
};

}  // namespace ulpscope::profiler
