// A file that is there whole or not at all, whatever happens meanwhile: written beside its place, synced, renamed, and the folder
// synced (a rename is not on the disk before that).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ulpscope::engine {

class DurableFile {
 public:
  /// Opens PATH.tmp, emptying what is there; of a link that of the file it leads to. All throw Error "cannot write PATH: WHY".
  explicit DurableFile(const std::string& path);
  /// Removes PATH.tmp, unless published.
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Syncs, renames, syncs the folder. Returns the bytes of the file.
  std::int64_t publish();

 private:
  [[noreturn]] void fail(int reason);
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

/// Syncs what is listed in a folder: files made, renamed, removed there. Throws Error.
void sync_folder(const std::string& folder);

}  // namespace ulpscope::engine
