// Numbers and sentences for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "reports/analysis/compare.h"

namespace ulpscope::reports {

/// For programs: shortest text that reads back as the same double; "NaN", "Infinity", "-Infinity"; "" if unknown.
/// Figures of whole things (counts, bytes, loss scales) have no decimal point.
std::string exact(const Number& value, FigureStyle style);
/// True for figures of whole things.
bool whole(FigureStyle style);

/// For people, without provenance: 5 significant digits, "NaN", "inf", "-inf".
std::string number_text(double value, int digits = 5);
std::string difference_text(double value);  ///< with its sign, 3 significant digits
std::string seconds_text(double seconds);   ///< "12.34 ms"
std::string bytes_text(double bytes);       ///< "12.3 MiB"; below 1 KiB "512 B"
std::string scale_text(double scale);       ///< "65536", from 10^5 on "2^17" if it is a power of two

/// The value of a figure in at most `width` columns; "unknown" if there is none.
std::string cell_text(const Figure& figure, FigureStyle style, std::size_t width);
/// low … high of a figure, or "".
std::string range_text(const Figure& figure, FigureStyle style);

/// Columns that a terminal needs: code points of UTF-8.
std::size_t columns(std::string_view text);
/// Control characters replaced by '?', so that a name cannot drive a terminal.
std::string printable(std::string_view text);
/// Breaks at spaces into lines of at most `width` columns. The first line begins with `head`, the others with as many
/// spaces.
std::string wrap(std::string_view text, std::string_view head, std::size_t width = 80);
/// Padded with spaces on the left (or right) to `width`.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);
/// Cut to `width` columns, the last one then '…'.
std::string shorten(std::string_view text, std::size_t width);

}  // namespace ulpscope::reports
