// A report as one file of HTML that opens anywhere: styles, scripts, data and Vega are in it, and it asks no network for anything.
#pragma once

#include <ostream>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

/// Whether this build can: node-vega and esbuild were there when it was made.
bool can_write_html();

/// Throws UsageError if this build cannot.
void write_html(const Report& report, std::ostream& out);

}  // namespace ulpscope::reports
