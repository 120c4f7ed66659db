#include "reports/export/trace_events.h"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "reports/export/fields.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t page_bytes = 1 << 20;

}  // namespace

/// Microseconds, exactly.
struct Micro {
  std::int64_t ns;
};

std::string json_text(std::string_view text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }
std::string json_value(double value) { return std::isfinite(value) ? fmt::format("{}", value) : number_json(value).dump(); }

}  // namespace ulpscope::reports

template <>
struct fmt::formatter<ulpscope::reports::Micro> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const ulpscope::reports::Micro& time, Context& context) const {
    const std::int64_t size = time.ns < 0 ? -time.ns : time.ns;
    return fmt::format_to(context.out(), "{}{}.{:03}", time.ns < 0 ? "-" : "", size / 1000, size % 1000);
  }
};

namespace ulpscope::reports {

TraceEvents::TraceEvents(std::ostream& out) : out_(out) { fmt::format_to(std::back_inserter(text_), "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":["); }

void TraceEvents::begin_event() {
  fmt::format_to(std::back_inserter(text_), "{}\n", first_ ? "" : ",");
  first_ = false;
}

void TraceEvents::flush_if_full() {
  if (text_.size() < page_bytes) return;
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

void TraceEvents::process(int pid, std::string_view name, std::string_view labels) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"M\",\"pid\":{0},\"tid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{1}}}}},\n", pid, name);
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"M\",\"pid\":{0},\"tid\":0,\"name\":\"process_labels\",\"args\":{{\"labels\":{1}}}}},\n", pid, labels);
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"M\",\"pid\":{0},\"tid\":0,\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{0}}}}}", pid);
}

void TraceEvents::thread(int pid, std::int64_t tid, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_name\",\"args\":{{\"name\":{2}}}}},\n", pid, tid, name);
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{1}}}}}", pid, tid);
}

void TraceEvents::slice(int pid, std::int64_t tid, std::string_view name, std::int64_t start, std::int64_t duration, std::string_view arguments) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}", pid, tid, name, Micro{start}, Micro{duration}, arguments);
  flush_if_full();
}

void TraceEvents::instant(int pid, std::int64_t tid, std::string_view name, std::int64_t at, std::string_view arguments) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{},\"tid\":{},\"name\":{},\"ts\":{},\"args\":{{{}}}}}", pid, tid, name, Micro{at}, arguments);
  flush_if_full();
}

void TraceEvents::counter(int pid, std::string_view name, std::int64_t at, double value) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), "{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{},\"args\":{{\"value\":{}}}}}", pid, name, Micro{at}, value);
  flush_if_full();
}

void TraceEvents::end(std::string_view other) {
  fmt::format_to(std::back_inserter(text_), "\n],\"otherData\":{{{}}}}}\n", other);
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

}  // namespace ulpscope::reports
