// Which of the known forms a file has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/import/import.h"
#include "profiler/import/megatron.h"

namespace ulpscope::profiler {
namespace {

struct FormatName {
  ImportFormat format;
  const char* name;
};
constexpr auto format_names = std::to_array<FormatName>({
    {ImportFormat::nsys, "nsys"},
    {ImportFormat::kineto, "kineto"},
    {ImportFormat::trainer_state, "trainer-state"},
    {ImportFormat::csv, "csv"},
    {ImportFormat::jsonl, "jsonl"},
    {ImportFormat::printed, "printed"},
});

constexpr std::size_t looked_at = 1 << 18;
constexpr std::string_view sqlite_magic("SQLite format 3\0", 16);

/// The names at the first level of the JSON object that a text begins with, and where the object ends (npos: not within the text).
std::vector<std::string_view> first_names(std::string_view text, std::size_t& end) {
  std::vector<std::string_view> names;
  int depth = 0;
  end = std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) {
      end = i;
      return names;
    }
    if (c != '"') continue;
    const std::size_t begin = i + 1;
    for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    if (i >= text.size()) return names;
    const std::size_t after = text.find_first_not_of(" \t\r\n", i + 1);
    if (depth == 1 && after != std::string_view::npos && text[after] == ':') names.push_back(text.substr(begin, i - begin));
  }
  return names;
}

bool has(const std::vector<std::string_view>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

/// It begins like a JSON document. Nothing: it is a text that happens to.
std::optional<ImportFormat> recognise_json(std::string_view text) {
  const std::size_t inner = text.find_first_not_of(" \t\r\n", 1);
  const char next = inner == std::string_view::npos ? '\0' : text[inner];
  if (text[0] == '[') {   // a log_history by itself; a line that begins with a date in brackets is text
    if (next != '{' && next != ']') return std::nullopt;
    std::size_t end = 0;
    return next == '{' && has(first_names(text.substr(inner), end), "ph") ? ImportFormat::kineto : ImportFormat::trainer_state;
  }
  if (next != '"' && next != '}' && next != '\0') return std::nullopt;
  std::size_t end = 0;
  const std::vector<std::string_view> names = first_names(text, end);
  for (const char* of_trace : {"traceEvents", "deviceProperties", "schemaVersion"})
    if (has(names, of_trace)) return ImportFormat::kineto;
  if (has(names, "log_history")) return ImportFormat::trainer_state;
  const std::size_t line = text.find('\n');
  if (end != std::string_view::npos && (line == std::string_view::npos || end < line)) return ImportFormat::jsonl;
  // Cut off, or larger than what is looked at: the reader says where it breaks off.
  if (has(names, "global_step") || has(names, "best_metric") || line == inner - 1 || line == 1) return ImportFormat::trainer_state;
  return ImportFormat::jsonl;
}

}  // namespace

std::string_view name(ImportFormat format) {
  return std::find_if(format_names.begin(), format_names.end(), [&](const FormatName& f) { return f.format == format; })->name;
}

std::vector<std::string> import_format_names() {
  std::vector<std::string> names;
  for (const FormatName& f : format_names) names.emplace_back(f.name);
  return names;
}

ImportFormat parse_import_format(const std::string& word) {
  for (const FormatName& f : format_names)
    if (word == f.name) return f.format;
  const std::vector<std::string> names = import_format_names();
  throw UsageError(fmt::format("--format {}: did you mean {}? Formats: {}", word, nearest(word, names), fmt::join(names, ", ")));
}

ImportFormat recognise(Input& input, const LogOptions& options) {
  std::string_view text = input.peek(looked_at);
  if (text.starts_with(sqlite_magic)) {
    if (input.compressed()) throw UsageError(fmt::format("{}: a compressed SQLite database: unpack it first (gunzip)", input.name()));
    return ImportFormat::nsys;
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) throw UsageError(fmt::format("{}: that is UTF-16; save it as UTF-8", input.name()));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw UsageError(fmt::format("{}: nothing is in it", input.name()));
  if (text.find('\0') != std::string_view::npos)
    throw UsageError(fmt::format("{}: that is no text, and no recording that is known; formats: {}", input.name(), fmt::join(import_format_names(), ", ")));
  text.remove_prefix(first);
  if (text[0] == '{' || text[0] == '[')
    if (const auto json = recognise_json(text)) return *json;
  const std::string_view heading = text.substr(0, text.find_first_of("\r\n"));
  const bool dictionary = heading.find("{'") != std::string_view::npos || heading.find("Skipping step") != std::string_view::npos || is_megatron_line(heading);
  std::string_view row = text.substr(heading.size());
  row.remove_prefix(std::min(row.find_first_not_of("\r\n"), row.size()));
  row = row.substr(0, row.find_first_of("\r\n"));
  if (!dictionary && (csv_separator(heading, LogColumns(options)) || csv_separator_of_numbers(heading, row))) return ImportFormat::csv;
  return ImportFormat::printed;
}

}  // namespace ulpscope::profiler
