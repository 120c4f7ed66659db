// Text for a terminal of 80 columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ulpscope::profiler {

inline constexpr int text_width = 80;

/// Columns that a UTF-8 text takes (each code point one).
int columns(std::string_view text);

/// Breaks a text at blanks so that no line is longer than `width`; lines after the first start with `indent`. A word
/// that is too long stays whole. No newline at the end.
std::string wrapped(std::string_view text, std::string_view indent, int width = text_width);

/// The text, filled up with blanks; cut with "…" if it is longer.
std::string column(std::string_view text, int width);

/// "1.50 MiB", "640 B": three digits or four.
std::string bytes_words(double bytes);
/// "25.2 MFLOP", "12 FLOP": decimal prefixes, three digits.
std::string scaled_words(double value, const char* unit);

}  // namespace ulpscope::profiler
