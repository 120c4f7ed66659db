// Numbers for people and for programs.
#pragma once

#include <string>

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

}  // namespace ulpscope::reports
