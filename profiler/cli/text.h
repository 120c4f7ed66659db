// Text for a terminal of 80 columns: reports/export/layout.h with widths as the command line counts them.
#pragma once

#include <string>
#include <string_view>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::profiler {

inline constexpr int text_width = 80;

/// Columns that a UTF-8 text takes (each code point one).
inline int columns(std::string_view text) { return static_cast<int>(reports::columns(text)); }

/// Breaks a text at blanks so that no line is longer than `width`; lines after the first start with `indent`.
inline std::string wrapped(std::string_view text, std::string_view indent, int width = text_width) {
  return reports::wrapped(text, indent, static_cast<std::size_t>(width));
}

/// The text, filled up with blanks; cut with "…" if it is longer.
inline std::string column(std::string_view text, int width) {
  const auto exact = static_cast<std::size_t>(width);
  return reports::pad_right(reports::shorten(text, exact), exact);
}

using reports::bytes_text;

/// "25.2 MFLOP", "12 FLOP": decimal prefixes, three digits.
std::string scaled_words(double value, const char* unit);

}  // namespace ulpscope::profiler
