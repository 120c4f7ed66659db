#include "engine/data/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "kernels/error.h"

namespace ulpscope::engine {

namespace {

/// What a link leads to is replaced, not the link.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return path;
  const std::filesystem::path itself = std::filesystem::canonical(path, error);
  return error ? path : itself.string();
}

}  // namespace

DurableFile::DurableFile(const std::string& path) : path_(behind_links(path)), temporary_(path_ + ".tmp") {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw Error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

DurableFile::~DurableFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void DurableFile::fail(int reason) { throw Error(fmt::format("cannot write {}: {}", path_, std::strerror(reason))); }

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    bytes_ += written;
  }
}

std::int64_t DurableFile::publish() {
  if (fsync(descriptor_) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(errno);
  sync_folder(std::filesystem::path(path_).parent_path().string());
  return bytes_;
}

void sync_folder(const std::string& folder) {
  const std::string name = folder.empty() ? "." : folder;
  const int descriptor = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems (network ones) do not sync folders: EINVAL.
  const bool done = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);
  const int reason = errno;
  if (descriptor >= 0) close(descriptor);
  if (!done) throw Error(fmt::format("cannot write to {}: {}", name, std::strerror(reason)));
}

}  // namespace ulpscope::engine
