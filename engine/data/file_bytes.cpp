#include "engine/data/file_bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

/// Memory grows with what is there, not with what a header claims.
constexpr std::size_t piece = std::size_t{1} << 20;
constexpr const char* a_folder = "it is a folder, not a file";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(gzFile file) const { gzclose(file); }
};

void refuse_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse_file(path, a_folder);
}

/// Reads until `bytes` has `size` or the file ends.
void read_to(gzFile file, const std::string& path, std::size_t size, std::vector<std::byte>& bytes) {
  while (bytes.size() < size) {
    const std::size_t before = bytes.size(), more = std::min(piece, size - before);
    bytes.resize(before + more);
    const int got = gzread(file, bytes.data() + before, static_cast<unsigned>(more));
    const int reason = errno;
    int code = Z_OK;
    const char* const words = gzerror(file, &code);
    if (code == Z_BUF_ERROR) refuse_file(path, "it is cut off: the gzip stream has no end");
    if (got < 0)
      refuse_file(path, code == Z_ERRNO ? fmt::format("cannot read it: {}", std::strerror(reason))
                                        : fmt::format("the gzip stream is damaged: {}", words));
    bytes.resize(before + static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < more) return;
  }
}

/// `path` as messages name it: with what the file is for, or alone.
std::vector<std::byte> read_bytes(const std::string& path, std::size_t count, const std::string& named) {
  const auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", named, why)); };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse(a_folder);
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) refuse(fmt::format("cannot read it: {}", std::strerror(errno)));
  std::vector<std::byte> bytes;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size(), more = std::min(piece, count - before);
    bytes.resize(before + more);
    const std::size_t got = std::fread(bytes.data() + before, 1, more, file.get());
    if (std::ferror(file.get()) != 0) refuse(fmt::format("cannot read it: {}", std::strerror(errno)));
    bytes.resize(before + got);
    if (got < more) break;
  }
  return bytes;
}

}  // namespace

void refuse_file(std::string_view path, const std::string& why) { throw UsageError(fmt::format("data: {}: {}", path, why)); }

std::vector<std::byte> first_bytes(const std::string& path, std::size_t count) { return read_bytes(path, count, "data: " + path); }

std::vector<std::byte> read_file_bytes(const std::string& path) { return first_bytes(path, SIZE_MAX); }
std::vector<std::byte> read_any_file(const std::string& path) { return read_bytes(path, SIZE_MAX, path); }

std::vector<std::byte> unpack_file_bytes(const std::string& path, NeededBytes needed) {
  refuse_folder(path);
  errno = 0;
  const std::unique_ptr<gzFile_s, CloseFile> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr)
    refuse_file(path, fmt::format("cannot read it: {}", errno != 0 ? std::strerror(errno) : "out of memory"));
  gzbuffer(file.get(), 1u << 17);
  std::vector<std::byte> bytes;
  read_to(file.get(), path, 4096, bytes);
  if (const auto all = needed(bytes); all && *all >= bytes.size()) read_to(file.get(), path, *all + 1, bytes);
  return bytes;
}

}  // namespace ulpscope::engine
