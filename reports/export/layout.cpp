#include "reports/export/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::reports {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// `start` is the first line so far.
std::string folded(std::string_view text, std::string start, std::string_view indent, std::size_t width) {
  std::string out;
  std::string line = std::move(start);
  bool empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty() && empty) continue;
    if (!empty && columns(line) + 1 + columns(word) > width) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
      empty = true;
      if (word.empty()) continue;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line;
}

}  // namespace

std::size_t columns(std::string_view text) {
  // By {fmt}, which knows the wide ones: what it does not fill up is taken.
  const std::size_t wide = 2 * text.size();
  return wide + text.size() - fmt::formatted_size("{:>{}}", text, wide);
}

namespace {

/// Bytes of the control character at `at`, or of a character that turns the direction of what follows (U+200E, U+200F, U+202A to U+202E,
/// U+2066 to U+2069) or breaks the line (U+2028, U+2029); 0: it is none.
std::size_t unprintable(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
  // U+0080 to U+009F in UTF-8: to many a terminal U+009B is the beginning of an escape sequence.
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return 2;
  if (byte(0) != 0xE2) return 0;
  const bool turns = (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE))) ||
                     (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
  return turns ? 3 : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t hidden = unprintable(text, i);
    clean += hidden > 0 ? '?' : text[i];
    i += std::max<std::size_t>(hidden, 1);
  }
  return clean;
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return folded(text.substr(begin), std::string(text.substr(0, begin)), indent, width);
}

std::string wrap(std::string_view text, std::string_view head, std::size_t width) {
  return folded(text, std::string(head), std::string(columns(head), ' '), width) + "\n";
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string shorten(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && continues(text[next])) ++next;
    if (columns(text.substr(0, next)) + 1 > width) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace ulpscope::reports
