#include "profiler/import/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

constexpr std::size_t block = 1 << 18;
constexpr std::size_t longest_line = 16 << 20;

/// An open file; below 0: none.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }

 private:
  int file_;
};

}  // namespace

/// A file or memory, and above it zlib, if the first two bytes are gzip's.
class Input::Bytes {
 public:
  Bytes(const std::string& name, Descriptor file, std::string_view memory) : name_(name), file_(std::move(file)), memory_(memory) {
    buffer_.resize(block);
    while (held_ < 2 && more()) {
    }
    zipped_ = held_ >= 2 && buffer_[0] == '\x1f' && buffer_[1] == '\x8b';
    if (zipped_ && inflateInit2(&zlib_, 16 + MAX_WBITS) != Z_OK) {
      zipped_ = false;
      throw Error(fmt::format("{}: zlib did not start", name_));
    }
  }
  ~Bytes() {
    if (zipped_) inflateEnd(&zlib_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  bool zipped() const { return zipped_; }

  std::size_t read(char* to, std::size_t most) {
    if (zipped_) return inflated(to, most);
    if (at_ == held_ && !restart()) return 0;
    const std::size_t count = std::min(most, held_ - at_);
    std::memcpy(to, buffer_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  /// Appends to the buffer what is there; false: nothing.
  bool more() {
    if (held_ == buffer_.size()) return false;
    if (file_.get() < 0) {
      const std::size_t count = std::min(buffer_.size() - held_, memory_.size());
      std::memcpy(buffer_.data() + held_, memory_.data(), count);
      memory_.remove_prefix(count);
      held_ += count;
      return count > 0;
    }
    ssize_t count = 0;
    do count = ::read(file_.get(), buffer_.data() + held_, buffer_.size() - held_);
    while (count < 0 && errno == EINTR);
    if (count < 0) throw UsageError(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    held_ += static_cast<std::size_t>(count);
    return count > 0;
  }
  bool restart() {
    before_ += static_cast<std::int64_t>(held_);
    held_ = at_ = 0;
    return more();
  }
  std::int64_t place() const { return before_ + static_cast<std::int64_t>(at_); }

  /// Several archives one after the other are one file.
  std::size_t inflated(char* to, std::size_t most) {
    zlib_.next_out = reinterpret_cast<Bytef*>(to);
    zlib_.avail_out = static_cast<uInt>(std::min<std::size_t>(most, 1u << 30));
    const uInt room = zlib_.avail_out;
    while (zlib_.avail_out == room && !done_) {
      if (at_ == held_ && !restart()) {
        if (ended_) return 0;
        throw UsageError(fmt::format("{}: the compressed data end early, at byte {}: the file is cut off", name_, place()));
      }
      if (ended_ && !next_member()) break;
      zlib_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + at_);
      zlib_.avail_in = static_cast<uInt>(held_ - at_);
      const int code = inflate(&zlib_, Z_NO_FLUSH);
      at_ = held_ - zlib_.avail_in;
      if (code == Z_STREAM_END) ended_ = true;
      else if (code != Z_OK && code != Z_BUF_ERROR)
        throw UsageError(fmt::format("{}: byte {}: the compressed data are damaged ({})", name_, place(), zlib_.msg != nullptr ? zlib_.msg : "zlib"));
    }
    return room - zlib_.avail_out;
  }

  /// After the end of an archive: zeros are padding.
  bool next_member() {
    while (at_ < held_ || restart()) {
      if (buffer_[at_] == '\x1f') {
        ended_ = false;
        return inflateReset(&zlib_) == Z_OK;
      }
      if (buffer_[at_] != '\0') throw UsageError(fmt::format("{}: byte {}: the compressed data ended before, and something else follows", name_, place()));
      ++at_;
    }
    done_ = true;
    return false;
  }

  const std::string& name_;
  Descriptor file_;
  std::string_view memory_;
  std::vector<char> buffer_;
  std::size_t held_ = 0, at_ = 0;
  std::int64_t before_ = 0;
  bool zipped_ = false, ended_ = false, done_ = false;
  z_stream zlib_{};
};

Input::Input(const std::string& path) : name_(path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  struct stat status{};
  if (fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) throw UsageError(fmt::format("{}: that is a folder: give the name of a file", path));
  bytes_ = std::make_unique<Bytes>(name_, std::move(file), std::string_view{});
  skip_mark();
}

Input::Input(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(std::make_unique<Bytes>(name_, Descriptor(-1), bytes)) { skip_mark(); }
Input::~Input() = default;

void Input::skip_mark() {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (peek(mark.size()) != mark) return;
  ahead_at_ = mark.size();
  offset_ = static_cast<std::int64_t>(mark.size());
}

bool Input::compressed() const { return bytes_->zipped(); }

std::size_t Input::fill(char* to, std::size_t most) { return bytes_->read(to, most); }

std::size_t Input::read(char* to, std::size_t most) {
  std::size_t count = std::min(most, ahead_.size() - ahead_at_);
  if (count > 0) {
    std::memcpy(to, ahead_.data() + ahead_at_, count);
    ahead_at_ += count;
  } else {
    count = fill(to, most);
  }
  offset_ += static_cast<std::int64_t>(count);
  return count;
}

std::string_view Input::peek(std::size_t most) {
  ahead_.erase(0, ahead_at_);
  ahead_at_ = 0;
  std::array<char, 1 << 14> piece;
  while (ahead_.size() < most) {
    const std::size_t count = fill(piece.data(), std::min(piece.size(), most - ahead_.size()));
    if (count == 0) break;
    ahead_.append(piece.data(), count);
  }
  return std::string_view(ahead_).substr(0, most);
}

bool Input::refill() {
  ahead_.resize(block);
  ahead_at_ = 0;
  ahead_.resize(fill(ahead_.data(), block));
  return !ahead_.empty();
}

bool Input::line(std::string& text, bool* whole) {
  text.clear();
  if (whole != nullptr) *whole = false;
  bool any = false;
  while (ahead_at_ < ahead_.size() || refill()) {
    if (!any && new_line_) ++line_number_;
    any = true;
    new_line_ = false;
    const std::size_t end = std::min(ahead_.find_first_of("\n\r", ahead_at_), ahead_.size());
    text.append(ahead_, ahead_at_, end - ahead_at_);
    if (text.size() > longest_line)
      throw UsageError(fmt::format("{}: line {} is longer than {} MB: that is no log", name_, line_number_, longest_line >> 20));
    offset_ += static_cast<std::int64_t>(end - ahead_at_);
    ahead_at_ = end;
    if (end == ahead_.size()) continue;
    ++offset_;
    ++ahead_at_;
    new_line_ = ahead_[end] == '\n';
    if (!new_line_ && (ahead_at_ < ahead_.size() || refill()) && ahead_[ahead_at_] == '\n') {
      ++ahead_at_;
      ++offset_;
      new_line_ = true;
    }
    if (whole != nullptr) *whole = true;
    return true;
  }
  return any;
}

}  // namespace ulpscope::profiler
