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
};

void refuse_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse_file(path, a_folder);
}

/// A file from its beginning, with gzip taken off if it is compressed: members one after the other, and zeros behind the last, as
/// gzip(1) has them. Anything else behind it is refused: it may be data that would be missing.
class Unpacked {
 public:
  explicit Unpacked(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")), packed_(std::size_t{1} << 17) {
    if (file_ == nullptr) refuse_file(path, fmt::format("cannot read it: {}", std::strerror(errno)));
    fill();
    gzip_ = stream_.avail_in >= 2 && stream_.next_in[0] == 0x1f && stream_.next_in[1] == 0x8b;
    if (gzip_ && inflateInit2(&stream_, 15 + 16) != Z_OK) refuse_file(path, "cannot read it: out of memory");
  }
  ~Unpacked() {
    if (gzip_) inflateEnd(&stream_);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// Fewer than `count`: it ends there.
  std::size_t read(std::byte* to, std::size_t count) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out > 0 && (gzip_ ? unpack() : copy())) {}
    return count - stream_.avail_out;
  }

 private:
  /// False: the file ends.
  bool fill() {
    if (stream_.avail_in > 0) return true;
    const std::size_t got = std::fread(packed_.data(), 1, packed_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) refuse_file(path_, fmt::format("cannot read it: {}", std::strerror(errno)));
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  bool copy() {
    if (!fill()) return false;
    const uInt part = std::min(stream_.avail_in, stream_.avail_out);
    std::memcpy(stream_.next_out, stream_.next_in, part);
    stream_.next_in += part, stream_.avail_in -= part;
    stream_.next_out += part, stream_.avail_out -= part;
    return true;
  }
  bool unpack() {
    if (member_ended_ && !next_member()) return false;
    if (!fill()) refuse_file(path_, "it is cut off: the gzip stream has no end");
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) refuse_file(path_, "cannot read it: out of memory");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      refuse_file(path_, fmt::format("the gzip stream is damaged: {}", stream_.msg != nullptr ? stream_.msg : "it needs a dictionary"));
    member_ended_ = code == Z_STREAM_END;
    return true;
  }
  bool next_member() {
    if (!fill()) return false;
    if (stream_.next_in[0] == 0x1f) {
      inflateReset(&stream_);
      return true;
    }
    for (; fill(); stream_.avail_in = 0)
      if (std::any_of(stream_.next_in, stream_.next_in + stream_.avail_in, [](Bytef b) { return b != 0; }))
        refuse_file(path_, "the gzip stream is damaged: behind its end are bytes that are neither another one nor zeros");
    return false;
  }

  const std::string& path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::vector<Bytef> packed_;
  z_stream stream_{};
  bool gzip_ = false, member_ended_ = false;
};

/// Reads until `bytes` has `size` or the file ends.
void read_to(Unpacked& file, std::size_t size, std::vector<std::byte>& bytes) {
  while (bytes.size() < size) {
    const std::size_t before = bytes.size(), more = std::min(piece, size - before);
    bytes.resize(before + more);
    const std::size_t got = file.read(bytes.data() + before, more);
    bytes.resize(before + got);
    if (got < more) return;
  }
}

/// `path` as messages name it: with what the file is for, or alone.
std::vector<std::byte> read_bytes(const std::string& path, std::size_t count, const std::string& named) {
  const auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", named, why)); };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse(a_folder);
  // A device or a pipe may have no end, and is empty when it is read again.
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) refuse("is not a plain file");
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
std::vector<std::byte> first_bytes_of_any(const std::string& path, std::size_t count) { return read_bytes(path, count, path); }
std::vector<std::byte> read_any_file(const std::string& path) { return read_bytes(path, SIZE_MAX, path); }

std::vector<std::byte> unpack_file_bytes(const std::string& path, NeededBytes needed) {
  refuse_folder(path);
  Unpacked file(path);
  std::vector<std::byte> bytes;
  read_to(file, 4096, bytes);
  if (const auto all = needed(bytes); all && *all >= bytes.size()) read_to(file, *all + 1, bytes);
  return bytes;
}

}  // namespace ulpscope::engine
