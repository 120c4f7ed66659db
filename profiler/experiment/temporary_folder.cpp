#include "profiler/experiment/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

/// A folder without a lock is either being made just now or of a process that died over it.
constexpr std::time_t seconds_to_lock = 600;

std::string prefix(const std::string& kind) { return fmt::format("ulpscope-{}-", kind); }

/// Ours, not a link, and of nobody who lives.
bool left_behind(const fs::path& folder) {
  struct stat about{};
  if (lstat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) return false;
  const int lock = open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return errno == ENOENT && std::time(nullptr) - about.st_mtime > seconds_to_lock;
  const bool free = flock(lock, LOCK_EX | LOCK_NB) == 0;
  close(lock);
  return free;
}

void remove_left_behind(const std::string& kind) {
  std::error_code ignored;
  for (fs::directory_iterator each(fs::temp_directory_path(), ignored), end; !ignored && each != end; each.increment(ignored)) {
    const fs::path folder = each->path();
    std::error_code not_removed;
    if (folder.filename().string().starts_with(prefix(kind)) && left_behind(folder)) fs::remove_all(folder, not_removed);
  }
}

/// The file has its name only once it is locked.
int locked_file(const fs::path& folder) {
  const fs::path early = folder / "lock.new";
  const int lock = open(early.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock < 0) return -1;
  std::error_code error;
  if (flock(lock, LOCK_EX | LOCK_NB) == 0) fs::rename(early, folder / "lock", error);
  return lock;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& kind) {
  std::error_code error;
  const fs::path above = fs::temp_directory_path(error);
  if (error) {
    const char* const named = std::getenv("TMPDIR");
    throw Error(fmt::format("there is no folder for temporary files: {}; TMPDIR names one", named != nullptr && *named != '\0' ? named : "/tmp"));
  }
  remove_left_behind(kind);
  std::string name = (above / fmt::format("{}{}-XXXXXX", prefix(kind), getpid())).string();
  if (mkdtemp(name.data()) == nullptr) throw Error(fmt::format("cannot make a folder for temporary files, {}: {}", name, std::strerror(errno)));
  path_ = name;
  lock_ = locked_file(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace ulpscope::profiler
