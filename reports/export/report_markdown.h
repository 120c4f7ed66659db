// A report as Markdown, to be put into a pull request: the answer first, long parts folded. Steps count from 1.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

/// At most 20 overflows, 10 causes and 10 nodes of a mode are listed, and it is said how many there are; loss curves, maps and
/// histograms are left to forms that can draw them.
void write_markdown(const Report& report, std::ostream& out);

/// Text that shows as it is, in a paragraph and in a cell of a table: what Markdown or HTML would read as markup is escaped, control
/// characters are '?', line ends are blanks, what is no UTF-8 is U+FFFD.
std::string markdown_escaped(std::string_view text);

}  // namespace ulpscope::reports
