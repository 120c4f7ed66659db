// Who is writing a run file: a lock on "NAME.ulp-lock" beside it, held as long as the writer lives. The lock goes with
// the process, so that after a kill the file is known to be cut off. Not a lock on the run file itself: opening and
// closing that file elsewhere in the process would release SQLite's own locks (POSIX advisory locks belong to the
// process).
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace ulpscope::reports {

class FileLock {
 public:
  /// Takes the lock for the run file at `path`; nothing if another writer holds it.
  /// Throws UsageError with the reason if the lock cannot be created.
  static std::optional<FileLock> take(const std::string& path);
  /// True if a writer holds the lock of the run file at `path`.
  static bool held(const std::string& path);

  FileLock(FileLock&& other) noexcept : name_(std::move(other.name_)), descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock& operator=(FileLock&&) = delete;
  /// Releases the lock and removes its file.
  ~FileLock();

 private:
  FileLock(std::string lock_name, int descriptor) : name_(std::move(lock_name)), descriptor_(descriptor) {}
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace ulpscope::reports
