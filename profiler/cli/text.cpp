#include "profiler/cli/text.h"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope::profiler {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; }

}  // namespace

int columns(std::string_view text) {
  int count = 0;
  for (const char c : text) count += continues(c) ? 0 : 1;
  return count;
}

std::string wrapped(std::string_view text, std::string_view indent, int width) {
  std::string all, line;
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') line += text[at++];  // the first line keeps its own indentation
  bool empty = true;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(at, end - at);
    if (!empty && columns(line) + 1 + columns(word) > width) {
      all += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    at = end + 1;
  }
  return all + line;
}

std::string column(std::string_view text, int width) {
  const int have = columns(text);
  if (have <= width) return std::string(text) + std::string(static_cast<std::size_t>(width - have), ' ');
  std::string cut;
  int count = 0;
  for (const char c : text) {
    if (!continues(c) && ++count == width) break;
    cut += c;
  }
  return cut + "…";
}

std::string bytes_words(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (std::fabs(bytes) >= 1023.5 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0, units[unit]);
}

std::string scaled_words(double value, const char* unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  while (std::fabs(value) >= 999.5 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.0f} {}", value, unit);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", value, decimals, prefixes[prefix], unit);
}

}  // namespace ulpscope::profiler
