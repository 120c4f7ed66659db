#include "profiler/experiment/key_parts.h"

#include <algorithm>
#include <string>

namespace ulpscope::profiler {
namespace {

/// Where a string that begins at `at` ends: behind its last quote, or at the end of its line.
std::size_t behind_string(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string three(3, quote);
  const bool several_lines = toml.substr(at, 3) == three;
  for (at += several_lines ? 3 : 1; at < toml.size(); ++at) {
    if (quote == '"' && toml[at] == '\\') {
      ++at;
    } else if (several_lines && toml.substr(at, 3) == three) {
      at += 3;
      for (int more = 0; more < 2 && at < toml.size() && toml[at] == quote; ++more) ++at;   // quotes before the last three
      return at;
    } else if (!several_lines && (toml[at] == quote || toml[at] == '\n')) {
      return toml[at] == quote ? at + 1 : at;
    }
  }
  return toml.size();
}

}  // namespace

std::optional<std::int64_t> line_of_long_key(std::string_view toml) {
  int parts = 1;   // values have two dots at most
  for (std::size_t at = 0; at < toml.size();) {
    const char c = toml[at];
    if (c == '"' || c == '\'') {
      at = behind_string(toml, at);
      continue;
    }
    if (c == '#') {
      at = std::min(toml.find('\n', at), toml.size());
      continue;
    }
    if (std::string_view("=[]{},\n").find(c) != std::string_view::npos) parts = 1;
    if (c == '.' && ++parts > most_key_parts)
      return 1 + std::count(toml.begin(), toml.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    ++at;
  }
  return std::nullopt;
}

}  // namespace ulpscope::profiler
