#include "profiler/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <span>
#include <streambuf>
#include <system_error>

#include "engine/data/durable_file.h"
#include "kernels/error.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

bool is_run_file(const std::string& path) {
  try {
    const reports::RunFileReader reader(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Through every kind of link.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

/// A terminal, a pipe, /dev/null.
bool is_special(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error);
}

/// Hands what is written to a durable file, a megabyte at a time.
class DurableBuffer : public std::streambuf {
 public:
  DurableBuffer(engine::DurableFile& file, const std::function<void()>& between) : file_(file), between_(between) { text_.reserve(most); }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    text_ += traits_type::to_char_type(c);
    if (text_.size() >= most) sync();
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    text_.append(text, static_cast<std::size_t>(size));
    if (text_.size() >= most) sync();
    return size;
  }
  int sync() override {
    file_.write(std::as_bytes(std::span(text_)));
    text_.clear();
    if (between_) between_();
    return 0;
  }

 private:
  static constexpr std::size_t most = 1 << 20;
  engine::DurableFile& file_;
  const std::function<void()>& between_;
  std::string text_;
};

/// The place that a name stands for, in the end: through links, also where nothing is there yet.
fs::path target_of(const std::string& path) {
  constexpr int most_links = 40;   // Linux's own limit
  std::error_code error;
  fs::path target = path;
  for (int i = 0; i < most_links && fs::is_symlink(target, error); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    if (error || next.empty()) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target;
}

/// A named pipe that nobody reads would be waited for without end.
class PipeEnd {
 public:
  explicit PipeEnd(const std::string& path) {
    std::error_code error;
    if (!fs::is_fifo(path, error)) return;
    file_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file_ < 0) throw UsageError(fmt::format("cannot write {}: {}", path, errno == ENXIO ? "it is a pipe that nobody reads" : std::strerror(errno)));
  }
  ~PipeEnd() {
    if (file_ >= 0) close(file_);
  }
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;

 private:
  int file_ = -1;
};

}  // namespace

void check_can_write(const std::string& path, std::string_view flag) {
  const auto refuse = [&](const fs::path& place) { throw UsageError(fmt::format("{} {}: cannot write {}: {}", flag, path, place.string(), std::strerror(errno))); };
  if (is_special(path)) {
    if (access(path.c_str(), W_OK) != 0) refuse(path);
    return;
  }
  fs::path folder = target_of(path).parent_path();
  if (folder.empty()) folder = ".";
  errno = ENOTDIR;
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) refuse(folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(folder);   // it is made beside its place, and renamed
}

void check_output_file(const std::string& path, bool force, const std::vector<std::string>& read, std::string_view flag) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw UsageError(fmt::format("{} {}: that is a folder: give the name of a file", flag, path));
  for (const std::string& input : read)
    if (same_file(path, input) || same_file(path + ".tmp", input))
      throw UsageError(fmt::format("{} {}: {} is read, and it is not written over; give another name", flag, path, input));
  check_can_write(path, flag);
  if (!fs::exists(path, error) || is_special(path)) return;
  if (is_run_file(path)) throw UsageError(fmt::format("{} {}: that is a run file, and it is not replaced; give another name", flag, path));
  if (!force) throw UsageError(fmt::format("{} is there already: give another name with {}, or --force to replace it", path, flag));
}

void write_output_file(const std::string& path, std::string_view text) {
  write_output_file(path, [&](std::ostream& out) { out.write(text.data(), static_cast<std::streamsize>(text.size())); });
}

void write_output_file(const std::string& path, const std::function<void(std::ostream&)>& write, const std::function<void()>& between) {
  if (is_special(path)) {
    const PipeEnd held(path);   // while it is held, opening it once more does not wait
    std::ofstream out(path, std::ios::binary);
    if (!out) throw UsageError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    write(out);
    out << std::flush;
    if (!out) throw Error(fmt::format("{} was not written to the end: {}", path, std::strerror(errno)));
    return;
  }
  std::unique_ptr<engine::DurableFile> file;
  try {
    file = std::make_unique<engine::DurableFile>(target_of(path).string());
  } catch (const Error& failure) {
    throw UsageError(failure.what());
  }
  DurableBuffer buffer(*file, between);
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);  // what the file throws reaches the caller
  write(out);
  out.flush();
  file->publish();
}

}  // namespace ulpscope::profiler
