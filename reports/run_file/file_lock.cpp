#include "reports/run_file/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "kernels/error.h"

namespace ulpscope::reports {
namespace {

std::string lock_name(const std::string& path) { return path + "-lock"; }

// The file may have been removed by a writer that finished between our open and our lock.
bool still_there(const std::string& name, int descriptor) {
  struct stat by_name {};
  struct stat by_descriptor {};
  return stat(name.c_str(), &by_name) == 0 && fstat(descriptor, &by_descriptor) == 0 &&
         by_name.st_ino == by_descriptor.st_ino && by_name.st_dev == by_descriptor.st_dev;
}

}  // namespace

std::optional<FileLock> FileLock::take(const std::string& path) {
  const std::string name = lock_name(path);
  // A reader that asks whether the file is live holds the lock for a moment: try for a while before believing it.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) throw UsageError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      if (still_there(name, descriptor)) return FileLock(name, descriptor);
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      const int reason = errno;
      close(descriptor);
      throw UsageError(
          fmt::format("cannot write {}: its folder does not allow locks: {}", path, std::strerror(reason)));
    }
    close(descriptor);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

bool FileLock::held(const std::string& path) {
  const int descriptor = open(lock_name(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool free = flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  close(descriptor);
  return !free;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  unlink(name_.c_str());  // first, while the lock is ours
  close(descriptor_);
}

}  // namespace ulpscope::reports
