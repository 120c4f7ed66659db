// A report as one file of HTML that opens anywhere: styles, scripts, data and Vega are in it, and it asks no network for anything.
#pragma once

#include <ostream>
#include <string>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

/// Whether this build can: node-vega and esbuild were there when it was made.
bool can_write_html();

/// The sections alone, one after the other, with empty places for the charts: for programs that draw these themselves. Needs no Vega.
std::string html_sections(const Report& report);

/// Throws UsageError if this build cannot.
void write_html(const Report& report, std::ostream& out);

}  // namespace ulpscope::reports
