// Text for a terminal: UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

/// Columns that a terminal needs: two for each wide character (CJK, emoji), one for every other.
std::size_t columns(std::string_view text);
/// Control characters replaced by '?', so that a name cannot drive a terminal.
std::string printable(std::string_view text);

/// Breaks a text at blanks so that no line is longer than `width`; lines after the first begin with `indent`. Blanks at
/// its beginning stay; a word that is too long stays whole. No newline at the end.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width = 80);
/// The same with `head` in front of the first line and as many blanks in front of the others; ends in a newline.
std::string wrap(std::string_view text, std::string_view head, std::size_t width = 80);

/// Filled up with blanks on the left (or right) to `width`.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);
/// Cut to `width` columns, the last one then '…'.
std::string shorten(std::string_view text, std::size_t width);

}  // namespace ulpscope::reports
