// A folder for files that do not outlive the bench.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "kernels/error.h"

namespace ulpscope::bench {

class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "ulpscope_bench_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) throw Error("bench: cannot make a folder " + path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace ulpscope::bench
