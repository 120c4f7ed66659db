// Events of Chrome's trace format, written as they come. Times are nanoseconds; the format has microseconds.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace ulpscope::reports {

/// As a JSON string, in quotes, whatever it holds.
std::string json_text(std::string_view text);
/// As a JSON value; NaN and infinities as strings.
std::string json_value(double value);

class TraceEvents {
 public:
  explicit TraceEvents(std::ostream& out);

  // Names and arguments are JSON already: json_text(), and the members of an object ("\"a\":1,\"b\":2"), maybe none.
  void process(int pid, std::string_view name, std::string_view labels);
  void thread(int pid, std::int64_t tid, std::string_view name);
  void slice(int pid, std::int64_t tid, std::string_view name, std::int64_t start, std::int64_t duration, std::string_view arguments = {});
  void instant(int pid, std::int64_t tid, std::string_view name, std::int64_t at, std::string_view arguments = {});
  /// value: finite.
  void counter(int pid, std::string_view name, std::int64_t at, double value);
  /// other: members of "otherData".
  void end(std::string_view other);

 private:
  void begin_event();
  void flush_if_full();

  std::ostream& out_;
  fmt::memory_buffer text_;
  bool first_ = true;
};

}  // namespace ulpscope::reports
