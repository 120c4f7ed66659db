// Traces of PyTorch's profiler: Chrome trace JSON, {"deviceProperties": […], "traceEvents": [{"ph": "X", "cat": "kernel", "name": …, "ts": …, "dur": …,
// "args": {…}}, …]}, times in microseconds. Older versions write the category with a capital letter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "kernels/error.h"
#include "profiler/import/json_objects.h"
#include "profiler/import/trace.h"

namespace ulpscope::profiler {
namespace {

constexpr double most_nanoseconds = 4e18;   // 127 years: no clock of a trace begins earlier

/// Microseconds in decimal as whole nanoseconds, without the detour of a double: time stamps since 1970 have 16 digits before the point.
std::optional<std::int64_t> nanoseconds(const JsonField& field) {
  if (field.kind != JsonField::Kind::number || !(std::fabs(field.number) * 1e3 < most_nanoseconds)) return std::nullopt;
  if (field.is_whole) return field.whole * 1000;
  const std::string_view text = field.text;
  const std::size_t point = text.find('.');
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(point, text.size()), whole);
  if (error != std::errc() || text.find_first_of("eE") != std::string_view::npos || point == std::string_view::npos)
    return static_cast<std::int64_t>(std::llround(field.number * 1e3));
  std::int64_t fraction = 0, unit = 100;
  for (std::size_t i = point + 1; i < text.size() && unit > 0; ++i, unit /= 10) fraction += unit * (text[i] - '0');
  return whole * 1000 + (text.starts_with('-') ? -fraction : fraction);
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

template <class Whole>
Whole whole(const JsonField* field, Whole otherwise) {
  if (field == nullptr || field->kind != JsonField::Kind::number || !(field->number >= 0.0 && field->number < static_cast<double>(std::numeric_limits<Whole>::max()))) return otherwise;
  return static_cast<Whole>(field->number);
}

void three(const JsonField* field, std::array<std::int32_t, 3>& into) {
  if (field == nullptr || field->kind != JsonField::Kind::other || field->numbers.size() != 3) return;
  for (std::size_t i = 0; i < 3; ++i)
    if (field->numbers[i] >= 0.0 && field->numbers[i] < 2147483647.0) into[i] = static_cast<std::int32_t>(field->numbers[i]);
}

class Kineto final : public JsonListener {
 public:
  explicit Kineto(Trace& trace) : trace_(trace) {}

  bool wanted(std::string_view key) const override {
    if (device_list_) return true;
    static constexpr auto keys = std::to_array<std::string_view>({"ph", "cat", "name", "ts", "dur", "tid", "args.correlation", "args.stream", "args.device", "args.bytes", "args.grid", "args.block",
                                                                  "args.registers per thread", "args.Bytes"});
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  bool top(const JsonField&) override { return true; }
  bool array(const std::string& name) override {
    device_list_ = name == "deviceProperties";
    events_ = events_ || name.empty() || name == "traceEvents";
    return true;
  }
  bool element(const std::string& array, const JsonObject& object) override {
    if (array == "deviceProperties") device(object);
    if (array.empty() || array == "traceEvents") event(object);
    return true;
  }
  void stray(const std::string& array) override {
    if (array.empty() || array == "traceEvents") broken("an event that is no object");
  }
  bool has_events() const { return events_; }

 private:
  void broken(const std::string& what) {
    if (trace_.broken++ == 0) trace_.first_broken = fmt::format("event {}: {}", count_, what);
  }

  void device(const JsonObject& object) {
    const JsonField* name = object.find("name");
    if (name == nullptr || name->kind != JsonField::Kind::text) return;
    TraceDevice device{.id = whole<std::int64_t>(object.find("id"), 0), .name = name->text, .facts = {}};
    for (const auto& [key, fact] : {std::pair{"totalGlobalMem", "memory_bytes"}, {"numSms", "multiprocessors"}, {"computeMajor", "compute_major"}, {"computeMinor", "compute_minor"}})
      if (const JsonField* field = object.find(key); field != nullptr && field->kind == JsonField::Kind::number && std::isfinite(field->number)) device.facts[fact] = field->number;
    trace_.devices.push_back(std::move(device));
  }

  void event(const JsonObject& object) {
    ++count_;
    const JsonField* phase = object.find("ph");
    if (phase == nullptr || phase->kind != JsonField::Kind::text) return broken("it has no \"ph\"");
    const JsonField* category = object.find("cat");
    const std::string kind = category != nullptr && category->kind == JsonField::Kind::text ? lower(category->text) : "";
    if (phase->text != "X") {
      ++trace_.ignored[phase->text == "M" ? "metadata" : kind.empty() ? fmt::format("phase {}", phase->text) : fmt::format("{} (phase {})", kind, phase->text)];
      return;
    }
    const bool kernel = kind == "kernel", copy = kind == "gpu_memcpy" || kind == "memcpy", set = kind == "gpu_memset" || kind == "memset";
    const bool range = kind == "user_annotation" || kind == "gpu_user_annotation", call = kind == "cuda_runtime" || kind == "cuda_driver" || kind == "runtime" || kind == "driver";
    if (!kernel && !copy && !set && !range && !call) {
      ++trace_.ignored[kind.empty() ? "events without a category" : kind];
      return;
    }
    const JsonField *ts = object.find("ts"), *dur = object.find("dur"), *name = object.find("name");
    const auto start = ts == nullptr ? std::nullopt : nanoseconds(*ts), duration = dur == nullptr ? std::nullopt : nanoseconds(*dur);
    if (!start || (!duration && !call)) return broken(fmt::format("{} \"{}\" has no number in \"{}\"", kind, name != nullptr ? name->text.substr(0, 60) : "", start ? "dur" : "ts"));
    if (name == nullptr || name->kind != JsonField::Kind::text) return broken(fmt::format("{} has no name", kind));
    if (call) return launch(object, *start);
    if (*duration < 0) {
      ++trace_.negative;
      return;
    }
    if (range) {
      trace_.ranges.push_back({*start, *start + *duration, thread(object), trace_.names.id(name->text), kind.starts_with("gpu"), -1});
      return;
    }
    WorkShape shape{.name = trace_.names.id(name->text), .kind = kernel ? WorkKind::kernel : copy ? WorkKind::copy : WorkKind::set};
    shape.stream = whole<std::int32_t>(object.find("args.stream"), 0);
    shape.device = whole<std::int32_t>(object.find("args.device"), 0);
    shape.bytes = whole<std::int64_t>(object.find("args.bytes"), -1);
    shape.registers = whole<std::int32_t>(object.find("args.registers per thread"), -1);
    three(object.find("args.grid"), shape.grid);
    three(object.find("args.block"), shape.block);
    trace_.work.push_back({.start = *start, .duration = *duration, .correlation = whole<std::int64_t>(object.find("args.correlation"), -1), .shape = trace_.shapes.id(shape)});
  }

  /// A number, or a text that holds one ("stream 7").
  static std::int64_t thread(const JsonObject& object) {
    const JsonField* field = object.find("tid");
    if (field == nullptr) return 0;
    if (field->kind == JsonField::Kind::number) return field->is_whole ? field->whole : 0;
    return static_cast<std::int64_t>(std::hash<std::string>{}(field->text));
  }

  void launch(const JsonObject& object, std::int64_t start) {
    const auto correlation = whole<std::int64_t>(object.find("args.correlation"), -1);
    if (correlation >= 0) trace_.launches.push_back({correlation, start, thread(object), -1});
  }

  Trace& trace_;
  std::int64_t count_ = 0;
  bool device_list_ = false, events_ = false;
};

}  // namespace

Trace read_kineto(Input& input) {
  Trace trace;
  trace.format = "PyTorch profiler trace";
  Kineto listener(trace);
  read_json(input, listener);
  if (!listener.has_events()) throw UsageError(fmt::format("{}: there are no traceEvents in it", input.name()));
  if (trace.devices.empty()) trace.missing.emplace_back("deviceProperties: which GPU it was is unknown");
  return trace;
}

}  // namespace ulpscope::profiler
