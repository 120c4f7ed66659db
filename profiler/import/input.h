// A file that is imported, read once from its beginning, piece by piece, with gzip and a byte order mark of UTF-8 taken off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ulpscope::profiler {

/// What cannot be read, or is no complete gzip, is a UsageError: "PATH: WHY", with the byte of the file where it shows.
class Input {
 public:
  /// A file, a pipe.
  explicit Input(const std::string& path);
  /// Bytes in memory that are called `name`; they must outlive it.
  Input(std::string name, std::string_view bytes);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::string& name() const { return name_; }
  bool compressed() const;
  /// The next bytes, at most `most`; 0: the end.
  std::size_t read(char* to, std::size_t most);
  /// The first bytes of what read() gives next, at most `most` (fewer: that is all there is). They stay to be read.
  std::string_view peek(std::size_t most);
  /// Unpacked bytes before what read() gives next.
  std::int64_t offset() const { return offset_; }
  /// The next line without its end (\n, \r\n, or the \r of a progress bar); false: the end. `whole`: it had an end.
  /// A line beyond 16 MB is refused.
  bool line(std::string& text, bool* whole = nullptr);
  /// Of the line that line() gave last, from 1: lines of the file, a \r alone begins none.
  std::int64_t line_number() const { return line_number_; }

 private:
  class Bytes;
  void skip_mark();
  std::size_t fill(char* to, std::size_t most);
  bool refill();

  std::string name_;
  std::unique_ptr<Bytes> bytes_;
  std::string ahead_;  // given by nobody yet, from ahead_at_ on
  std::size_t ahead_at_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t line_number_ = 0;
  bool new_line_ = true;
};

}  // namespace ulpscope::profiler
