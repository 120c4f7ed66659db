// Reads text files and folders into one run of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::engine {

struct TextBytes {
  std::vector<std::uint8_t> bytes;   ///< files one after the other, in the order of the paths
  std::string source;                ///< "README.md", "kernels, engine (84 files)"
};

/// A file is taken as it is. A folder is read recursively, entries in the order of their paths' bytes; hidden entries,
/// folders whose name starts with "build", symbolic links and files with NUL bytes are left out. A file reached twice is
/// read once: a second copy could put held-out bytes into training. Throws UsageError, in one line, for no path, a path
/// that is missing, empty, unreadable or neither a file nor a folder.
TextBytes read_text(const std::vector<std::string>& paths);

}  // namespace ulpscope::engine
